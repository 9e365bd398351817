/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Headers of Calls and Replies.
 */
#ifndef RPCRDMA_ENCODE_H
#define RPCRDMA_ENCODE_H

#include "chunk.h"
#include "conn.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_encode_header() - encode a message's header, without the credit fields, which
 *	rpcrdma_conn_stamp() writes
 * @conn: connection
 * @buf: buffer
 * @size: bytes at @buf (4-byte aligned)
 * @xid: XID of the RPC
 * @htype: RDMA2_MSG or RDMA2_NOMSG
 * @flags: RDMA2_F_RESPONSE, RDMA2_F_MORE
 * @lists: NULL for none
 *
 * Return: the header's length, 0 if it does not fit.
 */
u32 rpcrdma_encode_header(const struct rpcrdma_conn *conn, void *buf, u32 size,
			  u32 xid, u32 htype, u32 flags,
			  const struct rpcrdma_lists *lists);

/**
 * rpcrdma_encode_plain() - fast path: encode the header of a Call or Reply that is one
 *	message without chunks
 * @conn: connection
 * @buf: buffer
 * @kind: Call, Reply or control message
 * @xid: XID of the RPC
 *
 * @buf has space for rpcrdma_plain_header() bytes.
 */
void rpcrdma_encode_plain(const struct rpcrdma_conn *conn, void *buf,
			  enum rpcrdma_kind kind, u32 xid);

/**
 * rpcrdma_encode_rpc() - encode the header of a Call or Reply of that format, with its
 *	header type and flags
 * @conn: connection
 * @buf: buffer
 * @size: bytes of the buffer
 * @kind: Call, Reply or control message
 * @format: format of the message
 * @xid: XID of the RPC
 * @more: this is one message of a continued one, and not the last
 * @lists: chunk lists of the message
 *
 * Return: as rpcrdma_encode_header().
 */
u32 rpcrdma_encode_rpc(const struct rpcrdma_conn *conn, void *buf, u32 size,
		       enum rpcrdma_kind kind, enum rpcrdma_format format,
		       u32 xid, bool more, const struct rpcrdma_lists *lists);

/**
 * rpcrdma_header_octets() - get the length that rpcrdma_encode_header() needs for
 *	@lists (NULL: none)
 * @conn: connection
 * @lists: chunk lists of the message
 *
 * Return: the length.
 */
u32 rpcrdma_header_octets(const struct rpcrdma_conn *conn,
			  const struct rpcrdma_lists *lists);

/**
 * struct rpcrdma_fragment - one message of a continued one (4.4.2)
 * @octets: bytes of its payload
 * @more: true if others follow: it has RDMA2_F_MORE
 */
struct rpcrdma_fragment {
	u32	octets;
	bool	more;
};

/**
 * rpcrdma_next_fragment() - plan the next message of a continued one (4.4.2)
 * @conn: connection
 * @lists: chunk lists of the last message
 * @left: bytes of the payload that were not sent yet
 * @room: bytes of the message, at most; at least RPCRDMA_SMALL_SEND
 *
 * Return: the next message. Its payload is 0 only if @room is too small for the chunk
 * lists, and all the rest has to be sent with them.
 */
struct rpcrdma_fragment rpcrdma_next_fragment(const struct rpcrdma_conn *conn,
					      const struct rpcrdma_lists *lists,
					      u32 left, u32 room);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENCODE_H */
