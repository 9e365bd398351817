/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: /sys/kernel/tracing/events/rpcrdma
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rpcrdma

#if !defined(RPCRDMA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RPCRDMA_TRACE_H

#include <linux/inet.h>
#include <linux/tracepoint.h>
#include <linux/sunrpc/addr.h>

#include "receiving.h"

#define RPCRDMA_PEER_LEN	(INET6_ADDRSTRLEN + 10)

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
		snprintf(__entry->peer, sizeof(__entry->peer), "%pISpc",
			 &ep->remote);
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

TRACE_EVENT(rpcrdma_disconnect,
	TP_PROTO(const struct rpcrdma_ep *ep, const char *reason),
	TP_ARGS(ep, reason),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__array(char, reason, 80)
	),
	TP_fast_assign(
		snprintf(__entry->peer, sizeof(__entry->peer), "%pISpc",
			 &ep->remote);
		snprintf(__entry->reason, sizeof(__entry->reason), "%s",
			 reason ? reason : "ordinary");
	),
	TP_printk("peer=%s reason=%s", __entry->peer, __entry->reason)
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
		  __print_symbolic(__entry->kind,
				   { RPCRDMA_WORK_CALL, "call" },
				   { RPCRDMA_WORK_REPLY, "reply" },
				   { RPCRDMA_WORK_CONTROL, "control" }),
		  __entry->octets, __entry->sent, __entry->limit,
		  __entry->invalidate ? " invalidate" : "")
);

TRACE_EVENT(
	rpcrdma_receive,
	TP_PROTO(const struct rpcrdma_ep *ep, const struct rpcrdma_recv *rv),
	TP_ARGS(ep, rv),
	TP_STRUCT__entry(__field(u32, xid) __field(u32, verdict)
				 __field(u32, octets) __field(u32, inv_handle)
					 __field(u32, limit)
						 __field(u32, error)),
	TP_fast_assign(__entry->xid = rv->rx.xid;
		       __entry->verdict = rv->verdict;
		       __entry->octets = rv->octets;
		       __entry->inv_handle = rv->inv_handle;
		       __entry->limit = ep->core.conn.limit;
		       __entry->error = rv->verdict == RPCRDMA_RX_ERROR ?
						rv->rx.error.code :
						0;),
	TP_printk(
		"xid=0x%08x verdict=%s octets=%u inv_handle=0x%08x limit=%u error=%u",
		__entry->xid,
		__print_symbolic(__entry->verdict,
				 { RPCRDMA_RX_CONSUMED, "done" },
				 { RPCRDMA_RX_FRAGMENT, "part" },
				 { RPCRDMA_RX_CALL, "call" },
				 { RPCRDMA_RX_REPLY, "reply" },
				 { RPCRDMA_RX_BAD_REPLY, "bad_reply" },
				 { RPCRDMA_RX_ERROR, "error" },
				 { RPCRDMA_RX_PULL_COMPLETE, "pulled" },
				 { RPCRDMA_RX_CLOSE, "close" }),
		__entry->octets, __entry->inv_handle, __entry->limit,
		__entry->error));

TRACE_EVENT(rpcrdma_refuse,
	TP_PROTO(const struct rpcrdma_ep *ep, u32 xid, u32 code),
	TP_ARGS(ep, xid, code),
	TP_STRUCT__entry(
		__array(char, peer, RPCRDMA_PEER_LEN)
		__field(u32, xid)
		__field(u32, code)
	),
	TP_fast_assign(
		snprintf(__entry->peer, sizeof(__entry->peer), "%pISpc",
			 &ep->remote);
		__entry->xid = xid;
		__entry->code = code;
	),
	TP_printk("peer=%s xid=0x%08x error=%u", __entry->peer, __entry->xid,
		  __entry->code)
);

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
		snprintf(__entry->peer, sizeof(__entry->peer), "%pISpc",
			 &ep->remote);
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
