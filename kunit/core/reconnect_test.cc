// SPDX-License-Identifier: GPL-2.0
/* The reconnect procedure of a client */
#include "lifecycle.hh"

using namespace engine_test;
using namespace engine_test::lifecycle;

namespace
{

/* ---- Reconnect ---- */

struct walked {
	std::vector<enum rpcrdma_reconnect> what;
	int woken = 0;
};

/*
 * @result: of the attempt; @other: of an attempt with the other version; @up:
 *      the connection is still open when it is reported
 */
walked walk_through(bool close, int result, bool up, int other = SILENT)
{
	rpcrdma_reconnect_walk walk = {};
	walked l;
	bool open = false;
	int rc = 0;

	walk.close = close;
	for (;;) {
		const rpcrdma_reconnect_step s =
			rpcrdma_reconnect_next(&walk, rc, open);

		if (s.what == RPCRDMA_RECONNECT_END)
			break;
		l.what.push_back(s.what);
		if (s.what == RPCRDMA_RECONNECT_TRY) {
			rc = result;
			open = !rc;
		} else if (s.what == RPCRDMA_RECONNECT_TRY_OTHER) {
			rc = other;
			open = !rc;
		} else if (s.what == RPCRDMA_RECONNECT_UP) {
			open = up;
		} else if (s.what == RPCRDMA_RECONNECT_WAKE) {
			l.woken = s.status;
		}
	}
	EXPECT_EQ(rpcrdma_reconnect_next(&walk, 0, true).what,
		  RPCRDMA_RECONNECT_END);
	return l;
}

using steps = std::vector<enum rpcrdma_reconnect>;

TEST(Reconnect, Connects)
{
	const walked l = walk_through(false, 0, true);

	EXPECT_EQ(l.what,
		  (steps{ RPCRDMA_RECONNECT_FORGET, RPCRDMA_RECONNECT_TRY,
			  RPCRDMA_RECONNECT_KEEP, RPCRDMA_RECONNECT_SETTLED,
			  RPCRDMA_RECONNECT_UP, RPCRDMA_RECONNECT_WAKE,
			  RPCRDMA_RECONNECT_UNLOCK }));
	EXPECT_EQ(l.woken, -11);
}

/* The connection ended before the transport owned it. */
TEST(Reconnect, EndsDuringSetup)
{
	const walked l = walk_through(false, 0, false);

	EXPECT_EQ(l.what,
		  (steps{ RPCRDMA_RECONNECT_FORGET, RPCRDMA_RECONNECT_TRY,
			  RPCRDMA_RECONNECT_KEEP, RPCRDMA_RECONNECT_SETTLED,
			  RPCRDMA_RECONNECT_UP, RPCRDMA_RECONNECT_DROP,
			  RPCRDMA_RECONNECT_WAKE, RPCRDMA_RECONNECT_UNLOCK }));
	EXPECT_EQ(l.woken, -11);
}

TEST(Reconnect, Fails)
{
	const struct {
		int result, reported;
	} cases[] = { { NO_CONNECTION, NO_CONNECTION },
		      { NO_MEMORY, -105 },
		      { NO_DEVICE, UNREACHABLE },
		      { -22, -71 } };

	for (const auto &c : cases) {
		const walked l = walk_through(false, c.result, true);

		EXPECT_EQ(l.what, (steps{ RPCRDMA_RECONNECT_FORGET,
					  RPCRDMA_RECONNECT_TRY,
					  RPCRDMA_RECONNECT_SETTLED,
					  RPCRDMA_RECONNECT_WAKE,
					  RPCRDMA_RECONNECT_UNLOCK }));
		EXPECT_EQ(l.woken, c.reported);
	}
}

/* Another version is tried once, and only with a peer that sent nothing. */
TEST(Reconnect, TriesAnotherVersion)
{
	const walked l = walk_through(false, SILENT, true, 0);

	EXPECT_EQ(l.what,
		  (steps{ RPCRDMA_RECONNECT_FORGET, RPCRDMA_RECONNECT_TRY,
			  RPCRDMA_RECONNECT_TRY_OTHER, RPCRDMA_RECONNECT_KEEP,
			  RPCRDMA_RECONNECT_SETTLED, RPCRDMA_RECONNECT_UP,
			  RPCRDMA_RECONNECT_WAKE, RPCRDMA_RECONNECT_UNLOCK }));
	EXPECT_EQ(l.woken, -11);
	for (const int other : { SILENT, REFUSED }) {
		const walked none = walk_through(false, SILENT, true, other);

		EXPECT_EQ(none.what, (steps{ RPCRDMA_RECONNECT_FORGET,
					     RPCRDMA_RECONNECT_TRY,
					     RPCRDMA_RECONNECT_TRY_OTHER,
					     RPCRDMA_RECONNECT_SETTLED,
					     RPCRDMA_RECONNECT_WAKE,
					     RPCRDMA_RECONNECT_UNLOCK }));
		EXPECT_EQ(none.woken, other == SILENT ? NO_CONNECTION : other);
	}
}

/* No task is woken here, because sunrpc wakes them when the end is reported. */
TEST(Reconnect, Closes)
{
	EXPECT_EQ(walk_through(true, 0, true).what,
		  (steps{ RPCRDMA_RECONNECT_FORGET, RPCRDMA_RECONNECT_DOWN }));
	EXPECT_EQ(walk_through(true, -5, false).what,
		  (steps{ RPCRDMA_RECONNECT_FORGET, RPCRDMA_RECONNECT_DOWN }));
}

} // namespace
