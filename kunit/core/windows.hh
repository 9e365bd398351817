// SPDX-License-Identifier: GPL-2.0
/* Two ends of a connection in one test, and the messages between them */
#ifndef ENGINE_TEST_WINDOWS_HH
#define ENGINE_TEST_WINDOWS_HH

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <string>

#include "credit_model.hh"
#include "support.hh"

namespace engine_test::meetings
{

#ifdef ALL_WINDOWS
constexpr bool SAMPLE = false;
#else
constexpr bool SAMPLE = true;
#endif

/* The kind of a message, as far as credits are concerned */
enum class what {
	CALL,
	REPLY,
	GRANT,
	OTHER,
};

/* One end of a connection, without its RPCs */
class party
{
public:
	virtual ~party() = default;
	/* The connection is established. */
	virtual void established() = 0;
	/* These return the number of Receives posted. */
	virtual u32 receive(const octets &m, u32 now) = 0;
	virtual u32 begin(u32 now) = 0;
	virtual u32 release_receive(u32 now) = 0;
	/* Set another window of at most @most. */
	virtual u32 resize(generator &random, u32 most) = 0;
	/* Return the current window. */
	virtual u32 window() const = 0;
	virtual bool open() const = 0;
	virtual bool may_send(what kind) const = 0;
	/* Send a Call or Reply, or a fragment of one. */
	virtual octets send(what kind, u32 xid, bool first, bool more,
			    u32 payload) = 0;
	virtual void queue_error(u32 xid) = 0;
	virtual void queue_done(u32 xid) = 0;
	virtual u32 waiting() const = 0; /* ERRORs and DONEs */
	/* Return the next control message that may be sent, or an empty one. */
	virtual octets control() = 0;
};

/* Return the word at @offset of a message. */
inline u32 word(const octets &m, u32 offset)
{
	u32 value = 0;

	for (u32 i = offset; i < offset + 4; i++)
		value = value << 8 | m.at(i);
	return value;
}

inline message rpc_message(what kind, u32 xid, bool first, bool more,
			   u32 payload)
{
	const u32 flags = (kind == what::REPLY ? +RDMA2_F_RESPONSE : 0) |
			  (more ? +RDMA2_F_MORE : 0);
	message m;

	m.prefix(xid, RDMA2_MSG, flags).no_lists();
	if (first)
		m.rpc(xid, kind == what::REPLY ? REPLY : CALL, payload);
	else
		m.fill(payload);
	return m;
}

/* ---- The engine ---- */

class engine final : public party
{
public:
	explicit engine(const rpcrdma_conn_config &cfg)
	{
		rpcrdma_conn_init(&conn_, &cfg);
		rx_.lists.extra_segs = nullptr;
	}

	void established() override
	{
		rpcrdma_conn_established(&conn_);
	}

	u32 receive(const octets &m, u32 now) override
	{
		rpcrdma_conn_receive(&conn_, m.data(),
				     static_cast<u32>(m.size()), &rx_);
		return rx_.events & RPCRDMA_EV_RECEIVES ? begin(now) : 0;
	}

	u32 begin(u32 now) override
	{
		const u32 make = rpcrdma_recvs_to_alloc(&conn_).count;

		if (make)
			rpcrdma_recvs_allocated(&conn_, make);

		const u32 posts = rpcrdma_recvs_to_post(&conn_, now);

		if (posts &&
		    rpcrdma_recvs_posted(&conn_, posts) & RPCRDMA_EV_RECEIVES)
			return posts + begin(now);
		return posts;
	}

	u32 release_receive(u32 now) override
	{
		const u32 events = rpcrdma_recvs_released(&conn_);

		return events & RPCRDMA_EV_RECEIVES ? begin(now) : 0;
	}

	/* The engine resizes by itself. */
	u32 resize(generator &, u32) override
	{
		return 0;
	}

	/* The engine enlarges a window that is used. */
	u32 window() const override
	{
		return conn_.cfg.window;
	}

	bool open() const override
	{
		return conn_.state == RPCRDMA_CONN_OPEN && conn_.props_sent;
	}

	bool may_send(what kind) const override
	{
		return rpcrdma_conn_may_send(&conn_, kind_of(kind));
	}

	octets send(what kind, u32 xid, bool first, bool more,
		    u32 payload) override
	{
		octets m = rpc_message(kind, xid, first, more, payload).data();

		rpcrdma_conn_stamp(&conn_, kind_of(kind), m.data());
		return m;
	}

	void queue_error(u32 xid) override
	{
		rpcrdma_conn_queue_error(&conn_, xid, RDMA2_ERR_SYSTEM, 0, 0);
	}

	void queue_done(u32 xid) override
	{
		rpcrdma_conn_queue_done(&conn_, xid, 0);
	}

	u32 waiting() const override
	{
		return conn_.pend_count;
	}

	octets control() override
	{
		alignas(8) u8 buf[4096];
		const u32 n =
			rpcrdma_conn_next_control(&conn_, buf, sizeof(buf))
				.octets;

		return octets(buf, buf + n);
	}

private:
	static rpcrdma_kind kind_of(what kind)
	{
		return kind == what::CALL ? RPCRDMA_KIND_CALL :
					    RPCRDMA_KIND_REPLY;
	}

	rpcrdma_conn conn_;
	rpcrdma_rx rx_;
};

/* ---- The reference credit model ---- */

class model final : public party
{
public:
	model(bool client, u32 window, bool keeps)
		: client_{ client }, credits_{ window, keeps }
	{
	}

	void established() override
	{
		if (client_)
			props_due_ = true;
	}

	u32 receive(const octets &m, u32) override
	{
		const u32 htype = word(m, 12), flags = word(m, 16);

		if (htype == RDMA2_CONNPROP) {
			answered_ = true;
			if (!client_)
				props_due_ = true;
		}
		return credits_.receive(
			{ word(m, 8), word(m, 20) }, htype == RDMA2_NOMSG,
			htype == RDMA2_MSG &&
				!(flags & (RDMA2_F_RESPONSE | RDMA2_F_MORE)));
	}

	u32 begin(u32) override
	{
		return credits_.resize(credits_.window());
	}

	u32 release_receive(u32) override
	{
		return credits_.release_receive();
	}

	u32 resize(generator &random, u32 most) override
	{
		return credits_.resize(4 + random.below(most - 3));
	}

	u32 window() const override
	{
		return credits_.window();
	}

	bool open() const override
	{
		return answered_ && props_sent_;
	}

	bool may_send(what kind) const override
	{
		if (!open())
			return false;
		if (in_sequence_ && sequence_ != kind)
			return false;
		if (kind == what::REPLY)
			return credits_.may_send();
		return queue_.empty() && credits_.may_call();
	}

	octets send(what kind, u32 xid, bool first, bool more,
		    u32 payload) override
	{
		message m = rpc_message(kind, xid, first, more, payload);

		in_sequence_ = more;
		sequence_ = kind;
		return finish(m, false);
	}

	void queue_error(u32 xid) override
	{
		message m;

		queue_.push_back(m.prefix(xid, RDMA2_ERROR, RDMA2_F_RESPONSE)
					 .word(RDMA2_ERR_SYSTEM));
	}

	void queue_done(u32 xid) override
	{
		message m;

		queue_.push_back(m.prefix(xid, RDMA2_DONE, 0));
	}

	u32 waiting() const override
	{
		return static_cast<u32>(queue_.size());
	}

	octets control() override
	{
		message m;

		if (!queue_.empty() && credits_.may_send()) {
			m = queue_.front();
			queue_.pop_front();
			return finish(m, false);
		}
		if (props_due_ && !props_sent_ && credits_.may_send()) {
			static const message props =
				connprop_of(usual_config(true));

			m = props;
			props_sent_ = true;
			return finish(m, false);
		}
		if (open() && credits_.grant_due())
			return finish(m.prefix(0, RDMA2_NOMSG, 0).no_lists(),
				      true);
		return {};
	}

private:
	octets finish(message &m, bool grant)
	{
		const auto fields = credits_.send(grant);

		m.set(8, fields.credit);
		m.set(20, fields.received);
		return m.data();
	}

	const bool client_;
	credit_model credits_;
	bool answered_ = false, props_due_ = false, props_sent_ = false;
	bool in_sequence_ = false;
	what sequence_ = what::CALL;
	std::deque<message> queue_;
};

/* ---- The channel and the RPCs ---- */

enum side {
	CLIENT,
	SERVER,
};

/* The order of arrival of messages in flight in both directions */
enum class order {
	BY_TURNS,
	ALL_OF_ONE_SIDE,
	CROSSING, /* all messages in flight, before either end reacts */
	AT_RANDOM,
	NR_ORDERS,
};

class table
{
public:
	table(bool engines[2], const u32 windows[2], u64 seed)
		: windows_{ windows[0], windows[1] }, random_{ seed }
	{
		for (side s : { CLIENT, SERVER }) {
			const u64 kind = seed + s;

			if (engines[s]) {
				auto cfg =
					usual_config(s == CLIENT, windows[s]);
				const u32 first[] = { 0, 4, 16, 7 };

				cfg.first_window =
					std::min(first[kind % 4], windows[s]);
				ends_[s] = std::make_unique<engine>(cfg);
			} else {
				ends_[s] = std::make_unique<model>(
					s == CLIENT, windows[s], kind % 2);
			}
			limit_[s] = 1;
			xid_[s] = s == CLIENT ? 1 : 0x80000001;
		}
	}

	bool open()
	{
		for (side s : { SERVER, CLIENT })
			posted_[s] += ends_[s]->begin(now_);
		ends_[SERVER]->established();
		ends_[CLIENT]->established();
		pump(CLIENT);
		settle(order::BY_TURNS);
		return ends_[CLIENT]->open() && ends_[SERVER]->open() &&
		       complaint_.empty();
	}

	/* Send a Call in @parts fragments, of @payload bytes each. */
	void call(side from, u32 parts = 1, u32 payload = 8)
	{
		calls_[from].push_back(
			{ what::CALL, xid_[from]++, parts, payload, 0 });
		outstanding_[from]++;
		pump(from);
	}

	bool answer(side at, u32 index = 0, u32 parts = 1, u32 payload = 8)
	{
		u32 xid;

		if (!take_held(at, index, &xid))
			return false;
		replies_[at].push_back({ what::REPLY, xid, parts, payload, 0 });
		release_receive(at);
		return true;
	}

	bool refuse(side at, u32 index = 0)
	{
		u32 xid;

		if (!take_held(at, index, &xid))
			return false;
		if (ends_[at]->waiting() > 60)
			return false;
		ends_[at]->queue_error(xid);
		release_receive(at);
		return true;
	}

	/* Drop a Call without an answer. */
	bool drop(side at, u32 index = 0)
	{
		u32 xid;

		if (!take_held(at, index, &xid))
			return false;
		outstanding_[!at]--;
		release_receive(at);
		return true;
	}

	/* Windows change; the engine's with time. */
	void adapt(side s)
	{
		now_ += random_.below(30000);
		posted_[s] += ends_[s]->resize(random_, windows_[s]);
		pump(s);
	}

	void done(side from)
	{
		if (ends_[from]->waiting() > 60)
			return;
		ends_[from]->queue_done(1);
		pump(from);
	}

	/* Deliver the messages in flight, in any order, until none is left. */
	void settle(order how)
	{
		while (complaint_.empty() &&
		       (!wire_[0].empty() || !wire_[1].empty()))
			step(how);
		check_quiet();
	}

	void step(order how)
	{
		const side one = random_.chance(50) ? CLIENT : SERVER;
		u32 n[2];

		switch (how) {
		case order::BY_TURNS:
			deliver(CLIENT);
			deliver(SERVER);
			break;
		case order::ALL_OF_ONE_SIDE:
			while (!wire_[!one].empty() && complaint_.empty())
				deliver(one);
			break;
		case order::CROSSING:
			for (side s : { CLIENT, SERVER })
				n[s] = static_cast<u32>(wire_[!s].size());
			for (side s : { CLIENT, SERVER }) {
				while (n[s]--)
					deliver(s, false);
			}
			pump(CLIENT);
			pump(SERVER);
			break;
		default:
			deliver(one);
			break;
		}
	}

	u32 held(side at) const
	{
		return static_cast<u32>(held_[at].size());
	}
	u32 outstanding(side from) const
	{
		return outstanding_[from];
	}
	bool waits(side from) const
	{
		return !calls_[from].empty() || !replies_[from].empty();
	}
	u32 grants() const
	{
		return grants_;
	}
	const std::string &complaint() const
	{
		return complaint_;
	}
	generator &random()
	{
		return random_;
	}

private:
	struct item {
		what kind;
		u32 xid;
		u32 parts;
		u32 payload;
		u32 sent;
	};

	void complain(const std::string &what)
	{
		if (complaint_.empty())
			complaint_ = what;
	}

	void post(side s)
	{
		posted_[s] += ends_[s]->release_receive(now_);
	}

	bool take_held(side at, u32 index, u32 *xid)
	{
		if (index >= held_[at].size())
			return false;
		*xid = held_[at][index];
		held_[at].erase(held_[at].begin() + index);
		return true;
	}

	void release_receive(side at)
	{
		quiet_grants_ = 0;
		/* Control messages may be sent before or after that. */
		if (random_.chance(50))
			pump(at);
		post(at);
		pump(at);
	}

	void put(side from, octets data, what kind)
	{
		const u32 beyond = kind == what::GRANT ? 1 : 0;

		if (++sent_[from] > limit_[from] + beyond)
			complain("a message beyond the limit");
		if (word(data, 8) + word(data, 20) > posted_[from] - 1)
			complain("a limit beyond the Receives");
		wire_[from].push_back(std::move(data));
	}

	void pump(side s)
	{
		for (;;) {
			octets m = ends_[s]->control();

			if (m.empty())
				break;
			const u32 htype = word(m, 12);

			put(s, std::move(m),
			    htype == RDMA2_NOMSG ? what::GRANT : what::OTHER);
		}
		while (ends_[s]->open()) {
			std::deque<item> *queue = &calls_[s];

			if (in_sequence_[s] ? sequence_[s] == what::REPLY :
					      !replies_[s].empty())
				queue = &replies_[s];
			if (queue->empty())
				break;

			item &next = queue->front();

			if (!ends_[s]->may_send(next.kind))
				break;

			const bool first = !next.sent;
			const bool more = ++next.sent < next.parts;

			in_sequence_[s] = more;
			sequence_[s] = next.kind;
			put(s,
			    ends_[s]->send(next.kind, next.xid, first, more,
					   next.payload),
			    next.kind);
			if (!more)
				queue->pop_front();
		}
	}

	void deliver(side to, bool react = true)
	{
		const side from = to == CLIENT ? SERVER : CLIENT;
		octets data;
		bool call;

		if (wire_[from].empty())
			return;
		data = std::move(wire_[from].front());
		wire_[from].pop_front();
		if (++received_[to] > posted_[to])
			complain("a message without a Receive");

		const u32 htype = word(data, 12), flags = word(data, 16);

		limit_[to] =
			std::max(limit_[to], word(data, 8) + word(data, 20));
		if (htype == RDMA2_NOMSG) {
			grants_++;
			if (++quiet_grants_ > MANY_GRANTS)
				complain("grants answer each other");
		} else {
			quiet_grants_ = 0;
		}
		call = htype == RDMA2_MSG &&
		       !(flags & (RDMA2_F_RESPONSE | RDMA2_F_MORE));
		if (htype == RDMA2_ERROR ||
		    (htype == RDMA2_MSG &&
		     (flags & (RDMA2_F_RESPONSE | RDMA2_F_MORE)) ==
			     RDMA2_F_RESPONSE))
			outstanding_[to]--;
		posted_[to] += ends_[to]->receive(data, now_);
		/* A message may be sent before the Receive is posted. */
		if (react && random_.chance(30))
			pump(to);
		if (call)
			held_[to].push_back(word(data, 0));
		else
			post(to);
		if (react)
			pump(to);
	}

	/* Check the invariants that hold while no message is in flight. */
	void check_quiet()
	{
		quiet_grants_ = 0;
		for (side s : { CLIENT, SERVER }) {
			const side other = s == CLIENT ? SERVER : CLIENT;
			const std::string who = s == CLIENT ? "the client's" :
							      "the server's";

			if (!ends_[s]->open() || !complaint_.empty())
				continue;
			if (in_sequence_[s] ? sequence_[s] == what::REPLY :
					      !replies_[s].empty())
				complain(who + " Reply waits forever");
			if (ends_[s]->waiting())
				complain(who + " ERROR or DONE waits forever");
			if (!calls_[s].empty() &&
			    held(other) + 3 <= ends_[other]->window())
				complain(who +
					 " Call waits forever, with only " +
					 std::to_string(held(other)) + " held");
		}
	}

	/* Far more grants than the rule needs while nothing else happens */
	static constexpr u32 MANY_GRANTS = 8;

	const u32 windows_[2];
	generator random_;
	std::unique_ptr<party> ends_[2];
	std::deque<octets> wire_[2]; /* sent by this side, not received yet */
	std::deque<item> calls_[2], replies_[2];
	bool in_sequence_[2] = {};
	what sequence_[2] = {};
	std::deque<u32> held_[2];
	u32 now_ = 1; /* milliseconds */
	u32 xid_[2];
	u32 outstanding_[2] = {};
	/* The counts as an observer of the wire computes them */
	u32 posted_[2] = {}, received_[2] = {}, sent_[2] = {}, limit_[2];
	u32 grants_ = 0, quiet_grants_ = 0;
	std::string complaint_;
};

/* All windows, or those where a difference is likely */
inline std::vector<u32> windows()
{
	std::vector<u32> all;

	for (u32 w = 4; w <= 128; w++) {
		if (!SAMPLE || w < 10 || w == 16 || w == 33 || w == 64 ||
		    w == 128)
			all.push_back(w);
	}
	return all;
}

} // namespace engine_test::meetings

#endif
