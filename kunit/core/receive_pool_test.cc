// SPDX-License-Identifier: GPL-2.0
/*
 * The account of Receives: windows that grow and shrink with their use, and
 * Receives that are posted in batches
 */
#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr u32 FIRST = 16, MOST = 64, BATCH = 8;
/* Milliseconds after which an unused window shrinks */
constexpr u32 LONG = 10000;

/* An end that allocates, posts and frees Receives as the engine requests */
class account
{
public:
	explicit account(bool client, u32 version = RPCRDMA_VERS_2,
			 u32 first = FIRST, u32 octets = 4096)
	{
		auto cfg = usual_config(client, MOST);
		message opening;

		cfg.first_window = first;
		cfg.props.rbsiz = octets;
		cfg.version_low = RPCRDMA_VERS_1;
		cfg.version_high = static_cast<u8>(version);
		e = std::make_unique<end>(cfg);
		due();
		if (version == RPCRDMA_VERS_1) {
			if (client)
				rpcrdma_conn_established(&e->conn);
			return;
		}
		if (client) {
			rpcrdma_conn_established(&e->conn);
			e->control();
		}
		take(connprop_of(usual_config(!client), 1000, client));
		if (!client) {
			e->control();
			/*
			 * Including the Receive used by the client's CONNPROP
			 */
			EXPECT_EQ(e->conn.advertised, 1 + first);
		}
		/* The first free Receives are posted as one batch. */
		calls(std::min(BATCH, first / 4) - free);
		advertise();
	}

	/* Receive a message, and release its Receive unless @hold. */
	void take(const message &m, bool hold = false)
	{
		rx.lists.extra_segs = nullptr;
		rpcrdma_conn_receive(&e->conn, m.data().data(), m.size(), &rx);
		received++;
		if (rx.events & RPCRDMA_EV_RECEIVES)
			due();
		if (hold)
			held++;
		else
			release_receive();
	}

	void calls(u32 count, bool hold = false)
	{
		for (; count; count--)
			take(message{}
				     .prefix(received, RDMA2_MSG, 0, 1000,
					     e->conn.sent)
				     .no_lists()
				     .rpc(received, CALL, 64),
			     hold);
	}

	void release_receive()
	{
		const u32 events = rpcrdma_recvs_released(&e->conn);

		if (events & RPCRDMA_EV_FREE_RECEIVE)
			free_surplus++;
		else
			free++;
		if (events & RPCRDMA_EV_RECEIVES)
			due();
	}

	/* Send a message, which advertises the window to the peer. */
	void advertise()
	{
		e->send(RPCRDMA_KIND_REPLY, 1);
	}

	void due()
	{
		const rpcrdma_receives make = rpcrdma_recvs_to_alloc(&e->conn);
		const u32 there = std::min(make.count, memory);

		if (make.count) {
			asked++;
			need = make.need;
			EXPECT_EQ(0u, rpcrdma_recvs_to_alloc(&e->conn).count);
			rpcrdma_recvs_allocated(&e->conn, there);
			free += there;
			made += there;
		}

		const u32 post = rpcrdma_recvs_to_post(&e->conn, now);

		if (!post)
			return;
		EXPECT_EQ(post, free);
		posted += post;
		posts++;
		free = 0;
		if (rpcrdma_recvs_posted(&e->conn, post) & RPCRDMA_EV_RECEIVES)
			due();
	}

	/* Return the number of Receives posted to the device. */
	u32 with_device() const
	{
		return posted - received;
	}

	std::unique_ptr<end> e;
	rpcrdma_rx rx;
	u32 memory = 1000, now = 1;
	u32 made = 0, free = 0, held = 0, posted = 0, posts = 0, received = 0;
	u32 free_surplus = 0, asked = 0;
	rpcrdma_receives_need need = RPCRDMA_RECEIVES_WANTED;
};

TEST(Receives, BeginWithAFew)
{
	for (bool client : { false, true }) {
		account a{ client };

		EXPECT_EQ(a.made, FIRST + 1);
		EXPECT_EQ(a.e->conn.window, FIRST);
	}
}

TEST(Receives, AllAtOnceIfConfigured)
{
	auto cfg = usual_config(true, MOST);
	end e{ cfg };

	EXPECT_EQ(rpcrdma_recvs_to_alloc(&e.conn).count, MOST + 1);
}

/* No message advertises the free Receives. */
TEST(Receives, WindowDoublesWithUse)
{
	account a{ false };

	a.calls(FIRST / 2 - 1);
	EXPECT_EQ(a.made, FIRST + 1);
	a.calls(1);
	EXPECT_EQ(a.made, 2 * FIRST + 1);
	EXPECT_EQ(a.e->conn.window, 2 * FIRST);
	/* Only once, until the peer can know the new window */
	a.calls(FIRST / 2 - 2);
	EXPECT_EQ(a.made, 2 * FIRST + 1);
	a.advertise();
	a.calls(2 * FIRST);
	EXPECT_EQ(a.e->conn.window, 4 * FIRST);
}

/* Clients that connect and then are almost idle need few Receives. */
TEST(Receives, AUsedConnectionHasAUsualWindow)
{
	constexpr u32 USED = 8, USUAL = RPCRDMA_USUAL_WINDOW;
	account a{ false, RPCRDMA_VERS_2, RPCRDMA_FIRST_WINDOW };

	while (a.received < USED - 1) {
		a.calls(1);
		a.advertise();
		EXPECT_EQ(a.made, RPCRDMA_FIRST_WINDOW + 1u);
	}
	a.calls(1);
	EXPECT_EQ(a.made, USUAL + 1);
	EXPECT_EQ(a.e->conn.window, USUAL);
	/*
	 * One Call at a time uses little of a window, but the window does not
	 * shrink further.
	 */
	for (u32 i = 0; i < 8; i++) {
		a.now += LONG;
		a.advertise();
		a.calls(USUAL / 4);
	}
	EXPECT_EQ(a.made, USUAL + 1);
	EXPECT_EQ(a.e->conn.window, USUAL);
	EXPECT_EQ(a.free_surplus, 0u);
}

/* No Receive is freed that could be posted. */
TEST(Receives, WindowDoublesWhereMostAreHeld)
{
	account a{ false };

	a.calls(FIRST / 4 * 3, true);
	EXPECT_EQ(a.made, FIRST + 1);
	a.calls(1, true);
	EXPECT_EQ(a.made, 2 * FIRST + 1);
	EXPECT_EQ(a.e->conn.window, 2 * FIRST);
	/* Only once, until the peer can know the new window */
	a.calls(2, true);
	EXPECT_EQ(a.made, 2 * FIRST + 1);
	/*
	 * The new window is granted at once, unless another message conveys it.
	 */
	while (!a.e->control().data().empty())
		;
	EXPECT_GE(a.e->conn.advertised - a.e->conn.received, FIRST);

	for (u32 i = 0; i < MOST - FIRST; i++) {
		a.calls(1, true);
		a.advertise();
	}
	EXPECT_EQ(a.made, MOST + 1);
	EXPECT_EQ(a.e->conn.window, MOST);
}

TEST(Receives, WindowStaysSmallWithoutMemory)
{
	account a{ false };

	a.memory = 3;
	a.calls(FIRST / 4 * 3 + 1, true);
	EXPECT_EQ(a.e->conn.window, FIRST + 3);
	EXPECT_EQ(a.e->conn.state, RPCRDMA_CONN_OPEN);
	/* The allocation is not retried with each message. */
	a.calls(1, true);
	EXPECT_EQ(a.made, FIRST + 1 + 3);
	a.memory = 1000;
	for (u32 i = 0; i < 3 * FIRST; i++) {
		a.calls(1);
		if (a.e->conn.advertised == a.e->conn.received + 1)
			a.advertise();
	}
	EXPECT_GT(a.made, 2 * FIRST);
}

/*
 * After a failure, memory is requested again only once a window has been used
 * up.
 */
TEST(Receives, AllocationIsNotRetriedAtOnce)
{
	account a{ false };
	const u32 before = a.received;

	a.memory = 0;
	a.asked = 0;
	for (u32 i = 0; i < 20; i++) {
		a.calls(FIRST / 2, true);
		for (; a.held; a.held--)
			a.release_receive();
		a.advertise();
	}
	EXPECT_GT(a.asked, 1u);
	EXPECT_LE(a.asked, (a.received - before) / FIRST + 1);
	EXPECT_EQ(a.e->conn.window, FIRST);
}

TEST(Receives, UnusedWindowShrinks)
{
	account a{ false };

	a.calls(FIRST / 4 * 3 + 1, true);
	a.advertise();
	ASSERT_EQ(a.e->conn.window, 2 * FIRST);
	for (; a.held; a.held--)
		a.release_receive();
	a.advertise();

	for (u32 i = 0; i < 3 * BATCH; i++) {
		a.calls(1);
		a.advertise();
		a.now += LONG / BATCH;
	}
	EXPECT_EQ(a.e->conn.window, FIRST);

	/*
	 * The peer keeps the credits advertised to it; Receives that it uses
	 * are not replaced.
	 */
	const u32 advertised = a.e->conn.advertised;

	a.calls(FIRST / 2);
	a.advertise();
	EXPECT_EQ(a.e->conn.advertised, advertised);
	for (u32 i = 0; i < 2 * FIRST; i++) {
		a.calls(1);
		a.advertise();
		EXPECT_GE(a.with_device(), FIRST - BATCH);
	}
	EXPECT_EQ(a.made - a.free_surplus, FIRST + 1);
	EXPECT_EQ(a.free_surplus, FIRST);
	/* The window never shrinks below the first one. */
	for (u32 i = 0; i < 10; i++) {
		a.now += LONG;
		a.calls(1);
		a.advertise();
	}
	EXPECT_EQ(a.free_surplus, FIRST);
}

TEST(Receives, UsedWindowStays)
{
	account a{ false };

	a.calls(FIRST / 2, true);
	/* More than an eighth of the larger window, less than half of it */
	for (; a.held > 5; a.held--)
		a.release_receive();
	for (u32 i = 0; i < 200; i++) {
		a.advertise();
		a.calls(1, true);
		a.held--;
		a.release_receive();
		a.now += LONG / 10;
	}
	EXPECT_EQ(a.e->conn.window, 2 * FIRST);
	EXPECT_EQ(a.free_surplus, 0u);
}

/* Grow the window to that size, and then leave it unused. */
void widen(account &a, u32 window)
{
	for (u32 i = 0; a.e->conn.window < window && i < 2 * MOST; i++) {
		a.calls(1, true);
		a.advertise();
	}
	ASSERT_EQ(a.e->conn.window, window);
	for (; a.held; a.held--)
		a.release_receive();
	a.advertise();
}

/* Receive the Calls of one batch of Receives, one at a time. */
void few_calls(account &a)
{
	for (u32 i = 0; i < BATCH; i++) {
		a.calls(1);
		a.advertise();
	}
}

/*
 * A window grows with use even if it was small for more messages than a serial
 * number spans.
 */
TEST(Receives, WindowGrowsHoweverLongItWasSmall)
{
	constexpr u32 STEP = 1u << 30;

	for (u32 steps = 0; steps < 10; steps++) {
		account a{ false };

		widen(a, MOST);
		while (a.e->conn.window > FIRST) {
			a.now += LONG;
			few_calls(a);
		}
		/* Continue until Receives are posted again instead of freed. */
		while (a.e->conn.receives > a.e->conn.recvs_wanted)
			few_calls(a);
		for (u32 i = 0; i < steps; i++) {
			a.e->conn.received += STEP;
			a.e->conn.posted += STEP;
			a.e->conn.advertised += STEP;
			few_calls(a);
		}
		ASSERT_EQ(a.e->conn.window, FIRST);
		widen(a, MOST);
	}
}

/* A window's size is determined by its maximum use, not by its latest use. */
TEST(Receives, RarelyUsedWindowStays)
{
	account a{ false };

	widen(a, 2 * FIRST);
	few_calls(a);
	for (u32 i = 0; i < 20; i++) {
		/* More than an eighth of it, and less than half */
		a.calls(FIRST / 2, true);
		for (; a.held; a.held--)
			a.release_receive();
		a.advertise();
		for (u32 n = 0; n < 4; n++) {
			a.now += LONG / 4;
			few_calls(a);
		}
		ASSERT_EQ(a.e->conn.window, 2 * FIRST);
	}
}

/* The window was used, but not recently enough. */
TEST(Receives, WindowShrinksWhenNoLongerUsed)
{
	account a{ false };

	widen(a, 2 * FIRST);
	for (u32 i = 0; i < 3; i++) {
		a.now += LONG;
		few_calls(a);
	}
	EXPECT_EQ(a.e->conn.window, FIRST);
}

/* After each halving, the new window is observed for the same time. */
TEST(Receives, WindowIsHalvedOncePerPeriod)
{
	account a{ false };
	u32 before, changed = 0;

	widen(a, 4 * FIRST);
	before = a.e->conn.window;
	for (u32 i = 0; i < 100 && before > FIRST; i++) {
		a.now += LONG / 10;
		few_calls(a);
		if (a.e->conn.window == before)
			continue;
		EXPECT_EQ(a.e->conn.window, before / 2);
		if (changed)
			EXPECT_GE(a.now - changed, LONG);
		changed = a.now;
		before = a.e->conn.window;
	}
	EXPECT_EQ(before, FIRST);
}

/* A free Receive replaces one that a Call holds, even if there are too many. */
TEST(Receives, NoneIsFreedThatThePeerNeeds)
{
	account a{ false };

	widen(a, 2 * FIRST);
	for (u32 i = 0; a.e->conn.window > FIRST && i < 100; i++) {
		a.now += LONG;
		few_calls(a);
	}
	ASSERT_EQ(a.e->conn.window, FIRST);
	/* The peer uses the larger window that it was granted. */
	a.calls(FIRST, true);
	ASSERT_LT(a.with_device(), FIRST);
	ASSERT_GT(a.made - a.free_surplus, FIRST + 1) << "there are too many";

	const u32 before = a.free_surplus;

	a.held--;
	a.release_receive();
	EXPECT_EQ(a.free_surplus, before);
}

TEST(Receives, SeveralArePostedTogether)
{
	for (bool client : { false, true }) {
		account a{ client, RPCRDMA_VERS_2, MOST };

		a.posts = 0;
		for (u32 i = 0; i < 100 * BATCH; i++) {
			a.calls(1);
			a.advertise();
		}
		EXPECT_EQ(a.posts, 100u);
	}
}

/* Withheld Receives would be missing when Calls hold the others. */
TEST(Receives, NoneIsWithheldFromAPeerInNeed)
{
	account a{ false, RPCRDMA_VERS_2, MOST };

	a.calls(BATCH - 1);
	EXPECT_EQ(a.free, BATCH - 1);
	while (a.with_device() > MOST / 4 + 1) {
		EXPECT_EQ(a.free, BATCH - 1);
		a.calls(1, true);
	}
	a.advertise();
	a.calls(1, true);
	EXPECT_EQ(a.free, 0u);
	/* From here on, free Receives are posted at once. */
	a.advertise();
	a.calls(BATCH, true);
	a.posts = 0;
	a.release_receive();
	a.calls(1, true);
	a.release_receive();
	EXPECT_EQ(a.posts, 2u);
}

TEST(Receives, SmallestWindowWithholdsNone)
{
	auto cfg = usual_config(false, RPCRDMA_MIN_WINDOW);

	auto e = open_end(cfg, usual_config(true));

	for (u32 i = 0; i < 10; i++) {
		EXPECT_FALSE(rpcrdma_recvs_released(&e->conn) &
			     RPCRDMA_EV_FREE_RECEIVE);
		EXPECT_EQ(rpcrdma_recvs_to_post(&e->conn, 0), 1u);
		rpcrdma_recvs_posted(&e->conn, 1);
	}
}

/* A client needs a Receive for each Call that may be outstanding. */
TEST(Receives, AVersion1ClientHasAllAtOnce)
{
	account a{ true, RPCRDMA_VERS_1 };

	EXPECT_EQ(a.made, FIRST + 1);
	a.due();
	EXPECT_EQ(a.made, MOST + 1);
	EXPECT_EQ(a.e->conn.state, RPCRDMA_CONN_OPEN);
}

TEST(Receives, AVersion1ClientNeedsAll)
{
	account a{ true, RPCRDMA_VERS_1 };

	a.memory = MOST - FIRST - 1;
	a.due();
	EXPECT_EQ(a.need, RPCRDMA_RECEIVES_NEEDED);
	EXPECT_EQ(a.e->conn.state, RPCRDMA_CONN_CLOSING);
}

TEST(Receives, NoConnectionWithoutTheFirstReceives)
{
	auto cfg = usual_config(true, MOST);
	rpcrdma_receives make;

	cfg.first_window = FIRST;
	end e{ cfg };

	make = rpcrdma_recvs_to_alloc(&e.conn);
	EXPECT_EQ(make.need, RPCRDMA_RECEIVES_NEEDED);
	EXPECT_EQ(rpcrdma_recvs_allocated(&e.conn, make.count - 1),
		  +RPCRDMA_EV_CLOSE);
}

/*
 * Large Receives need more than a page each, which may not be available
 * contiguously.
 */
TEST(Receives, TheFirstReceivesShrinkWithoutMemory)
{
	auto cfg = usual_config(true, MOST);
	rpcrdma_receives make;
	rpcrdma_private priv;

	cfg.first_window = FIRST;
	cfg.props.sbsiz = 16384;
	cfg.props.rbsiz = 8192;
	end e{ cfg };

	make = rpcrdma_recvs_to_alloc(&e.conn);
	EXPECT_EQ(make.octets, 8192u);
	EXPECT_EQ(make.need, RPCRDMA_RECEIVES_OR_SMALLER);
	EXPECT_EQ(rpcrdma_conn_send_octets(&e.conn), 16384u);
	EXPECT_EQ(rpcrdma_recvs_allocated(&e.conn, make.count - 5),
		  +RPCRDMA_EV_RECEIVES);
	EXPECT_EQ(rpcrdma_conn_send_octets(&e.conn), 4096u);
	rpcrdma_conn_build_private(&e.conn, &priv);
	EXPECT_EQ(priv.recv_size, 4096u);
	EXPECT_EQ(priv.send_size, 4096u);
	EXPECT_EQ(e.conn.cfg.props.rbsiz, 4096u);

	make = rpcrdma_recvs_to_alloc(&e.conn);
	EXPECT_EQ(make.count, 5u);
	EXPECT_EQ(make.octets, 4096u);
	EXPECT_EQ(make.need, RPCRDMA_RECEIVES_NEEDED);
	EXPECT_EQ(rpcrdma_recvs_allocated(&e.conn, 4), +RPCRDMA_EV_CLOSE);
}

/* If five pages are not available, four may be. */
TEST(Receives, TheFirstReceivesShrinkInSteps)
{
	auto cfg = usual_config(true, MOST);

	cfg.first_window = FIRST;
	cfg.props.sbsiz = 1024;
	cfg.props.rbsiz = 20480;
	end e{ cfg };

	for (u32 octets : { 20480u, 16384u }) {
		const rpcrdma_receives make = rpcrdma_recvs_to_alloc(&e.conn);

		EXPECT_EQ(make.octets, octets);
		EXPECT_EQ(make.need, RPCRDMA_RECEIVES_OR_SMALLER);
		EXPECT_EQ(rpcrdma_recvs_allocated(&e.conn, 0),
			  +RPCRDMA_EV_RECEIVES);
	}
	EXPECT_EQ(rpcrdma_recvs_to_alloc(&e.conn).octets, 4096u);
	EXPECT_EQ(e.conn.cfg.props.rbsiz, 4096u);
	EXPECT_EQ(e.conn.cfg.props.sbsiz, 1024u);
}

/*
 * If only some of the first Receives could be allocated, none is posted: the others may still
 * be smaller, and none of them waits for larger memory.
 */
TEST(Receives, TheFirstReceivesArePostedTogether)
{
	auto cfg = usual_config(true, MOST);
	rpcrdma_receives make;

	cfg.first_window = FIRST;
	cfg.props.sbsiz = 4096;
	cfg.props.rbsiz = 20480;
	end e{ cfg };

	for (u32 octets : { 20480u, 16384u }) {
		make = rpcrdma_recvs_to_alloc(&e.conn);
		EXPECT_EQ(make.octets, octets);
		EXPECT_EQ(make.need, RPCRDMA_RECEIVES_OR_SMALLER);
		EXPECT_EQ(rpcrdma_recvs_allocated(&e.conn, 1),
			  +RPCRDMA_EV_RECEIVES);
		EXPECT_EQ(rpcrdma_recvs_to_post(&e.conn, 0), 0u);
	}
	make = rpcrdma_recvs_to_alloc(&e.conn);
	EXPECT_EQ(make.octets, 4096u);
	EXPECT_EQ(make.need, RPCRDMA_RECEIVES_NEEDED);
	EXPECT_EQ(make.count, FIRST + 1 - 2);
	EXPECT_EQ(rpcrdma_recvs_allocated(&e.conn, make.count), 0u);
	EXPECT_EQ(rpcrdma_recvs_to_post(&e.conn, 0), FIRST + 1);
}

/* A client announces no larger messages than it has a buffer for. */
TEST(Receives, SendsShrinkInSteps)
{
	auto cfg = usual_config(true, MOST);

	cfg.props.sbsiz = 20480;
	cfg.props.rbsiz = 20480;
	end e{ cfg };

	for (u32 octets : { 16384u, 4096u }) {
		EXPECT_TRUE(rpcrdma_conn_send_less(&e.conn));
		EXPECT_EQ(e.conn.cfg.props.sbsiz, octets);
		EXPECT_EQ(rpcrdma_conn_send_octets(&e.conn), octets);
	}
	EXPECT_FALSE(rpcrdma_conn_send_less(&e.conn));
	EXPECT_EQ(e.conn.cfg.props.sbsiz, 4096u);
	EXPECT_EQ(e.conn.cfg.props.rbsiz, 20480u);
}

/* The announced size is kept: a window that does not grow does no harm. */
TEST(Receives, LaterReceivesDoNotShrink)
{
	account a{ false, RPCRDMA_VERS_2, FIRST, 8192 };
	rpcrdma_receives make;

	a.memory = 3;
	a.calls(FIRST / 4 * 3 + 1, true);
	EXPECT_EQ(a.e->conn.window, FIRST + 3);
	make = rpcrdma_recvs_to_alloc(&a.e->conn);
	EXPECT_EQ(make.octets, 8192u);
	EXPECT_EQ(make.need, RPCRDMA_RECEIVES_WANTED);
	EXPECT_EQ(a.need, RPCRDMA_RECEIVES_WANTED);
}

/* On an open connection, Receives are no larger than the peer's messages. */
TEST(Receives, MessagesAreNoLargerThanThePeerAccepts)
{
	auto cfg = usual_config(true), peer = usual_config(false);

	cfg.props.sbsiz = 16384;
	peer.props.rbsiz = 8192;
	EXPECT_EQ(rpcrdma_conn_send_octets(&open_end(cfg, peer)->conn), 8192u);
	cfg.props.sbsiz = 5000;
	EXPECT_EQ(rpcrdma_conn_send_octets(&open_end(cfg, peer)->conn), 5000u);
	peer.props.rbsiz = 1024;
	EXPECT_EQ(rpcrdma_conn_send_octets(&open_end(cfg, peer)->conn), 4096u);
}

/* Receives hold a CONNPROP, whatever size is announced. */
TEST(Receives, AtLeastTheDefaultThreshold)
{
	auto cfg = usual_config(true, MOST);
	rpcrdma_receives make;
	rpcrdma_private priv;

	cfg.props.sbsiz = cfg.props.rbsiz = 1024;
	end e{ cfg };

	make = rpcrdma_recvs_to_alloc(&e.conn);
	EXPECT_EQ(make.octets, 4096u);
	EXPECT_EQ(make.need, RPCRDMA_RECEIVES_NEEDED);
	EXPECT_EQ(rpcrdma_conn_send_octets(&e.conn), 4096u);
	rpcrdma_conn_build_private(&e.conn, &priv);
	EXPECT_EQ(priv.recv_size, 1024u);
	EXPECT_EQ(priv.send_size, 1024u);
}

/*
 * All Receives are allocated permanently, so they are no larger than the peer's
 * messages. The peer may send more than the size it announced, which was
 * rounded down.
 */
TEST(Receives, Version1ReceivesFitThePeersSends)
{
	for (u32 sends : { 1024u, 4096u, 6144u, 8192u, 16384u }) {
		auto cfg = usual_config(false, MOST);
		const rpcrdma_private priv = { .valid = 1,
					       .inv_ok = 1,
					       .send_size = sends,
					       .recv_size = 4096 };
		const u32 least = std::clamp(sends, 4096u, 8192u);
		rpcrdma_private own;

		cfg.version_low = RPCRDMA_VERS_1;
		cfg.props.sbsiz = cfg.props.rbsiz = 8192;
		end e{ cfg };

		rpcrdma_conn_set_peer_private(&e.conn, &priv);
		rpcrdma_conn_build_private(&e.conn, &own);
		EXPECT_EQ(own.recv_size, least);
		EXPECT_EQ(own.send_size, 8192u);
		/* The peer may still turn out to have version 2. */
		EXPECT_EQ(rpcrdma_recvs_to_alloc(&e.conn).octets, 8192u);
		e.post(rpcrdma_window_receives(MOST));
		e.receive(message{}
				  .word(7)
				  .word(1)
				  .word(32)
				  .word(0)
				  .word(0)
				  .word(0)
				  .word(0)
				  .rpc(7, CALL, 64));
		ASSERT_EQ(e.conn.version, +RPCRDMA_VERS_1);
		EXPECT_EQ(rpcrdma_recvs_to_alloc(&e.conn).octets, least);
	}
}

} // namespace
