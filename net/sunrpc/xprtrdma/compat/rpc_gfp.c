// SPDX-License-Identifier: GPL-2.0
/*
 * The allocation flags of an RPC task
 *
 * Forms: HAVE_RPC_TASK_GFP_MASK HAVE_PF_WQ_WORKER
 */
#include <linux/sched.h>
#include <linux/sunrpc/sched.h>

gfp_t probe(void);

gfp_t probe(void)
{
#ifdef HAVE_RPC_TASK_GFP_MASK
	return rpc_task_gfp_mask();
#else
	return current->flags & PF_WQ_WORKER ? GFP_NOFS | __GFP_NORETRY :
					       GFP_NOFS;
#endif
}
