// SPDX-License-Identifier: GPL-2.0
/* Callbacks at a client: places for Calls, sessions, and the start of the service. */
#include <gtest/gtest.h>

#include "support.hh"

namespace
{

constexpr int NO_SERVICE = -95, TOO_BIG = -7;

TEST(Callbacks, PlacesAreLimited)
{
	rpcrdma_callbacks cb{};

	for (u32 i = 0; i < 2 * RPCRDMA_CALLBACK_SLOTS; i++)
		EXPECT_TRUE(rpcrdma_callbacks_add_place(&cb)) << i;
	EXPECT_FALSE(rpcrdma_callbacks_add_place(&cb));
	rpcrdma_callbacks_remove_place(&cb);
	EXPECT_TRUE(rpcrdma_callbacks_add_place(&cb));
	EXPECT_FALSE(rpcrdma_callbacks_add_place(&cb));
}

/* The pointer to a service that could not be started remains, and must not be used. */
TEST(Callbacks, AServiceIsUsedAfterTheFirstCallOfASession)
{
	rpcrdma_callbacks cb{};

	EXPECT_EQ(rpcrdma_callbacks_admit(&cb, true, 7, 100), NO_SERVICE);
	rpcrdma_callbacks_begin(&cb, 7);
	EXPECT_EQ(rpcrdma_callbacks_admit(&cb, true, 7, 100), NO_SERVICE);
	EXPECT_FALSE(rpcrdma_callbacks_served(&cb, true, 7));
	EXPECT_EQ(rpcrdma_callbacks_admit(&cb, false, 8, 100), NO_SERVICE);
	EXPECT_FALSE(rpcrdma_callbacks_served(&cb, false, 8));
	EXPECT_EQ(rpcrdma_callbacks_admit(&cb, true, 8, 100), 0);
	EXPECT_TRUE(rpcrdma_callbacks_served(&cb, true, 8));
}

/* The service of the first session goes on to serve a second one. */
TEST(Callbacks, ASecondSessionDoesNotStopTheService)
{
	rpcrdma_callbacks cb{};

	rpcrdma_callbacks_begin(&cb, 1);
	rpcrdma_callbacks_begin(&cb, 5);
	EXPECT_TRUE(rpcrdma_callbacks_served(&cb, true, 5));
	EXPECT_FALSE(rpcrdma_callbacks_end(&cb, false));
	EXPECT_TRUE(rpcrdma_callbacks_served(&cb, true, 5));
	EXPECT_TRUE(rpcrdma_callbacks_end(&cb, false));
	EXPECT_FALSE(rpcrdma_callbacks_served(&cb, true, 6));
	/* The next session has a new service. */
	rpcrdma_callbacks_begin(&cb, 6);
	EXPECT_FALSE(rpcrdma_callbacks_served(&cb, true, 6));
	EXPECT_TRUE(rpcrdma_callbacks_served(&cb, true, 7));
}

TEST(Callbacks, AnEndWithoutSessionStillRemovesCalls)
{
	rpcrdma_callbacks cb{};

	EXPECT_TRUE(rpcrdma_callbacks_end(&cb, false));
	EXPECT_EQ(cb.sessions, 0u);
}

/* Each Call would hold a reference to the transport, so that none is left to remove. */
TEST(Callbacks, TheEndOfTheTransportEndsAllSessions)
{
	rpcrdma_callbacks cb{};

	rpcrdma_callbacks_begin(&cb, 1);
	rpcrdma_callbacks_begin(&cb, 1);
	EXPECT_FALSE(rpcrdma_callbacks_end(&cb, true));
	EXPECT_FALSE(rpcrdma_callbacks_served(&cb, true, 2));
}

TEST(Callbacks, ALongCallIsRefused)
{
	rpcrdma_callbacks cb{};

	rpcrdma_callbacks_begin(&cb, 1);
	EXPECT_EQ(rpcrdma_callbacks_admit(&cb, true, 2,
					  RPCRDMA_CALLBACK_OCTETS),
		  0);
	EXPECT_EQ(rpcrdma_callbacks_admit(&cb, true, 2,
					  RPCRDMA_CALLBACK_OCTETS + 1),
		  TOO_BIG);
	EXPECT_EQ(rpcrdma_callbacks_admit(&cb, true, 2, u64{ 1 } << 32),
		  TOO_BIG);
	/* Without a service that is the reason. */
	EXPECT_EQ(rpcrdma_callbacks_admit(&cb, false, 2, u64{ 1 } << 32),
		  NO_SERVICE);
}

} // namespace
