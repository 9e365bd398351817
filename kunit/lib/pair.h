/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two endpoints over the RDMA device under test, and RPCs between them: declarations that
 * only the sources of this folder share
 *
 * A Call consists of XID, direction, seed and result length; a Reply of XID, direction,
 * status and result length. Data generated from the seed follow inline, or are conveyed
 * by a Read chunk at the end of the Call and a Write chunk for the result.
 */
#ifndef RPCRDMA_LOOPBACK_PAIR_H
#define RPCRDMA_LOOPBACK_PAIR_H

#include "loopback.h"
#include "../../net/sunrpc/xprtrdma/verbs/internal.h"

enum {
	LOOP_HEAD = 16,		/* bytes of a Call or Reply without data */
};

/* ---- Memory: memory.c ---- */

/* Return the byte at index @i of the data generated from @seed. */
u8 loop_octet(u32 seed, u32 i);
/* Return the address of the byte at index @i. */
u8 *loop_buf_at(const struct loop_buf *buf, u32 i);

/* ---- The Responder: responder.c ---- */

/* Build an RPC message: the four words and @len bytes. */
void loop_payload(u8 *to, u32 xid, u32 direction, u32 word, u32 octets, u32 seed,
		  u32 len);
bool loop_payload_ok(const u8 *p, u32 seed, u32 len);
/* Serve a Call. Its Receive is released once the Reply is sent. */
void loop_serve(struct loop_side *side, struct rpcrdma_recv *rv);

/* ---- Upcalls: upcalls.c ---- */

extern const struct rpcrdma_ep_ops loop_server_ops, loop_client_ops;

/* Process received messages, as a service thread does. */
void loop_take(struct work_struct *work);
/* Remove the RPC with @xid from the pending ones. Return it, or NULL. */
struct loop_rpc *loop_claim(struct loop_side *side, u32 xid);

/* ---- Connections: connect.c ---- */

/* Number of mappings the connection manager holds permanently */
extern int loop_mem_maps;

void loop_side_init(struct loop_side *side, u32 xid);
/* Accept a connection as the server of the pair @priv. */
int loop_incoming(void *priv, struct rpcrdma_ep *ep);

#endif /* RPCRDMA_LOOPBACK_PAIR_H */
