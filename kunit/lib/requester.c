// SPDX-License-Identifier: GPL-2.0
/* The Requester of either side */
#include "pair.h"

void loop_rpc_init(struct loop_rpc *rpc, struct loop_buf *arg,
		   struct loop_buf *res)
{
	memset(rpc, 0, sizeof(*rpc));
	INIT_LIST_HEAD(&rpc->list);
	INIT_LIST_HEAD(&rpc->mrs);
	init_completion(&rpc->done);
	rpc->arg = arg;
	rpc->res = res;
}

static int loop_rpc_map(struct rpcrdma_ep *ep, struct loop_rpc *rpc)
{
	int rc = 0;

	rpcrdma_lists_init(&rpc->lists);
	if (rpc->arg) {
		rpcrdma_lists_add_read(&rpc->lists,
				       LOOP_HEAD + ALIGN(rpc->inline_arg, 4));
		rc = rpcrdma_mrs_map(ep, &rpc->mrs, rpc->arg->ext, rpc->arg->nr_ext,
				     false, &rpc->lists);
	}
	if (!rc && rpc->res) {
		rpcrdma_lists_add_write(&rpc->lists);
		rc = rpcrdma_mrs_map(ep, &rpc->mrs, rpc->res->ext, rpc->res->nr_ext,
				     true, &rpc->lists);
	}
	if (!rc && rpc->lists.nr_segs)
		rpc->lists.inv_handle = rpc->lists.segs[0].handle;
	return rc;
}

static int loop_rpc_try_locked(struct loop_side *side, struct loop_rpc *rpc)
{
	u32 len = LOOP_HEAD + ALIGN(rpc->inline_arg, 4);
	u32 want = rpc->res ? rpc->res->len : rpc->inline_res;
	struct rpcrdma_ep *ep = side->ep;
	u32 room = rpcrdma_conn_limits(&ep->core.conn).send_inline;
	struct rpcrdma_stream *st = NULL;
	struct rpcrdma_send *s;
	int rc;

	if (!rpcrdma_ep_is_open(ep))
		return -ENOTCONN;
	s = rpcrdma_core_send_for_call(&ep->core);
	if (!s)
		return -EAGAIN;
	rc = rpcrdma_core_send_room(s, room);
	if (!rc)
		rc = loop_rpc_map(ep, rpc);
	if (rc)
		goto out_put;
	if (rpcrdma_header_octets(&ep->core.conn, &rpc->lists) + len > room) {
		st = rpcrdma_stream_alloc(RPCRDMA_KIND_CALL, 0, len,
					  &rpc->lists, GFP_NOFS);
		if (!st) {
			rc = -ENOMEM;
			goto out_put;
		}
	}

	spin_lock(&side->lock);
	rpc->xid = side->xid++;
	list_add_tail(&rpc->list, &side->rpcs);
	spin_unlock(&side->lock);
	if (st) {
		st->xid = rpc->xid;
		loop_payload(st->data, rpc->xid, 0, rpc->seed, want, rpc->seed,
			     len - LOOP_HEAD);
		rc = rpcrdma_core_send_continued_call(&ep->core, st, &rpc->mrs,
						      NULL);
	} else {
		s->header_len = rpcrdma_encode_header(&ep->core.conn, s->buf,
						      s->size, rpc->xid,
						      RDMA2_MSG, 0,
						      &rpc->lists);
		s->len = s->header_len + len;
		loop_payload(s->buf + s->header_len, rpc->xid, 0, rpc->seed,
			     want, rpc->seed, len - LOOP_HEAD);
		rc = rpcrdma_core_send_call(&ep->core, s, &rpc->mrs,
					    RPCRDMA_INLINE, &rpc->lists, NULL);
	}
	if (!rc)
		return 0;

	spin_lock(&side->lock);
	list_del_init(&rpc->list);
	rpc->xid = 0;
	spin_unlock(&side->lock);
out_put:
	if (st)
		rpcrdma_core_stream_free(st);
	rpcrdma_mrs_put(ep, &rpc->mrs);
	return rc;
}

int loop_rpc_try(struct loop_side *side, struct loop_rpc *rpc)
{
	int rc;

	mutex_lock(&side->calls_lock);
	rc = loop_rpc_try_locked(side, rpc);
	mutex_unlock(&side->calls_lock);
	return rc;
}

int loop_rpc_send(struct loop_side *side, struct loop_rpc *rpc)
{
	int rc, seen;

	for (;;) {
		seen = atomic_read(&side->space);
		rc = loop_rpc_try(side, rpc);
		if (rc != -EAGAIN)
			return rc;
		/* write_space() must be called unless the connection ends. */
		if (!wait_event_timeout(side->wait,
					atomic_read(&side->space) != seen ||
					atomic_read(&side->closed),
					LOOP_WAIT_S * HZ)) {
			atomic_inc(&side->bad);
			return -ETIMEDOUT;
		}
		if (atomic_read(&side->closed))
			return -ENOTCONN;
	}
}

int loop_rpc_wait(struct loop_side *side, struct loop_rpc *rpc)
{
	unsigned long end = jiffies + LOOP_WAIT_S * HZ;

	while (!wait_for_completion_timeout(&rpc->done, HZ / 20)) {
		if (atomic_read(&side->closed) && !completion_done(&rpc->done))
			return -ENOTCONN;
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
	}
	return rpc->status;
}

void loop_rpc_end(struct loop_side *side, struct loop_rpc *rpc)
{
	/* If a Reply has claimed the RPC, wait until the Reply has completed it. */
	if (rpc->xid && loop_claim(side, rpc->xid) != rpc)
		loop_rpc_wait(side, rpc);
	rpcrdma_mrs_release_sync(side->ep, &rpc->mrs);
}

int loop_rpc_do(struct loop_side *side, struct loop_rpc *rpc)
{
	int rc;

	rc = loop_rpc_send(side, rpc);
	if (rc)
		return rc;
	rc = loop_rpc_wait(side, rpc);
	loop_rpc_end(side, rpc);
	if (!rc && rpc->res &&
	    (rpc->placed != rpc->res->len ||
	     loop_buf_check(rpc->res, rpc->seed) != rpc->res->len))
		rc = -EIO;
	if (!rc && !rpc->res && rpc->got != ALIGN(rpc->inline_res, 4))
		rc = -EIO;
	return rc;
}
