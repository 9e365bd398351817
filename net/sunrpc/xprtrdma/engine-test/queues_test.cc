// SPDX-License-Identifier: GPL-2.0
/* How deep the queues of a connection are. */
#include <gtest/gtest.h>

#include "support.h"

namespace
{

using namespace engine_test;

constexpr rpcrdma_queue_limits PLENTY = { 16384, 65536, 1 };

constexpr rpcrdma_load server_load(u8 version_low = RPCRDMA_VERS_2)
{
	return { .window = 64,
		 .sends = 64,
		 .regions = 100,
		 .transfers = 48,
		 .writes = 32,
		 .client = 0,
		 .version_low = version_low };
}

constexpr rpcrdma_load client_load()
{
	return { .window = 64,
		 .sends = 64,
		 .regions = 100,
		 .transfers = 8,
		 .writes = 0,
		 .client = 1,
		 .version_low = RPCRDMA_VERS_1 };
}

TEST(Queues, AServersSendQueueHasRoomForRegionsAndWrites)
{
	const rpcrdma_load load = server_load();
	rpcrdma_queues queues = rpcrdma_queues_for(&load, &PLENTY);

	EXPECT_EQ(queues.slots, 64u + RPCRDMA_CONTROL_SENDS + 100);
	EXPECT_EQ(queues.reads, 16u);
	EXPECT_EQ(rpcrdma_queues_send_wrs(&queues), queues.slots + 32 + 1);
	EXPECT_EQ(queues.send_cqes, queues.slots + 32 + 1 + 16);
	EXPECT_EQ(queues.receives, rpcrdma_window_receives(64) + 1);
}

/* A few for each Call, and not for all regions that there may be */
TEST(Queues, AClientsSendQueueHasRoomForTheRegionsOfItsCalls)
{
	rpcrdma_load load = client_load();

	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).slots,
		  64u + RPCRDMA_CONTROL_SENDS + 4 * 64);
	load.regions = 0;
	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).slots,
		  64u + RPCRDMA_CONTROL_SENDS);
	/* None of its peers sends it more than it was granted. */
	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).receives,
		  rpcrdma_window_receives(64) + 1);
}

/* It is told of no limit, and may have a Write for each segment. */
TEST(Queues, APeerOfVersionOneMayHaveManySegments)
{
	rpcrdma_load load = server_load(RPCRDMA_VERS_1);

	load.sends = 4;
	load.regions = 0;
	EXPECT_GT(rpcrdma_queues_for(&load, &PLENTY).slots,
		  u32{ RPCRDMA_MAX_SEGS } + RPCRDMA_MORE_SEGS);
	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).receives,
		  rpcrdma_window_receives(64) + RPCRDMA_V1_SPARE_RECEIVES + 1);
	load.version_low = RPCRDMA_VERS_2;
	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).slots,
		  4u + RPCRDMA_CONTROL_SENDS);
}

TEST(Queues, ReadsIntoRegionsHaveMoreCompletions)
{
	const rpcrdma_load load = server_load();
	rpcrdma_queue_limits most = PLENTY;
	const u32 plain = rpcrdma_queues_for(&load, &most).send_cqes;

	most.read_wrs = RPCRDMA_READ_REGION_WRS;
	EXPECT_EQ(rpcrdma_queues_for(&load, &most).send_cqes,
		  plain + 2 * rpcrdma_queues_for(&load, &most).reads);
}

/* Whatever the settings are, no queue is longer than the device allows. */
TEST(Queues, TheDeviceBoundsThem)
{
	for (u32 wrs = 64; wrs <= 1024; wrs *= 2)
		for (u8 client : { 0, 1 })
			for (u8 version : { 1, 2 }) {
				rpcrdma_load load = {
					.window = 65535,
					.sends = 65535,
					.regions = 65535,
					.transfers = 65535,
					.writes = 65534,
					.client = client,
					.version_low = version,
				};
				const rpcrdma_queue_limits most = { wrs, 100,
								    1 };
				rpcrdma_queues queues;

				rpcrdma_load_fit(&load, wrs);
				EXPECT_GE(load.window, +RPCRDMA_MIN_WINDOW);
				EXPECT_LE(load.writes, load.transfers);
				queues = rpcrdma_queues_for(&load, &most);
				EXPECT_LE(queues.receives, wrs);
				/* The transfers have a quarter. */
				EXPECT_LE(rpcrdma_queues_send_wrs(&queues),
					  wrs);
				EXPECT_LE(queues.send_cqes, 100u);
				EXPECT_GE(load.sends, wrs / 4);
			}
}

TEST(Queues, SmallSettingsAreKept)
{
	rpcrdma_load load = server_load();

	rpcrdma_load_fit(&load, 16384);
	EXPECT_EQ(load.window, 64u);
	EXPECT_EQ(load.sends, 64u);
	EXPECT_EQ(load.transfers, 48u);
	EXPECT_EQ(load.writes, 32u);
}

/* What a device has room for is only known when a queue was asked for. */
TEST(Queues, AShorterOneHasLessOfAll)
{
	rpcrdma_load load = server_load();
	rpcrdma_queues queues;
	u32 before;

	queues = rpcrdma_queues_for(&load, &PLENTY);
	EXPECT_TRUE(rpcrdma_queues_shorten(&queues));
	EXPECT_EQ(queues.slots, (64u + RPCRDMA_CONTROL_SENDS + 100) / 2);
	EXPECT_EQ(queues.writes, 16u);
	EXPECT_EQ(queues.reads, 8u);
	do
		before = rpcrdma_queues_send_wrs(&queues);
	while (rpcrdma_queues_shorten(&queues) &&
	       rpcrdma_queues_send_wrs(&queues) < before);
	EXPECT_FALSE(rpcrdma_queues_shorten(&queues));
	/* Control messages still pass. */
	EXPECT_EQ(queues.slots, 2u * RPCRDMA_CONTROL_SENDS);
	EXPECT_EQ(queues.reads, 2u);

	/* One Read can always be made. */
	load.writes = load.transfers - 1;
	queues = rpcrdma_queues_for(&load, &PLENTY);
	EXPECT_TRUE(rpcrdma_queues_shorten(&queues));
	EXPECT_EQ(queues.reads, 1u);
}

/* The last one is for what an end waits for when it drains the queue. */
TEST(Queues, TheAccountHasWhatBothTheQueueAndItsCompletionsHave)
{
	const rpcrdma_load load = server_load();
	rpcrdma_queue_limits most = PLENTY;
	rpcrdma_queues queues = rpcrdma_queues_for(&load, &most);

	EXPECT_EQ(rpcrdma_queues_depth(&queues, queues.slots + 33),
		  queues.slots + 32);
	EXPECT_EQ(rpcrdma_queues_depth(&queues, 4096), queues.send_cqes - 1);
	most.cqes = 40;
	queues = rpcrdma_queues_for(&load, &most);
	EXPECT_EQ(rpcrdma_queues_depth(&queues, 4096), 39u);
}

} // namespace
