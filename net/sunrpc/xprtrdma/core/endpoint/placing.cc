// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Placing a Reply in the memory of its RPC, as rpc/xact.cc has divided it (x.parts).
 *
 * Operation
 *
 * The memory consists of a head, pages and a tail. Inline payload is copied to it, and a
 * Reply that is pulled is read to it. If a result was reduced, the stream has only the
 * bytes before it and after it: they are two ranges, because the result and its roundup are
 * between them. A Reply chunk has its data in place if it covers all of that memory.
 * In addition to a Write chunk, it covers head and tail only: bytes that did not fit the
 * head are at the start of the tail, and belong to the pages, or after the roundup.
 *
 * Memory
 *
 * x.parts is limited to the memory: what exceeds it is left out. No byte is copied to memory
 * that is mapped for the device.
 *
 * Errors
 *
 * Copying does not fail. Reads that cannot be built are freed by the caller.
 *
 * Locking
 *
 * No lock is held. The RPC belongs to one context at a time.
 */
#include "placing.hh"

#include "endpoint.hh"

namespace rpcrdma
{

void place(rpcrdma_rpc *rpc)
{
	const rpcrdma_reply_layout &parts = rpc->x.parts;
	const rpcrdma_recv *rv = rpc->rv;
	const auto *payload = static_cast<const u8 *>(rv->payload);

	rpc->copied = rv->payload_len;
	rpcrdma_port_rpc_copy(rpc, 0, payload, parts.first);
	if (parts.rest)
		rpcrdma_port_rpc_copy(rpc, parts.rest_at, payload + parts.first,
				      parts.rest);
}

void move(rpcrdma_rpc *rpc)
{
	const rpcrdma_reply_layout &parts = rpc->x.parts;
	auto *tail = static_cast<u8 *>(rpcrdma_port_rpc_tail(rpc));

	if (parts.reduced) {
		if (parts.pad && parts.tail)
			__builtin_memmove(tail + parts.pad, tail, parts.tail);
		return;
	}
	if (!parts.pages)
		return;
	rpcrdma_port_rpc_copy(rpc, parts.head, tail, parts.pages);
	if (parts.tail)
		__builtin_memmove(tail, tail + parts.pages, parts.tail);
}

int add_reply_reads(rpcrdma_rpc *rpc, rpcrdma_transfer *t)
{
	const rpcrdma_reply_layout &parts = rpc->x.parts;
	rpcrdma_msg_range range = { .chunk = &rpc->rv->rx.lists.reads[0],
				    .origin = RPCRDMA_RANGE_CHUNK,
				    .from = 0,
				    .to = 0,
				    .length = parts.first };
	const int rc = range.length ? rpcrdma_port_rpc_read(rpc, t, &range) : 0;

	if (rc || !parts.rest)
		return rc;
	range.from = parts.first;
	range.to = parts.rest_at;
	range.length = parts.rest;
	return rpcrdma_port_rpc_read(rpc, t, &range);
}

} // namespace rpcrdma
