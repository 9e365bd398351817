// SPDX-License-Identifier: GPL-2.0
/*
 * The device objects of a connection: protection domain, completion queues, queue pair,
 * and their sizes.
 *
 * Operation
 *
 * The setup context creates the objects before it sends the connect request or accepts
 * one. The id of a client has a device only after its address was resolved. The core
 * lowers the parameters of the connection to the device's limits, and calculates the
 * lengths of the queues. While the device has no memory for the queue pair, the core
 * shortens the Send Queue, down to a minimum. It also derives the sizes of parts of
 * transfers. Both completion queues of a connection use one vector, and connections use
 * the vectors in turn.
 *
 * Memory
 *
 * Each connection has a separate protection domain, so that a handle is valid only in
 * the connection to which it was disclosed. This file frees nothing, not even after an
 * error: the teardown destroys all objects that exist. Those that could not be created
 * are NULL.
 *
 * Errors
 *
 * An errno ends the setup. A device without FRWR is refused for a client, and for a
 * server if it reads into MRs only. A fatal error of the queue pair or the device that
 * no completion reports closes the connection. The event handler may run in any
 * context, and leaves that to a work item.
 *
 * Locking
 *
 * No lock: the teardown waits until the setup context has ended, and no other context
 * uses the objects before the connection is requested or accepted.
 */

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <rdma/ib_cm.h>

#include "internal.h"
#include "trace.h"

enum {
	RPCRDMA_RETRY_COUNT = 6,
};

/* The number of the connection created last; none is 0 */
static atomic_t rpcrdma_last_ep;

/*
 * Handle an event of a queue pair that no completion reports. Any context, until the
 * queue pair is destroyed.
 */
static void rpcrdma_ep_qp_event(struct ib_event *event, void *context)
{
	struct rpcrdma_ep *ep = context;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
	case IB_EVENT_DEVICE_FATAL:
		queue_work(rpcrdma_wq, &ep->broken_work);
		break;
	default:
		break;
	}
}

/*
 * The rdma_rw API adds the Work Requests of Reads, which may need MRs, to the Send Queue.
 * The CQ bounds the depth of that queue.
 */
int rpcrdma_port_queue_pair(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_queues *queues,
			    struct rpcrdma_queue_pair *qp)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct ib_qp_init_attr attr = {
		.event_handler		= rpcrdma_ep_qp_event,
		.qp_context		= ep,
		.send_cq		= ep->send_cq,
		.recv_cq		= ep->recv_cq,
		.cap.max_send_wr	= rpcrdma_queues_send_wrs(queues),
		.cap.max_recv_wr	= queues->receives,
		.cap.max_send_sge	= queues->sges,
		.cap.max_recv_sge	= 1,
		.cap.max_rdma_ctxs	= queues->reads,
		.sq_sig_type		= IB_SIGNAL_REQ_WR,
		.qp_type		= IB_QPT_RC,
		.port_num		= ep->id->port_num,
	};
	int rc;

	rc = rdma_create_qp(ep->id, ep->pd, &attr);
	if (rc)
		return rc;
	ep->qp = ep->id->qp;
	qp->wrs = attr.cap.max_send_wr;
	qp->read_sges = ep->qp->max_read_sge;
	qp->write_sges = ep->qp->max_write_sge;
	return 0;
}

/*
 * Return the completion vector: all completions of a connection go to one CPU, those of
 * the next connection to the next one.
 */
static int rpcrdma_ep_vector(const struct ib_device *dev)
{
	static atomic_t next = ATOMIC_INIT(-1);
	u32 vectors = min_t(u32, dev->num_comp_vectors, num_online_cpus());

	return vectors > 1 ? (u32)atomic_inc_return(&next) % vectors : 0;
}

/* Allocate a completion queue. It is NULL after an error. */
static int rpcrdma_ep_create_cq(struct rpcrdma_ep *ep, struct ib_cq **cq,
				u32 entries, int vector)
{
	*cq = ib_alloc_cq(ep->device, ep, entries, vector, IB_POLL_SOFTIRQ);
	if (!IS_ERR(*cq))
		return 0;
	vector = PTR_ERR(*cq);
	*cq = NULL;
	return vector;
}

/* Create the protection domain and the completion queues. */
static int rpcrdma_ep_create_cqs(struct rpcrdma_ep *ep,
				 const struct rpcrdma_queues *queues)
{
	int vector, rc;

	ep->pd = ib_alloc_pd(ep->device, 0);
	if (IS_ERR(ep->pd)) {
		rc = PTR_ERR(ep->pd);
		ep->pd = NULL;
		return rc;
	}
	ep->lkey = ep->pd->local_dma_lkey;
	vector = rpcrdma_ep_vector(ep->device);
	return rpcrdma_ep_create_cq(ep, &ep->send_cq, queues->send_cqes, vector) ?:
	       rpcrdma_ep_create_cq(ep, &ep->recv_cq, queues->receives, vector);
}

int rpcrdma_port_objects(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct ib_device *dev = ep->id->device;
	const struct ib_device_attr *attrs = &dev->attrs;
	const bool iwarp = rdma_protocol_iwarp(dev, ep->id->port_num);
	const bool registers = attrs->device_cap_flags &
			       IB_DEVICE_MEM_MGT_EXTENSIONS;
	const struct rpcrdma_device_limits limits = {
		.queues.wrs	= attrs->max_qp_wr,
		.queues.cqes	= attrs->max_cqe,
		/* The device reads into MRs only, or better than into many elements. */
		.queues.read_mrs = iwarp || attrs->max_sgl_rd,
		.queues.sges	= attrs->max_send_sge,
		.reads_in	= attrs->max_qp_rd_atom,
		.reads_out	= attrs->max_qp_init_rd_atom,
		.max_segs	= RPCRDMA_MAX_SEGS,
		.max_segment	= RPCRDMA_MAX_CHUNK_OCTETS,
		.page_shift	= PAGE_SHIFT,
		.read_pages	= rpcrdma_mr_pages(dev),
		.registers	= registers,
		.invalidates	= registers,
		.reads_into_mrs	= iwarp,
		/* siw */
		.refers		= iwarp && ib_uses_virt_dma(dev),
	};
	struct rpcrdma_queues queues;
	u32 slots;
	int rc;

	ep->device = dev;
	ep->device_node = ibdev_to_node(dev);
	/* soft-RoCE may send in a softirq. */
	ep->softirq = ib_uses_virt_dma(dev) &&
		      rdma_protocol_roce(dev, ep->id->port_num);
	do {
		core->control.number = atomic_inc_return(&rpcrdma_last_ep);
	} while (!core->control.number);
	rc = rpcrdma_core_configure(core, &limits, &queues);
	if (rc) {
		pr_warn_ratelimited("rpcrdma: device %s does not support memory registration by Work Request (FRWR), use another device\n",
				    dev->name);
		return rc;
	}
	rpcrdma_mrs_init(ep);
	slots = queues.slots;
	rc = rpcrdma_ep_create_cqs(ep, &queues) ?:
	     rpcrdma_core_queue_pair(core, &limits, &queues);
	if (!rc && queues.slots < slots)
		pr_info_ratelimited("rpcrdma: device %s supports a Send Queue of only %u for the connection to %pISpc\n",
				    dev->name, rpcrdma_queues_send_wrs(&queues),
				    &ep->remote);
	return rc;
}

void rpcrdma_ep_conn_param(struct rpcrdma_ep *ep,
			   struct rdma_conn_param *param, u8 *buf)
{
	struct rpcrdma_private priv;

	rpcrdma_conn_build_private(&ep->core.conn, &priv);
	rpcrdma_encode_private(&priv, buf);
	memset(param, 0, sizeof(*param));
	param->private_data = buf;
	param->private_data_len = RPCRDMA_PRIVATE_OCTETS;
	param->responder_resources = ep->core.control.reads_in;
	param->initiator_depth = ep->core.control.reads_out;
	param->retry_count = RPCRDMA_RETRY_COUNT;
	/*
	 * Credits make RNR impossible. If it happens nevertheless, it must be noticed.
	 */
	param->rnr_retry_count = 0;
}
