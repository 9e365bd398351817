// SPDX-License-Identifier: GPL-2.0
/* Incoming connections, with their events in every order */
#include <algorithm>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr u32 BACKLOG = RPCRDMA_MAX_PENDING, ALL = RPCRDMA_MAX_PENDING_ALL;

/* The listener under test, for functions that are called without a context */
struct listener;
listener *called;

bool attach(rpcrdma_pending_conn *pending);
void evict(rpcrdma_pending_conn *pending);
void close(rpcrdma_pending_conn *pending);

constexpr rpcrdma_admission_user USER = { attach, evict };

/*
 * A listener, and the connections of its user in order of arrival, which the core's lists
 * are compared with
 */
struct listener {
	rpcrdma_admission all;
	std::deque<rpcrdma_pending_conn *> opening, opened, closed;
	std::deque<rpcrdma_pending_conn> guests;
	/*
	 * Each step of time exceeds the grace by default, so that any
	 * connection can be evicted.
	 */
	u32 now = 0xfffffff0, step = RPCRDMA_PENDING_GRACE_MS;
	/* Evictions of the current request; connections attached so far */
	u32 evicted = 0, memory_after = 0;
	size_t attached = 0;

	listener()
	{
		rpcrdma_admission_init(&all);
	}
	/*
	 * Request a connection. Memory for it is available after @memory_after
	 * evictions.
	 */
	rpcrdma_pending_conn *ask(enum rpcrdma_admit &admit, u32 after = 0)
	{
		rpcrdma_pending_conn &g = guests.emplace_back();
		const size_t before = attached;

		g = {};
		now += step;
		evicted = 0;
		memory_after = after;
		called = this;
		admit = rpcrdma_admission_admit(&all, &g, &USER, now);
		EXPECT_LE(evicted, 1u);
		/* A refused connection reserves nothing. */
		EXPECT_EQ(attached, before + (admit == RPCRDMA_ADMIT));
		if (admit == RPCRDMA_ADMIT)
			opening.push_back(&g);
		check();
		return admit == RPCRDMA_ADMIT ? &g : nullptr;
	}
	/* Return true if the core's list @of has the connections in @these. */
	static bool same(const list_head *of,
			 const std::deque<rpcrdma_pending_conn *> &these)
	{
		const list_head *at = of->next;

		for (const rpcrdma_pending_conn *each : these) {
			if (at != &each->list)
				return false;
			at = at->next;
		}
		return at == of;
	}
	void check() const
	{
		/* Long lists are compared now and then. */
		if (opening.size() + opened.size() < 8 ||
		    !(guests.size() % 64)) {
			EXPECT_TRUE(same(&all.opening_list, opening));
			EXPECT_TRUE(same(&all.opened_list, opened));
		}
		EXPECT_EQ(rpcrdma_admission_next(&all),
			  opened.empty() ? nullptr : opened.front());
	}
	void stop()
	{
		called = this;
		rpcrdma_admission_stop(&all, close);
	}
	rpcrdma_pending_conn *ask()
	{
		enum rpcrdma_admit admit;
		rpcrdma_pending_conn *g = ask(admit);

		EXPECT_EQ(admit, RPCRDMA_ADMIT);
		return g;
	}
	bool open(rpcrdma_pending_conn *g)
	{
		if (!(rpcrdma_admission_opened(&all, g) &
		      RPCRDMA_PENDING_LISTED))
			return false;
		std::erase(opening, g);
		opened.push_back(g);
		check();
		return true;
	}
	u32 take(rpcrdma_pending_conn *g)
	{
		const u32 todo = rpcrdma_admission_accept(&all, g);

		std::erase(opened, g);
		check();
		return todo;
	}
	u32 gone(rpcrdma_pending_conn *g)
	{
		const u32 todo = rpcrdma_admission_gone(&all, g);

		std::erase(opening, g);
		std::erase(opened, g);
		check();
		return todo;
	}
};

bool attach(rpcrdma_pending_conn *)
{
	const bool memory = called->evicted >= called->memory_after;

	called->attached += memory;
	return memory;
}

void evict(rpcrdma_pending_conn *pending)
{
	ASSERT_FALSE(called->opening.empty());
	EXPECT_EQ(pending, called->opening.front());
	called->opening.pop_front();
	called->evicted++;
	rpcrdma_admission_leave(&called->all, pending);
}

void close(rpcrdma_pending_conn *pending)
{
	called->closed.push_back(pending);
}

TEST(Admission, AcceptedAndServed)
{
	listener l;
	rpcrdma_pending_conn *g = l.ask();

	EXPECT_FALSE(rpcrdma_pending_conn_known(g));
	EXPECT_TRUE(l.open(g));
	EXPECT_FALSE(rpcrdma_admission_is_idle(&l.all));
	/* The listener waits for nothing any more. */
	EXPECT_EQ(l.take(g), u32{ RPCRDMA_PENDING_LAST });
	EXPECT_TRUE(rpcrdma_admission_is_idle(&l.all));
	EXPECT_FALSE(rpcrdma_pending_conn_known(g));
	EXPECT_EQ(rpcrdma_pending_conn_served(g, true),
		  u32{ RPCRDMA_PENDING_DATA });
	EXPECT_TRUE(rpcrdma_pending_conn_known(g));
	EXPECT_EQ(rpcrdma_admission_gone(nullptr, g),
		  u32{ RPCRDMA_PENDING_CLOSE });
	/* The end is reported only once. */
	EXPECT_EQ(rpcrdma_admission_gone(nullptr, g), 0u);
}

/*
 * A connection that ends before the service accepts it is freed, and the
 * service is not notified.
 */
TEST(Admission, EndsBeforeItIsAccepted)
{
	listener l;
	rpcrdma_pending_conn *opening = l.ask(), *opened = l.ask(),
			     *taken = l.ask();

	EXPECT_TRUE(l.open(opened));
	EXPECT_TRUE(l.open(taken));
	EXPECT_EQ(l.take(taken), 0u);
	/*
	 * A thread is accepting the connection, and is notified of the end
	 * afterwards.
	 */
	EXPECT_EQ(rpcrdma_admission_gone(nullptr, taken), 0u);
	EXPECT_EQ(rpcrdma_pending_conn_served(taken, false),
		  u32{ RPCRDMA_PENDING_CLOSE });
	EXPECT_TRUE(rpcrdma_pending_conn_known(taken));
	EXPECT_EQ(l.gone(opening), u32{ RPCRDMA_PENDING_FREE });
	EXPECT_EQ(l.gone(opened), RPCRDMA_PENDING_FREE | RPCRDMA_PENDING_LAST);
	EXPECT_EQ(l.all.opening + l.all.opened + l.all.all, 0u);
}

TEST(Admission, TheOldestOpeningConnectionIsEvicted)
{
	listener l;
	std::vector<rpcrdma_pending_conn *> g;

	for (u32 i = 0; i < BACKLOG; i++)
		g.push_back(l.ask());
	/* An open connection waits for a thread, and is not evicted. */
	EXPECT_TRUE(l.open(g[0]));
	l.ask();
	EXPECT_EQ(g[0]->stage, RPCRDMA_PENDING_OPENED);
	EXPECT_EQ(g[1]->stage, RPCRDMA_PENDING_EVICTED);
	EXPECT_EQ(l.all.opening + l.all.opened, BACKLOG);
	EXPECT_EQ(l.all.all, BACKLOG + 1);
	/* This connection opens after its eviction. Its end frees it. */
	EXPECT_FALSE(l.open(g[1]));
	EXPECT_EQ(l.take(g[1]), 0u);
	EXPECT_EQ(l.gone(g[1]), u32{ RPCRDMA_PENDING_FREE });
	EXPECT_EQ(l.all.all, BACKLOG);
}

/*
 * All connections are open and wait for service: the new one is asked to retry.
 */
TEST(Admission, OpenConnectionsAreNotEvicted)
{
	listener l;
	enum rpcrdma_admit admit;

	for (u32 i = 0; i < BACKLOG; i++)
		EXPECT_TRUE(l.open(l.ask()));
	EXPECT_EQ(l.ask(admit), nullptr);
	EXPECT_EQ(admit, RPCRDMA_ADMIT_TOO_MANY);
	/* If there is no place for the connection, no memory is requested. */
	EXPECT_EQ(l.ask(admit, 1), nullptr);
	EXPECT_EQ(admit, RPCRDMA_ADMIT_TOO_MANY);
	l.take(l.opened.front());
	EXPECT_EQ(l.ask(admit, 1), nullptr);
	EXPECT_EQ(admit, RPCRDMA_ADMIT_NO_MEMORY);
	l.take(l.opened.front());
	l.ask();
}

/* Clients that connect all at once do not evict each other. */
TEST(Admission, NewConnectionsAreNotEvicted)
{
	listener l;
	enum rpcrdma_admit admit;

	l.step = 0;
	for (u32 i = 0; i < BACKLOG; i++)
		l.ask();
	EXPECT_EQ(l.ask(admit), nullptr);
	EXPECT_EQ(admit, RPCRDMA_ADMIT_TOO_MANY);
	EXPECT_EQ(l.ask(admit, 1), nullptr);
	EXPECT_EQ(admit, RPCRDMA_ADMIT_TOO_MANY);
	l.now += RPCRDMA_PENDING_GRACE_MS - 1;
	EXPECT_EQ(l.ask(admit), nullptr);
	EXPECT_EQ(l.all.opening, BACKLOG);
	/* The grace of each connection has passed now. */
	l.now++;
	for (u32 i = 0; i < BACKLOG; i++)
		l.ask();
	EXPECT_EQ(l.all.opening, BACKLOG);
	for (u32 i = 0; i < BACKLOG; i++)
		EXPECT_EQ(l.guests[i].stage, RPCRDMA_PENDING_EVICTED);
	/* The grace of the connections that replaced them has not passed. */
	EXPECT_EQ(l.gone(&l.guests[0]), u32{ RPCRDMA_PENDING_FREE });
	EXPECT_EQ(l.ask(admit), nullptr);
	EXPECT_EQ(admit, RPCRDMA_ADMIT_TOO_MANY);
}

/* Evicted connections that are still being torn down are bounded, too. */
TEST(Admission, ConnectionsInTeardownAreBounded)
{
	listener l;
	enum rpcrdma_admit admit;

	for (u32 i = 0; i < ALL; i++)
		l.ask();
	EXPECT_EQ(l.all.all, ALL);
	EXPECT_EQ(l.ask(admit), nullptr);
	EXPECT_EQ(admit, RPCRDMA_ADMIT_TOO_MANY);
	EXPECT_EQ(l.gone(&l.guests[0]), u32{ RPCRDMA_PENDING_FREE });
	l.ask();
	EXPECT_EQ(l.all.all, ALL);
}

TEST(Admission, AnEvictionReleasesMemory)
{
	listener l;
	enum rpcrdma_admit admit;

	/* No connection can be evicted to release memory. */
	EXPECT_EQ(l.ask(admit, 1), nullptr);
	EXPECT_EQ(admit, RPCRDMA_ADMIT_NO_MEMORY);
	l.ask();
	EXPECT_NE(l.ask(admit, 1), nullptr);
	EXPECT_EQ(l.guests[1].stage, RPCRDMA_PENDING_EVICTED);
	/*
	 * One eviction per request: if it does not release enough, no second
	 * one follows.
	 */
	l.ask();
	EXPECT_EQ(l.ask(admit, 2), nullptr);
	EXPECT_EQ(admit, RPCRDMA_ADMIT_NO_MEMORY);
	EXPECT_EQ(l.all.opening, 1u);
}

TEST(Admission, AStoppedListenerAdmitsNone)
{
	listener l;
	enum rpcrdma_admit admit;
	rpcrdma_pending_conn *opening = l.ask(), *opened = l.ask(),
			     *late = l.ask();

	EXPECT_TRUE(l.open(opened));
	l.stop();
	EXPECT_EQ(l.closed, (std::deque{ opening, late, opened }));
	EXPECT_EQ(l.ask(admit), nullptr);
	EXPECT_EQ(admit, RPCRDMA_ADMIT_STOPPED);
	EXPECT_FALSE(l.open(late));
	EXPECT_EQ(l.gone(opening), u32{ RPCRDMA_PENDING_FREE });
	EXPECT_EQ(l.gone(late), u32{ RPCRDMA_PENDING_FREE });
	EXPECT_EQ(l.gone(opened), RPCRDMA_PENDING_FREE | RPCRDMA_PENDING_LAST);
}

/* Possible events, those of one connection in any order, four deep */
enum event {
	OPENED,
	GONE,
	TAKE,
	SERVED,
	STOP,
	LEAVE,
	NR_EVENTS
};

/*
 * For events in any order, each connection is either freed or reported to the
 * service, exactly once. The end of the listener's last connection is reported,
 * and no count underflows.
 */
void every_order(std::vector<int> &so_far, u32 depth)
{
	listener l;
	rpcrdma_pending_conn *g = l.ask();
	u32 freed = 0, closed = 0, last = 0;
	bool gone = false, taken = false, served = false;

	for (const int what : so_far) {
		u32 todo = 0;

		switch (what) {
		case OPENED:
			if (!gone)
				l.open(g);
			break;
		case GONE:
			if (gone)
				break;
			gone = true;
			todo = taken ? rpcrdma_admission_gone(nullptr, g) :
				       l.gone(g);
			break;
		case TAKE:
			if (std::find(l.opened.begin(), l.opened.end(), g) ==
			    l.opened.end())
				break;
			todo = l.take(g);
			taken = true;
			break;
		case SERVED:
			if (!taken || served)
				break;
			served = true;
			todo = rpcrdma_pending_conn_served(g, false);
			break;
		case STOP:
			l.stop();
			break;
		case LEAVE:
			if (std::find(l.opening.begin(), l.opening.end(), g) ==
			    l.opening.end())
				break;
			rpcrdma_admission_leave(&l.all, g);
			l.opening.clear();
			break;
		}
		freed += !!(todo & RPCRDMA_PENDING_FREE);
		closed += !!(todo & RPCRDMA_PENDING_CLOSE);
		last += !!(todo & RPCRDMA_PENDING_LAST);
		ASSERT_EQ(freed, gone && !taken);
		ASSERT_EQ(closed, gone && served);
		ASSERT_EQ(last, gone || taken);
		ASSERT_EQ(l.all.all, gone || taken ? 0u : 1u);
		ASSERT_EQ(l.all.opening, l.opening.size());
		ASSERT_EQ(l.all.opened, l.opened.size());
		ASSERT_EQ(rpcrdma_pending_conn_known(g),
			  served || (gone && !taken));
	}
	for (int what = 0; depth && what < NR_EVENTS; what++) {
		so_far.push_back(what);
		every_order(so_far, depth - 1);
		so_far.pop_back();
	}
}

TEST(Admission, EveryOrder)
{
	std::vector<int> none;

	every_order(none, 6);
}

/* Many connections at a time, with events in random order */
TEST(Admission, ManyInRandomOrder)
{
	generator random{ 3 };
	listener l;
	std::vector<rpcrdma_pending_conn *> left;
	u32 served = 0;

	for (u32 i = 0; i < 100000; i++) {
		enum rpcrdma_admit admit;

		switch (random.below(8)) {
		case 0:
		case 1:
		case 2:
		case 3:
			if (rpcrdma_pending_conn *g =
				    l.ask(admit, random.below(3)))
				left.push_back(g);
			break;
		case 4:
			if (!l.opening.empty())
				EXPECT_TRUE(l.open(l.opening[random.below(
					static_cast<u32>(l.opening.size()))]));
			break;
		case 5:
			if (l.opened.empty())
				break;
			std::erase(left, l.opened.front());
			l.take(l.opened.front());
			served++;
			break;
		default:
			if (left.empty())
				break;
			const u32 n =
				random.below(static_cast<u32>(left.size()));

			EXPECT_TRUE(l.gone(left[n]) & RPCRDMA_PENDING_FREE);
			left.erase(left.begin() + n);
		}
		ASSERT_EQ(l.all.opening, l.opening.size());
		ASSERT_EQ(l.all.opened, l.opened.size());
		ASSERT_EQ(l.all.all, left.size());
		ASSERT_LE(l.all.opening + l.all.opened, BACKLOG);
		ASSERT_LE(l.all.all, ALL);
	}
	EXPECT_GT(served, 1000u);
}

} // namespace
