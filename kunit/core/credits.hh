// SPDX-License-Identifier: GPL-2.0
/* Helpers of the tests of credits */
#ifndef ENGINE_TEST_CREDITS_HH
#define ENGINE_TEST_CREDITS_HH

#include <gtest/gtest.h>

#include "sim.hh"
#include "support.hh"

namespace engine_test::credits
{

/* A credit grant with these credit fields */
inline message grant(u32 credit, u32 received)
{
	return message().prefix(0, RDMA2_NOMSG, 0, credit, received).no_lists();
}

inline message call(u32 xid, u32 credit, u32 received)
{
	return message()
		.prefix(xid, RDMA2_MSG, 0, credit, received)
		.no_lists()
		.rpc(xid, CALL, 40);
}

inline message reply(u32 xid, u32 credit, u32 received)
{
	return message()
		.prefix(xid, RDMA2_MSG, RDMA2_F_RESPONSE, credit, received)
		.no_lists()
		.rpc(xid, REPLY, 40);
}

} // namespace engine_test::credits

#endif
