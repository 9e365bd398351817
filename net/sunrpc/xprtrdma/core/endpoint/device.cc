// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The configuration of a connection: its parameters, as far as memory and the device
 * permit, the lengths of its queues, and the sizes of the parts of transfers.
 *
 * Operation
 *
 * rpcrdma_core_reserve() is called when a connection is attached to the quota. The setup
 * calls rpcrdma_core_configure() before it creates the objects of the device, and
 * rpcrdma_core_queue_pair() to create the last of them. control.cc has the setup itself.
 *
 * Memory
 *
 * The parameters are lowered when the connection is attached to the quota, if memory is
 * tight, and to the device's limits in the setup. Nothing is allocated here.
 *
 * Errors
 *
 * A device that cannot be used ends the setup. While the device has no memory for the
 * queue pair, the Send Queue is shortened, down to a minimum.
 *
 * Locking
 *
 * The setup context owns the connection until it is requested or accepted.
 * record_peer() is called with the lock, too.
 */
#include "endpoint.hh"

namespace rpcrdma
{

namespace
{

/* The largest message that this end sends or receives */
constexpr u32 MOST_MESSAGE = 65536;

/* A queue pair's attributes have a byte for outstanding Reads. */
constexpr u32 MOST_READS = 255;

/*
 * Return true if the device can be used. A server needs no MRs registered by Work
 * Requests if RDMA Read works without them. It then invalidates nothing, provides no
 * chunks, and its Replies are not pulled.
 */
bool usable(const rpcrdma_ep_core *core, const rpcrdma_device_limits *dev)
{
	return dev->registers || (!core->life.client && !dev->reads_into_mrs);
}

/* Lower the parameters to the device's limits, and return the load that remains. */
rpcrdma_load lower(const rpcrdma_ep_core *core, rpcrdma_ep_params *p,
		   const rpcrdma_device_limits *dev)
{
	if (!dev->registers) {
		p->max_mrs = 0;
		p->expose_octets = 0;
	}

	rpcrdma_load load = { .window = p->window,
			      .sends = p->sends,
			      .mrs = p->max_mrs,
			      .reads = p->reads,
			      .client = core->life.client,
			      .version_low = p->version_low };

	rpcrdma_load_fit(&load, dev->queues.wrs);
	p->window = load.window;
	p->sends = load.sends;
	p->reads = load.reads;
	return load;
}

/* Lower the parameters to the minimum, because memory is tight. */
void be_small(rpcrdma_ep_params *p)
{
	const u32 octets = RPCRDMA_V2_DEFAULT_INLINE;
	const u32 calls = RPCRDMA_USUAL_WINDOW;

	p->recv_size = min_u32(p->recv_size, octets);
	p->send_size = min_u32(p->send_size, octets);
	p->window = min_u32(p->window, calls + p->reverse);
	p->sends = min_u32(p->sends, calls + p->reverse);
	p->reads = min_u32(p->reads, calls);
}

rpcrdma_conn_config config_of(const rpcrdma_ep_core *core,
			      const rpcrdma_device_limits *dev)
{
	const rpcrdma_ep_params *p = core->control.params;
	rpcrdma_conn_config cfg{};

	cfg.number = core->control.number;
	cfg.client = core->life.client;
	cfg.version_low = p->version_low;
	cfg.version_high = p->version_high;
	cfg.inv_ok = dev->invalidates;
	cfg.no_mrs = !dev->registers;
	cfg.fallback_v1 = p->fallback_v1;
	cfg.window = p->window;
	cfg.first_window = p->first_window;
	cfg.reverse = p->reverse;
	cfg.expose_octets = p->expose_octets;
	cfg.done_ms = p->done_ms;
	cfg.stall_ms = p->stall_ms;
	cfg.props.sbsiz = min_u32(p->send_size, MOST_MESSAGE);
	cfg.props.rbsiz = min_u32(p->recv_size, MOST_MESSAGE);
	cfg.props.rssiz = dev->max_segment;
	cfg.props.rcsiz = dev->max_segs;
	cfg.props.brs = p->brs;
	cfg.props.reply_read = rpcrdma_reply_read(p->pull, p->expose_octets);
	cfg.props.reassembly = p->reassembly;
	cfg.auth_mode = p->auth;
	cfg.auth = core->control.auth;
	return cfg;
}

/*
 * Announce no more segments than there are MRs to read them into, if the device can read
 * into MRs only: a Call with more would be refused. Without @reads, this end reads
 * nothing, and the segments are of other chunks.
 */
void announce_reads(rpcrdma_ep_core *core, const rpcrdma_device_limits *dev,
		    u32 reads)
{
	rpcrdma_props *own = &core->conn.cfg.props;

	if (dev->reads_into_mrs && reads)
		own->rcsiz = min_u32(own->rcsiz, reads);
}

/*
 * Return the maximum size of a part of a transfer, the Work Requests of which have @sges
 * elements of a page each. A part is never divided between batches.
 */
u32 part_octets(const rpcrdma_ep_core *core, u32 sges, u32 page_shift)
{
	const u32 pages = rpcrdma_sq_part_pages(&core->sq, max_u32(sges, 1));

	/* A part need not be page-aligned. */
	return clamp_u32(pages - 1, 1,
			 u32{ RPCRDMA_MAX_CHUNK_OCTETS } >> page_shift)
	       << page_shift;
}

/*
 * Set the sizes of the parts of transfers. A device that reads better into MRs, but does
 * not have to, reads a few elements without one.
 */
void set_parts(rpcrdma_ep_core *core, const rpcrdma_device_limits *dev,
	       const rpcrdma_queue_pair *qp)
{
	rpcrdma_ep_rw *rw = &core->rw;

	rw->write_part = part_octets(core, qp->write_sges, dev->page_shift);
	rw->read_part = part_octets(core, qp->read_sges, dev->page_shift);
	rw->limits.page_shift = dev->page_shift;
	rw->limits.pages = dev->read_pages;
	rw->limits.octets = dev->reads_into_mrs ?
				    u32{ RPCRDMA_MAX_CHUNK_OCTETS } :
				    rw->read_part;
}

} // namespace

void record_peer(rpcrdma_ep_core *core, const rpcrdma_cm_peer *peer)
{
	rpcrdma_ep_control *c = &core->control;

	rpcrdma_conn_set_peer_private(&core->conn, &peer->priv);
	c->reads_in = min_u32(c->reads_in, peer->reads_in);
	c->reads_out = min_u32(c->reads_out, peer->reads_out);
	rpcrdma_conn_read_depth(&core->conn, c->reads_out, c->reads_in);
}

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_core_reserve(const struct rpcrdma_quota *all,
			  struct rpcrdma_quota_account *account,
			  struct rpcrdma_ep_params *p,
			  const struct rpcrdma_ep_sizes *sizes, u32 message)
{
	if (rpcrdma_quota_is_tight(all))
		be_small(p);

	const u64 sends = u64{ p->sends } + RPCRDMA_CONTROL_SENDS + 1;
	const u64 recvs = rpcrdma_window_receives(
		p->first_window ? p->first_window : p->window);
	const u32 octets = rpcrdma_buffer_octets(
		sizes->page, max_u32(p->recv_size, RPCRDMA_V2_DEFAULT_INLINE));
	/* The handshake that a client may begin */
	const u64 auth = p->auth ? sizeof(struct rpcrdma_hostauth) : 0;

	rpcrdma_quota_reserve(account,
			      sizes->ep + auth + sends * sizes->send +
				      static_cast<u64>(RPCRDMA_CONTROL_BUFS),
			      recvs * rpcrdma_core_recv_cost(sizes->recv,
							     octets),
			      message, p->reassembly, sizes->stream);
}

int rpcrdma_core_configure(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_device_limits *dev,
			   struct rpcrdma_queues *queues)
{
	rpcrdma_ep_control *c = &core->control;
	rpcrdma_ep_params *p = c->params;

	if (!usable(core, dev))
		return -E_OPNOTSUPP;

	const rpcrdma_load load = lower(core, p, dev);

	*queues = rpcrdma_queues_for(&load, &dev->queues);
	core->rw.reads_into_mrs = dev->queues.read_mrs;
	core->rw.pool.pages = dev->read_pages;
	core->signal_threshold = dev->refers ? 1u << dev->page_shift :
					       RPCRDMA_SIGNAL_BY_QUEUE;

	const rpcrdma_conn_config cfg = config_of(core, dev);

	rpcrdma_conn_init(&core->conn, &cfg);
	/* WP 4: both ends offer Reads in both directions. */
	c->reads_in = min_u32(dev->reads_in, MOST_READS);
	c->reads_out = min_u32(dev->reads_out, MOST_READS);
	if (p->ord)
		c->reads_out = min_u32(c->reads_out, p->ord);
	if (!core->life.client)
		record_peer(core, &c->peer);
	return 0;
}

int rpcrdma_core_queue_pair(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_device_limits *dev,
			    struct rpcrdma_queues *queues)
{
	const rpcrdma_ep_params *p = core->control.params;
	rpcrdma_queue_pair qp;
	int rc;

	do {
		rc = rpcrdma_port_queue_pair(core, queues, &qp);
	} while (rc == -E_NOMEM && rpcrdma_queues_shorten(queues));
	if (rc)
		return rc;
	rpcrdma_sq_init(&core->sq, rpcrdma_queues_depth(queues, qp.wrs),
			p->sends, p->reverse, ~u32{ 0 });
	core->conn.message_mrs = static_cast<u8>(
		min_u32(rpcrdma_sq_message_mrs(&core->sq), RPCRDMA_MAX_SEGS));
	core->rw.pool.mrs = queues->reads;
	announce_reads(core, dev, queues->reads);
	set_parts(core, dev, &qp);
	core->control.queue_pair = true;
	return 0;
}
