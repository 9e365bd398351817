// SPDX-License-Identifier: GPL-2.0
/*
 * The operation that creates a CQ
 *
 * Forms: HAVE_CREATE_CQ_ATTRS HAVE_CREATE_CQ_UDATA
 */
#include <rdma/ib_verbs.h>

static int probe_create_cq(struct ib_cq *cq,
			   const struct ib_cq_init_attr *attr,
#ifdef HAVE_CREATE_CQ_ATTRS
			   struct uverbs_attr_bundle *origin)
#else
			   struct ib_udata *origin)
#endif
{
	return 0;
}

extern const struct ib_device_ops probed;
const struct ib_device_ops probed = { .create_cq = probe_create_cq };
