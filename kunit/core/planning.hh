// SPDX-License-Identifier: GPL-2.0
/* Helpers of the tests of plans */
#ifndef ENGINE_TEST_PLANNING_HH
#define ENGINE_TEST_PLANNING_HH

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "support.hh"

namespace engine_test::planning
{

/* Bytes of headers, counted by hand: prefix, inv_handle, three list ends */
constexpr u32 PLAIN = 24 + 4 + 12;
constexpr u32 READ_SEG = 24;
constexpr u32 WRITE = 8;
constexpr u32 REPLY_CHUNK = 4;
constexpr u32 SEG = 16;

/* Return a Requester with a peer that has announced the properties @peer. */
inline std::unique_ptr<end> requester(bool client = true,
				      rpcrdma_props peer = usual_props(),
				      rpcrdma_props own = usual_props())
{
	auto cfg = usual_config(client);
	auto other = usual_config(!client);

	cfg.props = own;
	other.props = peer;
	return open_end(cfg, other);
}

inline rpcrdma_call simple_call(u32 length, u32 reply_max = 200)
{
	rpcrdma_call call = {};

	call.xid = 1;
	call.length = length;
	call.reply_max = reply_max;
	call.call_segs = 1;
	call.reply_segs = 1;
	call.item_segs = 1;
	call.result_segs = 1;
	call.ddp = 1;
	return call;
}

struct planned {
	int ret;
	rpcrdma_call_plan plan;
};

inline planned plan_call(const end &e, const rpcrdma_call &call)
{
	planned p;

	memset(&p, 0xaa, sizeof(p));
	p.ret = rpcrdma_plan_call(&e.conn, &call, &p.plan);
	return p;
}

inline std::unique_ptr<end> responder(bool client = false,
				      rpcrdma_props peer = usual_props(),
				      rpcrdma_props own = usual_props())
{
	return requester(client, peer, own);
}

inline std::unique_ptr<rpcrdma_reply_plan>
plan_reply(const end &e, const rpcrdma_lists &lists, u32 length,
	   std::vector<rpcrdma_item> items = {}, bool reverse = false)
{
	auto plan = std::make_unique<rpcrdma_reply_plan>();
	rpcrdma_reply reply = {};

	memset(plan.get(), 0xaa, sizeof(*plan));
	reply.xid = 1;
	reply.length = length;
	reply.reverse = reverse;
	for (const rpcrdma_item &item : items)
		reply.items[reply.nr_items++] = item;
	rpcrdma_plan_reply(&e.conn, &lists, &reply, plan.get());
	return plan;
}

} // namespace engine_test::planning

#endif
