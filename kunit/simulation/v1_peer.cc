// SPDX-License-Identifier: GPL-2.0
#include "v1_peer_internal.hh"

#include <cerrno>

namespace simulation
{

constexpr u32 SEND_QUEUE = 2048;
constexpr u32 REGIONS = 1024;
/*
 * Receives in addition to those for Calls, for Replies to its own Calls and for
 * refusals
 */
constexpr u32 MORE_RECEIVES = 80;

v1_peer::v1_peer(world &w, network &net, host &stands_for,
		 const v1_peer_params &params)
	: w_{ w }, net_{ net }, host_{ stands_for }, params_{ params },
	  next_xid_{ params.client ? 0x1000u : 0x90000000u }
{
}

v1_peer::~v1_peer()
{
	for (job *j : queue_)
		delete j;
	for (job *j : posted_)
		delete j;
}

u32 v1_peer::octets_of(const chunk &c)
{
	u32 octets = 0;

	for (const segment &s : c)
		octets += s.length;
	return octets;
}

/* ---- Connections ---- */

queue_pair &v1_peer::connect(u32 threshold, bool inv_ok)
{
	close();
	threshold_ = threshold;
	inv_ok_ = inv_ok;
	closing_ = false;
	refused_ = false;
	generation_++;
	qps_.push_back(
		std::make_unique<queue_pair>(w_, *this, SEND_QUEUE, REGIONS));
	qp_ = qps_.back().get();
	used_ = 0;
	out_ = 0;
	limit_ = 1;
	served_ = 0;
	free_mrs_.clear();
	for (device_mr &reg : qp_->mrs)
		free_mrs_.push_back(&reg);
	for (u32 i = 0; i < params_.credits + MORE_RECEIVES; i++) {
		receives_.push_back(std::make_unique<received>());
		receives_.back()->space.resize(std::max(4096u, params_.size));
		qp_->post_receive(receives_.back().get());
	}
	return *qp_;
}

void v1_peer::established()
{
	up_ = true;
	transmit();
}

void v1_peer::lost()
{
	if (closing_)
		return;
	closing_ = true;
	w_.after(w_.delay(500), this, CLOSE, generation_);
}

/* From now on, no job uses the peer's memory, and no device can access it. */
void v1_peer::close()
{
	std::vector<job *> ended;

	if (!qp_)
		return;
	up_ = false;
	closing_ = true;
	qp_->cut();
	qp_->quiet();
	qp_ = nullptr;
	ended.swap(posted_);
	ended.insert(ended.end(), queue_.begin(), queue_.end());
	queue_.clear();
	ready_.clear();
	serving_ = 0;
	for (job *j : ended)
		j->done(false);
	for (auto i = tasks_.begin(); i != tasks_.end();) {
		task &t = *i->second;
		const u32 xid = i->first;

		i++;
		t.sent = false;
		t.answered = false;
		t.mrs.clear();
		/*
		 * A server does not retransmit a Call that failed with its
		 * connection.
		 */
		if (!params_.client)
			over(xid, -ENOTCONN);
	}
}

void v1_peer::check_gone()
{
	close();
	if (!tasks_.empty())
		w_.complain("an RPC of version 1 is left");
}

void v1_peer::act(u32 what, u64 arg)
{
	switch (what) {
	case CLOSE:
		if (arg != generation_ || !qp_)
			break;
		close();
		if (!tasks_.empty())
			net_.want_connection();
		break;
	case LEAVE:
		if (arg != generation_ || !qp_ || !is_idle())
			break;
		close();
		net_.rest();
		break;
	case SEND_AGAIN:
		transmit();
		break;
	case ANSWER: {
		std::vector<std::shared_ptr<call>> due;

		due.swap(ready_);
		for (const auto &c : due)
			answer(c);
		break;
	}
	}
}

/* ---- Sending ---- */

v1_peer::job *v1_peer::new_job(const std::vector<u8> &message, u32 handle)
{
	auto *j = new job;

	j->owner = this;
	j->wrs.signaled = true;
	j->buf.octets = message;
	if (!message.empty())
		j->requests.push_back({ op::send, nullptr, handle, 0, &j->buf,
					0, static_cast<u32>(message.size()) });
	return j;
}

void v1_peer::post(job *j)
{
	queue_.push_back(j);
	pump();
}

void v1_peer::pump()
{
	while (qp_ && !queue_.empty() &&
	       used_ + queue_.front()->requests.size() <= SEND_QUEUE) {
		job *j = queue_.front();

		queue_.pop_front();
		used_ += static_cast<u32>(j->requests.size());
		posted_.push_back(j);
		qp_->post(j);
	}
}

void v1_peer::completed(work *w)
{
	auto *j = static_cast<job *>(w);

	posted_.erase(std::find(posted_.begin(), posted_.end(), j));
	used_ -= static_cast<u32>(j->requests.size());
	j->done(true);
	pump();
	if (params_.as.patience && served_ >= params_.as.patience && is_idle())
		w_.after(w_.delay(100), this, LEAVE, generation_);
}

void v1_peer::send(const std::vector<u8> &message, u32 handle)
{
	if (message.size() > threshold_)
		w_.complain("the model of version 1 sends too much");
	post(new_job(message, handle));
}

void v1_peer::refuse(u32 xid)
{
	std::vector<u8> m;

	put_fixed(m, xid, grant(nullptr), RDMA_ERROR);
	put_word(m, ERR_CHUNK);
	send(m);
}

/* ---- Receiving ---- */

/* Answer a message of version 2, or ignore it. */
void v1_peer::version2(received *rv)
{
	const personality &as = params_.as;

	if (params_.client || refused_)
		w_.complain("version 2 continues after it was refused");
	refused_ = true;
	if (as.refusal)
		send(refuse_version(*as.refusal, load(rv->space.data()),
				    grant(nullptr)));
	qp_->post_receive(rv);
	if (as.hangs_up)
		w_.after(w_.delay(200), this, CLOSE, generation_);
}

bool v1_peer::parse(const received *rv, lists *l)
{
	u32 at = 16;
	bool ok = true;

	auto word = [&]() -> u32 {
		ok &= at + 4 <= rv->octets;
		at += 4;
		return ok ? load(&rv->space[at - 4]) : 0;
	};
	auto next = [&](u32 position) {
		segment s{ position, word(), word(), 0 };

		s.offset = u64{ word() } << 32;
		s.offset |= word();
		return s;
	};
	auto write_chunk = [&] {
		chunk c;

		for (u32 n = word(); ok && n; n--)
			c.push_back(next(0));
		return c;
	};

	while (ok && word()) {
		const u32 position = word();

		l->reads.push_back(next(position));
	}
	while (ok && word())
		l->writes.push_back(write_chunk());
	l->has_reply = word();
	if (l->has_reply)
		l->reply = write_chunk();
	l->end = at;
	return ok;
}

void v1_peer::arrived(received *rv)
{
	const u8 *m = rv->space.data();
	lists l;

	if (!qp_ || closing_ || rv->failed)
		return;
	if (rv->octets < 16) {
		w_.complain("a message is too short for version 1");
		return;
	}
	if (load(m + 4) != RPCRDMA_VERS_1) {
		version2(rv);
		return;
	}
	/* A peer that has disconnected sends nothing more. */
	if (refused_ && params_.as.hangs_up)
		return;
	if (load(m + 12) == RDMA_ERROR) {
		refused(load(m), load(m + 16));
		qp_->post_receive(rv);
		return;
	}
	if (!parse(rv, &l)) {
		w_.complain("a header of version 1 cannot be read");
		return;
	}
	/*
	 * Check that only Calls have Read chunks, and that only Replies are
	 * entirely in the other chunks.
	 */
	if (load(m + 12) == RDMA_MSG ? load(m + l.end + 4) == REPLY :
				       l.reads.empty())
		reply(rv, l);
	else
		serve(rv, l);
	/* The connection may have been closed meanwhile. */
	if (qp_)
		qp_->post_receive(rv);
	transmit();
}

} // namespace simulation
