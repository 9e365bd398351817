// SPDX-License-Identifier: GPL-2.0
/*
 * Work Requests and completions. A work item for each queue pair executes its Work
 * Requests in order. A slot of a queue becomes free when its completion, or a later
 * one, is polled, because a driver does not know earlier that the slot is free.
 */

#include <linux/delay.h>
#include <linux/ip.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pack.h>

#include "internal.h"

/* ---- Completion queues ---- */

int memdev_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr)
{
	struct memdev *md = to_memdev(ibcq->device);
	struct memdev_cq *cq = to_memdev_cq(ibcq);

	if (!attr->cqe || attr->cqe > md->ib.attrs.max_cqe)
		return -EINVAL;
	if (memdev_fault(md))
		return -ENOMEM;
	cq->ring = kvcalloc(attr->cqe, sizeof(*cq->ring), GFP_KERNEL);
	if (!cq->ring)
		return -ENOMEM;
	cq->size = attr->cqe;
	ibcq->cqe = attr->cqe;
	spin_lock_init(&cq->lock);
	spin_lock_irq(&md->cqs_lock);
	list_add_tail(&cq->list, &md->cqs);
	spin_unlock_irq(&md->cqs_lock);
	return 0;
}

int memdev_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct memdev *md = to_memdev(ibcq->device);
	struct memdev_cq *cq = to_memdev_cq(ibcq);

	spin_lock_irq(&md->cqs_lock);
	list_del(&cq->list);
	spin_unlock_irq(&md->cqs_lock);
	if (atomic_read(&cq->arming))
		atomic_inc(&md->counts.bad_free);
	while (atomic_read_acquire(&cq->arming))
		msleep(1);
	kvfree(cq->ring);
	return 0;
}

/*
 * Make all completions visible to polling. Return true if the owner of the CQ must be
 * notified. Caller holds cq->lock.
 */
static bool memdev_cq_show(struct memdev_cq *cq)
{
	bool notify = cq->armed && cq->shown != cq->head;

	cq->shown = cq->head;
	if (notify)
		cq->armed = false;
	return notify;
}

static void memdev_complete(struct memdev_qp *qp, const struct ib_wc *wc,
			    u32 slot, bool recv)
{
	struct memdev_cq *cq = to_memdev_cq(recv ? qp->ib.recv_cq :
						   qp->ib.send_cq);
	struct memdev *md = qp->md;
	struct memdev_cqe *cqe;
	unsigned long flags;
	bool notify = false;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->head - cq->tail >= cq->size) {
		atomic_inc(&md->counts.bad_cq);
	} else {
		cqe = &cq->ring[cq->head++ % cq->size];
		cqe->wc = *wc;
		cqe->wc.qp = &qp->ib;
		cqe->qp = qp;
		cqe->slot = slot;
		cqe->recv = recv;
		if (qp == md->gsi ||
		    !READ_ONCE(*(recv ? &md->hold_recvs : &md->hold_sends)))
			notify = memdev_cq_show(cq);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

void memdev_hold(struct memdev *md, bool sends, bool receives)
{
	struct memdev_cq *cq;
	bool notify;

	WRITE_ONCE(md->hold_sends, sends);
	WRITE_ONCE(md->hold_recvs, receives);
	if (sends || receives)
		return;
	spin_lock_irq(&md->cqs_lock);
	list_for_each_entry(cq, &md->cqs, list) {
		spin_lock(&cq->lock);
		notify = memdev_cq_show(cq);
		spin_unlock(&cq->lock);
		if (notify)
			cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
	}
	spin_unlock_irq(&md->cqs_lock);
}
EXPORT_SYMBOL_GPL(memdev_hold);

unsigned int memdev_held(struct memdev *md)
{
	struct memdev_cq *cq;
	unsigned int n = 0;

	spin_lock_irq(&md->cqs_lock);
	list_for_each_entry(cq, &md->cqs, list)
		n += READ_ONCE(cq->head) - READ_ONCE(cq->shown);
	spin_unlock_irq(&md->cqs_lock);
	return n;
}
EXPORT_SYMBOL_GPL(memdev_held);

int memdev_poll_cq(struct ib_cq *ibcq, int nr, struct ib_wc *wc)
{
	struct memdev_cq *cq = to_memdev_cq(ibcq);
	struct memdev_cqe *cqe;
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(&cq->lock, flags);
	while (n < nr && cq->tail != cq->shown) {
		cqe = &cq->ring[cq->tail++ % cq->size];
		if (!cqe->qp)
			continue;
		WRITE_ONCE(*(cqe->recv ? &cqe->qp->rq_tail : &cqe->qp->sq_tail),
			   cqe->slot);
		wc[n++] = cqe->wc;
		cq->flushed = cqe->wc.status == IB_WC_WR_FLUSH_ERR;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

int memdev_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags how)
{
	struct memdev *md = to_memdev(ibcq->device);
	struct memdev_cq *cq = to_memdev_cq(ibcq);
	unsigned long flags;
	int missed;

	atomic_inc(&cq->arming);
	if (md->traits.arm_ms && READ_ONCE(cq->flushed))
		mdelay(md->traits.arm_ms);
	spin_lock_irqsave(&cq->lock, flags);
	cq->armed = true;
	missed = (how & IB_CQ_REPORT_MISSED_EVENTS) && cq->tail != cq->shown;
	spin_unlock_irqrestore(&cq->lock, flags);
	smp_mb__before_atomic();
	atomic_dec(&cq->arming);
	return missed;
}

void memdev_cq_forget(struct ib_cq *ibcq, struct memdev_qp *qp)
{
	struct memdev_cq *cq = to_memdev_cq(ibcq);
	u32 i;

	spin_lock_irq(&cq->lock);
	for (i = cq->tail; i != cq->head; i++)
		if (cq->ring[i % cq->size].qp == qp)
			cq->ring[i % cq->size].qp = NULL;
	spin_unlock_irq(&cq->lock);
}

/* ---- Posting ---- */

static bool memdev_is_read(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_RDMA_READ || opcode == IB_WR_RDMA_READ_WITH_INV;
}

/* Copy @sges to @to. Return the number of bytes they cover, or -1 if out of limits. */
static s64 memdev_take_sges(struct ib_sge *to, const struct ib_sge *sges,
			    int nr, u32 max)
{
	s64 octets = 0;
	int i;

	if (nr < 0 || nr > max)
		return -1;
	for (i = 0; i < nr; i++) {
		to[i] = sges[i];
		octets += sges[i].length;
	}
	return octets > INT_MAX ? -1 : octets;
}

static int memdev_take_send(struct memdev_qp *qp, struct memdev_wqe *wqe,
			    const struct ib_send_wr *wr)
{
	u32 max = qp->init.cap.max_send_sge;
	const struct memdev_ah *ah;
	s64 octets;

	if (memdev_is_read(wr->opcode))
		max = min_t(u32, max, qp->ib.device->attrs.max_sge_rd);
	octets = memdev_take_sges(wqe->sges, wr->sg_list, wr->num_sge, max);
	if (octets < 0 || wr->send_flags & IB_SEND_INLINE)
		return -EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->signaled = qp->init.sq_sig_type == IB_SIGNAL_ALL_WR ||
			wr->send_flags & IB_SEND_SIGNALED;
	wqe->nr_sges = wr->num_sge;
	wqe->length = octets;
	wqe->fence = wr->send_flags & IB_SEND_FENCE;
	wqe->carried_out = false;
	switch (wr->opcode) {
	case IB_WR_SEND:
		if (qp->ib.qp_type != IB_QPT_GSI)
			break;
		ah = container_of(ud_wr(wr)->ah, struct memdev_ah, ib);
		wqe->sgid = ah->sgid;
		wqe->dgid = ah->dgid;
		break;
	case IB_WR_SEND_WITH_IMM:
		wqe->imm = wr->ex.imm_data;
		break;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		wqe->inv_key = wr->ex.invalidate_rkey;
		break;
	case IB_WR_RDMA_READ_WITH_INV:
		/*
		 * Accept any invalidate_rkey, because rdma_rw leaves the previous key
		 * of the MR there.
		 */
		if (wr->num_sge != 1)
			return -EINVAL;
		wqe->inv_key = wr->sg_list->lkey;
		fallthrough;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_WRITE:
		wqe->remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_REG_MR:
		wqe->mr = to_memdev_mr(reg_wr(wr)->mr);
		wqe->key = reg_wr(wr)->key;
		wqe->access = reg_wr(wr)->access;
		wqe->iova = reg_wr(wr)->mr->iova;
		wqe->reg_length = reg_wr(wr)->mr->length;
		break;
	default:
		return -EINVAL;
	}
	return 0;
}

int memdev_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad)
{
	struct memdev_qp *qp = to_memdev_qp(ibqp);
	unsigned long flags;
	int rc = 0;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		if (qp->state < IB_QPS_RTS)
			rc = -EINVAL;
		else if (qp->sq_head - READ_ONCE(qp->sq_tail) >= qp->sq_size ||
			 (qp != qp->md->gsi && memdev_fault(qp->md)))
			rc = -ENOMEM;
		else
			rc = memdev_take_send(qp,
					      &qp->sq[qp->sq_head % qp->sq_size],
					      wr);
		if (rc)
			break;
		qp->sq_head++;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (rc) {
		*bad = wr;
		if (!qp->md->failed)
			atomic_inc(&qp->md->counts.bad_post);
	}
	mod_delayed_work(memdev_wq, &qp->work, 0);
	return rc;
}

int memdev_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	struct memdev_qp *qp = to_memdev_qp(ibqp);
	struct memdev_rqe *rqe;
	unsigned long flags;
	s64 octets = 0;
	int rc = 0;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		rqe = &qp->rq[qp->rq_head % qp->rq_size];
		if (qp->state == IB_QPS_RESET)
			rc = -EINVAL;
		else if (qp->rq_head - READ_ONCE(qp->rq_tail) >= qp->rq_size ||
			 (qp != qp->md->gsi && memdev_fault(qp->md)))
			rc = -ENOMEM;
		else
			octets = memdev_take_sges(rqe->sges, wr->sg_list,
						  wr->num_sge,
						  qp->init.cap.max_recv_sge);
		if (octets < 0)
			rc = -EINVAL;
		if (rc)
			break;
		rqe->wr_id = wr->wr_id;
		rqe->nr_sges = wr->num_sge;
		rqe->length = octets;
		qp->rq_head++;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (rc) {
		*bad = wr;
		if (!qp->md->failed)
			atomic_inc(&qp->md->counts.bad_post);
	}
	/* In the error state, flush the new Receives. */
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		mod_delayed_work(memdev_wq, &qp->work, 0);
	return rc;
}

/* ---- Execution ---- */

static void memdev_break(struct memdev_qp *qp, enum ib_event_type event)
{
	struct ib_event ev = {
		.device		= qp->ib.device,
		.element.qp	= &qp->ib,
		.event		= event,
	};
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state != IB_QPS_RESET)
		qp->state = IB_QPS_ERR;
	spin_unlock_irqrestore(&qp->lock, flags);
	mod_delayed_work(memdev_wq, &qp->work, 0);
	/* 0 means no event: IB_EVENT_CQ_ERR is never reported to a queue pair. */
	if (event && qp->ib.event_handler)
		qp->ib.event_handler(&ev, qp->ib.qp_context);
}

/* Return a reference to the peer of @qp, or NULL if it cannot be reached. */
static struct memdev_qp *memdev_peer(struct memdev_qp *qp)
{
	struct memdev_qp *peer = memdev_qp_get(qp->attr.dest_qp_num);
	bool ok;

	if (!peer)
		return NULL;
	spin_lock_irq(&peer->lock);
	ok = (peer->state == IB_QPS_RTR || peer->state == IB_QPS_RTS) &&
	     peer->attr.dest_qp_num == qp->ib.qp_num;
	spin_unlock_irq(&peer->lock);
	if (ok)
		return peer;
	memdev_qp_put(peer);
	return NULL;
}

/* Claim the next Receive of @qp. Return it, or NULL if @qp has none. */
static struct memdev_rqe *memdev_rqe_take(struct memdev_qp *qp)
{
	struct memdev_rqe *rqe = NULL;

	spin_lock_irq(&qp->lock);
	if ((qp->state == IB_QPS_RTR || qp->state == IB_QPS_RTS) &&
	    qp->rq_next != qp->rq_head && !qp->receiving) {
		rqe = &qp->rq[qp->rq_next % qp->rq_size];
		qp->receiving = true;
	}
	spin_unlock_irq(&qp->lock);
	return rqe;
}

/* Complete the claimed Receive with @wc, or return it unused if @wc is NULL. */
static void memdev_rqe_done(struct memdev_qp *qp, struct ib_wc *wc)
{
	bool broken;

	if (wc)
		memdev_complete(qp, wc, qp->rq_next + 1, true);
	spin_lock_irq(&qp->lock);
	if (wc)
		qp->rq_next++;
	qp->receiving = false;
	broken = qp->state == IB_QPS_ERR;
	spin_unlock_irq(&qp->lock);
	if (broken)
		mod_delayed_work(memdev_wq, &qp->work, 0);
}

static int memdev_deliver(struct memdev_qp *qp, struct memdev_qp *peer,
			  const struct memdev_wqe *wqe,
			  const struct memdev_rqe *rqe)
{
	struct ib_wc wc = {
		.wr_id		= rqe->wr_id,
		.opcode		= IB_WC_RECV,
		.byte_len	= wqe->length,
	};
	u32 at, n;

	if (wqe->length > rqe->length) {
		wc.status = IB_WC_LOC_LEN_ERR;
		memdev_rqe_done(peer, &wc);
		memdev_break(peer, 0);
		return IB_WC_REM_INV_REQ_ERR;
	}
	for (at = 0; at < wqe->length; at += n) {
		n = min_t(u32, PAGE_SIZE, wqe->length - at);
		if (!memdev_local_copy(qp, wqe->sges, wqe->nr_sges, at,
				       qp->stage, n, false)) {
			memdev_rqe_done(peer, NULL);
			return IB_WC_LOC_PROT_ERR;
		}
		if (!memdev_local_copy(peer, rqe->sges, rqe->nr_sges, at,
				       qp->stage, n, true)) {
			wc.status = IB_WC_LOC_PROT_ERR;
			memdev_rqe_done(peer, &wc);
			memdev_break(peer, 0);
			return IB_WC_REM_OP_ERR;
		}
	}
	if (wqe->opcode == IB_WR_SEND_WITH_INV) {
		if (memdev_invalidate(peer, wqe->inv_key)) {
			wc.status = IB_WC_LOC_PROT_ERR;
			memdev_rqe_done(peer, &wc);
			memdev_break(peer, IB_EVENT_QP_ACCESS_ERR);
			return IB_WC_REM_ACCESS_ERR;
		}
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = wqe->inv_key;
	} else if (wqe->opcode == IB_WR_SEND_WITH_IMM) {
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = wqe->imm;
	}
	atomic_inc(&qp->md->counts.sends);
	memdev_rqe_done(peer, &wc);
	return IB_WC_SUCCESS;
}

static int memdev_send(struct memdev_qp *qp, struct memdev_qp *peer,
		       const struct memdev_wqe *wqe)
{
	struct memdev_rqe *rqe = memdev_rqe_take(peer);
	enum ib_qp_state state;

	if (rqe)
		return memdev_deliver(qp, peer, wqe, rqe);
	/* A peer that is in the error state or was reset does not respond. */
	state = READ_ONCE(peer->state);
	if (state != IB_QPS_RTR && state != IB_QPS_RTS) {
		qp->since = jiffies;
		return MEMDEV_AGAIN;
	}
	/* 7: retry without limit */
	if (qp->attr.rnr_retry == 7 || qp->tries < qp->attr.rnr_retry)
		return MEMDEV_AGAIN;
	atomic_inc(&qp->md->counts.rnr);
	return IB_WC_RNR_RETRY_EXC_ERR;
}

static int memdev_local_inv(struct memdev_qp *qp, const struct memdev_wqe *wqe)
{
	int rc = memdev_invalidate(qp, wqe->inv_key);

	if (rc)
		atomic_inc(&qp->md->counts.bad_key);
	return rc;
}

static int memdev_move(struct memdev_qp *qp, struct memdev_qp *peer,
		       const struct memdev_wqe *wqe)
{
	bool read = memdev_is_read(wqe->opcode);
	int access = read ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE;
	u32 at, n;

	if (read && !qp->attr.max_rd_atomic)
		return IB_WC_LOC_QP_OP_ERR;
	if (read && !peer->attr.max_dest_rd_atomic)
		return IB_WC_REM_INV_REQ_ERR;
	if (wqe->length && (!(peer->attr.qp_access_flags & access) ||
			    !memdev_remote_ok(peer, wqe->rkey, wqe->remote_addr,
					      wqe->length, access)))
		goto out_refused;
	for (at = 0; at < wqe->length; at += n) {
		n = min_t(u32, PAGE_SIZE, wqe->length - at);
		if (!read && !memdev_local_copy(qp, wqe->sges, wqe->nr_sges, at,
						qp->stage, n, false))
			return IB_WC_LOC_PROT_ERR;
		/* The MR may have been invalidated since it was checked. */
		if (!memdev_remote_copy(peer, wqe->rkey, wqe->remote_addr + at,
					qp->stage, n, !read))
			goto out_refused;
		if (read && !memdev_local_copy(qp, wqe->sges, wqe->nr_sges, at,
					       qp->stage, n, true))
			return IB_WC_LOC_PROT_ERR;
	}
	atomic_inc(read ? &qp->md->counts.reads : &qp->md->counts.writes);
	if (wqe->opcode == IB_WR_RDMA_READ_WITH_INV)
		return memdev_local_inv(qp, wqe);
	return IB_WC_SUCCESS;

out_refused:
	memdev_break(peer, IB_EVENT_QP_ACCESS_ERR);
	return IB_WC_REM_ACCESS_ERR;
}

/*
 * Return true if @wqe sends "ready to use", the connection manager's last message
 * about a new connection.
 */
static bool memdev_is_rtu(struct memdev_qp *qp, const struct memdev_wqe *wqe)
{
	struct ib_mad_hdr hdr;

	return wqe->length >= sizeof(hdr) &&
	       memdev_local_copy(qp, wqe->sges, wqe->nr_sges, 0, &hdr,
				 sizeof(hdr), false) &&
	       hdr.mgmt_class == IB_MGMT_CLASS_CM &&
	       hdr.attr_id == CM_RTU_ATTR_ID;
}

/* Deliver a datagram of the connection manager, or drop it without an error. */
static int memdev_datagram(struct memdev_qp *qp, const struct memdev_wqe *wqe)
{
	struct memdev_qp *to = memdev_gsi_get(&wqe->dgid);
	bool ip4 = ipv6_addr_v4mapped((struct in6_addr *)&wqe->dgid);
	struct ib_wc wc = {
		.opcode		= IB_WC_RECV,
		.byte_len	= MEMDEV_GRH + wqe->length,
		.src_qp		= 1,
		.port_num	= 1,
		.wc_flags	= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE,
		.network_hdr_type = ip4 ? RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6,
	};
	union rdma_network_hdr *hdr = (void *)qp->stage;
	struct memdev_rqe *rqe;
	bool ok;

	if (!to)
		return IB_WC_SUCCESS;
	if (to->md->traits.lose_rtu && memdev_is_rtu(qp, wqe))
		goto out;
	rqe = memdev_rqe_take(to);
	if (!rqe)
		goto out;
	memset(hdr, 0, MEMDEV_GRH);
	if (ip4) {
		hdr->roce4grh.version = 4;
		hdr->roce4grh.ihl = 5;
		memcpy(&hdr->roce4grh.saddr, wqe->sgid.raw + 12, 4);
		memcpy(&hdr->roce4grh.daddr, wqe->dgid.raw + 12, 4);
	} else {
		hdr->ibgrh.version_tclass_flow = cpu_to_be32(6 << 28);
		hdr->ibgrh.sgid = wqe->sgid;
		hdr->ibgrh.dgid = wqe->dgid;
	}
	ok = wc.byte_len <= rqe->length &&
	     memdev_local_copy(qp, wqe->sges, wqe->nr_sges, 0,
			       qp->stage + MEMDEV_GRH, wqe->length, false) &&
	     memdev_local_copy(to, rqe->sges, rqe->nr_sges, 0, qp->stage,
			       wc.byte_len, true);
	wc.wr_id = rqe->wr_id;
	memdev_rqe_done(to, ok ? &wc : NULL);
out:
	memdev_qp_put(to);
	return IB_WC_SUCCESS;
}

static int memdev_execute(struct memdev_qp *qp, const struct memdev_wqe *wqe)
{
	struct memdev *md = qp->md;
	struct memdev_qp *peer;
	int rc;

	if (qp == md->gsi)
		return memdev_datagram(qp, wqe);
	if (!qp->tries && atomic_read(&md->fail_wr) > 0 &&
	    wqe->opcode == md->fail_opcode &&
	    atomic_dec_and_test(&md->fail_wr)) {
		WRITE_ONCE(md->failed, true);
		return md->fail_status;
	}
	if (wqe->opcode == IB_WR_REG_MR)
		return memdev_register(qp, wqe);
	if (wqe->opcode == IB_WR_LOCAL_INV)
		return memdev_local_inv(qp, wqe);

	peer = memdev_peer(qp);
	if (!peer) {
		if (!qp->tries)
			qp->since = jiffies;
		return time_before(jiffies, qp->since +
				   msecs_to_jiffies(MEMDEV_SILENCE_MS)) ?
			MEMDEV_AGAIN : IB_WC_RETRY_EXC_ERR;
	}
	if (memdev_is_read(wqe->opcode) || wqe->opcode == IB_WR_RDMA_WRITE)
		rc = memdev_move(qp, peer, wqe);
	else
		rc = memdev_send(qp, peer, wqe);
	memdev_qp_put(peer);
	return rc;
}

static enum ib_wc_opcode memdev_wc_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		return IB_WC_RDMA_READ;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	default:
		return IB_WC_SEND;
	}
}

/* Retire the entry at sq_next. */
static void memdev_sq_done(struct memdev_qp *qp, enum ib_wc_status status)
{
	struct memdev_wqe *wqe = &qp->sq[qp->sq_next % qp->sq_size];
	struct ib_wc wc = {
		.wr_id		= wqe->wr_id,
		.status		= status,
		.opcode		= memdev_wc_opcode(wqe->opcode),
		.byte_len	= wqe->length,
	};

	if (status && status != IB_WC_WR_FLUSH_ERR && !wqe->wr_id)
		atomic_inc(&qp->md->counts.unreported);
	if (wqe->signaled || status)
		memdev_complete(qp, &wc, qp->sq_next + 1, false);
	spin_lock_irq(&qp->lock);
	qp->sq_next++;
	spin_unlock_irq(&qp->lock);
	qp->tries = 0;
}

/* Flush all posted Work Requests, including those posted in the error state. */
static void memdev_flush(struct memdev_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR };
	struct memdev_rqe *rqe;

	while (READ_ONCE(qp->sq_next) != READ_ONCE(qp->sq_head))
		memdev_sq_done(qp, IB_WC_WR_FLUSH_ERR);
	for (;;) {
		spin_lock_irq(&qp->lock);
		rqe = NULL;
		/*
		 * If a delivery is in progress, it schedules this work item when it is
		 * done.
		 */
		if (!qp->receiving && qp->rq_next != qp->rq_head) {
			rqe = &qp->rq[qp->rq_next % qp->rq_size];
			qp->receiving = true;
		}
		spin_unlock_irq(&qp->lock);
		if (!rqe)
			break;
		wc.wr_id = rqe->wr_id;
		memdev_complete(qp, &wc, qp->rq_next + 1, true);
		spin_lock_irq(&qp->lock);
		qp->rq_next++;
		qp->receiving = false;
		spin_unlock_irq(&qp->lock);
	}
}

static bool memdev_is_send(const struct memdev_wqe *wqe)
{
	return wqe->opcode == IB_WR_SEND || wqe->opcode == IB_WR_SEND_WITH_INV;
}

/* Deliver the messages posted after the Read at sq_next before its data. */
static void memdev_overtake(struct memdev_qp *qp, u32 head)
{
	struct memdev_wqe *wqe;
	int rc;
	u32 i;

	for (i = qp->sq_next + 1; i != head; i++) {
		wqe = &qp->sq[i % qp->sq_size];
		if (!memdev_is_send(wqe) || wqe->fence)
			break;
		if (wqe->carried_out)
			continue;
		rc = memdev_execute(qp, wqe);
		if (rc == MEMDEV_AGAIN)
			break;
		wqe->carried_out = true;
		wqe->status = rc;
	}
}

static int memdev_next(struct memdev_qp *qp, u32 head)
{
	struct memdev_wqe *wqe = &qp->sq[qp->sq_next % qp->sq_size];

	if (wqe->carried_out)
		return wqe->status;
	if (memdev_is_read(wqe->opcode) &&
	    READ_ONCE(qp->md->traits.late_reads))
		memdev_overtake(qp, head);
	return memdev_execute(qp, wqe);
}

/* Work Requests that complete before softirqs can run */
#define MEMDEV_BATCH	64

/* Execute a batch of Work Requests. Return true if more can be executed. */
static bool memdev_qp_batch(struct memdev_qp *qp)
{
	enum ib_qp_state state;
	unsigned int i;
	u32 head;
	int rc;

	for (i = 0; i < MEMDEV_BATCH; i++) {
		spin_lock_irq(&qp->lock);
		state = qp->state;
		head = qp->sq_head;
		spin_unlock_irq(&qp->lock);
		if (state == IB_QPS_ERR) {
			memdev_flush(qp);
			return false;
		}
		if (state != IB_QPS_RTS || qp->sq_next == head)
			return false;
		rc = memdev_next(qp, head);
		if (rc == MEMDEV_AGAIN) {
			qp->tries++;
			queue_delayed_work(memdev_wq, &qp->work,
					   msecs_to_jiffies(MEMDEV_TRY_MS));
			return false;
		}
		memdev_sq_done(qp, rc);
		if (rc)
			memdev_break(qp, 0);
	}
	return true;
}

/*
 * Real devices complete in interrupts, after which softirqs run at once. With bottom
 * halves enabled, each completion would wake ksoftirqd instead. A management datagram
 * looks up its destination under a mutex, and few of them are sent.
 */
void memdev_qp_work(struct work_struct *work)
{
	struct memdev_qp *qp = container_of(to_delayed_work(work),
					    struct memdev_qp, work);
	const bool atomic = qp->ib.qp_type != IB_QPT_GSI;
	bool more;

	do {
		if (atomic)
			local_bh_disable();
		more = memdev_qp_batch(qp);
		if (atomic)
			local_bh_enable();
	} while (more);
}
