// SPDX-License-Identifier: GPL-2.0
/* Replies of callbacks that a client cannot send at once */
#include <cerrno>

#include "endpoint/endpoint.hh"
#include "fixture.hh"
#include "port_reply.h"

namespace
{

/* Streams that exist */
u32 streams;

} // namespace

extern "C" {

bool rpcrdma_port_lock_to_send(rpcrdma_ep_core *, enum rpcrdma_kind)
{
	return false;
}

void rpcrdma_port_unlock_sent(rpcrdma_ep_core *, bool)
{
}

void rpcrdma_port_queued(rpcrdma_ep_core *, u32, const rpcrdma_work *)
{
}

const rpcrdma_item *rpcrdma_port_reply_item(const rpcrdma_reply_out *)
{
	return nullptr;
}

void rpcrdma_port_reply_items(const rpcrdma_reply_out *, rpcrdma_reply *)
{
}

void rpcrdma_port_reply_copy(const rpcrdma_reply_out *, u32, u32 length,
			     void *to)
{
	__builtin_memset(to, 1, length);
}

rpcrdma_stream *rpcrdma_port_reply_stream(const rpcrdma_reply_out *out,
					  u32 octets,
					  const rpcrdma_lists *lists)
{
	auto *st = new rpcrdma_stream;

	rpcrdma_core_stream_init(st, RPCRDMA_KIND_REPLY, out->xid,
				 new u8[octets], octets, lists);
	streams++;
	return st;
}

void rpcrdma_port_stream_charge(rpcrdma_ep_core *, const rpcrdma_stream *)
{
}

void rpcrdma_port_stream_uncharge(rpcrdma_ep_core *, const rpcrdma_stream *)
{
}

void rpcrdma_port_stream_free(rpcrdma_stream *st)
{
	delete[] st->data;
	delete st;
	streams--;
}

} // extern "C"

namespace
{

class EndpointReplies : public EndpointSends
{
protected:
	EndpointReplies()
	{
		rpcrdma_lists_init(&call_lists);
		core->page_size = 4096;
		core->conn.cfg.props.sbsiz = core->conn.peer.rbsiz = 1024;
		core->conn.peer.reassembly = 65536;
		core->conn.cfg.props.brs = RDMA2_RVRSDIR_CONT;
		give(SENDS);
	}

	/* Send the Reply of a callback. Return 0 or a negative errno. */
	int reply(u32 length)
	{
		rpcrdma_reply_out out = {};

		out.call_lists = &call_lists;
		out.xid = 7;
		out.length = length;
		out.kept = true;
		return rpcrdma_core_send_reply(core.get(), &out);
	}

	/* All posted Sends complete. */
	void complete()
	{
		while (core->inflight) {
			list_head done_list;

			rpcrdma::list_init(&done_list);
			rpcrdma_core_reap(core.get(), core->inflight,
					  &done_list);
			EXPECT_EQ(freed(), 0u);
			rpcrdma_core_run_callbacks(&done_list, true);
		}
	}

	rpcrdma_lists call_lists;
};

/*
 * A server grants no credits, and its callbacks have continued Replies. A callback beyond the
 * limit keeps its Reply, so that its place in the table stays taken.
 */
TEST_F(EndpointReplies, OnlySoManyContinuedRepliesWait)
{
	grant(0);
	for (u32 i = 0; i < RPCRDMA_CALLBACK_SLOTS; i++)
		EXPECT_EQ(reply(3000), 0) << i;
	EXPECT_EQ(reply(3000), -ENOBUFS);
	EXPECT_EQ(streams, u32{ RPCRDMA_CALLBACK_SLOTS });
	EXPECT_EQ(core->sq.messages, u32{ RPCRDMA_CALLBACK_SLOTS });
	EXPECT_EQ(port.closing, nullptr);
	/* One that is a single message has a Send context. */
	EXPECT_EQ(reply(500), 0);

	grant(100);
	EXPECT_EQ(freed(), 0u);
	complete();
	EXPECT_EQ(core->sq.messages, 0u);
	EXPECT_EQ(streams, 0u);
	EXPECT_EQ(reply(3000), 0);
	complete();
	EXPECT_EQ(streams, 0u);
	EXPECT_EQ(port.closing, nullptr);
}

} // namespace
