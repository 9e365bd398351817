// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* rpcrdma-ping HOST: connect, send Calls, and diagnose failures. */
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>

#include "outstanding.hh"
#include "ping.hh"

namespace ping
{

namespace
{

/* Reject reasons of the InfiniBand and RoCE connection manager (IBTA 12.6.7) */
enum {
	REJECT_NO_SERVICE = 8,
	REJECT_CONSUMER = 28,
};

/* Thrown to end a run that has failed */
struct stop {
	int status;
	const char *key;
	std::string sentence;
};

class client
{
public:
	explicit client(const options &o) : o_{ o }
	{
	}
	~client();
	client(const client &) = delete;
	client &operator=(const client &) = delete;

	void run();

	result found;
	authenticator auth;

private:
	std::string where() const
	{
		return o_.host + " port " + o_.port;
	}
	void resolve();
	void connect();
	void open();
	void calls();
	void learn();
	rdma_cm_event *event(uint64_t until);
	void expect(rdma_cm_event_type wanted, uint64_t until);
	[[noreturn]] void refused(const rdma_cm_event &e);
	[[noreturn]] void ended();
	bool step(uint64_t until);
	void start_call();

	static int on_opened(rpcrdma2_conn *, void *user);
	static int on_received(rpcrdma2_conn *, const rpcrdma2_rx *rx,
			       void *user);
	static int on_failed(rpcrdma2_conn *, uint32_t xid, uint32_t code,
			     const uint32_t *, void *user);
	static int on_sent(rpcrdma2_conn *, rpcrdma2_tx *tx, void *user);

	const options &o_;
	rdma_event_channel *channel_ = nullptr;
	rdma_cm_id *id_ = nullptr;
	std::unique_ptr<link> link_;
	bool opened_ = false;
	uint64_t begun_ = 0;
	uint32_t xid_ = 1;
	uint32_t version_ = 0; /* of the program */
	outstanding out_;
	bytes reply_;
	bool mismatch_ = false; /* the server has reported its versions */
	bool again_ = false;	/* send the Call again */
	std::string rpc_error_;
};

client::~client()
{
	if (link_) {
		rdma_disconnect(id_);
		link_.reset();
	} else if (id_) {
		rdma_destroy_id(id_);
	}
	if (channel_)
		rdma_destroy_event_channel(channel_);
}

/* Return the next event of the connection manager, or null after the time limit. */
rdma_cm_event *client::event(uint64_t until)
{
	pollfd fd{ channel_->fd, POLLIN, 0 };
	rdma_cm_event *e;

	if (poll(&fd, 1, wait_ms(until)) <= 0 ||
	    rdma_get_cm_event(channel_, &e))
		return nullptr;
	return e;
}

/* The status of the event is an errno, or a reason of the connection manager. */
void client::refused(const rdma_cm_event &e)
{
	const int status = e.status;

	if (e.event == RDMA_CM_EVENT_REJECTED &&
	    (status == REJECT_NO_SERVICE || status == -ECONNREFUSED))
		throw stop{
			EXIT_REFUSED, "closed-port",
			"nothing listens for RDMA at " + where() +
				": the service is not started, or uses another port"
		};
	if (e.event == RDMA_CM_EVENT_REJECTED)
		throw stop{
			EXIT_REFUSED, "refused",
			where() + " has refused the connection" +
				(status == REJECT_CONSUMER ?
					 ": it has no resources, or does not accept this client" :
					 " (reason " + std::to_string(status) +
						 ")")
		};
	if (e.event == RDMA_CM_EVENT_ADDR_ERROR && status == -ENODEV)
		throw stop{ EXIT_UNREACHABLE, "no-route",
			    "no RDMA device of this host is on the route to " +
				    o_.host };
	if (e.event == RDMA_CM_EVENT_UNREACHABLE || status == -ETIMEDOUT ||
	    e.event == RDMA_CM_EVENT_CONNECT_ERROR)
		throw stop{
			EXIT_UNREACHABLE, "unreachable",
			o_.host +
				" does not answer: it has no RDMA device there, or a firewall drops UDP port 4791"
		};
	throw stop{ EXIT_UNREACHABLE, "no-route",
		    "there is no route to " + o_.host + " by RDMA: " +
			    strerror(status < 0 ? -status : status) };
}

void client::expect(rdma_cm_event_type wanted, uint64_t until)
{
	rdma_cm_event *e = event(until);

	if (!e)
		throw stop{
			EXIT_UNREACHABLE, "unreachable",
			o_.host +
				" does not answer: it has no RDMA device there, or a firewall drops UDP port 4791"
		};

	const rdma_cm_event copy = *e;

	if (e->event == RDMA_CM_EVENT_ESTABLISHED && link_)
		link_->peer(e->param.conn);
	rdma_ack_cm_event(e);
	if (copy.event != wanted)
		refused(copy);
}

void client::resolve()
{
	const addrinfo_of to{ o_ };
	const uint64_t until = now() + o_.own.timeout;
	const int ms = static_cast<int>(o_.own.timeout / 1000000);
	int devices = 0;
	ibv_device **list = ibv_get_device_list(&devices);

	if (list)
		ibv_free_device_list(list);
	if (!devices)
		throw stop{ EXIT_LOCAL, "no-device",
			    "this host has no RDMA device" };
	if (to.error)
		throw stop{ EXIT_UNREACHABLE, "no-name",
			    o_.host + ": " + gai_strerror(to.error) };
	channel_ = rdma_create_event_channel();
	if (!channel_ || rdma_create_id(channel_, &id_, nullptr, RDMA_PS_TCP))
		throw stop{
			EXIT_LOCAL, "no-device",
			std::string(
				"this host has no RDMA connection manager: ") +
				strerror(errno)
		};
	fcntl(channel_->fd, F_SETFL, O_NONBLOCK);
	if (rdma_resolve_addr(id_, nullptr, to.address(), ms)) {
		if (errno == ENODEV)
			throw stop{
				EXIT_UNREACHABLE, "no-route",
				"no RDMA device of this host is on the route to " +
					o_.host
			};
		throw stop{ EXIT_UNREACHABLE, "no-route",
			    "there is no route to " + o_.host + ": " +
				    strerror(errno) };
	}
	expect(RDMA_CM_EVENT_ADDR_RESOLVED, until + 1000000000);
	if (rdma_resolve_route(id_, ms))
		throw stop{ EXIT_UNREACHABLE, "no-route",
			    "there is no route to " + o_.host + ": " +
				    strerror(errno) };
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED, until + 1000000000);
	found.device = ibv_get_device_name(id_->verbs->device);
}

void client::connect()
{
	begun_ = now();
	try {
		link_ = std::make_unique<link>(
			id_, true, o_.own,
			rpcrdma2_callbacks{ on_opened, on_received, on_failed,
					    on_sent, answer_auth<client> },
			this);
	} catch (const failure &f) {
		/* If its constructor fails, the object does not own the ID. */
		throw stop{ EXIT_LOCAL, "no-resources", f.text };
	}
	found.remote_invalidation = link_->remote_invalidation();

	const int error = link_->connect();

	if (error)
		throw stop{ EXIT_LOCAL, "no-resources",
			    std::string("the device cannot connect: ") +
				    strerror(error) };
	expect(RDMA_CM_EVENT_ESTABLISHED, begun_ + o_.own.timeout);
	found.connect = now() - begun_;
}

void client::learn()
{
	rpcrdma2_conn_get_info(link_->conn(), &found.info);
	/* This is part of the connection. */
	found.identity = found.info.auth_peer;
	found.info.auth_peer = nullptr;
}

/* Report the reason for the end of the connection. */
void client::ended()
{
	learn();
	if (link_->error() == RPCRDMA2_ERR_AUTH)
		throw stop{ EXIT_AUTH, "auth",
			    where() + ": no connection: " + link_->reason() };
	if (found.info.refused_high && !found.info.open)
		throw stop{ EXIT_VERSION, "version-1-only",
			    where() + " has version " +
				    std::to_string(found.info.refused_high) +
				    " only" };
	if (!opened_ && !found.info.heard) {
		if (link_->error() == RPCRDMA2_ERR_OPENING_TIMEOUT)
			throw stop{
				EXIT_SILENT, "silent",
				where() +
					" accepts connections and does not answer: it may drop all but version 1 (try --version 1)"
			};
		throw stop{
			EXIT_SILENT, "silent",
			where() +
				" accepts connections and closes them without an answer: it may have version 1 only (try --version 1)"
		};
	}
	throw stop{ EXIT_LOST, "lost",
		    "the connection to " + where() +
			    " has ended: " + link_->reason() };
}

/* Wait for an event, at most until @until, and process it. */
bool client::step(uint64_t until)
{
	pollfd fds[2] = { { link_->fd(), POLLIN, 0 },
			  { channel_->fd, POLLIN, 0 } };
	rdma_cm_event *e;

	if (!link_->flush())
		ended();
	until = std::min(until, rpcrdma2_conn_get_expiry(link_->conn()));
	poll(fds, 2, wait_ms(until));
	if (!link_->process())
		ended();
	while (!rdma_get_cm_event(channel_, &e)) {
		const bool gone = e->event == RDMA_CM_EVENT_DISCONNECTED;

		rdma_ack_cm_event(e);
		if (gone) {
			link_->lost("the peer has closed it");
			ended();
		}
	}
	if (!rpc_error_.empty())
		throw stop{ EXIT_RPC, "rpc", rpc_error_ };
	return true;
}

void client::open()
{
	link_->established();
	while (!opened_)
		step(RPCRDMA2_NEVER);
	found.opened = now() - begun_;
	learn();
}

int client::on_opened(rpcrdma2_conn *, void *user)
{
	static_cast<client *>(user)->opened_ = true;
	return 0;
}

int client::on_received(rpcrdma2_conn *, const rpcrdma2_rx *rx, void *user)
{
	client &c = *static_cast<client *>(user);
	const auto *payload = static_cast<const unsigned char *>(rx->payload);

	if (rx->first)
		c.reply_.clear();
	c.reply_.insert(c.reply_.end(), payload, payload + rx->length);
	if (!rx->last)
		return 0;

	const outstanding::call *call = c.out_.answered(rx->xid);

	if (rx->kind != RPCRDMA2_REPLY || !call)
		return 0;

	const null_reply reply = read_reply(c.reply_);
	const std::string program = "program " + std::to_string(c.o_.program);

	if (reply.accepted) {
		c.found.times.push_back(now() - call->since);
		c.found.bytes += call->message.size() + c.reply_.size();
	} else if (reply.status == PROG_MISMATCH && !c.o_.program_version &&
		   !c.mismatch_) {
		/* Retry with the highest version of the server. */
		c.mismatch_ = true;
		c.again_ = true;
		c.version_ = reply.high;
	} else if (reply.status == PROG_UNAVAIL) {
		c.rpc_error_ = c.where() + " does not serve " + program;
	} else if (reply.status == PROG_MISMATCH) {
		c.rpc_error_ = c.where() + " serves versions " +
			       std::to_string(reply.low) + " to " +
			       std::to_string(reply.high) + " of " + program +
			       ", not " + std::to_string(c.version_);
	} else {
		c.rpc_error_ = c.where() + " has not executed NULL of " +
			       program + " (status " +
			       std::to_string(static_cast<int>(reply.status)) +
			       ")";
	}
	c.out_.end(rx->xid);
	return 0;
}

int client::on_sent(rpcrdma2_conn *, rpcrdma2_tx *tx, void *user)
{
	static_cast<client *>(user)->out_.sent(tx);
	return 0;
}

int client::on_failed(rpcrdma2_conn *, uint32_t xid, uint32_t code,
		      const uint32_t *, void *user)
{
	client &c = *static_cast<client *>(user);
	const char *name = rpcrdma2_code_name(code);

	if (c.out_.end(xid))
		c.rpc_error_ = code ? c.where() + " has refused a Call: " +
					       (name ? name : "unknown error") :
				      c.where() + " has sent a bad Reply";
	return 0;
}

void client::start_call()
{
	const uint32_t xid = xid_++;
	rpcrdma2_tx *tx = out_.add(
		xid, null_call(xid, o_.program, version_, o_.size), now());
	const int error = rpcrdma2_conn_send_call(link_->conn(), tx);

	if (error)
		throw stop{ EXIT_RPC, "rpc",
			    std::string("the Call cannot be sent: ") +
				    rpcrdma2_strerror(error) };
}

void client::calls()
{
	const uint64_t begin = now();
	const uint64_t end = o_.load ? begin + o_.seconds * 1000000000 :
				       RPCRDMA2_NEVER;
	const uint32_t depth = !o_.load ? 1 :
			       o_.depth ? o_.depth :
					  std::max(found.info.send_window, 1u);
	uint64_t next = begin;
	uint32_t sent = 0;

	version_ = o_.program_version ? o_.program_version : 3;
	found.depth = depth;
	for (;;) {
		const bool more = o_.load ? now() < end :
					    sent < o_.count || again_;
		uint64_t until = RPCRDMA2_NEVER;

		while (more && out_.count() < depth && now() >= next) {
			start_call();
			if (!again_)
				sent++;
			again_ = false;
			if (!o_.load)
				next = now() + o_.interval;
		}
		if (!more && !out_.count())
			break;
		if (out_.count()) {
			until = out_.oldest() + o_.own.timeout;
			if (now() >= until)
				throw stop{
					EXIT_SILENT, "no-reply",
					where() +
						" does not answer NULL of program " +
						std::to_string(o_.program)
				};
		} else {
			until = next;
		}
		step(until);
	}
	found.elapsed = now() - begin;
	found.program_version = version_;
	learn();
}

void client::run()
{
	try {
		resolve();
		connect();
		open();
		calls();
	} catch (const stop &s) {
		found.status = s.status;
		found.key = s.key;
		found.sentence = s.sentence;
	}
}

} // namespace

int wait_ms(uint64_t until)
{
	const uint64_t at = now();

	if (until == RPCRDMA2_NEVER)
		return -1;
	return until <= at ? 0 : static_cast<int>((until - at) / 1000000 + 1);
}

result run(const options &o)
{
	client c{ o };

	c.run();
	return c.found;
}

} // namespace ping
