// SPDX-License-Identifier: GPL-2.0
/*
 * The operation that registers memory of user space
 *
 * Forms: HAVE_REG_USER_MR_DMAH HAVE_REG_USER_MR
 */
#include <rdma/ib_verbs.h>

static struct ib_mr *probe_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				       u64 virt_addr, int access,
#ifdef HAVE_REG_USER_MR_DMAH
				       struct ib_dmah *dmah,
#endif
				       struct ib_udata *udata)
{
	return NULL;
}

extern const struct ib_device_ops probed;
const struct ib_device_ops probed = { .reg_user_mr = probe_reg_user_mr };
