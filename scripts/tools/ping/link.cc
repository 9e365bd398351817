// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "link.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/random.h>

namespace ping
{

namespace
{

constexpr uint32_t SENDS = 64;

} // namespace

uint64_t now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1000000000 +
	       static_cast<uint64_t>(t.tv_nsec);
}

link::link(rdma_cm_id *id, bool client, const settings &s,
	   const rpcrdma2_callbacks &callbacks, void *user)
	: id_{ id },
	  storage_(rpcrdma2_conn_size() / sizeof(std::max_align_t) + 1)
{
	try {
		set_up(client, s, callbacks, user);
	} catch (const failure &) {
		release();
		throw;
	}
}

void link::set_up(bool client, const settings &s,
		  const rpcrdma2_callbacks &callbacks, void *user)
{
	rpcrdma2_config config;
	ibv_device_attr device = {};
	ibv_qp_init_attr qp = {};

	rpcrdma2_config_default(&config);
	config.client = client;
	config.version_low = s.version_low;
	config.version_high = s.version_high;
	config.window = s.window;
	config.opening_timeout = s.timeout;
	config.no_chunks = 1;
	config.props.sbsiz = s.inline_size;
	config.props.rbsiz = s.inline_size;
	config.callbacks = callbacks;
	config.user = user;
	if (!s.identity.empty()) {
		config.auth.mode = RPCRDMA2_AUTH_REQUIRE;
		config.auth.own = s.identity.c_str();
		config.auth.dh = RPCRDMA2_AUTH_OFFER;
		config.auth.groups = 1 << RPCRDMA2_AUTH_FFDHE2048 |
				     1 << RPCRDMA2_AUTH_FFDHE3072 |
				     1 << RPCRDMA2_AUTH_FFDHE4096;
		if (getrandom(config.auth.nonce, sizeof(config.auth.nonce),
			      0) != sizeof(config.auth.nonce))
			throw failure{ "no random numbers are available" };
	}
	if (ibv_query_device(id_->verbs, &device))
		throw failure{ "the device cannot be queried" };
	invalidation_ = device.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS;
	config.remote_invalidation = invalidation_;
	reads_ = static_cast<uint8_t>(std::clamp(device.max_qp_rd_atom, 1, 16));
	if (rpcrdma2_conn_init(&conn_, storage_.data(),
			       storage_.size() * sizeof(storage_[0]), &config))
		throw failure{ "the options are out of range" };

	const uint32_t receives = rpcrdma2_conn_max_receives(conn_);

	size_ = std::max(rpcrdma2_conn_recv_size(conn_),
			 rpcrdma2_conn_send_size(conn_));
	first_send_ = receives;
	memory_.reset(new unsigned char[size_ * (receives + SENDS)]);
	for (uint32_t i = 0; i < receives + SENDS; i++)
		(i < receives ? receives_ : sends_).push_back(i);

	channel_ = ibv_create_comp_channel(id_->verbs);
	pd_ = channel_ ? ibv_alloc_pd(id_->verbs) : nullptr;
	cq_ = pd_ ? ibv_create_cq(id_->verbs,
				  static_cast<int>(receives + SENDS), nullptr,
				  channel_, 0) :
		    nullptr;
	mr_ = cq_ ? ibv_reg_mr(pd_, memory_.get(), size_ * (receives + SENDS),
			       IBV_ACCESS_LOCAL_WRITE) :
		    nullptr;
	if (!mr_)
		throw failure{ std::string("the device has no resources: ") +
			       strerror(errno) };
	fcntl(channel_->fd, F_SETFL, O_NONBLOCK);
	qp.send_cq = cq_;
	qp.recv_cq = cq_;
	qp.qp_type = IBV_QPT_RC;
	qp.sq_sig_all = 1;
	qp.cap.max_send_wr = SENDS;
	qp.cap.max_recv_wr = receives;
	qp.cap.max_send_sge = 1;
	qp.cap.max_recv_sge = 1;
	if (rdma_create_qp(id_, pd_, &qp))
		throw failure{ std::string("the device has no queue pair: ") +
			       strerror(errno) };
	ibv_req_notify_cq(cq_, 0);
}

link::~link()
{
	release();
	rdma_destroy_id(id_);
}

void link::release()
{
	if (id_->qp)
		rdma_destroy_qp(id_);
	if (mr_)
		ibv_dereg_mr(mr_);
	if (cq_)
		ibv_destroy_cq(cq_);
	if (pd_)
		ibv_dealloc_pd(pd_);
	if (channel_)
		ibv_destroy_comp_channel(channel_);
}

rdma_conn_param link::parameters()
{
	rdma_conn_param param = {};

	rpcrdma2_conn_announce(conn_, private_);
	param.private_data = private_;
	param.private_data_len = sizeof(private_);
	param.initiator_depth = reads_;
	param.responder_resources = reads_;
	param.retry_count = 6;
	/* Credits ensure that Receives are posted at the peer. */
	param.rnr_retry_count = 0;
	return param;
}

int link::connect()
{
	rdma_conn_param param = parameters();

	post_receives();
	return rdma_connect(id_, &param) ? errno : 0;
}

int link::accept(const rdma_conn_param &request)
{
	peer(request);

	rdma_conn_param param = parameters();

	post_receives();
	return rdma_accept(id_, &param) ? errno : 0;
}

void link::peer(const rdma_conn_param &param)
{
	rpcrdma2_conn_peer_private(conn_, param.private_data,
				   param.private_data_len);
	/* No RDMA Reads: this end has no memory to read into. */
	rpcrdma2_conn_read_depth(conn_, 0, 0);
}

/* A server's first message may arrive before the event for its connection. */
void link::established()
{
	if (established_)
		return;
	established_ = true;
	ended(rpcrdma2_conn_established(conn_, now()));
}

bool link::ended(int error)
{
	if (error && !error_) {
		error_ = error;
		reason_ = rpcrdma2_conn_reason(conn_);
	}
	return error_ != 0;
}

void link::lost(const std::string &why)
{
	if (error_)
		return;
	rpcrdma2_conn_close(conn_);
	error_ = RPCRDMA2_ERR_CLOSED;
	reason_ = why;
}

bool link::post_receives()
{
	const uint32_t count = rpcrdma2_conn_get_receives(conn_, now());

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t index = receives_.back();
		ibv_sge whole = sge(index, size_);
		ibv_recv_wr wr = {}, *bad;

		wr.wr_id = index;
		wr.sg_list = &whole;
		wr.num_sge = 1;
		if (ibv_post_recv(id_->qp, &wr, &bad)) {
			lost("the device takes no Receives");
			return false;
		}
		receives_.pop_back();
	}
	return !count || !ended(rpcrdma2_conn_posted(conn_, count, now()));
}

bool link::flush()
{
	if (error_ || !post_receives())
		return false;
	while (!sends_.empty()) {
		const uint64_t index = sends_.back();
		rpcrdma2_out out;
		const ptrdiff_t length = rpcrdma2_conn_write_pkt(
			conn_, buffer(index), size_, &out, now());
		ibv_send_wr wr = {}, *bad;

		if (length < 0)
			return !ended(static_cast<int>(length));
		if (!length)
			break;

		ibv_sge packet = sge(index, static_cast<size_t>(length));

		wr.wr_id = index;
		wr.sg_list = &packet;
		wr.num_sge = 1;
		wr.opcode = out.inv_handle ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
		wr.invalidate_rkey = out.inv_handle;
		if (ibv_post_send(id_->qp, &wr, &bad)) {
			lost("the device takes no Sends");
			return false;
		}
		sends_.pop_back();
	}
	return true;
}

bool link::completed(const ibv_wc &wc)
{
	const bool send = wc.wr_id >= first_send_;

	if (wc.status != IBV_WC_SUCCESS) {
		lost(wc.status == IBV_WC_WR_FLUSH_ERR ?
			     "the peer has closed the connection" :
			     std::string("the connection was lost: ") +
				     ibv_wc_status_str(wc.status));
		return false;
	}
	(send ? sends_ : receives_).push_back(wc.wr_id);
	if (send)
		return true;
	established();
	return !error_ &&
	       !ended(rpcrdma2_conn_read_pkt(
		       conn_, buffer(wc.wr_id), wc.byte_len,
		       wc.wc_flags & IBV_WC_WITH_INV ? wc.invalidated_rkey : 0,
		       now()));
}

bool link::process()
{
	ibv_cq *cq;
	void *context;
	ibv_wc wc[16];
	int count;

	while (!ibv_get_cq_event(channel_, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	ibv_req_notify_cq(cq_, 0);
	while (!error_ && (count = ibv_poll_cq(cq_, 16, wc)) > 0) {
		for (int i = 0; i < count && !error_; i++)
			completed(wc[i]);
		flush();
	}
	if (!error_ && rpcrdma2_conn_get_expiry(conn_) <= now())
		ended(rpcrdma2_conn_handle_expiry(conn_, now()));
	return !error_;
}

} // namespace ping
