/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: /sys/kernel/tracing/events/rpcrdma. Documentation/settings.rst describes
 * each. An event named like an in-tree one, but for the prefix, means the same.
 *
 * An event that is off costs a branch over it: its arguments are pointers and values that
 * the caller has, and all fields are computed when the event is recorded.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rpcrdma

#if !defined(RPCRDMA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RPCRDMA_TRACE_H

#include <linux/tracepoint.h>
#include <linux/sunrpc/addr.h>

#include "data.h"
#include "receiving.h"
#include "sending.h"
#include "trace_peer.h"

/* Programs that read the binary trace learn the numbers of the names. */
TRACE_DEFINE_ENUM(RPCRDMA_WORK_CALL);
TRACE_DEFINE_ENUM(RPCRDMA_WORK_REPLY);
TRACE_DEFINE_ENUM(RPCRDMA_WORK_CONTROL);
TRACE_DEFINE_ENUM(RPCRDMA_WORK_RDMA);
TRACE_DEFINE_ENUM(RPCRDMA_WORK_TRANSFER);
TRACE_DEFINE_ENUM(RPCRDMA_WORK_STREAM);
#define rpcrdma_show_work(x)						\
	__print_symbolic(x,						\
		{ RPCRDMA_WORK_CALL, "call" },				\
		{ RPCRDMA_WORK_REPLY, "reply" },			\
		{ RPCRDMA_WORK_CONTROL, "control" },			\
		{ RPCRDMA_WORK_RDMA, "invalidation" },			\
		{ RPCRDMA_WORK_TRANSFER, "transfer" },			\
		{ RPCRDMA_WORK_STREAM, "continued" })
TRACE_DEFINE_ENUM(RPCRDMA_RX_CONSUMED);
TRACE_DEFINE_ENUM(RPCRDMA_RX_FRAGMENT);
TRACE_DEFINE_ENUM(RPCRDMA_RX_CALL);
TRACE_DEFINE_ENUM(RPCRDMA_RX_REPLY);
TRACE_DEFINE_ENUM(RPCRDMA_RX_BAD_REPLY);
TRACE_DEFINE_ENUM(RPCRDMA_RX_ERROR);
TRACE_DEFINE_ENUM(RPCRDMA_RX_PULL_COMPLETE);
TRACE_DEFINE_ENUM(RPCRDMA_RX_CLOSE);
#define rpcrdma_show_verdict(x)						\
	__print_symbolic(x,						\
		{ RPCRDMA_RX_CONSUMED, "done" },				\
		{ RPCRDMA_RX_FRAGMENT, "part" },				\
		{ RPCRDMA_RX_CALL, "call" },				\
		{ RPCRDMA_RX_REPLY, "reply" },				\
		{ RPCRDMA_RX_BAD_REPLY, "bad_reply" },			\
		{ RPCRDMA_RX_ERROR, "error" },				\
		{ RPCRDMA_RX_PULL_COMPLETE, "pulled" },			\
		{ RPCRDMA_RX_CLOSE, "close" })

/* ---- Connections ---- */

DECLARE_EVENT_CLASS(rpcrdma_ep_event,
	TP_PROTO(const struct rpcrdma_ep *ep),
	TP_ARGS(ep),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(bool, client)
		__field(u8, version)
		__field(u32, send_inline)
		__field(u32, recv_inline)
		__field(u32, limit)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &ep->remote);
		__entry->client = ep->client;
		__entry->version = ep->core.conn.version;
		__entry->send_inline =
			rpcrdma_conn_limits(&ep->core.conn).send_inline;
		__entry->recv_inline =
			rpcrdma_conn_limits(&ep->core.conn).recv_inline;
		__entry->limit = ep->core.conn.limit;
	),
	TP_printk("peer=%s role=%s version=%u send_inline=%u recv_inline=%u limit=%u",
		  __entry->peer, __entry->client ? "client" : "server",
		  __entry->version, __entry->send_inline,
		  __entry->recv_inline, __entry->limit)
);

/* The queue pair is connected; properties are next. */
DEFINE_EVENT(rpcrdma_ep_event, rpcrdma_connect,
	TP_PROTO(const struct rpcrdma_ep *ep), TP_ARGS(ep));
/* Both ends' properties are known. */
DEFINE_EVENT(rpcrdma_ep_event, rpcrdma_opened,
	TP_PROTO(const struct rpcrdma_ep *ep), TP_ARGS(ep));
/* Messages that wait for credits, slots or contexts are tried again. */
DEFINE_EVENT(rpcrdma_ep_event, rpcrdma_sq_retry,
	TP_PROTO(const struct rpcrdma_ep *ep), TP_ARGS(ep));

TRACE_EVENT(rpcrdma_disconnect,
	TP_PROTO(const struct rpcrdma_ep *ep, const char *reason),
	TP_ARGS(ep, reason),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__array(char, reason, 80)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &ep->remote);
		snprintf(__entry->reason, sizeof(__entry->reason), "%s",
			 reason ? reason : "ordinary");
	),
	TP_printk("peer=%s reason=%s", __entry->peer, __entry->reason)
);

/* ---- Messages and credits ---- */

TRACE_EVENT(rpcrdma_post_recvs,
	TP_PROTO(const struct rpcrdma_ep *ep, const struct rpcrdma_recv *first),
	TP_ARGS(ep, first),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(u32, count)
		__field(u32, receives)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &ep->remote);
		__entry->count = 0;
		for (; first; first = first->next)
			__entry->count++;
		__entry->receives = ep->core.nr_recvs;
	),
	TP_printk("peer=%s count=%u receives=%u", __entry->peer,
		  __entry->count, __entry->receives)
);

DECLARE_EVENT_CLASS(rpcrdma_grant_event,
	TP_PROTO(const struct rpcrdma_ep *ep, const void *header, u32 octets),
	TP_ARGS(ep, header, octets),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(u32, sent)
		__field(u32, limit)
		__field(u32, received)
		__field(u32, advertised)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &ep->remote);
		__entry->sent = ep->core.conn.sent;
		__entry->limit = ep->core.conn.limit;
		__entry->received = ep->core.conn.received;
		__entry->advertised = ep->core.conn.advertised;
	),
	TP_printk("peer=%s sent=%u limit=%u received=%u advertised=%u",
		  __entry->peer, __entry->sent, __entry->limit,
		  __entry->received, __entry->advertised)
);

/* A message that conveys credits alone */
DEFINE_EVENT_CONDITION(rpcrdma_grant_event, rpcrdma_grant_sent,
	TP_PROTO(const struct rpcrdma_ep *ep, const void *header, u32 octets),
	TP_ARGS(ep, header, octets),
	TP_CONDITION(rpcrdma_conn_is_grant(&ep->core.conn, header, octets)));
DEFINE_EVENT_CONDITION(rpcrdma_grant_event, rpcrdma_grant_received,
	TP_PROTO(const struct rpcrdma_ep *ep, const void *header, u32 octets),
	TP_ARGS(ep, header, octets),
	TP_CONDITION(rpcrdma_conn_is_grant(&ep->core.conn, header, octets)));

/*
 * @work is queued, for credits or for slots. @work is NULL for a Call: its task waits
 * for credits, slots, a Send context, memory or MRs.
 */
TRACE_EVENT(rpcrdma_sq_full,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid,
		 const struct rpcrdma_work *work),
	TP_ARGS(ep, xid, work),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(u32, xid)
		__field(u32, kind)
		__field(u32, sent)
		__field(u32, limit)
		__field(u32, used)
		__field(u32, depth)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &ep->remote);
		__entry->xid = xid;
		__entry->kind = work ? work->kind : RPCRDMA_WORK_CALL;
		__entry->sent = ep->core.conn.sent;
		__entry->limit = ep->core.conn.limit;
		__entry->used = ep->core.sq.posted - ep->core.sq.retired;
		__entry->depth = ep->core.sq.depth;
	),
	TP_printk("peer=%s xid=0x%08x kind=%s sent=%u limit=%u slots=%u of %u",
		  __entry->peer, __entry->xid, rpcrdma_show_work(__entry->kind),
		  __entry->sent, __entry->limit, __entry->used,
		  __entry->depth)
);

TRACE_EVENT(rpcrdma_send,
	TP_PROTO(const struct rpcrdma_ep *ep, const struct rpcrdma_send *s),
	TP_ARGS(ep, s),
	TP_STRUCT__entry(
		__field(u32, xid)
		__field(u32, kind)
		__field(u32, octets)
		__field(u32, sent)
		__field(u32, limit)
		__field(bool, invalidate)
	),
	TP_fast_assign(
		__entry->xid = be32_to_cpup(s->buf);
		__entry->kind = s->work.kind;
		__entry->octets = s->len;
		__entry->sent = ep->core.conn.sent;
		__entry->limit = ep->core.conn.limit;
		__entry->invalidate = s->inv_handle != 0;
	),
	TP_printk("xid=0x%08x kind=%s octets=%u sent=%u limit=%u%s",
		  __entry->xid,
		  rpcrdma_show_work(__entry->kind),
		  __entry->octets, __entry->sent, __entry->limit,
		  __entry->invalidate ? " invalidate" : "")
);

TRACE_EVENT(rpcrdma_receive,
	TP_PROTO(const struct rpcrdma_ep *ep, const struct rpcrdma_recv *rv),
	TP_ARGS(ep, rv),
	TP_STRUCT__entry(
		__field(u32, xid)
		__field(u32, verdict)
		__field(u32, octets)
		__field(u32, inv_handle)
		__field(u32, limit)
		__field(u32, error)
	),
	TP_fast_assign(
		__entry->xid = rv->rx.xid;
		__entry->verdict = rv->verdict;
		__entry->octets = rv->octets;
		__entry->inv_handle = rv->inv_handle;
		__entry->limit = ep->core.conn.limit;
		__entry->error = rv->verdict == RPCRDMA_RX_ERROR ?
				 rv->rx.error.code : 0;
	),
	TP_printk("xid=0x%08x verdict=%s octets=%u inv_handle=0x%08x limit=%u error=%u",
		  __entry->xid,
		  rpcrdma_show_verdict(__entry->verdict),
		  __entry->octets, __entry->inv_handle, __entry->limit,
		  __entry->error)
);

TRACE_EVENT(rpcrdma_refuse,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 code),
	TP_ARGS(ep, xid, code),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(u32, xid)
		__field(u32, code)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &ep->remote);
		__entry->xid = xid;
		__entry->code = code;
	),
	TP_printk("peer=%s xid=0x%08x error=%u", __entry->peer, __entry->xid,
		  __entry->code)
);

/* ---- Memory, and Work Requests ---- */

TRACE_EVENT(rpcrdma_map,
	TP_PROTO(const struct rpcrdma_ep *ep, const struct verbs_mr *mr),
	TP_ARGS(ep, mr),
	TP_STRUCT__entry(
		__field(u32, handle)
		__field(u32, length)
		__field(u64, offset)
		__field(int, nents)
		__field(bool, write)
	),
	TP_fast_assign(
		__entry->handle = mr->core.handle;
		__entry->length = mr->core.length;
		__entry->offset = mr->core.offset;
		__entry->nents = mr->nents;
		__entry->write = mr->dir == DMA_FROM_DEVICE;
	),
	TP_printk("%u@0x%016llx:0x%08x nents=%d %s", __entry->length,
		  (unsigned long long)__entry->offset, __entry->handle,
		  __entry->nents, __entry->write ? "write" : "read")
);

TRACE_EVENT(rpcrdma_invalidate,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 handle, bool remote),
	TP_ARGS(ep, handle, remote),
	TP_STRUCT__entry(
		__field(u32, handle)
		__field(bool, remote)
	),
	TP_fast_assign(
		__entry->handle = handle;
		__entry->remote = remote;
	),
	TP_printk("handle=0x%08x by=%s", __entry->handle,
		  __entry->remote ? "peer" : "local")
);

TRACE_EVENT(rpcrdma_read,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 octets, u32 wrs),
	TP_ARGS(ep, octets, wrs),
	TP_STRUCT__entry(
		__field(u32, octets)
		__field(u32, wrs)
	),
	TP_fast_assign(
		__entry->octets = octets;
		__entry->wrs = wrs;
	),
	TP_printk("octets=%u work_requests=%u", __entry->octets, __entry->wrs)
);

TRACE_EVENT(rpcrdma_wc_error,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 status),
	TP_ARGS(ep, status),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(u32, status)
	),
	TP_fast_assign(
		rpcrdma_trace_peer(__entry, &ep->remote);
		__entry->status = status;
	),
	TP_printk("peer=%s status=%u", __entry->peer, __entry->status)
);

#endif /* RPCRDMA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
