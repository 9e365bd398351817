/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of host authentication, in the same folder as those of trace.h. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rpcrdma
/* A source file may create those of trace.h, too. */
#undef TRACE_SYSTEM_VAR
#define TRACE_SYSTEM_VAR rpcrdma_auth

#if !defined(RPCRDMA_TRACE_AUTH_H) || defined(TRACE_HEADER_MULTI_READ)
#define RPCRDMA_TRACE_AUTH_H

#include <linux/tracepoint.h>

#include "endpoint.h"
#include "trace_peer.h"

TRACE_DEFINE_ENUM(RPCRDMA_AUTH_ASK_SECRET);
TRACE_DEFINE_ENUM(RPCRDMA_AUTH_ASK_KEYS);
TRACE_DEFINE_ENUM(RPCRDMA_AUTH_ASK_PROOFS);
TRACE_DEFINE_ENUM(RPCRDMA_AUTH_SHA256);
TRACE_DEFINE_ENUM(RPCRDMA_AUTH_SHA384);
TRACE_DEFINE_ENUM(RPCRDMA_AUTH_SHA512);
#define rpcrdma_show_auth_hash(x)					\
	__print_symbolic(x,						\
		{ 0, "none" },						\
		{ RPCRDMA_AUTH_SHA256, "sha256" },			\
		{ RPCRDMA_AUTH_SHA384, "sha384" },			\
		{ RPCRDMA_AUTH_SHA512, "sha512" })

/*
 * The secret for @req->identity was looked up, and proofs were computed with it, or a
 * Diffie-Hellman exchange began.
 */
TRACE_EVENT(rpcrdma_auth_answer,
	TP_PROTO(const struct rpcrdma_ep *ep,
		 const struct rpcrdma_auth_request *req, int status),
	TP_ARGS(ep, req, status),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__array(char, identity, RPCRDMA_AUTH_MAX_IDENTITY + 1)
		__field(u32, what)
		__field(u32, hash)
		__field(int, status)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &ep->remote);
		snprintf(__entry->identity, sizeof(__entry->identity), "%s",
			 req->identity);
		__entry->what = req->what;
		__entry->hash = req->hash;
		__entry->status = status;
	),
	TP_printk("peer=%s what=%s identity=%s hash=%s status=%d",
		  __entry->peer,
		  __print_symbolic(__entry->what,
				   { RPCRDMA_AUTH_ASK_SECRET, "secret" },
				   { RPCRDMA_AUTH_ASK_KEYS, "keys" },
				   { RPCRDMA_AUTH_ASK_PROOFS, "proofs" }),
		  __entry->identity, rpcrdma_show_auth_hash(__entry->hash),
		  __entry->status)
);

/* The result of the handshake is known: the connection opens, or ends. */
TRACE_EVENT_CONDITION(rpcrdma_auth_result,
	TP_PROTO(const struct rpcrdma_ep *ep),
	TP_ARGS(ep),
	TP_CONDITION(rpcrdma_conn_auth_result(&ep->core.conn) !=
		     RPCRDMA_AUTH_PENDING),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__array(char, identity, RPCRDMA_AUTH_MAX_IDENTITY + 1)
		__array(char, result, 80)
	),
	TP_fast_assign(
		const struct rpcrdma_conn *conn = &ep->core.conn;
		enum rpcrdma_auth_result result = rpcrdma_conn_auth_result(conn);

		rpcrdma_trace_peer(__entry, &ep->remote);
		snprintf(__entry->identity, sizeof(__entry->identity), "%s",
			 rpcrdma_auth_peer(conn));
		snprintf(__entry->result, sizeof(__entry->result), "%s",
			 rpcrdma_auth_reason(result) ?:
			 rpcrdma_auth_name(result));
	),
	TP_printk("peer=%s identity=%s result=%s", __entry->peer,
		  __entry->identity, __entry->result)
);

#endif /* RPCRDMA_TRACE_AUTH_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_auth
#include <trace/define_trace.h>
