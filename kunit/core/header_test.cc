// SPDX-License-Identifier: GPL-2.0
/* engine.h means the same to users in C and in C++, without the kernel. */
#include <rpcrdma/engine.h>

#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include "header.h"

namespace
{

TEST(Interface, InC)
{
	for (u32 version : { RPCRDMA_VERS_1, RPCRDMA_VERS_2 })
		EXPECT_TRUE(header_exchange_in_c(version)) << version;
}

TEST(Interface, IsLaidOutTheSameInC)
{
	const header_sizes sizes = HEADER_SIZES;

	EXPECT_EQ(memcmp(&sizes, &header_sizes_in_c, sizeof(sizes)), 0);
}

} // namespace
