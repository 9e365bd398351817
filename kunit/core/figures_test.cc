// SPDX-License-Identifier: GPL-2.0
/* The state of a connection as named numbers */
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support.hh"

using namespace engine_test;

namespace
{

using figures = std::map<std::string, u64>;

figures named(const u64 *f)
{
	figures by_name;

	for (u32 i = 0; i < RPCRDMA_NR_FIGURES; i++)
		by_name[rpcrdma_figure_name(i)] = f[i];
	return by_name;
}

/* Each name is used once, and each figure has the value of its name. */
TEST(Figures, EachHasItsName)
{
	u64 f[RPCRDMA_NR_FIGURES] = {};
	rpcrdma_quota_account account{};
	rpcrdma_mr_pool pool{};
	rpcrdma_conn conn{};
	rpcrdma_conn_counters &c = conn.counters;
	figures by_name;
	u64 next = 1000;

	for (u64 *counter :
	     { &c.calls[0],	   &c.calls[1],	       &c.calls[2],
	       &c.replies[0],	   &c.replies[1],      &c.replies[2],
	       &c.read_chunks,	   &c.write_chunks,    &c.reply_chunks,
	       &c.errors_sent,	   &c.errors_received, &c.replies_exposed,
	       &c.replies_to_pull, &c.dones_sent,      &c.dones_received,
	       &c.dones_overdue,   &account.fixed,     &account.held[0],
	       &account.held[1],   &account.held[2],   &account.held[3],
	       &pool.shortages })
		*counter = next++;
	conn.sent = 1;
	conn.limit = 2;
	conn.received = 3;
	conn.advertised = 4;
	conn.exposed_octets = 5;
	pool.made = 6;
	rpcrdma_conn_figures(&conn, f);
	rpcrdma_mr_pool_figures(&pool, f);
	rpcrdma_quota_figures(&account, f);
	f[RPCRDMA_FIGURE_REMOTE_INV] = 7;
	f[RPCRDMA_FIGURE_LOCAL_INV] = 8;

	by_name = named(f);
	EXPECT_EQ(by_name.size(), size_t{ RPCRDMA_NR_FIGURES });
	EXPECT_EQ(by_name["sent"], 1u);
	EXPECT_EQ(by_name["limit"], 2u);
	EXPECT_EQ(by_name["received"], 3u);
	EXPECT_EQ(by_name["advertised"], 4u);
	EXPECT_EQ(by_name["exposed_octets"], 5u);
	EXPECT_EQ(by_name["regions"], 6u);
	EXPECT_EQ(by_name["remote_inv"], 7u);
	EXPECT_EQ(by_name["local_inv"], 8u);
	next = 1000;
	for (const char *name :
	     { "calls_inline",	  "calls_continued",   "calls_special",
	       "replies_inline",  "replies_continued", "replies_special",
	       "read_chunks",	  "write_chunks",      "reply_chunks",
	       "errors_sent",	  "errors_received",   "replies_exposed",
	       "replies_to_pull", "dones_sent",	       "dones_received",
	       "dones_overdue",	  "memory_fixed",      "memory_buffers",
	       "memory_parts",	  "memory_calls",      "memory_replies",
	       "region_shortages" })
		EXPECT_EQ(by_name[name], next++) << name;
	/* The first and the last of the line */
	EXPECT_STREQ(rpcrdma_figure_name(0), "send_inline");
	EXPECT_STREQ(rpcrdma_figure_name(RPCRDMA_NR_FIGURES - 1),
		     "region_shortages");
	EXPECT_EQ(by_name["send_inline"],
		  rpcrdma_conn_limits(&conn).send_inline);
	EXPECT_EQ(by_name["recv_inline"],
		  rpcrdma_conn_limits(&conn).recv_inline);
}

TEST(Figures, Stages)
{
	EXPECT_STREQ(rpcrdma_stage_name(RPCRDMA_STAGE_IDLE), "opening");
	EXPECT_STREQ(rpcrdma_stage_name(RPCRDMA_STAGE_OPENING), "opening");
	EXPECT_STREQ(rpcrdma_stage_name(RPCRDMA_STAGE_OPEN), "open");
	EXPECT_STREQ(rpcrdma_stage_name(RPCRDMA_STAGE_CLOSING), "closing");
	EXPECT_STREQ(rpcrdma_stage_name(RPCRDMA_STAGE_GONE), "closing");
}

} // namespace
