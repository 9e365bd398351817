// SPDX-License-Identifier: GPL-2.0
/*
 * The bit that states that a device registers memory with gaps in one MR
 *
 * Forms: HAVE_IBK_SG_GAPS_REG HAVE_IB_DEVICE_SG_GAPS_REG
 */
#include <rdma/ib_verbs.h>

bool probe(const struct ib_device *device);

bool probe(const struct ib_device *device)
{
#ifdef HAVE_IBK_SG_GAPS_REG
	return device->attrs.kernel_cap_flags & IBK_SG_GAPS_REG;
#else
	return device->attrs.device_cap_flags & IB_DEVICE_SG_GAPS_REG;
#endif
}
