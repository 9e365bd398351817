// SPDX-License-Identifier: GPL-2.0
#include "internal.h"

namespace rpcrdma
{

namespace
{

/* One more than there is other work for: what an end waits for is drained with it. */
constexpr u32 DRAIN = 1;

/*
 * Slots of a server's Send Queue for a peer of version 1, at least: for a Write to
 * each segment of a Call, and the Reply. It is told of no limit (RFC 8166 has none).
 */
constexpr u32 V1_SLOTS =
	u32{ RPCRDMA_MAX_SEGS } + RPCRDMA_MORE_SEGS + 1 + RPCRDMA_SQ_BATCH;

/* The shortest queue that is tried, without what Reads and Writes take */
constexpr u32 LEAST_SLOTS = u32{ 2 } * RPCRDMA_CONTROL_SENDS;

bool serves_version_1(const struct rpcrdma_load *load)
{
	return !load->client && load->version_low == RPCRDMA_VERS_1;
}

/*
 * For messages, their registrations and invalidations. A requester's Call registers and
 * later invalidates a few regions; a responder's Reply writes a few chunks. Work that
 * does not fit waits, so these are for speed, not for safety.
 */
u32 message_slots(const struct rpcrdma_load *load, u32 max_wrs)
{
	u32 slots = load->sends + RPCRDMA_CONTROL_SENDS;

	if (load->regions)
		slots += load->client ? 4 * load->sends : load->regions;
	if (serves_version_1(load))
		slots = max_u32(slots, V1_SLOTS);
	return min_u32(slots, max_wrs / 2);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

/* A large setting is no reason not to have a connection at all. */
void rpcrdma_load_fit(struct rpcrdma_load *load, u32 max_wrs)
{
	const u32 others =
		DRAIN + 1 + RPCRDMA_V1_SPARE_RECEIVES; /* 1: the reserve */
	const u32 window = max_wrs > others ? max_wrs - others : 0;

	load->window =
		max_u32(min_u32(load->window, window), RPCRDMA_MIN_WINDOW);
	load->sends = min_u32(load->sends, max_wrs / 4);
	load->transfers = min_u32(load->transfers, max_wrs / 4);
	load->writes = min_u32(load->writes, load->transfers);
}

struct rpcrdma_queues
rpcrdma_queues_for(const struct rpcrdma_load *load,
		   const struct rpcrdma_queue_limits *most)
{
	const u32 spare = serves_version_1(load) ? +RPCRDMA_V1_SPARE_RECEIVES :
						   0;
	const u32 receives =
		rpcrdma_window_receives(load->window) + spare + DRAIN;
	const u32 slots = message_slots(load, most->wrs);
	const u32 reads = load->transfers - load->writes;

	return { .receives = receives,
		 .slots = slots,
		 .writes = load->writes,
		 .reads = reads,
		 .send_cqes = min_u32(slots + load->writes + DRAIN +
					      most->read_wrs * reads,
				      most->cqes) };
}

u32 rpcrdma_queues_send_wrs(const struct rpcrdma_queues *queues)
{
	return queues->slots + queues->writes + DRAIN;
}

bool rpcrdma_queues_shorten(struct rpcrdma_queues *queues)
{
	if (queues->slots <= LEAST_SLOTS)
		return false;
	queues->slots = max_u32(queues->slots / 2, LEAST_SLOTS);
	queues->writes /= 2;
	queues->reads -= queues->reads / 2;
	return true;
}

u32 rpcrdma_queues_depth(const struct rpcrdma_queues *queues, u32 send_wrs)
{
	return min_u32(send_wrs, queues->send_cqes) - DRAIN;
}
