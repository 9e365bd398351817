/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Continued messages, in continued.cc. "The lock": see endpoint_send.h.
 */
#ifndef RPCRDMA_ENDPOINT_CONTINUED_H
#define RPCRDMA_ENDPOINT_CONTINUED_H

#include "endpoint_send.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A Call or Reply that is sent as a sequence of continued messages (4.4.2), split as
 * the window allows. It has its own copy of the Payload stream, so that it holds no
 * references to an RPC's memory.
 */
struct rpcrdma_stream {
	struct rpcrdma_work	work;		/* queue entry */
	enum rpcrdma_kind	kind;
	u32			xid;
	u32			len, sent;	/* bytes of payload */
	u32			inv_handle;	/* with the last message */
	struct rpcrdma_transfer	*rw;		/* Writes before the last message */
	/* Replies: the connection charged for its bytes */
	struct rpcrdma_ep_core	*held_for;
	u8			*data;
	struct rpcrdma_lists	lists;		/* in the last message's header */
};

/**
 * rpcrdma_core_stream_init() - initialise a continued message
 * @st: continued message
 * @kind: Call, Reply or control message
 * @xid: XID of the RPC
 * @data: the Payload stream, which the caller fills in
 * @len: bytes of the Payload stream
 * @lists: chunk lists of the message
 *
 * Context: any.
 */
void rpcrdma_core_stream_init(struct rpcrdma_stream *st, enum rpcrdma_kind kind,
			      u32 xid, u8 *data, u32 len,
			      const struct rpcrdma_lists *lists);

/**
 * rpcrdma_core_stream_free() - free a continued message that was not sent, and uncharge it
 * @st: continued message
 *
 * Context: no lock held.
 */
void rpcrdma_core_stream_free(struct rpcrdma_stream *st);

/**
 * rpcrdma_core_send_continued_call() - send a continued Call
 * @core: connection
 * @st: continued message
 * @mrs: list of struct rpcrdma_mr
 * @x: RPC
 *
 * The first message is posted now, with the registrations of @mrs.
 * Context: no lock held.
 * Return: as for rpcrdma_core_send_call().
 */
int rpcrdma_core_send_continued_call(struct rpcrdma_ep_core *core,
				     struct rpcrdma_stream *st,
				     struct list_head *mrs,
				     struct rpcrdma_xact *x);

/**
 * rpcrdma_core_send_continued_reply() - queue a continued Reply
 * @core: connection
 * @st: continued message
 * @t: Writes before its last message, or NULL
 * @inv_handle: handle to invalidate at the peer, or 0
 *
 * It is charged to the peer. @st and @t are consumed.
 * Context: no lock held.
 * Return: 0 or -ENOTCONN.
 */
int rpcrdma_core_send_continued_reply(struct rpcrdma_ep_core *core,
				      struct rpcrdma_stream *st,
				      struct rpcrdma_transfer *t,
				      u32 inv_handle);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_CONTINUED_H */
