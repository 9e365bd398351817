// SPDX-License-Identifier: GPL-2.0
/* An RPC at its Requester, and the events that change its state */
#ifndef ENGINE_TEST_XACT_HH
#define ENGINE_TEST_XACT_HH

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "support.hh"

namespace engine_test::xacts
{

constexpr u32 XID = 0x1234, HANDLE = 0x1000, OTHER_HANDLE = 0x1001;
constexpr int ENOTCONN_ = 107, EIO_ = 5, EAGAIN_ = 11, EMSGSIZE_ = 90;
constexpr rpcrdma_buf_layout LAYOUT = { 100, 1000, 60 };

constexpr u32 REPORT = RPCRDMA_ACT_REPORT, PLACE = RPCRDMA_ACT_PLACE,
	      MOVE = RPCRDMA_ACT_MOVE, PUT = RPCRDMA_ACT_PUT,
	      CLOSE = RPCRDMA_ACT_CLOSE, INVALIDATE = RPCRDMA_ACT_INVALIDATE,
	      PULL = RPCRDMA_ACT_PULL, COMPLETE = RPCRDMA_ACT_COMPLETE,
	      AGAIN = RPCRDMA_ACT_AGAIN, LEAVE = RPCRDMA_ACT_LEAVE,
	      DONE = RPCRDMA_ACT_DONE;

/* The first words of Replies */
constexpr u8 GOOD[8] = { 0, 0, 0x12, 0x34, 0, 0, 0, 1 };
constexpr u8 CALL_WORDS[8] = { 0, 0, 0x12, 0x34, 0, 0, 0, 0 };

/* An RPC, two connections, and a Reply to the RPC that tests can change */
struct xact {
	xact() : rx{ std::make_unique<rpcrdma_rx>() }
	{
		rpcrdma_conn_config cfg = usual_config(true);

		cfg.number = 7;
		rpcrdma_conn_init(&conn, &cfg);
		cfg.number = 8;
		rpcrdma_conn_init(&next, &cfg);
		conn.version = next.version = RPCRDMA_VERS_2;
		rpcrdma_lists_init(&x.lists);
		rpcrdma_lists_init(&rx->lists);
		rx->xid = XID;
		a.rx = rx.get();
		a.length = 80;
		a.layout = LAYOUT;
	}

	/* Let the Call provide a Write chunk. */
	xact &write(u32 octets = 1000)
	{
		rpcrdma_lists_add_write(&x.lists);
		rpcrdma_lists_add_segment(&x.lists, HANDLE, octets, 0);
		x.lists.inv_handle = HANDLE;
		return *this;
	}
	xact &read(u32 octets)
	{
		rpcrdma_lists_add_read(&x.lists, 40);
		rpcrdma_lists_add_segment(&x.lists, HANDLE, octets, 0);
		x.lists.inv_handle = HANDLE;
		return *this;
	}
	xact &reply_chunk(u32 octets)
	{
		rpcrdma_lists_add_reply(&x.lists);
		rpcrdma_lists_add_segment(&x.lists, OTHER_HANDLE, octets, 0);
		x.lists.inv_handle = OTHER_HANDLE;
		return *this;
	}
	/* Let the Reply return so many bytes in the chunks of the Call. */
	xact &in_write(u32 octets)
	{
		rpcrdma_lists_add_write(&rx->lists);
		rpcrdma_lists_add_segment(&rx->lists, HANDLE, octets, 0);
		return *this;
	}
	xact &in_reply(u32 octets)
	{
		rpcrdma_lists_add_reply(&rx->lists);
		rpcrdma_lists_add_segment(&rx->lists, OTHER_HANDLE, octets, 0);
		rx->format = RPCRDMA_SPECIAL;
		a.length = 0;
		return *this;
	}
	/*
	 * Let the Reply provide a Read chunk to be pulled. Call this before
	 * in_write().
	 */
	xact &provided(u32 octets, u32 inv_handle = 0x77)
	{
		rpcrdma_lists_add_read(&rx->lists, 0);
		rpcrdma_lists_add_segment(&rx->lists, 0x2000, octets, 0);
		rx->lists.inv_handle = inv_handle;
		rx->format = RPCRDMA_SPECIAL;
		a.length = 0;
		return *this;
	}
	xact &invalidates(u32 handle, bool exposed = true)
	{
		a.inv_handle = handle;
		a.exposed = exposed;
		return *this;
	}
	xact &payload(u32 octets)
	{
		a.length = octets;
		return *this;
	}

	xact &send()
	{
		EXPECT_EQ(rpcrdma_xact_begin(&x, &conn), 0);
		rpcrdma_xact_sent(&x, &conn, plan.format == RPCRDMA_CONTINUED);
		return *this;
	}
	xact &claim()
	{
		EXPECT_TRUE(rpcrdma_xact_claim(&x, &conn));
		return *this;
	}
	rpcrdma_actions reply()
	{
		send().claim();
		return rpcrdma_xact_reply(&x, &conn, &a);
	}
	rpcrdma_actions error(int status)
	{
		send().claim();
		return rpcrdma_xact_error(&x, status);
	}
	rpcrdma_actions invalidated(bool ok = true, const u8 *first = GOOD)
	{
		return rpcrdma_xact_invalidated(&x, ok, first);
	}
	rpcrdma_actions pulled(rpcrdma_pull how = RPCRDMA_PULL_OK,
			       const u8 *first = GOOD)
	{
		return rpcrdma_xact_pulled(&x, how, first);
	}

	rpcrdma_conn conn, next;
	rpcrdma_xact x{};
	rpcrdma_call_plan plan{};
	std::unique_ptr<rpcrdma_rx> rx;
	rpcrdma_arrival a{};
};

using event = std::function<std::string(xact &)>;

inline const char *const states[] = {
	"idle",	    "sent",	"claimed", "placed",  "kept",
	"in chunk", "provided", "failed",  "refused", "pulling",
	"again",    "lost",	"over",	   "ended",
};

} // namespace engine_test::xacts

#endif
