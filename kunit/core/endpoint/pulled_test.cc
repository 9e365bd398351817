// SPDX-License-Identifier: GPL-2.0
/* Replies that are to be pulled, and wait for MRs */
#include <cerrno>

#include "endpoint/endpoint.hh"
#include "fixture.hh"

namespace
{

u32 allocations;

} // namespace

extern "C" {

void rpcrdma_port_lock_mrs(rpcrdma_ep_core *)
{
}

void rpcrdma_port_unlock_mrs(rpcrdma_ep_core *)
{
}

void rpcrdma_port_make_mrs(rpcrdma_ep_core *, u32)
{
	allocations++;
}

} // extern "C"

namespace
{

class Pulled : public EndpointSends
{
protected:
	static constexpr u32 OCTETS = 4096;

	Pulled()
	{
		core->conn.cfg.expose_octets = 2 * OCTETS;
		core->mrs.pool.most = 4;
		plan.read_length = OCTETS;
		allocations = 0;
	}

	/* The pool has no MR yet. */
	int expose()
	{
		return rpcrdma_core_expose(core.get(), &x, 7, nullptr, &plan,
					   &wait);
	}

	bool due() const
	{
		return rpcrdma_core_expose_due(core.get(), &wait);
	}

	rpcrdma_pull_entry x{};
	rpcrdma_reply_plan plan{};
	rpcrdma_mr_wait wait{};
};

TEST_F(Pulled, TheWaitForMrsHasOneLimit)
{
	EXPECT_EQ(expose(), -EAGAIN);
	EXPECT_EQ(allocations, 1u);
	EXPECT_EQ(wait.ms, u32{ RPCRDMA_EXPOSE_WAIT_MS });
	/* Nothing remains of an attempt. */
	EXPECT_EQ(core->conn.nr_exposed, 0u);
	port.now += RPCRDMA_EXPOSE_WAIT_MS - 1;
	EXPECT_EQ(expose(), -EAGAIN);
	EXPECT_EQ(wait.ms, 1u);
	port.now++;
	EXPECT_EQ(expose(), -EAGAIN);
	EXPECT_EQ(wait.ms, 0u);
}

TEST_F(Pulled, ItEndsEarlyForMrsAndForTheClose)
{
	EXPECT_EQ(expose(), -EAGAIN);
	EXPECT_FALSE(due());
	core->mrs.notify_seq++;
	EXPECT_TRUE(due());
	EXPECT_EQ(expose(), -EAGAIN);
	EXPECT_FALSE(due());
	core->life.stage = RPCRDMA_STAGE_CLOSING;
	EXPECT_TRUE(due());
}

TEST_F(Pulled, OtherFailuresAreNotWaitedFor)
{
	plan.read_length = 3 * OCTETS;
	EXPECT_NE(expose(), 0);
	EXPECT_EQ(wait.ms, 0u);
	EXPECT_EQ(allocations, 0u);
	/* The peer may never release the MRs of other Replies. */
	plan = {};
	plan.read_length = OCTETS;
	core->mrs.pool.made = core->mrs.pool.most;
	EXPECT_NE(expose(), 0);
	EXPECT_EQ(wait.ms, 0u);
}

} // namespace
