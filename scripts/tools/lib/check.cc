// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Rules for a message that has been decoded: those that its own content shows broken */
#include "internal.hh"

using namespace rpcrdma;
using namespace rpcrdma2;

namespace
{

constexpr struct rpcrdma2_fault FINE = { 0, 0 };

struct rpcrdma2_fault check_flags(const struct rpcrdma2_msg *msg)
{
	const bool control = msg->type == RDMA2_CONNPROP ||
			     msg->type == RDMA2_DONE;
	const bool response = msg->flags & RDMA2_F_RESPONSE;

	if ((msg->flags & RDMA2_F_MORE && msg->type != RDMA2_MSG) ||
	    (msg->flags & RDMA2_F_TPMORE && msg->type != RDMA2_CONNPROP) ||
	    (control && response) || (msg->type == RDMA2_ERROR && !response))
		return { RPCRDMA2_ERR_FLAGS, v2::OFF_FLAGS };
	if (msg->type == RDMA2_CONNPROP && msg->xid)
		return { RPCRDMA2_ERR_XID, v2::OFF_XID };
	return FINE;
}

/* Return the fault of the lists of a version 2 message. */
struct rpcrdma2_fault check_lists(const struct rpcrdma2_msg *msg,
				  const void *pkt, u32 length)
{
	const bool response = msg->flags & RDMA2_F_RESPONSE;
	const bool nomsg = msg->type == RDMA2_NOMSG;
	const u32 at = msg->items_offset;
	struct rpcrdma2_items items;
	struct rpcrdma2_item item;

	if (msg->flags & RDMA2_F_MORE && msg->nr_items)
		return { RPCRDMA2_ERR_MORE_CHUNKS, at };
	if (nomsg && !msg->nr_items) {
		/* A credit grant */
		if (msg->xid)
			return { RPCRDMA2_ERR_NO_POSITION_ZERO, at };
		if (response)
			return { RPCRDMA2_ERR_FLAGS, v2::OFF_FLAGS };
		return FINE;
	}
	if (!nomsg && response && msg->nr_reads)
		return { RPCRDMA2_ERR_REPLY_READS, at };
	if (nomsg && !msg->nr_reads && !(response && msg->has_reply))
		return { RPCRDMA2_ERR_NO_POSITION_ZERO, at };

	rpcrdma2_items_begin(&items, msg, pkt, length);
	for (u32 i = 0; i < msg->nr_reads; i++) {
		rpcrdma2_items_next(&items, &item);
		if (nomsg && !i && item.position)
			return { RPCRDMA2_ERR_NO_POSITION_ZERO,
				 item.offset + 4 };
		if (!nomsg && !item.position)
			return { RPCRDMA2_ERR_POSITION_ZERO, item.offset + 4 };
		if (response && item.position)
			return { RPCRDMA2_ERR_REPLY_READS, item.offset + 4 };
	}
	return FINE;
}

/* A version 1 message is complete: its payload has all that has to be checked. */
struct rpcrdma2_fault check_v1(const struct rpcrdma2_msg *msg, const void *pkt)
{
	const u32 at = msg->payload_offset;

	if (msg->type == v1::RDMA_NOMSG) {
		if (!msg->nr_reads && !msg->has_reply)
			return { RPCRDMA2_ERR_NO_POSITION_ZERO,
				 msg->items_offset };
		return FINE;
	}
	if (msg->type == v1::RDMA_ERROR && !name_err_v1(msg->code))
		return { RPCRDMA2_ERR_CODE, v1::OFF_ERR };
	if (msg->type != v1::RDMA_MSG && msg->type != v1::RDMA_MSGP)
		return FINE;
	if (msg->payload_length < RPC_MIN_OCTETS)
		return { RPCRDMA2_ERR_PAYLOAD, at };
	if (load_word(pkt, at) != msg->xid)
		return { RPCRDMA2_ERR_XID, at };

	const u32 direction = load_word(pkt, at + 4);

	if (direction > 1)
		return { RPCRDMA2_ERR_DIRECTION, at + 4 };
	if (direction && msg->nr_reads)
		return { RPCRDMA2_ERR_REPLY_READS, msg->items_offset };
	return FINE;
}

struct rpcrdma2_fault check_v2(const struct rpcrdma2_msg *msg, const void *pkt,
			       u32 length)
{
	struct rpcrdma2_fault fault = check_flags(msg);

	if (fault.error)
		return fault;
	if (msg->type == RDMA2_ERROR &&
	    (!find_error(msg->code) || msg->code == RDMA2_ERR_VERS))
		return { RPCRDMA2_ERR_CODE, RPCRDMA_V2_PREFIX };
	if (msg->type != RDMA2_MSG && msg->type != RDMA2_NOMSG)
		return FINE;
	fault = check_lists(msg, pkt, length);
	if (fault.error || msg->type == RDMA2_NOMSG)
		return fault;
	/* The message may be any one of a continued message. */
	if (msg->payload_length < sizeof(u32) ||
	    (msg->flags & RDMA2_F_MORE && msg->payload_length % sizeof(u32)))
		return { RPCRDMA2_ERR_PAYLOAD, msg->payload_offset };
	return FINE;
}

} // namespace

int rpcrdma2_msg_check(const struct rpcrdma2_msg *msg, const void *pkt,
		       size_t length, struct rpcrdma2_fault *fault)
{
	struct rpcrdma2_fault found = FINE;

	if (!msg->err_vers)
		found = msg->version == RPCRDMA_VERS_1 ?
				check_v1(msg, pkt) :
				check_v2(msg, pkt, clamp_length(length));
	if (fault)
		*fault = found;
	return found.error;
}
