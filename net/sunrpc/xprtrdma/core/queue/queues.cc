// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The depths of a connection's queues, from its settings and the limits of its device.
 *
 * The Receive Queue has a slot for each Receive that the window can need. The Send Queue has
 * slots for the messages and for the work that belongs to them, as far as the device's
 * limits permit. Each queue has one slot more, for the Work Request of the drain. If the
 * device refuses queues within its limits, the caller shortens the Send Queue and tries
 * again, down to a minimum.
 */
#include "../internal.hh"

namespace rpcrdma
{

namespace
{

/* The slot for the Work Request of the drain */
constexpr u32 DRAIN = 1;

/* Slots that the largest message needs if each of its segments has an MR */
constexpr u32 MOST_MR_SLOTS = u32{ RPCRDMA_MAX_SEGS } + 1 + RPCRDMA_SQ_BATCH;

/*
 * MRs for Reads on a device that does not need them. The rdma_rw API can be forced to
 * use MRs, for debugging (ib_core.force_mr). A few Reads are then possible at a time,
 * and a Write that gets no MR closes the connection.
 */
constexpr u32 SPARE_READS = 8;

/* The shortest queue that is tried, without the slots of Reads */
constexpr u32 LEAST_SLOTS = u32{ 2 } * RPCRDMA_CONTROL_SENDS;

bool serves_version_1(const struct rpcrdma_load *load)
{
	return !load->client && load->version_low == RPCRDMA_VERS_1;
}

/*
 * Return the slots for messages, and for the work that belongs to them. A Call
 * registers an MR, and may later invalidate it; some Replies have a Write. Work that
 * does not fit is queued, and transfers are posted in batches, so that the number of
 * slots affects speed, not correctness. Each slot needs memory, and a few dozen keep a
 * device busy.
 */
u32 slots_for(const struct rpcrdma_load *load, u32 max_wrs)
{
	const u32 more = load->client ? load->sends : load->sends / 2;
	u32 slots = load->sends + RPCRDMA_CONTROL_SENDS;

	if (load->mrs || load->reads)
		slots += more;
	if (load->mrs)
		slots = max_u32(slots, MOST_MR_SLOTS);
	return min_u32(slots, max_wrs - DRAIN);
}

/* Messages are contiguous. Only Reads and Writes need more elements than one. */
u32 sges_for(const struct rpcrdma_load *load, u32 max_sges)
{
	if (!load->reads)
		return 1;
	return min_u32(load->client ? +RPCRDMA_CLIENT_SGES :
				      +RPCRDMA_SERVER_SGES,
		       max_sges);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

/* Reduce large settings, so that they do not prevent the connection. */
void rpcrdma_load_fit(struct rpcrdma_load *load, u32 max_wrs)
{
	const u32 others =
		DRAIN + 1 + RPCRDMA_V1_SPARE_RECEIVES; /* 1: the reserve */
	const u32 window = max_wrs > others ? max_wrs - others : 0;

	load->window =
		max_u32(min_u32(load->window, window), RPCRDMA_MIN_WINDOW);
	load->sends = min_u32(load->sends, max_wrs / 4);
	load->reads = min_u32(load->reads, max_wrs / 4);
}

struct rpcrdma_queues
rpcrdma_queues_for(const struct rpcrdma_load *load,
		   const struct rpcrdma_queue_limits *most)
{
	const u32 spare = serves_version_1(load) ? +RPCRDMA_V1_SPARE_RECEIVES :
						   0;
	const u32 receives =
		rpcrdma_window_receives(load->window) + spare + DRAIN;
	const u32 slots = slots_for(load, most->wrs);
	const u32 reads = most->read_mrs ? load->reads :
					   min_u32(load->reads, SPARE_READS);
	const u32 read_wrs = most->read_mrs ? RPCRDMA_READ_MR_WRS * reads :
					      reads;

	return { .receives = receives,
		 .slots = slots,
		 .reads = reads,
		 .send_cqes = min_u32(slots + DRAIN + read_wrs, most->cqes),
		 .sges = sges_for(load, most->sges) };
}

u32 rpcrdma_queues_send_wrs(const struct rpcrdma_queues *queues)
{
	return queues->slots + DRAIN;
}

bool rpcrdma_queues_shorten(struct rpcrdma_queues *queues)
{
	if (queues->slots <= LEAST_SLOTS)
		return false;
	queues->slots = max_u32(queues->slots / 2, LEAST_SLOTS);
	queues->reads -= queues->reads / 2;
	return true;
}

u32 rpcrdma_queues_depth(const struct rpcrdma_queues *queues, u32 send_wrs)
{
	return min_u32(send_wrs, queues->send_cqes) - DRAIN;
}
