// SPDX-License-Identifier: GPL-2.0
/*
 * Two ends that act only on events: they allocate and post Receives for
 * EV_RECEIVES, send control messages for EV_CONTROL, retry waiting messages for
 * EV_WINDOW, and begin traffic with EV_OPENED. After each step no such work may
 * be left, because then its event would be missing. Receives are counted as a
 * device counts them, so that a message without a Receive is detected.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>

#include "support.hh"

using namespace engine_test;

namespace
{

enum side {
	CLIENT,
	SERVER,
};

side other(side s)
{
	return s == CLIENT ? SERVER : CLIENT;
}

/* Versions of both ends, and the version they agree on */
struct versions {
	const char *name;
	u8 client_low, client_high, server_low, server_high;
	u8 agreed;
};

constexpr versions VERSIONS[] = {
	{ "version 2", 1, 2, 1, 2, 2 },
	{ "a client of version 1", 1, 1, 1, 2, 1 },
	{ "a server of version 1", 1, 2, 1, 1, 1 },
	{ "version 1", 1, 1, 1, 1, 1 },
};

/* A Call or Reply that waits, or the rest of a continued one */
struct item {
	rpcrdma_kind kind;
	u32 xid;
	u32 parts;
	u32 sent;
};

class station
{
public:
	station(const rpcrdma_conn_config &cfg, generator &random,
		std::deque<octets> &out)
		: random_{ random }, out_{ out }
	{
		rpcrdma_conn_init(&conn, &cfg);
		rx.lists.extra_segs = nullptr;
	}

	/*
	 * The first Receives are posted before the connection is up, without an
	 * event.
	 */
	void begin()
	{
		receives_due();
	}

	void established()
	{
		handle(rpcrdma_conn_established(&conn));
	}

	void call(u32 xid, u32 parts)
	{
		calls.push_back({ RPCRDMA_KIND_CALL, xid, parts, 0 });
		outstanding++;
		send_waiting();
	}

	/* Receive a message. */
	void receive(const octets &m)
	{
		rpcrdma_verdict verdict;
		bool back;

		if (!device_) {
			complain("no Receive for a message");
			return;
		}
		device_--;
		verdict = rpcrdma_conn_receive(&conn, m.data(),
					       static_cast<u32>(m.size()), &rx);

		const u32 events = rx.events;

		calls_since_ = 0;
		back = verdict != RPCRDMA_RX_CALL;
		switch (verdict) {
		case RPCRDMA_RX_CALL:
			held.push_back(rx.xid);
			break;
		case RPCRDMA_RX_REPLY:
		case RPCRDMA_RX_ERROR:
			outstanding--;
			break;
		case RPCRDMA_RX_CLOSE:
			complain("closes");
			return;
		case RPCRDMA_RX_BAD_REPLY:
		case RPCRDMA_RX_PULL_COMPLETE:
			complain("an unexpected message");
			break;
		default:
			break;
		}
		if (back && random_.chance(50)) {
			release_receive();
			back = false;
		}
		handle(events);
		if (back)
			release_receive();
	}

	/* Answer a Call, with an ERROR if there are no @parts. */
	void answer(u32 index, u32 parts)
	{
		const u32 xid = held[index];
		const bool before = random_.chance(50);

		held.erase(held.begin() + index);
		if (before)
			release_receive();
		if (parts) {
			replies.push_back(
				{ RPCRDMA_KIND_REPLY, xid, parts, 0 });
			send_waiting();
		} else {
			handle(rpcrdma_conn_queue_error(
				&conn, xid, RDMA2_ERR_SYSTEM, 0, 0));
		}
		if (!before)
			release_receive();
	}

	/* The pending allocation ends. */
	void finish_making()
	{
		const u32 count = making_;

		making_ = 0;
		if (count)
			made(count);
	}

	/* Fail if work is left for which no event was raised. */
	void check()
	{
		rpcrdma_conn copy = conn;

		if (!complaint.empty())
			return;
		if (rpcrdma_conn_control_due(&conn))
			complain("EV_CONTROL is missing");
		if (!making_ && rpcrdma_recvs_to_alloc(&copy).count)
			complain("EV_RECEIVES is missing, to allocate");
		if (!calls_since_ && rpcrdma_recvs_to_post(&copy, now))
			complain("EV_RECEIVES is missing, to post");
		if (!opened)
			return;
		const item *next = waiting();

		if (next && rpcrdma_conn_may_send(&conn, next->kind))
			complain("EV_WINDOW is missing");
	}

	bool making() const
	{
		return making_;
	}
	/* Return the number of all Receives, wherever they are. */
	u32 receives() const
	{
		return device_ + free_ + static_cast<u32>(held.size());
	}

	rpcrdma_conn conn;
	rpcrdma_rx rx;
	u32 now = 1;
	bool opened = false;
	u32 outstanding = 0;
	u32 refused = 0; /* Receives for which there was no memory */
	u32 free_surplus = 0;
	std::deque<item> calls, replies;
	std::deque<u32> held;
	std::string complaint;

private:
	void complain(const std::string &what)
	{
		if (complaint.empty())
			complaint = what + (conn.reason ? std::string(": ") +
								  conn.reason :
							  "");
	}

	void handle(u32 events)
	{
		if (events & RPCRDMA_EV_CLOSE) {
			complain("closes");
			return;
		}
		if (events & RPCRDMA_EV_RECEIVES)
			receives_due();
		if (events & RPCRDMA_EV_CONTROL)
			controls();
		if (events & RPCRDMA_EV_OPENED) {
			if (opened)
				complain("EV_OPENED is reported twice");
			opened = true;
		}
		if (events & (RPCRDMA_EV_OPENED | RPCRDMA_EV_WINDOW))
			send_waiting();
	}

	void receives_due()
	{
		const rpcrdma_receives want = rpcrdma_recvs_to_alloc(&conn);

		need_ = want.need;
		if (want.count && opened && random_.chance(30)) {
			making_ = want.count;
			post_due();
		} else if (want.count) {
			made(want.count);
		} else {
			post_due();
		}
	}

	void made(u32 count)
	{
		u32 there = count;

		if (need_ != RPCRDMA_RECEIVES_NEEDED && random_.chance(20))
			there = random_.below(count);
		refused += count - there;
		free_ += there;

		const u32 events = rpcrdma_recvs_allocated(&conn, there);

		post_due();
		handle(events);
	}

	void post_due()
	{
		const u32 count = rpcrdma_recvs_to_post(&conn, now);

		if (!count)
			return;
		if (count != free_)
			complain("Receives are posted that are not free");
		device_ += count;
		free_ -= count;
		handle(rpcrdma_recvs_posted(&conn, count));
	}

	void release_receive()
	{
		const u32 events = rpcrdma_recvs_released(&conn);

		if (events & RPCRDMA_EV_FREE_RECEIVE)
			free_surplus++;
		else
			free_++;
		handle(events);
	}

	void controls()
	{
		for (;;) {
			octets m(4096);
			const u32 n = rpcrdma_conn_next_control(
					      &conn, m.data(),
					      static_cast<u32>(m.size()))
					      .octets;

			if (!n)
				return;
			m.resize(n);
			out_.push_back(std::move(m));
		}
	}

	/*
	 * Return the item to send next. A Reply precedes the Calls, but not the
	 * next fragment of a Call.
	 */
	item *waiting()
	{
		if (!calls.empty() && calls.front().sent)
			return &calls.front();
		if (!replies.empty())
			return &replies.front();
		return calls.empty() ? nullptr : &calls.front();
	}

	void send_waiting()
	{
		item *next;

		while (opened && (next = waiting()) &&
		       rpcrdma_conn_may_send(&conn, next->kind)) {
			const bool reply = next->kind == RPCRDMA_KIND_REPLY;
			const bool first = !next->sent;
			const bool more = ++next->sent < next->parts;
			octets buf(4096);

			buf.resize(rpcrdma_encode_header(
				&conn, buf.data(), 4096, next->xid, RDMA2_MSG,
				(reply ? +RDMA2_F_RESPONSE : 0) |
					(more ? +RDMA2_F_MORE : 0),
				nullptr));
			rpcrdma_conn_stamp(&conn, next->kind, buf.data());

			message m{ std::move(buf) };

			if (first)
				m.rpc(next->xid, reply ? REPLY : CALL, 8);
			else
				m.fill(8);
			out_.push_back(m.data());
			if (!more)
				(reply ? replies : calls).pop_front();
			if (conn.version == RPCRDMA_VERS_1 && conn.cfg.client)
				calls_since_ += !reply;
		}
	}

	generator &random_;
	std::deque<octets> &out_;
	/* Receives posted, free, and being allocated */
	u32 device_ = 0, free_ = 0, making_ = 0;
	/* A client's version 1 Calls since the last message received */
	u32 calls_since_ = 0;
	rpcrdma_receives_need need_ = RPCRDMA_RECEIVES_NEEDED;
};

rpcrdma_conn_config config(side s, const versions &v, u32 window, u32 first,
			   u32 octets)
{
	auto cfg = usual_config(s == CLIENT, window);

	cfg.version_low = s == CLIENT ? v.client_low : v.server_low;
	cfg.version_high = s == CLIENT ? v.client_high : v.server_high;
	cfg.first_window = std::min(first, window);
	cfg.props.rbsiz = octets;
	cfg.props.sbsiz = octets;
	return cfg;
}

class pair
{
public:
	pair(const versions &v, u64 seed)
		: random_{ seed }, v_{ v }, ends_{
			  station{ configure(CLIENT), random_, wire_[CLIENT] },
			  station{ configure(SERVER), random_, wire_[SERVER] }
		  }
	{
		for (side s : { CLIENT, SERVER })
			ends_[s].begin();
		for (side s : { SERVER, CLIENT })
			ends_[s].established();
		xid_[CLIENT] = 1;
		xid_[SERVER] = 0x80000001;
		/* A server of version 1 opens with the first Call. */
		call(CLIENT);
		settle();
	}

	/*
	 * Generate as much traffic of each kind as possible, for @steps steps.
	 */
	void traffic(u32 steps)
	{
		while (steps-- && complaint().empty()) {
			const side s = random_.chance(50) ? CLIENT : SERVER;

			switch (random_.below(8)) {
			case 0:
				burst(s);
				break;
			case 1:
			case 2:
				answer(s);
				break;
			case 3:
				finish_making(s);
				break;
			case 4:
				if (random_.chance(3))
					wait();
				if (random_.chance(3))
					settle();
				break;
			default:
				deliver(s);
				break;
			}
		}
	}

	/* Answer all Calls. */
	void finish()
	{
		settle();
		while (complaint().empty() && (answer(CLIENT) | answer(SERVER)))
			settle();
		for (side s : { CLIENT, SERVER }) {
			if (!complaint().empty())
				return;
			if (!ends_[s].opened)
				complain(s, "is not open");
			else if (ends_[s].conn.version != v_.agreed)
				complain(s, "has another version");
			else if (ends_[s].outstanding)
				complain(s, "waits for Replies forever");
			else if (ends_[s].receives() != ends_[s].conn.receives)
				complain(s, "has lost Receives");
		}
	}

	std::string complaint() const
	{
		if (!complaint_.empty())
			return complaint_;
		for (side s : { CLIENT, SERVER }) {
			if (!ends_[s].complaint.empty())
				return name(s) + ends_[s].complaint;
		}
		return {};
	}

	const station &at(side s) const
	{
		return ends_[s];
	}

private:
	static std::string name(side s)
	{
		return s == CLIENT ? "client: " : "server: ";
	}

	void complain(side s, const std::string &what)
	{
		if (complaint_.empty())
			complaint_ = name(s) + what;
	}

	rpcrdma_conn_config configure(side s)
	{
		const u32 window = 4 + random_.below(131);
		const u32 firsts[] = { 4, 7, 16, window };

		return config(s, v_, window, firsts[random_.below(4)],
			      random_.chance(50) ? 4096 : 16384);
	}

	void check()
	{
		for (side s : { CLIENT, SERVER })
			ends_[s].check();
	}

	u32 parts(u32 most)
	{
		return v_.agreed == RPCRDMA_VERS_2 && random_.chance(20) ?
			       2 + random_.below(most - 1) :
			       1;
	}

	void call(side s)
	{
		if (ends_[s].outstanding > 200)
			return;
		ends_[s].call(xid_[s]++, parts(9));
		check();
	}

	void burst(side s)
	{
		for (u32 n = 1 + random_.below(random_.chance(20) ? 40 : 3); n;
		     n--)
			call(s);
	}

	bool answer(side s)
	{
		if (ends_[s].held.empty() || ends_[s].conn.pend_count > 60)
			return false;
		ends_[s].answer(
			random_.below(static_cast<u32>(ends_[s].held.size())),
			random_.chance(5) ? 0 : parts(9));
		check();
		return true;
	}

	bool deliver(side to)
	{
		std::deque<octets> &wire = wire_[other(to)];

		if (wire.empty() || !complaint().empty())
			return false;

		const octets m = std::move(wire.front());

		wire.pop_front();
		ends_[to].receive(m);
		check();
		return true;
	}

	bool finish_making(side s)
	{
		if (!ends_[s].making())
			return false;
		ends_[s].finish_making();
		check();
		return true;
	}

	/* Let the time pass after which unused windows shrink. */
	void wait()
	{
		const u32 ms = random_.below(15000);

		for (side s : { CLIENT, SERVER })
			ends_[s].now += ms;
	}

	/* Run until no message is in flight. */
	void settle()
	{
		while (deliver(CLIENT) | deliver(SERVER) |
		       finish_making(CLIENT) | finish_making(SERVER))
			;
		for (side s : { CLIENT, SERVER })
			check_quiet(s);
	}

	/* Check that no message waits while none is in flight. */
	void check_quiet(side s)
	{
		const station &me = ends_[s], &peer = ends_[other(s)];
		const u32 held = static_cast<u32>(peer.held.size());

		if (!me.opened || !complaint().empty())
			return;
		if (me.conn.pend_count)
			complain(s, "an ERROR waits forever");
		if (!me.replies.empty() &&
		    (me.calls.empty() || !me.calls.front().sent))
			complain(s, "a Reply waits forever");
		if (me.calls.empty())
			return;
		if (v_.agreed == RPCRDMA_VERS_2 ?
			    held + 3 <= peer.conn.window :
			    !held && !peer.conn.pend_count)
			complain(s, "a Call waits forever");
	}

	generator random_;
	const versions &v_;
	std::deque<octets> wire_[2]; /* sent by this side, not received yet */
	station ends_[2];
	u32 xid_[2];
	std::string complaint_;
};

TEST(Events, AreSufficient)
{
	constexpr u32 ROUNDS = 60;

	for (const versions &v : VERSIONS) {
		u32 refused = 0, free_surplus = 0;

		for (u32 seed = 0; seed < ROUNDS; seed++) {
			pair p{ v, seed };

			ASSERT_EQ(p.complaint(), "") << v.name << ' ' << seed;
			p.traffic(1500);
			p.finish();
			ASSERT_EQ(p.complaint(), "") << v.name << ' ' << seed;
			for (side s : { CLIENT, SERVER }) {
				refused += p.at(s).refused;
				free_surplus += p.at(s).free_surplus;
			}
		}
		EXPECT_GT(refused, 0u) << v.name;
		if (v.agreed == RPCRDMA_VERS_2)
			EXPECT_GT(free_surplus, 0u) << v.name;
	}
}

} // namespace
