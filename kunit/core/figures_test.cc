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
		by_name[rpcrdma_figure_info(i)->name] = f[i];
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
	       &pool.shortages,	   &c.bytes_sent,      &c.bytes_received })
		*counter = next++;
	conn.sent = 1;
	conn.limit = 2;
	conn.received = 3;
	conn.advertised = 4;
	conn.exposed_octets = 5;
	conn.calls_outstanding = 9;
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
	EXPECT_EQ(by_name["outstanding"], 9u);
	next = 1000;
	for (const char *name :
	     { "calls_inline",	   "calls_continued",	"calls_special",
	       "replies_inline",   "replies_continued", "replies_special",
	       "read_chunks",	   "write_chunks",	"reply_chunks",
	       "errors_sent",	   "errors_received",	"replies_exposed",
	       "replies_to_pull",  "dones_sent",	"dones_received",
	       "dones_overdue",	   "memory_fixed",	"memory_buffers",
	       "memory_parts",	   "memory_calls",	"memory_replies",
	       "region_shortages", "bytes_sent",	"bytes_received" })
		EXPECT_EQ(by_name[name], next++) << name;
	/* The first and the last figure of the line */
	EXPECT_STREQ(rpcrdma_figure_info(0)->name, "send_inline");
	EXPECT_STREQ(rpcrdma_figure_info(RPCRDMA_NR_FIGURES - 1)->name,
		     "bytes_received");
	EXPECT_EQ(rpcrdma_figure_info(RPCRDMA_NR_FIGURES), nullptr);
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

/* Numbers that only grow are counters; numbers in use are gauges. */
TEST(Figures, Kinds)
{
	std::map<std::string, const rpcrdma_number *> numbers;

	for (u32 i = 0; i < RPCRDMA_NR_FIGURES; i++)
		numbers[rpcrdma_figure_info(i)->name] = rpcrdma_figure_info(i);
	for (const char *name : { "sent", "calls_inline", "remote_inv",
				  "dones_overdue", "region_shortages" })
		EXPECT_EQ(numbers[name]->kind, RPCRDMA_COUNTER) << name;
	for (const char *name : { "send_inline", "exposed_octets",
				  "memory_calls", "regions", "outstanding" })
		EXPECT_EQ(numbers[name]->kind, RPCRDMA_GAUGE) << name;
	EXPECT_STREQ(numbers["memory_calls"]->unit, "bytes");
	EXPECT_STREQ(numbers["sent"]->unit, "messages");
}

TEST(Figures, ViewOfAConnection)
{
	rpcrdma_ep_core core{};
	rpcrdma_conn_view view{};

	core.life.client = 1;
	core.life.stage = RPCRDMA_STAGE_OPEN;
	core.conn.cfg.client = 1;
	core.conn.cfg.version_high = RPCRDMA_VERS_2;
	core.conn.version = RPCRDMA_VERS_1;
	core.conn.sent = 5;
	core.arrivals.remote_inv = 6;
	rpcrdma_core_view(&core, &view);
	EXPECT_STREQ(view.role, "client");
	EXPECT_STREQ(view.why, "refused");
	EXPECT_STREQ(view.state, "open");
	EXPECT_EQ(view.reason, nullptr);
	EXPECT_EQ(view.version, RPCRDMA_VERS_1);
	EXPECT_TRUE(view.fallback);
	EXPECT_EQ(view.numbers[RPCRDMA_FIGURE_SENT], 5u);
	EXPECT_EQ(view.numbers[RPCRDMA_FIGURE_REMOTE_INV], 6u);

	/* The reason of the first close is kept. */
	rpcrdma_lifecycle_close(&core.life, "a reason");
	rpcrdma_lifecycle_close(&core.life, "another");
	core.life.client = 0;
	rpcrdma_core_view(&core, &view);
	EXPECT_STREQ(view.role, "server");
	EXPECT_STREQ(view.state, "closing");
	EXPECT_STREQ(view.reason, "a reason");
}

/* Version 1 is not a fallback if a setting or the client permits no other version. */
TEST(Figures, Fallback)
{
	rpcrdma_conn conn{};

	conn.cfg.client = 1;
	conn.cfg.version_high = RPCRDMA_VERS_2;
	EXPECT_FALSE(rpcrdma_conn_fell_back(&conn));
	conn.version = RPCRDMA_VERS_2;
	EXPECT_FALSE(rpcrdma_conn_fell_back(&conn));
	conn.version = RPCRDMA_VERS_1;
	EXPECT_TRUE(rpcrdma_conn_fell_back(&conn));
	conn.cfg.version_high = RPCRDMA_VERS_1;
	EXPECT_FALSE(rpcrdma_conn_fell_back(&conn));
	conn.cfg.fallback_v1 = 1;
	EXPECT_TRUE(rpcrdma_conn_fell_back(&conn));
	conn.cfg.client = 0;
	EXPECT_FALSE(rpcrdma_conn_fell_back(&conn));
}

} // namespace
