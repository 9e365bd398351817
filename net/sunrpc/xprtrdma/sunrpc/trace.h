/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the transports, in the same folder as those of verbs/trace.h, which says
 * what they cost.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rpcrdma

#if !defined(RPCRDMA_SUNRPC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RPCRDMA_SUNRPC_TRACE_H

#include <linux/tracepoint.h>
#include <linux/sunrpc/xprt.h>
#include <rpcrdma/reconnect.h>

#include "../verbs/endpoint.h"
#include "../verbs/trace_peer.h"

TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_FORGET);
TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_TRY);
TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_TRY_OTHER);
TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_KEEP);
TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_SETTLED);
TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_UP);
TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_DROP);
TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_WAKE);
TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_UNLOCK);
TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_DOWN);
TRACE_DEFINE_ENUM(RPCRDMA_RECONNECT_END);
#define rpcrdma_show_reconnect(x)					\
	__print_symbolic(x,						\
		{ RPCRDMA_RECONNECT_FORGET, "forget" },			\
		{ RPCRDMA_RECONNECT_TRY, "try" },				\
		{ RPCRDMA_RECONNECT_TRY_OTHER, "try_other_version" },	\
		{ RPCRDMA_RECONNECT_KEEP, "keep" },				\
		{ RPCRDMA_RECONNECT_SETTLED, "settled" },			\
		{ RPCRDMA_RECONNECT_UP, "up" },				\
		{ RPCRDMA_RECONNECT_DROP, "drop" },				\
		{ RPCRDMA_RECONNECT_WAKE, "wake" },				\
		{ RPCRDMA_RECONNECT_UNLOCK, "unlock" },			\
		{ RPCRDMA_RECONNECT_DOWN, "down" },				\
		{ RPCRDMA_RECONNECT_END, "end" })

/* sunrpc requests a connection; the attempt begins after @delay jiffies. */
TRACE_EVENT(rpcrdma_op_connect,
	TP_PROTO(const struct rpc_xprt *xprt, unsigned long delay),
	TP_ARGS(xprt, delay),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(unsigned int, delay)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &xprt->addr);
		__entry->delay = jiffies_to_msecs(delay);
	),
	TP_printk("peer=%s delay_ms=%u", __entry->peer, __entry->delay)
);

/* The next step of connecting or closing, see enum rpcrdma_reconnect */
TRACE_EVENT(rpcrdma_reconnect,
	TP_PROTO(const struct rpc_xprt *xprt,
		 const struct rpcrdma_reconnect_step *step),
	TP_ARGS(xprt, step),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(u32, step)
		__field(int, status)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &xprt->addr);
		__entry->step = step->what;
		__entry->status = step->status;
	),
	TP_printk("peer=%s step=%s status=%d", __entry->peer,
		  rpcrdma_show_reconnect(__entry->step),
		  __entry->status)
);

/* A Call was refused. @status: 0, it is sent again; or the errno that ends the RPC */
TRACE_EVENT(rpcrdma_retry,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 code, int status),
	TP_ARGS(ep, xid, code, status),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(u32, xid)
		__field(u32, code)
		__field(int, status)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &ep->remote);
		__entry->xid = xid;
		__entry->code = code;
		__entry->status = status;
	),
	TP_printk("peer=%s xid=0x%08x error=%u status=%d", __entry->peer,
		  __entry->xid, __entry->code, __entry->status)
);

DECLARE_EVENT_CLASS(rpcrdma_pull_event,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 octets, int status),
	TP_ARGS(ep, xid, octets, status),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(u32, xid)
		__field(u32, octets)
		__field(int, status)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &ep->remote);
		__entry->xid = xid;
		__entry->octets = octets;
		__entry->status = status;
	),
	TP_printk("peer=%s xid=0x%08x octets=%u status=%d", __entry->peer,
		  __entry->xid, __entry->octets, __entry->status)
);

/* A Requester begins to pull a Reply; @status: 0 or a negative errno. */
DEFINE_EVENT(rpcrdma_pull_event, rpcrdma_pull,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 octets, int status),
	TP_ARGS(ep, xid, octets, status));
/* The Reads of a pulled Reply have ended; @status: 0, or -EIO if they failed. */
DEFINE_EVENT(rpcrdma_pull_event, rpcrdma_pulled,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 octets, int status),
	TP_ARGS(ep, xid, octets, status));

#endif /* RPCRDMA_SUNRPC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH sunrpc
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
