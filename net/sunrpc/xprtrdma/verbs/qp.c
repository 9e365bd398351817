// SPDX-License-Identifier: GPL-2.0
/*
 * The device objects of a connection: queue pair, completion queues, and their sizes.
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
 * Return true if the device reads into MRs only, or reads better into one MR than into
 * many elements. The rdma_rw API adds the Work Requests for these MRs to the Send
 * Queue, whose depth the CQ bounds.
 */
static bool rpcrdma_ep_read_regions(const struct rdma_cm_id *id)
{
	return rdma_protocol_iwarp(id->device, id->port_num) ||
	       id->device->attrs.max_sgl_rd;
}

/*
 * Return the maximum size of a part of a transfer of which one Work Request has @sges
 * elements. See rpcrdma_rw_add_parts().
 */
static u32 rpcrdma_ep_part_octets(const struct rpcrdma_ep *ep, u32 sges)
{
	const u32 most = RPCRDMA_MAX_CHUNK_OCTETS >> PAGE_SHIFT;
	u32 pages = rpcrdma_sq_part_pages(&ep->core.sq, max_t(u32, sges, 1));

	/* The part need not be page-aligned. */
	return clamp_t(u32, pages - 1, 1, most) << PAGE_SHIFT;
}

static void rpcrdma_ep_set_parts(struct rpcrdma_ep *ep)
{
	ep->write_part = rpcrdma_ep_part_octets(ep, ep->qp->max_write_sge);
	ep->read_part = rpcrdma_ep_part_octets(ep, ep->qp->max_read_sge);
	ep->read_regions = rpcrdma_ep_read_regions(ep->id);
	ep->read_cut.page_shift = PAGE_SHIFT;
	ep->read_cut.pages = ep->read_pool.pages;
	/* iWARP reads into MRs only; other devices need none for a few elements. */
	ep->read_cut.octets =
		rdma_protocol_iwarp(ep->device, ep->id->port_num) ?
		RPCRDMA_MAX_CHUNK_OCTETS : ep->read_part;
}

/*
 * Create the queue pair. The capacity of a device cannot be known beforehand: it
 * depends on the size of an entry, which only the driver knows. If the queue pair turns
 * out to be too large, retry with a shorter Send Queue.
 */
static int rpcrdma_ep_fit_qp(struct rpcrdma_ep *ep,
			     struct rpcrdma_queues *queues,
			     struct ib_qp_init_attr *attr)
{
	struct ib_qp_init_attr want = *attr;
	bool shorter = false;
	int rc;

	for (;;) {
		/* The API adds the Work Requests of Reads, which may need MRs. */
		*attr = want;
		attr->cap.max_send_wr = rpcrdma_queues_send_wrs(queues);
		attr->cap.max_rdma_ctxs = queues->reads;
		rc = rdma_create_qp(ep->id, ep->pd, attr);
		if (rc != -ENOMEM || !rpcrdma_queues_shorten(queues))
			break;
		shorter = true;
	}
	if (rc)
		return rc;
	if (shorter)
		pr_info_ratelimited("rpcrdma: device %s has room for a Send Queue of %u only: lower settings would do for %pISpc\n",
				    ep->device->name, attr->cap.max_send_wr,
				    &ep->remote);
	ep->read_pool.regions = queues->reads;
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

static int rpcrdma_ep_create_qp(struct rpcrdma_ep *ep,
				const struct rpcrdma_load *load)
{
	struct ib_device *dev = ep->id->device;
	struct ib_qp_init_attr attr = {
		.event_handler	= rpcrdma_ep_qp_event,
		.qp_context	= ep,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.port_num	= ep->id->port_num,
	};
	const struct rpcrdma_queue_limits most = {
		.wrs		= dev->attrs.max_qp_wr,
		.cqes		= dev->attrs.max_cqe,
		.read_regions	= rpcrdma_ep_read_regions(ep->id),
	};
	struct rpcrdma_queues queues = rpcrdma_queues_for(load, &most);
	int vector, rc;

	ep->device = dev;
	ep->device_node = ibdev_to_node(dev);
	ep->core.report = RPCRDMA_REPORT_NONE;
	if (ib_uses_virt_dma(dev)) {
		ep->softirq = rdma_protocol_roce(dev, attr.port_num);
		if (rdma_protocol_iwarp(dev, attr.port_num))
			ep->core.report = PAGE_SIZE;
	}
	ep->read_pool.pages = rpcrdma_region_pages(dev);
	attr.cap.max_recv_wr = queues.receives;
	attr.cap.max_recv_sge = 1;
	attr.cap.max_send_sge = 1;
	if (ep->params.reads)
		attr.cap.max_send_sge =
			min_t(u32, dev->attrs.max_send_sge, ep->client ?
			      RPCRDMA_CLIENT_SGES : RPCRDMA_SERVER_SGES);
	ep->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(ep->pd)) {
		rc = PTR_ERR(ep->pd);
		ep->pd = NULL;
		return rc;
	}
	ep->lkey = ep->pd->local_dma_lkey;

	vector = rpcrdma_ep_vector(dev);
	ep->send_cq = ib_alloc_cq(dev, ep, queues.send_cqes, vector,
				  IB_POLL_SOFTIRQ);
	if (IS_ERR(ep->send_cq)) {
		rc = PTR_ERR(ep->send_cq);
		ep->send_cq = NULL;
		return rc;
	}
	ep->recv_cq = ib_alloc_cq(dev, ep, queues.receives, vector,
				  IB_POLL_SOFTIRQ);
	if (IS_ERR(ep->recv_cq)) {
		rc = PTR_ERR(ep->recv_cq);
		ep->recv_cq = NULL;
		return rc;
	}
	attr.send_cq = ep->send_cq;
	attr.recv_cq = ep->recv_cq;

	rc = rpcrdma_ep_fit_qp(ep, &queues, &attr);
	if (rc)
		return rc;
	ep->qp = ep->id->qp;

	rpcrdma_sq_init(&ep->core.sq,
			rpcrdma_queues_depth(&queues, attr.cap.max_send_wr),
			ep->params.sends, ep->params.reverse, U32_MAX);
	rpcrdma_ep_set_parts(ep);
	return 0;
}

/* Return the load of @ep, limited to what its device has queues for. */
static struct rpcrdma_load rpcrdma_ep_load(struct rpcrdma_ep *ep)
{
	struct rpcrdma_ep_params *params = &ep->params;
	struct rpcrdma_load load = {
		.window		= params->window,
		.sends		= params->sends,
		.regions	= params->max_mrs,
		.reads		= params->reads,
		.client		= ep->client,
		.version_low	= params->version_low,
	};

	rpcrdma_load_fit(&load, ep->id->device->attrs.max_qp_wr);
	params->window = load.window;
	params->sends = load.sends;
	params->reads = load.reads;
	return load;
}

/* Create everything up to the point where the CM is needed. */
int rpcrdma_ep_setup(struct rpcrdma_ep *ep)
{
	struct rpcrdma_conn_config cfg;
	struct ib_device *dev = ep->id->device;
	struct rpcrdma_load load;
	u32 rd_in, rd_out;
	bool registers;
	int rc;

	ep->params.send_size = clamp_t(u32, ep->params.send_size,
				       RPCRDMA_MIN_INLINE_OCTETS,
				       RPCRDMA_MAX_MESSAGE);
	ep->params.recv_size = clamp_t(u32, ep->params.recv_size,
				       RPCRDMA_MIN_INLINE_OCTETS,
				       RPCRDMA_MAX_MESSAGE);
	/*
	 * A server can do without FRWR if the device reads without MRs: it invalidates
	 * nothing, provides no chunks, and its Replies are not pulled.
	 */
	registers = dev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS;
	if (!registers && !ep->client &&
	    !rdma_protocol_iwarp(dev, ep->id->port_num)) {
		ep->params.max_mrs = 0;
		ep->params.expose_octets = 0;
	} else if (!registers) {
		pr_warn_ratelimited("rpcrdma: device %s cannot register memory by Work Request (FRWR); use another device\n",
				    dev->name);
		return -EOPNOTSUPP;
	}
	rpcrdma_mrs_init(ep);

	load = rpcrdma_ep_load(ep);

	memset(&cfg, 0, sizeof(cfg));
	do {
		cfg.number = atomic_inc_return(&rpcrdma_last_ep);
	} while (!cfg.number);
	cfg.client = ep->client;
	cfg.version_low = ep->params.version_low;
	cfg.version_high = ep->params.version_high;
	cfg.guess = ep->params.guess;
	cfg.inv_ok = registers;
	cfg.no_regions = !registers;
	cfg.window = ep->params.window;
	cfg.first_window = ep->params.first_window;
	cfg.reverse = ep->params.reverse;
	cfg.props.sbsiz = ep->params.send_size;
	cfg.props.rbsiz = ep->params.recv_size;
	cfg.props.rssiz = RPCRDMA_MAX_CHUNK_OCTETS;
	cfg.props.rcsiz = RPCRDMA_MAX_SEGS;
	cfg.props.brs = ep->params.brs;
	cfg.props.reply_read = rpcrdma_reply_read(ep->params.pull,
						  ep->params.expose_octets);
	cfg.expose_octets = ep->params.expose_octets;
	cfg.done_ms = ep->params.done_ms;
	cfg.stall_ms = ep->params.stall_ms;
	cfg.props.reassembly = ep->params.reassembly;
	rpcrdma_conn_init(&ep->core.conn, &cfg);
	/* A server has the peer's private message already. */
	rpcrdma_conn_private(&ep->core.conn, &ep->peer_private);

	rc = rpcrdma_ep_create_qp(ep, &load);
	if (rc)
		return rc;
	rc = rpcrdma_sends_create(ep);
	if (rc)
		return rc;
	/* WP 4: both ends offer Reads in both directions. */
	rd_in = min_t(u32, dev->attrs.max_qp_rd_atom, U8_MAX);
	rd_out = min_t(u32, dev->attrs.max_qp_init_rd_atom, U8_MAX);
	if (ep->params.ord)
		rd_out = min(rd_out, ep->params.ord);
	if (ep->client) {
		ep->responder_resources = rd_in;
		ep->initiator_depth = rd_out;
	} else {
		ep->responder_resources =
			min_t(u32, rd_in, ep->responder_resources);
		ep->initiator_depth = min_t(u32, rd_out, ep->initiator_depth);
		rpcrdma_conn_read_depth(&ep->core.conn, ep->initiator_depth,
					ep->responder_resources);
	}
	rpcrdma_core_recvs_due(&ep->core);
	if (rpcrdma_ep_is_closing(ep))
		return -ENOMEM;
	ep->params.send_size = ep->core.conn.cfg.props.sbsiz;
	ep->params.recv_size = ep->core.conn.cfg.props.rbsiz;
	return 0;
}

void rpcrdma_ep_conn_param(struct rpcrdma_ep *ep,
			   struct rdma_conn_param *param, u8 *buf)
{
	struct rpcrdma_private priv;

	rpcrdma_conn_announce(&ep->core.conn, &priv);
	rpcrdma_encode_private(&priv, buf);
	memset(param, 0, sizeof(*param));
	param->private_data = buf;
	param->private_data_len = RPCRDMA_PRIVATE_OCTETS;
	param->responder_resources = ep->responder_resources;
	param->initiator_depth = ep->initiator_depth;
	param->retry_count = RPCRDMA_RETRY_COUNT;
	/*
	 * Credits make RNR impossible. If it happens nevertheless, it must be noticed.
	 */
	param->rnr_retry_count = 0;
}
