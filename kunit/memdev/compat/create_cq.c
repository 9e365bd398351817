// SPDX-License-Identifier: GPL-2.0
/*
 * The operation that creates a CQ
 *
 * Forms: HAVE_CREATE_CQ_ATTRS HAVE_CREATE_CQ_UDATA
 */
#include <rdma/ib_verbs.h>

#ifdef HAVE_CREATE_CQ_ATTRS
#define probed_origin struct uverbs_attr_bundle
#else
#define probed_origin struct ib_udata
#endif

static int probe_create_cq(struct ib_cq *cq,
			   const struct ib_cq_init_attr *attr,
			   probed_origin *origin)
{
	return 0;
}

extern const struct ib_device_ops probed;
const struct ib_device_ops probed = { .create_cq = probe_create_cq };
