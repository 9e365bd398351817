// SPDX-License-Identifier: GPL-2.0
/*
 * The client's transport, the settings, and the code shared with the reverse direction.
 * The Requester is included by client/requester_test.c instead.
 */
#include <linux/kthread.h>
#include <linux/moduleparam.h>

#include "../lib/loopback.h"

static struct rpcrdma_range loop_range(const struct rpcrdma_settings *s,
				       const u32 *value);

/* Called after the other setting was read, and before this one is stored. */
#define rpcrdma_setting_range(s, value)		loop_range(s, value)

#include "../../net/sunrpc/xprtrdma/sunrpc/settings.c"
#undef rpcrdma_setting_range

struct loop_rival {
	const char		*val;
	struct completion	done;
	int			rc;
};

static struct loop_rival *loop_rival;

static int loop_rival_fn(void *data)
{
	struct loop_rival *r = data;
	struct kernel_param kp = { .arg = &rpcrdma_settings.max_version };

	r->rc = rpcrdma_param_ops.set(r->val, &kp);
	kthread_complete_and_exit(&r->done, 0);
}

/*
 * Get the range of a setting, and let the concurrent writer run until it has finished or waits
 * for this one.
 */
static struct rpcrdma_range loop_range(const struct rpcrdma_settings *s,
				       const u32 *value)
{
	const struct rpcrdma_range range = rpcrdma_setting_range(s, value);
	struct loop_rival *r = loop_rival;
	struct task_struct *task;

	loop_rival = NULL;
	if (!r)
		return range;
	task = kthread_create(loop_rival_fn, r, "loop_rival");
	if (IS_ERR(task)) {
		r->rc = PTR_ERR(task);
		complete(&r->done);
		return range;
	}
	get_task_struct(task);
	wake_up_process(task);
	if (!loop_poll(completion_done(&r->done) ||
		       READ_ONCE(task->__state) == TASK_UNINTERRUPTIBLE))
		atomic_inc(&loop_misuse);
	put_task_struct(task);
	return range;
}

int loop_cross_versions(const char *min, const char *max)
{
	struct kernel_param kp = { .arg = &rpcrdma_settings.min_version };
	struct loop_rival rival = { .val = max };
	int rc;

	init_completion(&rival.done);
	loop_rival = &rival;
	rc = rpcrdma_param_ops.set(min, &kp);
	wait_for_completion(&rival.done);
	return rc ?: rival.rc;
}

const struct svc_serv *loop_dead_service;
bool loop_no_transfers;
unsigned int loop_connect_flags;

#if defined(CONFIG_SUNRPC_BACKCHANNEL)
#define rpcrdma_bc_dequeue(serv, xprt)					\
	((serv) == loop_dead_service ?					\
	 (atomic_inc(&loop_misuse), (struct rpc_rqst *)NULL) :		\
	 (rpcrdma_bc_dequeue)(serv, xprt))
#endif

#define rpcrdma_rw_alloc(...) \
	(loop_no_transfers ? NULL : (rpcrdma_rw_alloc)(__VA_ARGS__))

#define rpcrdma_ep_connect(...)						\
	(loop_connect_flags = current->flags,				\
	 (rpcrdma_ep_connect)(__VA_ARGS__))

/* Record the notifications of a connection's start and end. */
atomic_t loop_changes;

#include "../../net/sunrpc/xprtrdma/sunrpc/netlink.h"

void rpcrdma_netlink_changed(struct rpcrdma_ep *ep)
{
	atomic_inc(&loop_changes);
}

#include "../../net/sunrpc/xprtrdma/sunrpc/responder.c"
#include "../../net/sunrpc/xprtrdma/sunrpc/client_bc.c"
#include "../../net/sunrpc/xprtrdma/sunrpc/client_connect.c"
#include "../../net/sunrpc/xprtrdma/sunrpc/client.c"
