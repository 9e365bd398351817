// SPDX-License-Identifier: GPL-2.0
/* Receives and Send buffers: the charges for them */
#include <cstdint>
#include <deque>

#include "endpoint/endpoint.hh"
#include "fixture.hh"

namespace
{

/* Bytes charged to the peer */
int64_t held;
/* The result of the allocation of more segments */
rpcrdma_segment *more_segs;

} // namespace

extern "C" {

void rpcrdma_port_uncharge(rpcrdma_ep_core *, rpcrdma_quota_use use, u64 octets)
{
	EXPECT_EQ(use, RPCRDMA_QUOTA_BUFFERS);
	held -= static_cast<int64_t>(octets);
}

void rpcrdma_port_charge_existing(rpcrdma_ep_core *, rpcrdma_quota_use use,
				  u64 octets)
{
	EXPECT_EQ(use, RPCRDMA_QUOTA_BUFFERS);
	held += static_cast<int64_t>(octets);
}

rpcrdma_segment *rpcrdma_port_extra_segs(rpcrdma_ep_core *)
{
	return more_segs;
}

void rpcrdma_port_recv_shrink(rpcrdma_recv *)
{
}

void rpcrdma_port_buffer_free(rpcrdma_ep_core *, void *, u64, u32)
{
}

void rpcrdma_port_recv_unmap(rpcrdma_recv *)
{
}

void rpcrdma_port_recv_free(rpcrdma_recv *)
{
}

} // extern "C"

namespace
{

class EndpointReceives : public EndpointSends
{
protected:
	static constexpr u32 OWN = 512;

	EndpointReceives()
	{
		core->life.client = false;
		core->conn.cfg.client = false;
		core->page_size = 4096;
		core->recv_size = OWN;
		give(SENDS);
		held = 0;
	}

	static int64_t cost(u32 octets)
	{
		return static_cast<int64_t>(
			rpcrdma_core_recv_cost(OWN, octets));
	}

	void add(u32 octets)
	{
		rpcrdma_recv *rv = &received.emplace_back();

		rv->core = core.get();
		rv->size = octets;
		rpcrdma::list_push_back(&rv->all, &core->all_recvs);
		core->nr_recvs++;
		held += cost(octets);
	}

	/* Give so many Send contexts a buffer of their own. */
	void use_sends(u32 count)
	{
		std::deque<rpcrdma_send *> used;

		while (count--) {
			rpcrdma_send *s = rpcrdma_core_send_get(core.get());

			ASSERT_NE(s, nullptr);
			ASSERT_EQ(rpcrdma_core_send_room(s, 3000), 0);
			used.push_back(s);
		}
		for (rpcrdma_send *s : used)
			rpcrdma_core_send_put(s);
	}

	/* The window shrinks: free the Receive that was allocated first. */
	void shrink()
	{
		rpcrdma_recv *rv = &received.front();
		const u32 todo = rpcrdma_core_recv_released(
			core.get(), rv, RPCRDMA_EV_FREE_RECEIVE);

		rpcrdma_core_recv_freed(core.get(), rv, todo);
		received.pop_front();
	}

	/* Return the charge for the Receives that exist. */
	int64_t charged() const
	{
		int64_t octets = 0;

		for (const rpcrdma_recv &rv : received)
			octets += cost(rv.size);
		return octets;
	}

	std::deque<rpcrdma_recv> received;
};

/*
 * A peer may refuse the announced size of messages: Receives that are allocated later are
 * smaller. While there are more Send buffers than Receives, they remain charged, and not with
 * the size of the Receive that is freed when there are enough again.
 */
TEST_F(EndpointReceives, NoMoreIsUnchargedThanWasCharged)
{
	for (u32 i = 0; i < 3; i++)
		add(4096);
	add(20480);
	add(4096);
	use_sends(8);
	EXPECT_EQ(core->send_bufs, 8u);
	for (u32 i = 0; i < 3; i++)
		shrink();
	EXPECT_EQ(held, charged() + 3 * 4096);

	for (u32 i = 0; i < 6; i++)
		add(4096);
	shrink();
	EXPECT_EQ(held, charged());
	while (!received.empty())
		shrink();
	EXPECT_EQ(held, 0);
}

/* Of several charges that remain, none is lost. */
TEST_F(EndpointReceives, SendBuffersRemainChargedByTheirSizes)
{
	add(20480);
	for (u32 i = 0; i < 3; i++)
		add(4096);
	use_sends(7);
	shrink();
	shrink();
	EXPECT_EQ(held, charged() + 20480 + 4096);
	add(4096);
	shrink();
	EXPECT_EQ(core->bufs_owed, 2u);
	EXPECT_EQ(held, charged() + core->owed_octets);
	for (u32 i = 0; i < 8; i++)
		add(4096);
	while (!received.empty())
		shrink();
	EXPECT_EQ(core->owed_octets, 0u);
	EXPECT_EQ(held, 0);
}

/* The larger array of segments of a message of version 1 is charged while it exists. */
TEST_F(EndpointReceives, MoreSegmentsAreCharged)
{
	static rpcrdma_segment segs[RPCRDMA_MAX_EXTRA_SEGS];
	rpcrdma_recv rv = {};

	rv.core = core.get();
	more_segs = segs;
	rpcrdma_core_receive_segs(&rv);
	EXPECT_EQ(rv.rx.lists.extra_segs, segs);
	EXPECT_EQ(held, static_cast<int64_t>(sizeof(segs)));
	EXPECT_TRUE(rv.large);
	rpcrdma_core_recv_shrink(&rv);
	EXPECT_EQ(rv.rx.lists.extra_segs, nullptr);
	EXPECT_EQ(held, 0);

	more_segs = nullptr;
	rpcrdma_core_receive_segs(&rv);
	EXPECT_EQ(held, 0);
	EXPECT_FALSE(rv.large);
	rpcrdma_core_recv_shrink(&rv);
	EXPECT_EQ(held, 0);
}

} // namespace
