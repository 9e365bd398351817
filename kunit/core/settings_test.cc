// SPDX-License-Identifier: GPL-2.0
/* Settings: their ranges, and the parameters of a connection */
#include <gtest/gtest.h>

#include <rpcrdma/engine.h>

namespace
{

constexpr rpcrdma_settings DEFAULTS = RPCRDMA_DEFAULT_SETTINGS(4096);

rpcrdma_range range_of(const rpcrdma_settings &s, u32 rpcrdma_settings::*what)
{
	return rpcrdma_setting_range(&s, &(s.*what));
}

/* Every member of the structure is a setting, and its default is in its range. */
TEST(Settings, DefaultsAreInRange)
{
	const rpcrdma_settings s = DEFAULTS;
	const u32 *values = &s.slot_table_entries;

	for (size_t i = 0; i < sizeof(s) / sizeof(u32); i++) {
		const rpcrdma_range r = rpcrdma_setting_range(&s, &values[i]);

		EXPECT_LT(0u, r.high) << i;
		EXPECT_LE(r.low, values[i]) << i;
		EXPECT_LE(values[i], r.high) << i;
	}
}

/*
 * Documentation/settings.rst and the descriptions of the module parameters have
 * these ranges, too.
 */
TEST(Settings, Ranges)
{
	using s = rpcrdma_settings;
	static const struct {
		u32 rpcrdma_settings::*what;
		u32 low, high;
	} expected[] = {
		{ &s::slot_table_entries, 4, 16384 },
		{ &s::max_inline_read, 1024, 65536 },
		{ &s::max_inline_write, 1024, 65536 },
		{ &s::reverse_level, 0, 3 },
		{ &s::pull_replies, 0, 1 },
		{ &s::svc_max_requests, 4, 16384 },
		{ &s::svc_max_bc_requests, 1, 64 },
		{ &s::svc_max_req_size, 4096, 65536 },
		{ &s::svc_ord, 1, 255 },
		{ &s::svc_expose, 0, 1073741824 },
		{ &s::svc_done_timeout, 1, 600 },
		{ &s::svc_max_memory, 0, 1048576 },
		{ &s::max_reassembly, 0, 1048576 },
		{ &s::auth_dh, 0, 2 },
	};

	for (const auto &each : expected) {
		const rpcrdma_range r = range_of(DEFAULTS, each.what);

		EXPECT_EQ(r.low, each.low);
		EXPECT_EQ(r.high, each.high);
	}
}

TEST(Settings, VersionsDoNotCross)
{
	for (u32 min = 1; min <= 2; min++) {
		for (u32 max = min; max <= 2; max++) {
			rpcrdma_settings s = DEFAULTS;

			s.min_version = min;
			s.max_version = max;
			s.svc_min_version = min;
			s.svc_max_version = max;
			EXPECT_EQ(
				range_of(s, &rpcrdma_settings::min_version).low,
				1u);
			EXPECT_EQ(
				range_of(s, &rpcrdma_settings::min_version).high,
				max);
			EXPECT_EQ(
				range_of(s, &rpcrdma_settings::max_version).low,
				min);
			EXPECT_EQ(
				range_of(s, &rpcrdma_settings::max_version).high,
				2u);
			EXPECT_EQ(range_of(s,
					   &rpcrdma_settings::svc_min_version)
					  .low,
				  1u);
			EXPECT_EQ(range_of(s,
					   &rpcrdma_settings::svc_min_version)
					  .high,
				  max);
			EXPECT_EQ(range_of(s,
					   &rpcrdma_settings::svc_max_version)
					  .low,
				  min);
			EXPECT_EQ(range_of(s,
					   &rpcrdma_settings::svc_max_version)
					  .high,
				  2u);
		}
	}
}

/*
 * 16 KiB of data and the rest of the RPC have space in one message by default, which fills
 * its pages. A page of 64 KiB has space in no message.
 */
TEST(Settings, MessagesFollowThePageSize)
{
	using s = rpcrdma_settings;
	constexpr rpcrdma_settings larger = RPCRDMA_DEFAULT_SETTINGS(16384);
	constexpr rpcrdma_settings largest = RPCRDMA_DEFAULT_SETTINGS(65536);

	for (auto what : { &s::max_inline_read, &s::max_inline_write,
			   &s::svc_max_req_size }) {
		EXPECT_EQ(DEFAULTS.*what, 20480u);
		EXPECT_GE(larger.*what, 16384u + 1024);
		EXPECT_EQ(larger.*what % 16384, 0u);
		EXPECT_LE(larger.*what, range_of(larger, what).high);
		EXPECT_EQ(largest.*what, 16384u);
	}
}

TEST(Settings, Client)
{
	rpcrdma_settings s = DEFAULTS;
	rpcrdma_ep_params p;

	s.max_inline_write = 4096;
	s.max_inline_read = 8192;
	s.max_version = 1;
	rpcrdma_client_params(&s, 100, &p);
	/* Replies to callbacks are sent in addition to the Calls. */
	EXPECT_EQ(p.window, 116u);
	EXPECT_EQ(p.sends, 116u);
	EXPECT_EQ(p.reverse, 16u);
	EXPECT_EQ(p.first_window, RPCRDMA_FIRST_WINDOW);
	EXPECT_EQ(p.send_size, 4096u);
	EXPECT_EQ(p.recv_size, 8192u);
	EXPECT_EQ(p.max_mrs, 2u * RPCRDMA_MAX_SEGS + 200);
	EXPECT_EQ(p.reassembly, s.max_reassembly);
	EXPECT_EQ(p.version_low, 1u);
	EXPECT_EQ(p.version_high, 1u);
	EXPECT_FALSE(p.fallback_v1);
	EXPECT_EQ(p.expose_octets, 0u);
}

/* RDMA Reads are for Replies to pull, and for callbacks with chunks. */
TEST(Settings, ReadsOfAClient)
{
	rpcrdma_settings s = DEFAULTS;
	rpcrdma_ep_params p;

	rpcrdma_client_params(&s, 100, &p);
	EXPECT_EQ(p.brs, u32{ RDMA2_RVRSDIR_GENL });
	EXPECT_TRUE(p.pull);
	EXPECT_EQ(p.reads, u32{ RPCRDMA_MAX_SEGS });
	s.pull_replies = 0;
	rpcrdma_client_params(&s, 100, &p);
	EXPECT_FALSE(p.pull);
	EXPECT_EQ(p.reads, 32u);
	s.reverse_level = RDMA2_RVRSDIR_CONT;
	rpcrdma_client_params(&s, 100, &p);
	EXPECT_EQ(p.brs, u32{ RDMA2_RVRSDIR_CONT });
	EXPECT_EQ(p.reads, 0u);
}

TEST(Settings, Server)
{
	rpcrdma_settings s = DEFAULTS;
	rpcrdma_ep_params p;

	s.svc_max_bc_requests = 20;
	s.svc_min_version = 2;
	s.svc_done_timeout = 7;
	s.svc_expose = 0;
	rpcrdma_server_params(&s, &p);
	EXPECT_EQ(p.window, 84u);
	EXPECT_EQ(p.sends, 84u);
	EXPECT_EQ(p.reverse, 20u);
	EXPECT_EQ(p.first_window, RPCRDMA_FIRST_WINDOW);
	EXPECT_EQ(p.send_size, 20480u);
	EXPECT_EQ(p.recv_size, 20480u);
	EXPECT_EQ(p.reads, 64u);
	EXPECT_EQ(p.ord, 16u);
	EXPECT_EQ(p.max_mrs, 80u);
	EXPECT_EQ(p.done_ms, 7000u);
	EXPECT_EQ(p.brs, u32{ RDMA2_RVRSDIR_NONE });
	EXPECT_EQ(p.version_low, 2u);
	EXPECT_EQ(p.version_high, 2u);
	s.svc_max_bc_requests = 1;
	s.svc_expose = 1 << 20;
	rpcrdma_server_params(&s, &p);
	EXPECT_EQ(p.expose_octets, 1u << 20);
	EXPECT_EQ(p.max_mrs, RPCRDMA_MAX_SEGS + 3u * RPCRDMA_MAX_EXPOSED);
}

/*
 * A client begins with version 1 if the cache has that for the server, unless the server's
 * address must prove an identity.
 */
TEST(Settings, VersionToBeginWith)
{
	rpcrdma_ep_params p{};

	p.version_low = 1;
	rpcrdma_client_begin_with(&p, 2, 2, false);
	EXPECT_EQ(p.version_high, 2u);
	EXPECT_FALSE(p.fallback_v1);
	rpcrdma_client_begin_with(&p, 1, 2, false);
	EXPECT_EQ(p.version_high, 1u);
	EXPECT_TRUE(p.fallback_v1);
	/* The setting permits no other version. */
	rpcrdma_client_begin_with(&p, 1, 1, false);
	EXPECT_EQ(p.version_high, 1u);
	EXPECT_FALSE(p.fallback_v1);
	rpcrdma_client_begin_with(&p, 2, 2, true);
	EXPECT_EQ(p.version_low, 1u);
	EXPECT_EQ(p.version_high, 2u);
	for (u8 high = 1; high <= 2; high++) {
		p.version_low = 1;
		rpcrdma_client_begin_with(&p, 1, high, true);
		EXPECT_EQ(p.version_low, 2u);
		EXPECT_EQ(p.version_high, 2u);
		EXPECT_FALSE(p.fallback_v1);
	}
}

TEST(Settings, Memory)
{
	rpcrdma_settings s = DEFAULTS;

	EXPECT_EQ(rpcrdma_server_memory(&s, u64{ 64 } << 30), u64{ 16 } << 30);
	/* A machine with little memory */
	EXPECT_EQ(rpcrdma_server_memory(&s, 128 << 20), u64{ 64 } << 20);
	s.svc_max_memory = 1 << 20;
	EXPECT_EQ(rpcrdma_server_memory(&s, 128 << 20), u64{ 1 } << 40);
}

} // namespace
