// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* rpcrdma-ping --server: answer the procedure NULL of any program. */
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <poll.h>

#include "ping.hh"
#include "replies.hh"

namespace ping
{

namespace
{

constexpr size_t MOST_CONNECTIONS = 64;

/* One connection */
class session
{
public:
	session(rdma_cm_id *id, const options &o)
		: link{ id,
			false,
			o.own,
			{ nullptr, received, nullptr, sent,
			  answer_auth<session> },
			this },
		  silent_{ o.silent }
	{
	}

	authenticator auth;
	ping::link link;
	bool gone = false;

private:
	static int received(rpcrdma2_conn *conn, const rpcrdma2_rx *rx,
			    void *user)
	{
		session &s = *static_cast<session *>(user);
		const auto *payload =
			static_cast<const unsigned char *>(rx->payload);

		if (rx->first)
			s.call_.clear();
		s.call_.insert(s.call_.end(), payload, payload + rx->length);
		if (!rx->last || rx->kind != RPCRDMA2_CALL || s.silent_)
			return 0;

		const bool null = get(s.call_, 20) == 0;

		if (get(s.call_, 8) != RPC_VERSION || rx->msg->nr_items)
			return rpcrdma2_conn_send_error(
				conn, rx->xid, RPCRDMA2_CODE_SYSTEM, 0, 0);

		bytes message;

		for (uint32_t word :
		     { rx->xid, uint32_t{ RPC_REPLY }, uint32_t{ MSG_ACCEPTED },
		       0u, 0u, null ? 0u : uint32_t{ PROC_UNAVAIL } })
			put(message, word);

		rpcrdma2_tx *tx = s.replies_.add(rx->xid, std::move(message));

		/* The client grants too few credits: end the connection. */
		if (!tx)
			s.gone = true;
		return tx ? rpcrdma2_conn_send_reply(conn, tx) : 0;
	}

	/* Replies are sent in order. */
	static int sent(rpcrdma2_conn *, rpcrdma2_tx *, void *user)
	{
		static_cast<session *>(user)->replies_.sent();
		return 0;
	}

	bool silent_;
	bytes call_;
	replies replies_;
};

class server
{
public:
	explicit server(const options &o) : options_{ o }
	{
	}
	int run();

private:
	void event(rdma_cm_event *e);
	void request(rdma_cm_event *e);

	const options &options_;
	std::map<rdma_cm_id *, std::unique_ptr<session>> sessions_;
};

void server::request(rdma_cm_event *e)
{
	if (options_.reject || sessions_.size() >= MOST_CONNECTIONS) {
		rdma_reject(e->id, nullptr, 0);
		rdma_destroy_id(e->id);
		return;
	}
	try {
		auto s = std::make_unique<session>(e->id, options_);

		if (s->link.accept(e->param.conn))
			return;
		sessions_[e->id] = std::move(s);
	} catch (const failure &f) {
		fprintf(stderr, "rpcrdma-ping: %s\n", f.text.c_str());
		rdma_reject(e->id, nullptr, 0);
		rdma_destroy_id(e->id);
	}
}

void server::event(rdma_cm_event *e)
{
	const auto at = sessions_.find(e->id);

	if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		request(e);
		return;
	}
	if (at == sessions_.end())
		return;
	if (e->event == RDMA_CM_EVENT_ESTABLISHED) {
		at->second->link.established();
		at->second->link.flush();
	} else {
		at->second->gone = true;
	}
}

int server::run()
{
	rdma_event_channel *channel = rdma_create_event_channel();
	rdma_cm_id *id = nullptr;
	addrinfo_of where{ options_ };

	if (!channel || rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, where.address()) || rdma_listen(id, 64)) {
		fprintf(stderr, "rpcrdma-ping: cannot listen at port %s: %s\n",
			options_.port.c_str(), strerror(errno));
		return EXIT_LOCAL;
	}
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	printf("listening at port %s\n", options_.port.c_str());
	fflush(stdout);

	for (;;) {
		std::vector<pollfd> fds{ { channel->fd, POLLIN, 0 } };
		uint64_t until = RPCRDMA2_NEVER;
		rdma_cm_event *e;

		for (const auto &[key, s] : sessions_) {
			fds.push_back({ s->link.fd(), POLLIN, 0 });
			until = std::min(until, rpcrdma2_conn_get_expiry(
							s->link.conn()));
		}
		poll(fds.data(), fds.size(), wait_ms(until));
		/* Acknowledge the event first, because destroying an ID waits for that. */
		std::vector<rdma_cm_id *> gone;

		while (!rdma_get_cm_event(channel, &e)) {
			event(e);
			rdma_ack_cm_event(e);
		}
		for (auto &[key, s] : sessions_) {
			if (s->gone || !s->link.process() || !s->link.flush())
				gone.push_back(key);
		}
		for (rdma_cm_id *key : gone)
			sessions_.erase(key);
	}
}

} // namespace

int serve(const options &o)
{
	return server{ o }.run();
}

} // namespace ping
