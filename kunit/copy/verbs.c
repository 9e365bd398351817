// SPDX-License-Identifier: GPL-2.0
/*
 * The endpoint, compiled against wrappers of the functions it calls.
 */

#include <crypto/dh.h>
#include <crypto/hash.h>
#include <crypto/kpp.h>
#include <keys/user-type.h>
#include <linux/dma-mapping.h>
#include <linux/key-type.h>
#include <linux/key.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>

#include "../lib/loopback.h"

struct loop_balance loop_balance;
atomic_t loop_misuse;
atomic_t loop_double_inv;
unsigned int loop_mute;
unsigned int loop_unpostable, loop_unpostable_opcode;
static unsigned int loop_crowd;
bool loop_removal_in_setup;
void (*loop_before_destroy)(void);
static atomic_t loop_in_setup;
static DECLARE_WAIT_QUEUE_HEAD(loop_crowd_wait);
unsigned int loop_max_send_wr[2];
unsigned int loop_largest_order = LOOP_ANY_ORDER;
atomic_t loop_larger_blocks;
int loop_reads_at_most;
atomic_t loop_reads_refused;
static atomic_t loop_reads;
unsigned int loop_listens;
atomic_t loop_ids_destroyed;
struct ib_device *loop_stale_device;
bool loop_removal_at_listen;
struct key *loop_secrets[LOOP_LOOKUPS];
unsigned int loop_lookups;
struct key *loop_peer_key;
void (*loop_at_lookup)(unsigned int n);
const char *loop_no_hash;
bool loop_no_dh;
atomic_t loop_dh_allocs, loop_alg_lookups;

static atomic_t loop_countdown;
static bool loop_has_failed;
static DEFINE_XARRAY(loop_valid);
/* MRs of the endpoint, except those of rdma_rw */
static DEFINE_XARRAY(loop_ours);

unsigned int loop_valid_handles(void)
{
	unsigned long index;
	unsigned int n = 0;
	void *entry;

	xa_for_each(&loop_valid, index, entry)
		n++;
	return n;
}

void loop_fail_at(unsigned int n)
{
	loop_has_failed = false;
	atomic_set(&loop_countdown, n);
}

bool loop_failed(void)
{
	return READ_ONCE(loop_has_failed);
}

static bool loop_fault(void)
{
	if (atomic_read(&loop_countdown) <= 0 ||
	    !atomic_dec_and_test(&loop_countdown))
		return false;
	WRITE_ONCE(loop_has_failed, true);
	return true;
}

static void *loop_made(atomic_t *count, void *object)
{
	if (!IS_ERR(object))
		atomic_inc(count);
	return object;
}

static struct ib_pd *loop_alloc_pd(struct ib_device *dev)
{
	if (loop_fault())
		return ERR_PTR(-ENOMEM);
	return loop_made(&loop_balance.pds, ib_alloc_pd(dev, 0));
}

static void loop_dealloc_pd(struct ib_pd *pd)
{
	atomic_dec(&loop_balance.pds);
	ib_dealloc_pd(pd);
}

static struct ib_cq *loop_alloc_cq(struct ib_device *dev, void *priv, int cqes,
				   int vector, enum ib_poll_context ctx)
{
	if (loop_fault())
		return ERR_PTR(-ENOMEM);
	return loop_made(&loop_balance.cqs,
			 ib_alloc_cq(dev, priv, cqes, vector, ctx));
}

static void loop_free_cq(struct ib_cq *cq)
{
	atomic_dec(&loop_balance.cqs);
	ib_free_cq(cq);
}

static struct ib_mr *loop_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
				   u32 pages)
{
	struct ib_mr *mr;

	if (loop_fault())
		return ERR_PTR(-ENOMEM);
	mr = loop_made(&loop_balance.mrs, ib_alloc_mr(pd, type, pages));
	if (!IS_ERR(mr))
		xa_store(&loop_ours, mr->rkey >> 8, mr, GFP_KERNEL);
	return mr;
}

static int loop_dereg_mr(struct ib_mr *mr)
{
	atomic_dec(&loop_balance.mrs);
	xa_erase(&loop_valid, mr->rkey);
	xa_erase(&loop_ours, mr->rkey >> 8);
	return ib_dereg_mr(mr);
}

/*
 * Memory reclaim may wait for a connection to be set up or torn down. Allocations in
 * these paths must therefore not make reclaim write back a file.
 */
void loop_check_nofs(void)
{
	if (!(current->flags & PF_MEMALLOC_NOFS))
		atomic_inc(&loop_misuse);
}

static int loop_create_qp(struct rdma_cm_id *id, struct ib_pd *pd,
			  struct ib_qp_init_attr *attr)
{
	struct rpcrdma_ep *ep = attr->send_cq->cq_context;
	struct rdma_cm_event removal = {
		.event = RDMA_CM_EVENT_DEVICE_REMOVAL,
	};
	int rc = -ENOMEM;

	loop_check_nofs();
	if (loop_crowd && !ep->client) {
		atomic_inc(&loop_in_setup);
		wake_up_all(&loop_crowd_wait);
		if (!wait_event_timeout(loop_crowd_wait,
					atomic_read(&loop_in_setup) >=
					loop_crowd, 18 * HZ))
			atomic_inc(&loop_misuse);
	}
	if (loop_removal_in_setup && !ep->client) {
		loop_removal_in_setup = false;
		id->event_handler(id, &removal);
	}
	/* Emulate a driver with large queue entries: it refuses a deep Send Queue. */
	if (!loop_fault() &&
	    (!READ_ONCE(loop_max_send_wr[ep->client]) ||
	     attr->cap.max_send_wr <= loop_max_send_wr[ep->client]))
		rc = rdma_create_qp(id, pd, attr);
	if (!rc)
		atomic_inc(&loop_balance.qps);
	return rc;
}

static void loop_destroy_qp(struct rdma_cm_id *id)
{
	loop_check_nofs();
	if (loop_before_destroy)
		loop_before_destroy();
	atomic_dec(&loop_balance.qps);
	rdma_destroy_qp(id);
}

static u64 loop_map_single(struct ib_device *dev, void *p, size_t size,
			   enum dma_data_direction dir)
{
	u64 addr = ib_dma_map_single(dev, p, size, dir);

	if (!ib_dma_mapping_error(dev, addr)) {
		atomic_inc(&loop_balance.maps);
		atomic64_add(size, &loop_balance.octets);
	}
	return addr;
}

static void loop_unmap_single(struct ib_device *dev, u64 addr, size_t size,
			      enum dma_data_direction dir)
{
	atomic_dec(&loop_balance.maps);
	atomic64_sub(size, &loop_balance.octets);
	ib_dma_unmap_single(dev, addr, size, dir);
	/*
	 * With virtual DMA an address is a pointer. Overwrite the memory, as copying from
	 * a bounce buffer would.
	 */
	if (dir == DMA_FROM_DEVICE && (ib_uses_virt_dma)(dev))
		memset((void *)(uintptr_t)addr, 0xdb, size);
}

/*
 * Unmap with @attrs. @dev is NULL if the device uses virtual DMA; the memory is then
 * overwritten, as in loop_unmap_single(), unless @attrs skip the sync.
 */
static void loop_unmap_attrs(struct device *dev, u64 addr, size_t size,
			     enum dma_data_direction dir, unsigned long attrs)
{
	atomic_dec(&loop_balance.maps);
	atomic64_sub(size, &loop_balance.octets);
	if (dev)
		dma_unmap_single_attrs(dev, addr, size, dir, attrs);
	else if (dir == DMA_FROM_DEVICE && !(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		memset((void *)(uintptr_t)addr, 0xdb, size);
}

static u64 loop_sg_octets(struct scatterlist *sg, int nents)
{
	u64 octets = 0;
	int i;

	for (i = 0; i < nents; i++)
		octets += sg[i].length;
	return octets;
}

static int loop_map_sg(struct ib_device *dev, struct scatterlist *sg, int nents,
		       enum dma_data_direction dir)
{
	int rc = loop_fault() ? 0 : ib_dma_map_sg(dev, sg, nents, dir);

	if (rc) {
		atomic_inc(&loop_balance.maps);
		atomic64_add(loop_sg_octets(sg, nents), &loop_balance.octets);
	}
	return rc;
}

static void loop_unmap_sg(struct rpcrdma_ep *ep, struct scatterlist *sg,
			  int nents, enum dma_data_direction dir)
{
	struct ib_device *dev = ep->device;

#ifdef CONFIG_LOCKDEP
	/*
	 * mr_lock may be held only while the connection is closing, when the teardown
	 * may unmap as well.
	 */
	if (!rpcrdma_ep_is_closing(ep) &&
	    lockdep_is_held(&ep->mr_lock) == LOCK_STATE_HELD)
		atomic_inc(&loop_misuse);
#endif
	atomic_dec(&loop_balance.maps);
	atomic64_sub(loop_sg_octets(sg, nents), &loop_balance.octets);
	ib_dma_unmap_sg(dev, sg, nents, dir);
}

static int loop_rw_init(struct rdma_rw_ctx *ctx, struct ib_qp *qp, u32 port,
			struct scatterlist *sg, u32 cnt, u32 offset, u64 addr,
			u32 rkey, enum dma_data_direction dir)
{
	int rc;

	/* The teardown waits for a transfer that is being prepared. */
	loop_check_nofs();
	if (loop_fault())
		return -ENOMEM;
	/* Emulate an empty MR pool on a device where each context needs an MR. */
	if (dir == DMA_FROM_DEVICE &&
	    atomic_inc_return(&loop_reads) > loop_reads_at_most &&
	    loop_reads_at_most) {
		atomic_dec(&loop_reads);
		atomic_inc(&loop_reads_refused);
		return -EAGAIN;
	}
	rc = rdma_rw_ctx_init(ctx, qp, port, sg, cnt, offset, addr, rkey, dir);
	/*
	 * The endpoint must split memory by MRs, because rdma_rw splits only by
	 * elements, which may be merged.
	 */
	if (rc >= 0 && dir == DMA_FROM_DEVICE &&
	    rdma_protocol_iwarp(qp->device, port) && ctx->nr_ops > 1)
		atomic_inc(&loop_misuse);
	if (rc >= 0)
		atomic_inc(&loop_balance.rws);
	else if (dir == DMA_FROM_DEVICE)
		atomic_dec(&loop_reads);
	return rc;
}

static void loop_rw_destroy(struct rdma_rw_ctx *ctx, struct ib_qp *qp,
			    u32 port, struct scatterlist *sg, u32 cnt,
			    enum dma_data_direction dir)
{
	atomic_dec(&loop_balance.rws);
	if (dir == DMA_FROM_DEVICE)
		atomic_dec(&loop_reads);
	rdma_rw_ctx_destroy(ctx, qp, port, sg, cnt, dir);
}

/*
 * Count Work Requests that a device with a bounded queue and strict protection would
 * reject.
 */
static void loop_check_wrs(struct rpcrdma_ep *ep, const struct ib_send_wr *wr)
{
	const struct rpcrdma_work *work =
		container_of(ep->core.inflight_end, struct rpcrdma_work, next);
	const struct ib_send_wr *last = NULL;
	u32 n, key;

	for (n = 0; wr; wr = wr->next, n++) {
		last = wr;
		/* Without a wr_cqe, the failure would be lost. */
		if (!wr->wr_cqe)
			atomic_inc(&loop_misuse);
		switch (wr->opcode) {
		case IB_WR_REG_MR:
			key = reg_wr(wr)->key;
			if (!xa_load(&loop_ours, key >> 8))
				break;
			if (xa_store(&loop_valid, key, xa_mk_value(1),
				     GFP_ATOMIC))
				atomic_inc(&loop_misuse);
			break;
		case IB_WR_LOCAL_INV:
		case IB_WR_SEND_WITH_INV:
			key = wr->ex.invalidate_rkey;
			if (xa_load(&loop_ours, key >> 8) &&
			    !xa_erase(&loop_valid, key))
				atomic_inc(&loop_double_inv);
			break;
		default:
			break;
		}
	}
	if (n != work->wrs.nr || last != work->chain->last ||
	    ep->core.sq.posted - ep->core.sq.retired > ep->core.sq.depth)
		atomic_inc(&loop_misuse);
}

static int loop_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	struct rpcrdma_ep *ep = qp->send_cq->cq_context;
	unsigned int side = ep->client ? LOOP_MUTE_CLIENT : LOOP_MUTE_SERVER;

	lockdep_assert_held(&ep->lock);
	if (loop_fault() || (READ_ONCE(loop_unpostable) & side &&
			     wr->opcode == READ_ONCE(loop_unpostable_opcode)))
		return -ENOMEM;
	loop_check_wrs(ep, wr);
	if (READ_ONCE(loop_mute) & side)
		return 0;
	return ib_post_send(qp, wr, bad);
}

void rpcrdma_rw_retry(struct work_struct *work);

/*
 * Count misuse if the work item that retries transfers is queued without ep->lock. The
 * teardown ends the waiting transfers under that lock and cancels the work item after
 * that, so that a work item queued without the lock could be queued too late.
 */
static bool loop_queue_work(struct workqueue_struct *wq,
			    struct work_struct *work)
{
#ifdef CONFIG_LOCKDEP
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep, rw_work);

	if (work->func == rpcrdma_rw_retry &&
	    lockdep_is_held(&ep->lock) != LOCK_STATE_HELD)
		atomic_inc(&loop_misuse);
#endif
	return queue_work(wq, work);
}

static int loop_listen(struct rdma_cm_id *id, int backlog)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_DEVICE_REMOVAL };

	/* A work item that listens again shares its workqueue with those of mounts. */
	if (current_work())
		loop_check_nofs();
	loop_listens++;
	if (!loop_removal_at_listen)
		return rdma_listen(id, backlog);
	loop_removal_at_listen = false;
	/* Like the connection manager, destroy the id if the handler returns an error. */
	if (id->event_handler(id, &event))
		rdma_destroy_id(id);
	return -EINVAL;
}

/*
 * Fail to bind an address. Kernels before Linux 5.13 leave the pointer to a device that the
 * id has released.
 */
static int loop_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	if (!loop_stale_device)
		return rdma_bind_addr(id, addr);
	id->device = loop_stale_device;
	return -EADDRINUSE;
}

static bool loop_device_try_get(struct ib_device *device)
{
	if (device != loop_stale_device)
		return ib_device_try_get(device);
	atomic_inc(&loop_misuse);
	return false;
}

/* The id's device, if it has one, must be held. */
static void loop_destroy_id(struct rdma_cm_id *id)
{
	if (loop_stale_device && id->device == loop_stale_device)
		id->device = NULL;
	if (id->device && refcount_read(&id->device->refcount) < 2)
		atomic_inc(&loop_misuse);
	atomic_inc(&loop_ids_destroyed);
	rdma_destroy_id(id);
}

static int loop_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	if (loop_fault())
		return -ENOMEM;
	return ib_post_recv(qp, wr, bad);
}

/*
 * These wrappers are functions, because some kernels define macros of the same names.
 */
static void *loop_kzalloc(size_t size, gfp_t gfp)
{
	return loop_fault() ? NULL : kzalloc(size, gfp);
}

int rpcrdma_ep_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);

/* Mark the handler's allocations with NOIO, which the endpoint never sets. */
static int loop_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	unsigned int noio = memalloc_noio_save();
	int rc = rpcrdma_ep_cm_handler(id, event);

	memalloc_noio_restore(noio);
	return rc;
}

/* Allocate a Receive. Count misuse in the connection manager's handler. */
static void *loop_cache_zalloc(struct kmem_cache *cache, gfp_t gfp)
{
	if (current->flags & PF_MEMALLOC_NOIO)
		atomic_inc(&loop_misuse);
	return loop_fault() ? NULL : kmem_cache_zalloc(cache, gfp);
}

static void *loop_kmalloc_node(size_t size, gfp_t gfp, int node)
{
	return loop_fault() ? NULL : kmalloc_node(size, gfp, node);
}

/* Fail if memory is fragmented, unless the kernel would retry until it is not. */
static struct page *loop_alloc_pages(int node, gfp_t gfp, unsigned int order)
{
	bool retries = (gfp & (__GFP_DIRECT_RECLAIM | __GFP_NORETRY)) ==
		       __GFP_DIRECT_RECLAIM;
	struct page *page;

	if (order > loop_largest_order && !retries &&
	    atomic_dec_if_positive(&loop_larger_blocks) < 0)
		return NULL;
	page = loop_fault() ? NULL : alloc_pages_node(node, gfp, order);
	if (page)
		atomic64_add(PAGE_SIZE << order, &loop_balance.buffers);
	return page;
}

static void loop_free_page(struct page *page)
{
	atomic64_sub(PAGE_SIZE, &loop_balance.buffers);
	__free_page(page);
}

static void loop_free_pages_exact(void *p, size_t size)
{
	atomic64_sub(PAGE_ALIGN(size), &loop_balance.buffers);
	free_pages_exact(p, size);
}

static void *loop_kmalloc_array(size_t n, size_t size, gfp_t gfp)
{
	return loop_fault() ? NULL : kmalloc_array(n, size, gfp);
}

static void *loop_kvmalloc(size_t size, gfp_t gfp)
{
	loop_check_nofs();
	return loop_fault() ? NULL : kvmalloc(size, gfp);
}

/* Return the next of loop_secrets. A handshake looks them up in this order. */
static struct key *loop_request_key(struct key_type *type, const char *name)
{
	struct key *key;
	unsigned int n;

	loop_check_nofs();
	if (type == &key_type_user)
		return loop_fault() ? ERR_PTR(-ENOMEM) :
		       loop_peer_key && strstarts(name, "rpcrdma-peer:") ?
		       key_get(loop_peer_key) : ERR_PTR(-ENOKEY);
	n = loop_lookups++ % LOOP_LOOKUPS;
	key = loop_secrets[n];
	if (loop_at_lookup)
		loop_at_lookup(n);
	if (loop_fault())
		return ERR_PTR(-ENOMEM);
	if (!key)
		return ERR_PTR(-ENOKEY);
	if (type != &key_type_logon || strcmp(name, key->description))
		atomic_inc(&loop_misuse);
	return key_get(key);
}

static struct crypto_shash *loop_alloc_shash(const char *name, u32 type, u32 mask)
{
	atomic_inc(&loop_alg_lookups);
	if (loop_no_hash && strstr(name, loop_no_hash))
		return ERR_PTR(-ENOENT);
	return loop_fault() ? ERR_PTR(-ENOMEM) :
			      crypto_alloc_shash(name, type, mask);
}

/* The module under test, or another copy, may have a type of the same name. */
#define register_key_type(type)			0
#define unregister_key_type(type)		((void)(type))
#define request_key(type, name, info)		loop_request_key(type, name)
#define crypto_alloc_shash(name, type, mask)	loop_alloc_shash(name, type, mask)
#define crypto_shash_setkey(...) \
	(loop_fault() ? -ENOMEM : crypto_shash_setkey(__VA_ARGS__))
#define crypto_shash_final(...) \
	(loop_fault() ? -EINVAL : crypto_shash_final(__VA_ARGS__))
/* ---- Memory reserves ---- */

static const char *loop_reserves_users[32];
static DEFINE_SPINLOCK(loop_reserves_lock);

void loop_forget_reserves(void)
{
	spin_lock(&loop_reserves_lock);
	memset(loop_reserves_users, 0, sizeof(loop_reserves_users));
	spin_unlock(&loop_reserves_lock);
}

bool loop_used_reserves(const char *function)
{
	unsigned int i;
	bool used = false;

	spin_lock(&loop_reserves_lock);
	for (i = 0; i < ARRAY_SIZE(loop_reserves_users); i++)
		used |= loop_reserves_users[i] &&
			(!function || !strcmp(loop_reserves_users[i], function));
	spin_unlock(&loop_reserves_lock);
	return used;
}

/* Record @function if its allocations may use the memory reserves. */
static void loop_note_reserves(const char *function)
{
	unsigned int i = 0;

	if (!(current->flags & PF_MEMALLOC))
		return;
	spin_lock(&loop_reserves_lock);
	while (i < ARRAY_SIZE(loop_reserves_users) - 1 && loop_reserves_users[i] &&
	       strcmp(loop_reserves_users[i], function))
		i++;
	loop_reserves_users[i] = function;
	spin_unlock(&loop_reserves_lock);
}

#define rpcrdma_memalloc_end(flags) \
	(loop_note_reserves(__func__), (rpcrdma_memalloc_end)(flags))

/* ---- Diffie-Hellman ---- */

#include "kpp.h"

#undef ib_alloc_pd
#define ib_alloc_pd(dev, flags)			loop_alloc_pd(dev)
#define ib_dealloc_pd(pd)			loop_dealloc_pd(pd)
#define ib_alloc_cq(dev, priv, nr, vec, ctx)	loop_alloc_cq(dev, priv, nr, vec, ctx)
#define ib_free_cq(cq)				loop_free_cq(cq)
#define ib_alloc_mr(pd, type, pages) \
	(loop_note_reserves("ib_alloc_mr"), loop_alloc_mr(pd, type, pages))
#define ib_dereg_mr(mr)				loop_dereg_mr(mr)
#define rdma_create_qp(id, pd, attr)		loop_create_qp(id, pd, attr)
#define rdma_destroy_qp(id)			loop_destroy_qp(id)
#define ib_dma_map_single(dev, p, n, dir)	loop_map_single(dev, p, n, dir)
#define ib_dma_unmap_single(dev, a, n, dir)	loop_unmap_single(dev, a, n, dir)
#define ib_uses_virt_dma(dev)			false
#define dma_unmap_single_attrs(...)		loop_unmap_attrs(__VA_ARGS__)
#define ib_dma_map_sg(dev, sg, n, dir)		loop_map_sg(dev, sg, n, dir)
#define ib_dma_unmap_sg(dev, sg, n, dir)	loop_unmap_sg(ep, sg, n, dir)
#define rdma_rw_ctx_init(...)			loop_rw_init(__VA_ARGS__)
#define rdma_rw_ctx_destroy(...)		loop_rw_destroy(__VA_ARGS__)
#define ib_post_send(qp, wr, bad)		loop_post_send(qp, wr, bad)
#define ib_post_recv(qp, wr, bad)		loop_post_recv(qp, wr, bad)
#define rdma_resolve_addr(...) \
	(loop_check_nofs(), \
	 loop_fault() ? -ENOMEM : rdma_resolve_addr(__VA_ARGS__))
#define rdma_resolve_route(...) \
	(loop_fault() ? -ENOMEM : rdma_resolve_route(__VA_ARGS__))
#define rdma_connect(...) \
	(loop_fault() ? -ENOMEM : rdma_connect(__VA_ARGS__))
#define rdma_accept(...) \
	(loop_fault() ? -ENOMEM : rdma_accept(__VA_ARGS__))
#define rdma_bind_addr(id, addr)		loop_bind_addr(id, addr)
#define rdma_listen(id, backlog)		loop_listen(id, backlog)
#define rdma_destroy_id(id)			loop_destroy_id(id)
#define ib_device_try_get(device)		loop_device_try_get(device)
#undef rdma_create_id
#define rdma_create_id(net, handler, context, ps, type)			\
	__rdma_create_kernel_id(net,					\
				(handler) == rpcrdma_ep_cm_handler ?	\
				loop_cm_handler : (handler),		\
				context, ps, type, KBUILD_MODNAME)
#define queue_work(wq, work)			loop_queue_work(wq, work)
#undef kmem_cache_zalloc
#undef kzalloc
#undef kmalloc_node
#undef alloc_pages_node
#undef __free_page
#undef free_pages_exact
#undef kmalloc_array
#undef kvmalloc
#define kzalloc(size, gfp)		loop_kzalloc(size, gfp)
#define kmem_cache_zalloc(cache, gfp)	loop_cache_zalloc(cache, gfp)
#define kmalloc_node(size, gfp, node)	loop_kmalloc_node(size, gfp, node)
#define alloc_pages_node(node, gfp, order)	loop_alloc_pages(node, gfp, order)
#define __free_page(page)		loop_free_page(page)
#define free_pages_exact(p, size)	loop_free_pages_exact(p, size)
#define kmalloc_array(n, size, gfp)	loop_kmalloc_array(n, size, gfp)
#define kvmalloc(size, gfp)		loop_kvmalloc(size, gfp)

#include "../../net/sunrpc/xprtrdma/verbs/lifecycle.c"
/* define_trace.h leaves CREATE_TRACE_POINTS defined. */
#undef CREATE_TRACE_POINTS
#include "../../net/sunrpc/xprtrdma/verbs/charge.c"
#include "../../net/sunrpc/xprtrdma/verbs/buffer.c"
#include "../../net/sunrpc/xprtrdma/verbs/sq.c"
#include "../../net/sunrpc/xprtrdma/verbs/extent.c"
#include "../../net/sunrpc/xprtrdma/verbs/frwr.c"
#include "../../net/sunrpc/xprtrdma/verbs/rw.c"
#include "../../net/sunrpc/xprtrdma/verbs/pulled_reply.c"
#include "../../net/sunrpc/xprtrdma/verbs/send.c"
#include "../../net/sunrpc/xprtrdma/verbs/recv.c"
#include "../../net/sunrpc/xprtrdma/verbs/qp.c"
#include "../../net/sunrpc/xprtrdma/verbs/cm.c"
#include "../../net/sunrpc/xprtrdma/verbs/hostauth_dh.c"
#include "../../net/sunrpc/xprtrdma/verbs/hostauth_algs.c"
#include "../../net/sunrpc/xprtrdma/verbs/hostauth.c"
#include "../../net/sunrpc/xprtrdma/verbs/ep.c"
#include "../../net/sunrpc/xprtrdma/verbs/listen.c"

void loop_limit_queues(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rpcrdma_queues); i++)
		workqueue_set_max_active(*rpcrdma_queues[i].wq, 1);
}

void loop_flush_queues(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rpcrdma_queues); i++)
		flush_workqueue(*rpcrdma_queues[i].wq);
}

void loop_set_identity(const char *identity)
{
	strscpy(rpcrdma_host_identity, identity, sizeof(rpcrdma_host_identity));
}

void loop_find_algs(void)
{
	loop_no_hash = NULL;
	loop_no_dh = false;
	rpcrdma_algs_find();
}

void loop_forget_algs(void)
{
	rpcrdma_algs_exit();
	atomic_set(&loop_alg_lookups, 0);
}

int loop_end_identity(const char *identity)
{
	return rpcrdma_auth_end(identity, NULL);
}

void loop_expect_crowd(unsigned int n)
{
	atomic_set(&loop_in_setup, 0);
	loop_crowd = n;
}

void loop_listener_event(struct rpcrdma_listener *l, int type)
{
	struct rdma_cm_event event = { .event = type };
	struct rdma_cm_id *id = l->id;

	/* Like the connection manager, destroy the id if the handler returns an error. */
	if (id->event_handler(id, &event))
		(rdma_destroy_id)(id);
	flush_delayed_work(&l->renew_work);
}

unsigned int loop_nr_endpoints(void)
{
	return atomic_read(&rpcrdma_nr_eps);
}
