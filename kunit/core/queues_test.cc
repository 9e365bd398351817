// SPDX-License-Identifier: GPL-2.0
/* The depth of a connection's queues */
#include <gtest/gtest.h>

#include "support.hh"

namespace
{

using namespace engine_test;

constexpr rpcrdma_queue_limits PLENTY = { 16384, 65536, 0, 32 };

constexpr rpcrdma_load server_load(u8 version_low = RPCRDMA_VERS_2)
{
	return { .window = 64,
		 .sends = 64,
		 .mrs = 100,
		 .reads = 48,
		 .client = 0,
		 .version_low = version_low };
}

constexpr rpcrdma_load client_load()
{
	return { .window = 64,
		 .sends = 64,
		 .mrs = 100,
		 .reads = 0,
		 .client = 1,
		 .version_low = RPCRDMA_VERS_1 };
}

/*
 * The queue has a slot for each of the server's messages, and half that number
 * of slots for further Work Requests.
 */
TEST(Queues, AServersSendQueueHoldsItsMessages)
{
	const rpcrdma_load load = server_load();
	rpcrdma_queues queues = rpcrdma_queues_for(&load, &PLENTY);

	EXPECT_EQ(queues.slots, 64u + RPCRDMA_CONTROL_SENDS + 32);
	EXPECT_EQ(rpcrdma_queues_send_wrs(&queues), queues.slots + 1);
	EXPECT_EQ(queues.receives, rpcrdma_window_receives(64) + 1);
	/* Devices round the depth up to a power of two, less one. */
	EXPECT_LT(queues.send_cqes, 128u);
}

/* Each Call may use an MR, but not all Calls the maximum of MRs. */
TEST(Queues, AClientsSendQueueHoldsTheMrsOfItsCalls)
{
	rpcrdma_load load = client_load();

	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).slots,
		  64u + RPCRDMA_CONTROL_SENDS + 64);
	load.mrs = 0;
	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).slots,
		  64u + RPCRDMA_CONTROL_SENDS);
	load.reads = 1;
	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).slots,
		  64u + RPCRDMA_CONTROL_SENDS + 64);
	/* A peer cannot send more messages than it was granted. */
	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).receives,
		  rpcrdma_window_receives(64) + 1);
}

/*
 * However few messages are permitted, one of them may have an MR for each
 * segment.
 */
TEST(Queues, TheLargestMessageFits)
{
	for (u8 client : { 0, 1 }) {
		rpcrdma_load load = client ? client_load() : server_load();
		rpcrdma_queues queues;
		rpcrdma_sq sq;

		load.sends = 4;
		queues = rpcrdma_queues_for(&load, &PLENTY);
		rpcrdma_sq_init(&sq, queues.slots, load.sends, 1, 1);
		EXPECT_TRUE(rpcrdma_sq_fits(&sq, RPCRDMA_MAX_SEGS + 1));
		/* A device with short queues */
		const rpcrdma_queue_limits little = { 96, 96, 0, 4 };

		rpcrdma_load_fit(&load, little.wrs);
		queues = rpcrdma_queues_for(&load, &little);
		rpcrdma_sq_init(&sq, rpcrdma_queues_depth(&queues, little.wrs),
				load.sends, 1, 1);
		EXPECT_TRUE(rpcrdma_sq_fits(&sq, RPCRDMA_MAX_SEGS + 1));
		load.mrs = 0;
		EXPECT_LT(rpcrdma_queues_for(&load, &PLENTY).slots,
			  u32{ RPCRDMA_MAX_SEGS });
	}
}

/*
 * A version 1 peer may send a Call before the Receive of a refused one is free.
 */
TEST(Queues, AVersion1PeerHasExtraReceives)
{
	const rpcrdma_load load = server_load(RPCRDMA_VERS_1);

	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).receives,
		  rpcrdma_window_receives(64) + RPCRDMA_V1_SPARE_RECEIVES + 1);
}

/* If Reads need no MR, few MRs are allocated for them. */
TEST(Queues, ReadsIntoMrsHaveMrsAndCompletions)
{
	const rpcrdma_load load = server_load();
	rpcrdma_queue_limits most = PLENTY;
	rpcrdma_queues queues = rpcrdma_queues_for(&load, &most);

	EXPECT_LT(queues.reads, 10u);
	EXPECT_GT(queues.reads, 0u);
	EXPECT_EQ(queues.send_cqes, queues.slots + 1 + queues.reads);
	most.read_mrs = 1;
	queues = rpcrdma_queues_for(&load, &most);
	EXPECT_EQ(queues.reads, 48u);
	EXPECT_EQ(queues.send_cqes, queues.slots + 1 + 3 * 48);
}

/* With any settings, no queue is longer than the device permits. */
TEST(Queues, TheDeviceBoundsThem)
{
	for (u32 wrs = 64; wrs <= 1024; wrs *= 2)
		for (u8 client : { 0, 1 })
			for (u8 version : { 1, 2 }) {
				rpcrdma_load load = {
					.window = 65535,
					.sends = 65535,
					.mrs = 65535,
					.reads = 65535,
					.client = client,
					.version_low = version,
				};
				const rpcrdma_queue_limits most = { wrs, 100, 1,
								    32 };
				rpcrdma_queues queues;

				rpcrdma_load_fit(&load, wrs);
				EXPECT_GE(load.window, +RPCRDMA_MIN_WINDOW);
				queues = rpcrdma_queues_for(&load, &most);
				EXPECT_LE(queues.receives, wrs);
				EXPECT_LE(rpcrdma_queues_send_wrs(&queues),
					  wrs);
				EXPECT_LE(queues.reads, wrs / 4);
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
	EXPECT_EQ(load.reads, 48u);
}

/* The limit of a device becomes known when a queue is requested. */
TEST(Queues, AShorterQueueScalesTheLoad)
{
	rpcrdma_queue_limits most = PLENTY;
	rpcrdma_load load = server_load();
	rpcrdma_queues queues;
	u32 before;

	most.read_mrs = 1;
	queues = rpcrdma_queues_for(&load, &most);
	EXPECT_TRUE(rpcrdma_queues_shorten(&queues));
	EXPECT_EQ(queues.slots, (64u + RPCRDMA_CONTROL_SENDS + 32) / 2);
	EXPECT_EQ(queues.reads, 24u);
	do
		before = rpcrdma_queues_send_wrs(&queues);
	while (rpcrdma_queues_shorten(&queues) &&
	       rpcrdma_queues_send_wrs(&queues) < before);
	EXPECT_FALSE(rpcrdma_queues_shorten(&queues));
	/* Enough slots for control messages remain. */
	EXPECT_EQ(queues.slots, 2u * RPCRDMA_CONTROL_SENDS);

	/* One Read is always possible. */
	load.reads = 1;
	queues = rpcrdma_queues_for(&load, &most);
	EXPECT_TRUE(rpcrdma_queues_shorten(&queues));
	EXPECT_EQ(queues.reads, 1u);
}

/*
 * One entry is for the completion that an end waits for when it drains the
 * queue.
 */
TEST(Queues, SlotsFitTheQueueAndItsCompletions)
{
	const rpcrdma_load load = server_load();
	rpcrdma_queue_limits most = PLENTY;
	rpcrdma_queues queues = rpcrdma_queues_for(&load, &most);

	EXPECT_EQ(rpcrdma_queues_depth(&queues, queues.slots + 6),
		  queues.slots + 5);
	EXPECT_EQ(rpcrdma_queues_depth(&queues, 4096), queues.send_cqes - 1);
	most.cqes = 40;
	queues = rpcrdma_queues_for(&load, &most);
	EXPECT_EQ(rpcrdma_queues_depth(&queues, 4096), 39u);
}

/* Without Reads and Writes, a Work Request has one element: a message is contiguous. */
TEST(Queues, TheElementsAreThoseOfReadsAndWrites)
{
	const rpcrdma_queue_limits little = { 96, 96, 0, 4 };
	rpcrdma_load load = server_load();

	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).sges,
		  u32{ RPCRDMA_SERVER_SGES });
	EXPECT_EQ(rpcrdma_queues_for(&load, &little).sges, 4u);
	load.reads = 0;
	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).sges, 1u);
	load = client_load();
	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).sges, 1u);
	load.reads = 1;
	EXPECT_EQ(rpcrdma_queues_for(&load, &PLENTY).sges,
		  u32{ RPCRDMA_CLIENT_SGES });
}

} // namespace
