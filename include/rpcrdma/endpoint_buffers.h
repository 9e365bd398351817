/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory of Send contexts, in send_buffers.cc, and the beginning of a message in it. "The
 * lock": see endpoint_send.h.
 */
#ifndef RPCRDMA_ENDPOINT_BUFFERS_H
#define RPCRDMA_ENDPOINT_BUFFERS_H

#include "endpoint_send.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_core_send_larger() - give a context a larger buffer
 * @s: Send context, which the caller owns
 * @octets: bytes that the buffer must have at least
 *
 * If memory is short, the buffer is only as large as necessary, or that of a free context.
 * A client does not wait for memory that may become free only after it has sent the
 * message.
 * Context: process context, no lock held.
 * Return: 0; -EMSGSIZE if the peer accepts no such message; -ENOTCONN if the connection is
 *	closing; -ENOMEM.
 */
int rpcrdma_core_send_larger(struct rpcrdma_send *s, u32 octets);

/**
 * rpcrdma_core_send_room() - ensure that a context has space for a message
 * @s: Send context, which the caller owns
 * @octets: bytes of the message
 *
 * Context: process context, no lock held.
 * Return: 0, or an errno of rpcrdma_core_send_larger().
 */
static inline int rpcrdma_core_send_room(struct rpcrdma_send *s, u32 octets)
{
	if (__builtin_expect(octets <= s->size, 1))
		return 0;
	return rpcrdma_core_send_larger(s, octets);
}

/**
 * rpcrdma_core_send_free_surplus() - free the least recently used of the free buffers
 * @core: connection
 *
 * Context: lock held.
 * Return: the number of buffers that remain, not counting those of control messages.
 */
u32 rpcrdma_core_send_free_surplus(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_send_fits() - begin a message, if the buffer has space for it
 * @s: Send context
 * @kind: Call, Reply or control message
 * @format: format of the message
 * @xid: XID of the RPC
 * @octets: bytes of payload
 * @lists: NULL for a message without chunks
 *
 * The fast path of rpcrdma_core_send_begin().
 * Return: false if a larger buffer is needed.
 */
static inline bool rpcrdma_core_send_fits(struct rpcrdma_send *s,
					  enum rpcrdma_kind kind,
					  enum rpcrdma_format format, u32 xid,
					  u32 octets,
					  const struct rpcrdma_lists *lists)
{
	struct rpcrdma_conn *conn = &s->core->conn;
	u32 header = lists ? rpcrdma_encode_rpc(conn, (u8 *)s->buf, s->size,
						kind, format, xid, false,
						lists) :
			     rpcrdma_plain_header(conn);

	if (__builtin_expect(!header || header + octets > s->size, 0))
		return false;
	s->header_len = header;
	s->len = header + octets;
	if (__builtin_expect(!lists, 1))
		rpcrdma_encode_plain(conn, (u8 *)s->buf, kind, xid);
	return true;
}

/**
 * rpcrdma_core_send_begin_larger() - begin a message in a larger buffer
 * @s: Send context
 * @kind: Call, Reply or control message
 * @format: format of the message
 * @xid: XID of the RPC
 * @octets: bytes of payload
 * @lists: NULL for a message without chunks
 *
 * The slow path of rpcrdma_core_send_begin().
 * Context: process context, no lock held.
 * Return: 0, or an errno of rpcrdma_core_send_larger().
 */
int rpcrdma_core_send_begin_larger(struct rpcrdma_send *s,
				   enum rpcrdma_kind kind,
				   enum rpcrdma_format format, u32 xid,
				   u32 octets,
				   const struct rpcrdma_lists *lists);

/**
 * rpcrdma_core_send_begin() - begin a message that is sent as a single one
 * @s: Send context, which the caller owns
 * @kind: Call, Reply or control message
 * @format: format of the message
 * @xid: XID of the RPC
 * @octets: bytes of payload, at most 64 KiB
 * @lists: NULL for a message without chunks
 *
 * Write its header, and ensure that the payload has space after it. s->header_len and
 * s->len are set.
 * Context: process context, no lock held.
 * Return: 0, or an errno of rpcrdma_core_send_larger().
 */
static inline int rpcrdma_core_send_begin(struct rpcrdma_send *s,
					  enum rpcrdma_kind kind,
					  enum rpcrdma_format format, u32 xid,
					  u32 octets,
					  const struct rpcrdma_lists *lists)
{
	if (__builtin_expect(rpcrdma_core_send_fits(s, kind, format, xid,
						    octets, lists), 1))
		return 0;
	return rpcrdma_core_send_begin_larger(s, kind, format, xid, octets,
					      lists);
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_BUFFERS_H */
