// SPDX-License-Identifier: GPL-2.0
/*
 * An RDMA device in memory: its creation and its objects. See memdev.h.
 */

#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "compat/config.h"
#include "internal.h"

static char *netdevs = "mem0";
module_param(netdevs, charp, 0444);
MODULE_PARM_DESC(netdevs, "network devices to create an RDMA device on, separated by commas");

/* Use kernel pointers as DMA addresses, and do not check them. */
bool memdev_virt_dma;
module_param_named(virt_dma, memdev_virt_dma, bool, 0444);
MODULE_PARM_DESC(virt_dma, "DMA addresses are kernel pointers (virtual DMA), as with soft-RoCE");

static bool bounce, sg_gaps;
static unsigned int max_sgl_rd;
module_param(bounce, bool, 0444);
MODULE_PARM_DESC(bounce, "data pass through bounce buffers of the device");
module_param(sg_gaps, bool, 0444);
MODULE_PARM_DESC(sg_gaps, "MRs of ranges that are not complete pages (SG gaps)");
module_param(max_sgl_rd, uint, 0444);
MODULE_PARM_DESC(max_sgl_rd, "Reads with more SGEs need an MR");

struct workqueue_struct *memdev_wq;
static DEFINE_MUTEX(memdev_mutex);
static LIST_HEAD(memdevs);
/* Queue pairs of all devices, by number, because the peer can be on another device */
static DEFINE_XARRAY_FLAGS(memdev_qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
static u32 memdev_next_qpn;

static struct lock_class_key memdev_qp_key;

/* ---- Failures ---- */

bool memdev_fault(struct memdev *md)
{
	const struct task_struct *of = READ_ONCE(md->fail_of);

	if (of && (of != current || !in_task()))
		return false;
	if (atomic_read(&md->fail_at) <= 0 || !atomic_dec_and_test(&md->fail_at))
		return false;
	WRITE_ONCE(md->failed, true);
	return true;
}

void memdev_refuse_err(struct memdev *md, unsigned int n)
{
	atomic_set(&md->refuse_err, n);
}
EXPORT_SYMBOL_GPL(memdev_refuse_err);

static void memdev_fail_of(struct memdev *md, unsigned int n,
			   const struct task_struct *of)
{
	atomic_set(&md->fail_at, 0);
	WRITE_ONCE(md->failed, false);
	WRITE_ONCE(md->fail_of, of);
	atomic_set(&md->fail_at, n);
}

void memdev_fail_at(struct memdev *md, unsigned int n)
{
	memdev_fail_of(md, n, NULL);
}
EXPORT_SYMBOL_GPL(memdev_fail_at);

void memdev_fail_own(struct memdev *md, unsigned int n)
{
	memdev_fail_of(md, n, current);
}
EXPORT_SYMBOL_GPL(memdev_fail_own);

void memdev_fail_wr(struct memdev *md, enum ib_wr_opcode opcode, unsigned int n,
		    enum ib_wc_status status)
{
	WRITE_ONCE(md->failed, false);
	md->fail_opcode = opcode;
	md->fail_status = status;
	atomic_set(&md->fail_wr, n);
}
EXPORT_SYMBOL_GPL(memdev_fail_wr);

bool memdev_failed(struct memdev *md)
{
	return READ_ONCE(md->failed);
}
EXPORT_SYMBOL_GPL(memdev_failed);

static void memdev_lose_mrs(struct memdev *md, unsigned int lose)
{
	WRITE_ONCE(md->traits.mrs_gone, lose);
}

static void memdev_lose_maps(struct memdev *md, unsigned int lose)
{
	WRITE_ONCE(md->traits.maps_gone, lose);
}

static void memdev_limit_qps(struct memdev *md, unsigned int max)
{
	WRITE_ONCE(md->traits.max_qps, max);
}

/* Set a failure or a limit of all devices from user space: "NAME N". */
static int memdev_control(const char *text, const struct kernel_param *param)
{
	static const struct {
		const char *name;
		void (*set)(struct memdev *md, unsigned int n);
	} controls[] = {
		{ "fail_at",	memdev_fail_at },
		{ "refuse_err",	memdev_refuse_err },
		{ "mrs_gone",	memdev_lose_mrs },
		{ "maps_gone",	memdev_lose_maps },
		{ "max_qps",	memdev_limit_qps },
	};
	struct memdev *md;
	char name[16];
	unsigned int n;
	int i, found = 0;

	if (sscanf(text, "%15s %u", name, &n) != 2)
		return -EINVAL;
	mutex_lock(&memdev_mutex);
	for (i = 0; i < ARRAY_SIZE(controls); i++) {
		if (strcmp(name, controls[i].name))
			continue;
		found = 1;
		list_for_each_entry(md, &memdevs, list)
			controls[i].set(md, n);
	}
	mutex_unlock(&memdev_mutex);
	return found ? 0 : -EINVAL;
}

static const struct kernel_param_ops memdev_control_ops = { .set = memdev_control };
module_param_cb(control, &memdev_control_ops, NULL, 0200);
MODULE_PARM_DESC(control, "fail_at, refuse_err, mrs_gone, maps_gone or max_qps, and a number");

/* ---- Traits ---- */

void memdev_default_traits(struct memdev_traits *traits)
{
	*traits = (struct memdev_traits){
		.bounce		= bounce,
		.sg_gaps	= sg_gaps,
		.max_sge	= MEMDEV_MAX_SGE,
		.max_sgl_rd	= max_sgl_rd,
		.max_qp_wr	= MEMDEV_MAX_DEPTH,
		.mr_depth	= 512,
		.sq_octets	= UINT_MAX,
	};
}
EXPORT_SYMBOL_GPL(memdev_default_traits);

static void memdev_attributes(const struct memdev_traits *traits,
			      struct ib_device_attr *attr)
{
	attr->max_qp_wr = traits->max_qp_wr;
	attr->max_send_sge = traits->max_sge;
	attr->max_recv_sge = traits->max_sge;
	attr->max_sge_rd = traits->max_sge;
	attr->max_sgl_rd = traits->max_sgl_rd;
	attr->max_fast_reg_page_list_len = traits->mr_depth;
	attr->device_cap_flags = IB_DEVICE_RC_RNR_NAK_GEN;
	if (!traits->no_mrs)
		attr->device_cap_flags |= IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	if (traits->sg_gaps)
		attr->kernel_cap_flags |= IBK_SG_GAPS_REG;
}

void memdev_set_traits(struct memdev *md, const struct memdev_traits *traits)
{
	struct ib_port_immutable *port = &md->ib.port_data[1].immutable;

	md->traits = *traits;
	memdev_attributes(traits, &md->ib.attrs);
	/* rdma_rw checks this flag; the connection manager checks other ones. */
	if (traits->reads_into_mrs)
		port->core_cap_flags |= RDMA_CORE_CAP_PROT_IWARP;
	else
		port->core_cap_flags &= ~RDMA_CORE_CAP_PROT_IWARP;
}
EXPORT_SYMBOL_GPL(memdev_set_traits);

void memdev_reset(struct memdev *md)
{
	struct memdev_counts *c = &md->counts;
	struct memdev_traits traits;
	atomic_t *zero[] = {
		&c->bad_dma, &c->bad_unmap, &c->bad_key, &c->bad_post,
		&c->bad_cq, &c->bad_free, &c->unreported, &c->atomic_unmaps,
		&c->most_setups, &c->registered, &c->rnr, &c->sends, &c->reads, &c->writes,
	};
	int i;

	memdev_default_traits(&traits);
	memdev_set_traits(md, &traits);
	memdev_hold(md, false, false);
	memdev_fail_wr(md, 0, 0, 0);
	memdev_fail_at(md, 0);
	memdev_refuse_err(md, 0);
	for (i = 0; i < ARRAY_SIZE(zero); i++)
		atomic_set(zero[i], 0);
}
EXPORT_SYMBOL_GPL(memdev_reset);

unsigned int memdev_misuse(struct memdev *md)
{
	struct memdev_counts *c = &md->counts;

	return atomic_read(&c->bad_dma) + atomic_read(&c->bad_unmap) +
	       atomic_read(&c->bad_key) + atomic_read(&c->bad_post) +
	       atomic_read(&c->bad_cq) + atomic_read(&c->bad_free) +
	       atomic_read(&c->unreported) + atomic_read(&c->atomic_unmaps) +
	       atomic_read(&c->rnr);
}
EXPORT_SYMBOL_GPL(memdev_misuse);

struct ib_device *memdev_ib(struct memdev *md)
{
	return &md->ib;
}
EXPORT_SYMBOL_GPL(memdev_ib);

struct memdev_counts *memdev_counts(struct memdev *md)
{
	return &md->counts;
}
EXPORT_SYMBOL_GPL(memdev_counts);

bool memdev_maps(const struct memdev *md)
{
	return md->maps;
}
EXPORT_SYMBOL_GPL(memdev_maps);

bool memdev_merges(const struct memdev *md)
{
	/* Without this option, sg_dma_len() is the length of the element in memory. */
	return memdev_maps(md) && IS_ENABLED(CONFIG_NEED_SG_DMA_LENGTH);
}
EXPORT_SYMBOL_GPL(memdev_merges);

/* ---- Device and port ---- */

static int memdev_query_device(struct ib_device *ib,
			       struct ib_device_attr *attr,
			       struct ib_udata *udata)
{
	memdev_attributes(&to_memdev(ib)->traits, attr);
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 1 << 20;
	attr->max_cq = 1 << 20;
	attr->max_cqe = 1 << 16;
	attr->max_mr = 1 << 20;
	attr->max_pd = 1 << 20;
	attr->max_ah = 1 << 20;
	attr->max_qp_rd_atom = 16;
	attr->max_qp_init_rd_atom = 16;
	attr->max_res_rd_atom = 1 << 20;
	attr->max_pkeys = 1;
	return 0;
}

static int memdev_query_port(struct ib_device *ib, u32 port,
			     struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = 64;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = 1 << 30;
	attr->max_vl_num = 1;
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_SDR;
	return 0;
}

static int memdev_query_pkey(struct ib_device *ib, u32 port, u16 index,
			     u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static enum rdma_link_layer memdev_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int memdev_port_immutable(struct ib_device *ib, u32 port,
				 struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->gid_tbl_len = 64;
	immutable->pkey_tbl_len = 1;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

/* ---- Protection domains, address handles ---- */

static int memdev_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return memdev_fault(to_memdev(pd->device)) ? -ENOMEM : 0;
}

static int memdev_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

/* Never called: consumers use local_dma_lkey, and user space has no access. */
static struct ib_mr *memdev_get_dma_mr(struct ib_pd *pd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static struct ib_mr *memdev_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
					u64 virt_addr, int access,
#ifdef HAVE_REG_USER_MR_DMAH
					struct ib_dmah *dmah,
#endif
					struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static int memdev_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
			    struct ib_udata *udata)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr->ah_attr);
	struct memdev_ah *ah = container_of(ibah, struct memdev_ah, ib);

	ah->sgid = grh->sgid_attr->gid;
	ah->dgid = grh->dgid;
	return 0;
}

static int memdev_destroy_ah(struct ib_ah *ah, u32 flags)
{
	return 0;
}

/* ---- Queue pairs ---- */

struct memdev_qp *memdev_qp_get(u32 qpn)
{
	struct memdev_qp *qp;
	unsigned long flags;

	xa_lock_irqsave(&memdev_qps, flags);
	qp = xa_load(&memdev_qps, qpn);
	if (qp && !refcount_inc_not_zero(&qp->refs))
		qp = NULL;
	xa_unlock_irqrestore(&memdev_qps, flags);
	return qp;
}

void memdev_qp_put(struct memdev_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->gone);
}

struct memdev_qp *memdev_gsi_get(const union ib_gid *gid)
{
	const struct ib_gid_attr *attr;
	struct memdev_qp *qp = NULL;
	struct memdev *md;

	mutex_lock(&memdev_mutex);
	list_for_each_entry(md, &memdevs, list) {
		attr = rdma_find_gid_by_port(&md->ib, gid,
					     IB_GID_TYPE_ROCE_UDP_ENCAP, 1,
					     NULL);
		if (IS_ERR(attr))
			continue;
		rdma_put_gid_attr(attr);
		if (md->gsi && refcount_inc_not_zero(&md->gsi->refs))
			qp = md->gsi;
		break;
	}
	mutex_unlock(&memdev_mutex);
	return qp;
}

static void memdev_free_queues(struct memdev_qp *qp)
{
	kvfree(qp->sq);
	kvfree(qp->rq);
	kvfree(qp->sges);
	free_page((unsigned long)qp->stage);
}

static int memdev_alloc_queues(struct memdev_qp *qp)
{
	struct ib_qp_cap *cap = &qp->init.cap;
	struct ib_sge *sge;
	u32 i;

	qp->sq_size = max(cap->max_send_wr, 1U);
	qp->rq_size = max(cap->max_recv_wr, 1U);
	qp->sq = kvcalloc(qp->sq_size, sizeof(*qp->sq), GFP_KERNEL);
	qp->rq = kvcalloc(qp->rq_size, sizeof(*qp->rq), GFP_KERNEL);
	qp->sges = kvcalloc((size_t)qp->sq_size * cap->max_send_sge +
			    (size_t)qp->rq_size * cap->max_recv_sge + 1,
			    sizeof(*qp->sges), GFP_KERNEL);
	qp->stage = (u8 *)__get_free_page(GFP_KERNEL);
	if (!qp->sq || !qp->rq || !qp->sges || !qp->stage) {
		memdev_free_queues(qp);
		return -ENOMEM;
	}
	sge = qp->sges;
	for (i = 0; i < qp->sq_size; i++, sge += cap->max_send_sge)
		qp->sq[i].sges = sge;
	for (i = 0; i < qp->rq_size; i++, sge += cap->max_recv_sge)
		qp->rq[i].sges = sge;
	return 0;
}

/* Delay the creation of a queue pair, and count concurrent creations. */
static void memdev_setup_takes(struct memdev *md)
{
	struct memdev_counts *c = &md->counts;
	int n = atomic_inc_return(&c->setups);
	int most = atomic_read(&c->most_setups);

	while (n > most && !atomic_try_cmpxchg(&c->most_setups, &most, n))
		;
	if (md->traits.setup_ms)
		msleep(md->traits.setup_ms);
	atomic_dec(&c->setups);
}

static int memdev_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
			    struct ib_udata *udata)
{
	struct memdev *md = to_memdev(ibqp->device);
	struct memdev_qp *qp = to_memdev_qp(ibqp);
	const struct memdev_traits *t = &md->traits;
	struct ib_qp_cap *cap = &init->cap;
	bool gsi = init->qp_type == IB_QPT_GSI;
	int rc;

	if (init->qp_type != IB_QPT_RC && !gsi)
		return -EOPNOTSUPP;
	if (!gsi) {
		if (cap->max_send_wr > t->max_qp_wr ||
		    cap->max_recv_wr > t->max_qp_wr ||
		    cap->max_send_sge > t->max_sge ||
		    cap->max_recv_sge > t->max_sge || cap->max_inline_data)
			return -EINVAL;
		memdev_setup_takes(md);
		if (memdev_fault(md) ||
		    (t->max_qps &&
		     atomic_read(&md->counts.qps) >= t->max_qps) ||
		    (u64)cap->max_send_wr * (MEMDEV_WQE_OCTETS +
				MEMDEV_SGE_OCTETS * cap->max_send_sge) >
		    t->sq_octets)
			return -ENOMEM;
	}
	qp->md = md;
	qp->init = *init;
	refcount_set(&qp->refs, 1);
	init_completion(&qp->gone);
	spin_lock_init(&qp->lock);
	/* One lock class suffices: no context holds two of these locks at a time. */
	lockdep_set_class(&qp->lock, &memdev_qp_key);
	INIT_DELAYED_WORK(&qp->work, memdev_qp_work);
	rc = memdev_alloc_queues(qp);
	if (rc)
		return rc;
	if (gsi) {
		ibqp->qp_num = 1;
		md->gsi = qp;
	} else {
		/*
		 * Reuse a number as late as possible, because a message for it may be
		 * in flight.
		 */
		rc = xa_alloc_cyclic_irq(&memdev_qps, &ibqp->qp_num, qp,
					 XA_LIMIT(0x10, 0xffffff),
					 &memdev_next_qpn, GFP_KERNEL);
		if (rc < 0)
			memdev_free_queues(qp);
		else
			rc = 0;
	}
	if (!rc && !gsi)
		atomic_inc(&md->counts.qps);
	return rc;
}

/* Move @qp to RESET, and wait until it neither sends nor receives. */
static void memdev_qp_quiet(struct memdev_qp *qp)
{
	bool busy;

	for (;;) {
		cancel_delayed_work_sync(&qp->work);
		spin_lock_irq(&qp->lock);
		qp->state = IB_QPS_RESET;
		busy = qp->receiving;
		spin_unlock_irq(&qp->lock);
		if (!busy)
			break;
		usleep_range(50, 100);
	}
	/* The last context that sent to this queue pair may have scheduled a flush. */
	cancel_delayed_work_sync(&qp->work);
}

static void memdev_qp_reset(struct memdev_qp *qp)
{
	memdev_qp_quiet(qp);
	memdev_cq_forget(qp->ib.send_cq, qp);
	memdev_cq_forget(qp->ib.recv_cq, qp);
	spin_lock_irq(&qp->lock);
	qp->sq_head = qp->sq_next = qp->sq_tail = 0;
	qp->rq_head = qp->rq_next = qp->rq_tail = 0;
	spin_unlock_irq(&qp->lock);
	qp->tries = 0;
}

static int memdev_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			    int mask, struct ib_udata *udata)
{
	struct memdev_qp *qp = to_memdev_qp(ibqp);
	enum ib_qp_state state, next;

	spin_lock_irq(&qp->lock);
	state = qp->state;
	spin_unlock_irq(&qp->lock);
	next = mask & IB_QP_STATE ? attr->qp_state : state;
	if (mask & ~IB_QP_ATTR_STANDARD_BITS ||
	    !ib_modify_qp_is_ok(mask & IB_QP_CUR_STATE ? attr->cur_qp_state :
				state, next, ibqp->qp_type, mask))
		return -EINVAL;
	if (next == IB_QPS_ERR && mask & IB_QP_STATE &&
	    atomic_add_unless(&qp->md->refuse_err, -1, 0))
		return -EIO;

	if (mask & IB_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
	if (!(mask & IB_QP_STATE))
		return 0;
	if (next == IB_QPS_RESET) {
		memdev_qp_reset(qp);
		return 0;
	}
	spin_lock_irq(&qp->lock);
	/* Don't leave the error state if a failure came first. */
	if (qp->state != IB_QPS_ERR || next == IB_QPS_ERR)
		qp->state = next;
	spin_unlock_irq(&qp->lock);
	mod_delayed_work(memdev_wq, &qp->work, 0);
	return 0;
}

static int memdev_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			   int mask, struct ib_qp_init_attr *init)
{
	struct memdev_qp *qp = to_memdev_qp(ibqp);

	*attr = qp->attr;
	attr->qp_state = READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->init.cap;
	*init = qp->init;
	return 0;
}

static int memdev_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct memdev_qp *qp = to_memdev_qp(ibqp);
	struct memdev *md = qp->md;

	if (md->gsi == qp) {
		/*
		 * Clear the GSI under the mutex under which memdev_gsi_get() looks it
		 * up.
		 */
		mutex_lock(&memdev_mutex);
		md->gsi = NULL;
		mutex_unlock(&memdev_mutex);
	} else {
		xa_erase_irq(&memdev_qps, ibqp->qp_num);
		atomic_dec(&md->counts.qps);
	}
	memdev_qp_put(qp);
	wait_for_completion(&qp->gone);
	memdev_qp_reset(qp);
	memdev_free_queues(qp);
	return 0;
}

/* ---- Creation and removal ---- */

#ifdef HAVE_CREATE_CQ_ATTRS
static int memdev_op_create_cq(struct ib_cq *cq,
			       const struct ib_cq_init_attr *attr,
			       struct uverbs_attr_bundle *attrs)
#else
static int memdev_op_create_cq(struct ib_cq *cq,
			       const struct ib_cq_init_attr *attr,
			       struct ib_udata *udata)
#endif
{
	return memdev_create_cq(cq, attr);
}

static void memdev_dealloc(struct ib_device *ib)
{
	struct memdev *md = to_memdev(ib);

	mutex_lock(&memdev_mutex);
	list_del_init(&md->list);
	mutex_unlock(&memdev_mutex);
	memdev_dma_exit(md);
	xa_destroy(&md->mrs);
}

static const struct ib_device_ops memdev_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_UNKNOWN,

	.alloc_mr		= memdev_alloc_mr,
	.alloc_pd		= memdev_alloc_pd,
	.create_ah		= memdev_create_ah,
	.create_cq		= memdev_op_create_cq,
	.create_qp		= memdev_create_qp,
	.dealloc_driver		= memdev_dealloc,
	.dealloc_pd		= memdev_dealloc_pd,
	.dereg_mr		= memdev_dereg_mr,
	.destroy_ah		= memdev_destroy_ah,
	.destroy_cq		= memdev_destroy_cq,
	.destroy_qp		= memdev_destroy_qp,
	.get_dma_mr		= memdev_get_dma_mr,
	.get_link_layer		= memdev_link_layer,
	.get_port_immutable	= memdev_port_immutable,
	.map_mr_sg		= memdev_map_mr_sg,
	.modify_qp		= memdev_modify_qp,
	.poll_cq		= memdev_poll_cq,
	.post_recv		= memdev_post_recv,
	.post_send		= memdev_post_send,
	.query_device		= memdev_query_device,
	.query_pkey		= memdev_query_pkey,
	.query_port		= memdev_query_port,
	.query_qp		= memdev_query_qp,
	.reg_user_mr		= memdev_reg_user_mr,
	.req_notify_cq		= memdev_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, memdev_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, memdev_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, memdev_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, memdev_qp, ib),
};

struct memdev *memdev_find(const char *netdev)
{
	struct memdev *md, *found = NULL;

	mutex_lock(&memdev_mutex);
	list_for_each_entry(md, &memdevs, list)
		if (!strcmp(md->ndev->name, netdev))
			found = md;
	mutex_unlock(&memdev_mutex);
	return found;
}
EXPORT_SYMBOL_GPL(memdev_find);

struct memdev *memdev_add(const char *netdev)
{
	struct net_device *ndev = dev_get_by_name(&init_net, netdev);
	struct ib_device *ib;
	struct memdev *md;
	int rc;

	if (!ndev)
		return ERR_PTR(-ENODEV);
	md = ib_alloc_device(memdev, ib);
	if (!md) {
		rc = -ENOMEM;
		goto out_netdev;
	}
	ib = &md->ib;
	md->ndev = ndev;
	INIT_LIST_HEAD(&md->list);
	INIT_LIST_HEAD(&md->cqs);
	spin_lock_init(&md->cqs_lock);
	spin_lock_init(&md->mr_lock);
	xa_init_flags(&md->mrs, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	memdev_default_traits(&md->traits);
	rc = memdev_dma_init(md);
	if (rc)
		goto out_dealloc;

	strscpy(ib->node_desc, "memdev", sizeof(ib->node_desc));
	ib->node_type = RDMA_NODE_IB_CA;
	ib->phys_port_cnt = 1;
	ib->num_comp_vectors = num_possible_cpus();
	ib->local_dma_lkey = MEMDEV_LOCAL_KEY;
	addrconf_addr_eui48((u8 *)&ib->node_guid, ndev->dev_addr);
	ib_set_device_ops(ib, &memdev_ops);
	rc = ib_device_set_netdev(ib, ndev, 1);
	if (rc)
		goto out_dealloc;
	rc = ib_register_device(ib, "memdev%d",
				md->maps ? &md->pdev->dev : NULL);
	if (rc)
		goto out_dealloc;
	mutex_lock(&memdev_mutex);
	list_add_tail(&md->list, &memdevs);
	mutex_unlock(&memdev_mutex);
	dev_put(ndev);
	return md;

out_dealloc:
	ib_dealloc_device(ib);
out_netdev:
	dev_put(ndev);
	return ERR_PTR(rc);
}
EXPORT_SYMBOL_GPL(memdev_add);

static int __init memdev_init(void)
{
	char *names, *rest, *name;
	struct memdev *md;
	int rc = 0;

	memdev_wq = alloc_workqueue("memdev", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	names = kstrdup(netdevs, GFP_KERNEL);
	if (!memdev_wq || !names) {
		rc = -ENOMEM;
		goto out;
	}
	rest = names;
	while ((name = strsep(&rest, ",")) && !rc) {
		md = memdev_add(name);
		if (IS_ERR(md)) {
			rc = PTR_ERR(md);
			pr_err("memdev: cannot create a device on network device %s: error %d\n",
			       name, rc);
		}
	}
out:
	kfree(names);
	if (rc) {
		ib_unregister_driver(RDMA_DRIVER_UNKNOWN);
		if (memdev_wq)
			destroy_workqueue(memdev_wq);
	}
	return rc;
}

static void __exit memdev_exit(void)
{
	/* In every kernel, this is the only driver without a separate driver id. */
	ib_unregister_driver(RDMA_DRIVER_UNKNOWN);
	destroy_workqueue(memdev_wq);
	xa_destroy(&memdev_qps);
}

module_init(memdev_init);
module_exit(memdev_exit);

MODULE_DESCRIPTION("An RDMA device in memory, for tests");
MODULE_LICENSE("GPL");
