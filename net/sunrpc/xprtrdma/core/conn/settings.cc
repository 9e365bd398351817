// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Ranges of the settings, and the parameters of a connection that follow from them.
 *
 * RULES has one row for each member of struct rpcrdma_settings. The range of a version
 * depends on another setting, so that the lowest and the highest version never cross.
 * The host checks each value before it stores it, and serialises the writers.
 *
 * The parameters are computed from a copy of the settings when a connection is set up.
 * A change of a setting therefore affects later connections only. Values that together
 * are impossible are made consistent here: required authentication raises the versions
 * to 2.
 */
#include <rpcrdma/settings.h>

#include "../internal.hh"

namespace rpcrdma
{

namespace
{

/* MRs that a Reply seldom exceeds: head, page data, tail */
constexpr u32 REPLY_MRS = 3;
/* Minimum of what connections may hold, if there is no setting */
constexpr u64 MIN_MEMORY = 64 << 20;

using setting = u32 rpcrdma_settings::*;

struct rule {
	setting what;
	u32 low, high;
	/* Another setting which this one is not below, or not above */
	setting not_below = nullptr, not_above = nullptr;
};

using s = rpcrdma_settings;

constexpr rule RULES[] = {
	{ &s::slot_table_entries, 4, 16384 },
	{ &s::max_inline_read, 1024, 65536 },
	{ &s::max_inline_write, 1024, 65536 },
	{ &s::reverse_level, RDMA2_RVRSDIR_NONE, RDMA2_RVRSDIR_GENL },
	{ &s::pull_replies, 0, 1 },
	{ &s::min_version, RPCRDMA_VERS_1, RPCRDMA_VERS_2, nullptr,
	  &s::max_version },
	{ &s::max_version, RPCRDMA_VERS_1, RPCRDMA_VERS_2, &s::min_version },
	{ &s::svc_max_requests, 4, 16384 },
	{ &s::svc_max_bc_requests, 1, 64 },
	{ &s::svc_max_req_size, 4096, 65536 },
	{ &s::svc_ord, 1, 255 },
	{ &s::svc_expose, 0, 1 << 30 },
	{ &s::svc_done_timeout, 1, 600 },
	{ &s::svc_max_memory, 0, 1 << 20 },
	{ &s::svc_min_version, RPCRDMA_VERS_1, RPCRDMA_VERS_2, nullptr,
	  &s::svc_max_version },
	{ &s::svc_max_version, RPCRDMA_VERS_1, RPCRDMA_VERS_2,
	  &s::svc_min_version },
	{ &s::max_reassembly, 0, 1 << 20 },
	{ &s::host_auth, RPCRDMA_AUTH_NONE, RPCRDMA_AUTH_REQUIRE },
	{ &s::svc_host_auth, RPCRDMA_AUTH_NONE, RPCRDMA_AUTH_REQUIRE },
	{ &s::auth_dh, RPCRDMA_AUTH_NONE, RPCRDMA_AUTH_REQUIRE },
};
static_assert(sizeof(RULES) / sizeof(RULES[0]) ==
	      sizeof(rpcrdma_settings) / sizeof(u32));

/* Set the window to the Calls in one direction and the Replies in the other. */
void set_window(struct rpcrdma_ep_params *p, u32 calls, u32 reverse)
{
	p->window = calls + reverse;
	p->first_window = RPCRDMA_FIRST_WINDOW;
	p->reverse = reverse;
	p->sends = calls + reverse;
}

/* Required authentication excludes version 1, whatever the settings say. */
void set_versions(struct rpcrdma_ep_params *p, u32 auth, u32 low, u32 high)
{
	p->version_low = rpcrdma_auth_version_low(auth, static_cast<u8>(low));
	p->version_high = static_cast<u8>(max_u32(high, p->version_low));
	p->auth = static_cast<u8>(auth);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

struct rpcrdma_range rpcrdma_setting_range(const struct rpcrdma_settings *s,
					   const u32 *value)
{
	for (const rule &r : RULES) {
		if (&(s->*r.what) == value)
			return { r.not_below ? s->*r.not_below : r.low,
				 r.not_above ? s->*r.not_above : r.high };
	}
	return { 0, 0 };
}

void rpcrdma_client_params(const struct rpcrdma_settings *s, u32 calls,
			   struct rpcrdma_ep_params *p)
{
	*p = {};
	set_window(p, calls, RPCRDMA_CALLBACK_SLOTS);
	p->send_size = s->max_inline_write;
	p->recv_size = s->max_inline_read;
	/* Enough for any single Call, and a few for each */
	p->max_mrs = 2 * RPCRDMA_MAX_SEGS + 2 * calls;
	p->reassembly = s->max_reassembly;
	p->pull = s->pull_replies;
	p->brs = s->reverse_level;
	set_versions(p, s->host_auth, s->min_version, s->max_version);
	p->auth_dh = static_cast<u8>(s->auth_dh);
	/* A Reply that is pulled seldom needs that many Reads. */
	if (p->pull)
		p->reads = RPCRDMA_MAX_SEGS;
	/* The server's Calls with chunks are pulled, and their Replies written. */
	if (rpcrdma_reverse_chunks(p->brs))
		p->reads = max_u32(p->reads, 2 * RPCRDMA_CALLBACK_SLOTS);
}

void rpcrdma_client_begin_with(struct rpcrdma_ep_params *p, u8 first, u8 high,
			       bool identified)
{
	if (identified && first < RPCRDMA_VERS_2) {
		first = RPCRDMA_VERS_2;
		p->version_low = RPCRDMA_VERS_2;
	}
	p->version_high = first;
	p->fallback_v1 = first < high;
}

void rpcrdma_server_params(const struct rpcrdma_settings *s,
			   struct rpcrdma_ep_params *p)
{
	*p = {};
	set_window(p, s->svc_max_requests, s->svc_max_bc_requests);
	p->send_size = s->svc_max_req_size;
	p->recv_size = s->svc_max_req_size;
	/* Reads of arguments */
	p->reads = s->svc_max_requests;
	p->ord = s->svc_ord;
	/* For each callback: an argument or its stream, a result, the Reply */
	p->max_mrs = max_u32(RPCRDMA_MAX_SEGS, 4 * s->svc_max_bc_requests);
	p->reassembly = s->max_reassembly;
	p->brs = RDMA2_RVRSDIR_NONE;
	p->expose_octets = s->svc_expose;
	p->done_ms = s->svc_done_timeout * 1000;
	if (p->expose_octets)
		p->max_mrs += REPLY_MRS * RPCRDMA_MAX_EXPOSED;
	set_versions(p, s->svc_host_auth, s->svc_min_version,
		     s->svc_max_version);
	p->auth_dh = static_cast<u8>(s->auth_dh);
}

u64 rpcrdma_server_memory(const struct rpcrdma_settings *s, u64 memory)
{
	if (s->svc_max_memory)
		return u64{ s->svc_max_memory } << 20;
	return max_u64(MIN_MEMORY, memory / 4);
}
