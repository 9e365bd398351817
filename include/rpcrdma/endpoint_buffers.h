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
 * rpcrdma_core_send_size() - get the size of the buffer to allocate for a message
 * @core: connection
 * @octets: bytes of the message
 * @failed: the size that could not be allocated, 0 at first
 *
 * Context: any.
 * Return: bytes; 0 if there is none, or no other size.
 */
u32 rpcrdma_core_send_size(const struct rpcrdma_ep_core *core, u32 octets,
			   u32 failed);

/**
 * rpcrdma_core_send_buffer() - give a context a buffer of its own, and free the one it had
 * @s: Send context
 * @buf: buffer
 * @addr: address of @buf for the device
 * @size: bytes of the buffer
 *
 * The caller owns @s; the teardown is held off, or the lock is held.
 */
void rpcrdma_core_send_buffer(struct rpcrdma_send *s, void *buf, u64 addr,
			      u32 size);

/**
 * rpcrdma_core_send_exchange() - exchange buffers with a free context that has a larger
 *	one
 * @s: Send context
 * @octets: bytes that the buffer must have at least
 *
 * Context: lock held.
 * Return: false if there is none.
 */
bool rpcrdma_core_send_exchange(struct rpcrdma_send *s, u32 octets);

/**
 * rpcrdma_core_send_free_surplus() - free the least recently used of the free buffers
 * @core: connection
 *
 * Context: lock held.
 * Return: the number of buffers that remain, not counting those of control messages.
 */
u32 rpcrdma_core_send_free_surplus(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_send_begin() - begin a message that is sent as a single one
 * @s: Send context
 * @kind: Call, Reply or control message
 * @format: format of the message
 * @xid: XID of the RPC
 * @octets: bytes of payload
 * @lists: NULL for a message without chunks
 *
 * Write its header, if the buffer has space for that and for the payload. s->header_len
 * and s->len are set. The caller owns @s.
 * Return: false if a larger buffer is needed.
 */
static inline bool rpcrdma_core_send_begin(struct rpcrdma_send *s,
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

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_BUFFERS_H */
