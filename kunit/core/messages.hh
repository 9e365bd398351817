// SPDX-License-Identifier: GPL-2.0
/* Helpers of the tests of messages */
#ifndef ENGINE_TEST_MESSAGES_HH
#define ENGINE_TEST_MESSAGES_HH

#include <gtest/gtest.h>

#include "support.hh"

namespace engine_test::messages
{

constexpr u32 X = 0x11, Y = 0x22, Z = 0x33;
constexpr u32 MORE = RDMA2_F_MORE;
constexpr u32 RESP = RDMA2_F_RESPONSE;
constexpr u32 TPMORE = RDMA2_F_TPMORE;

/*
 * Return the first or a later fragment of an RPC message. The first one begins
 * with xid and direction.
 */
inline message first(u32 xid, u32 flags, u32 payload = 40)
{
	return message()
		.prefix(xid, RDMA2_MSG, flags, 100, 1)
		.no_lists()
		.rpc(xid, flags & RESP ? REPLY : CALL, payload);
}

inline message next(u32 xid, u32 flags, u32 payload = 40)
{
	return message()
		.prefix(xid, RDMA2_MSG, flags, 100, 1)
		.no_lists()
		.fill(payload);
}

inline message grant()
{
	return message().prefix(0, RDMA2_NOMSG, 0, 100, 1).no_lists();
}

/* Return every ERROR that waits, as (xid, code). */
inline std::vector<std::pair<u32, u32>> errors(end &e)
{
	std::vector<std::pair<u32, u32>> all;

	for (;;) {
		const message m = e.control();

		if (!m.size())
			return all;
		if (m.get(12) == RDMA2_ERROR) {
			EXPECT_EQ(m.get(4), 2u);
			EXPECT_EQ(m.get(16), RESP);
			all.emplace_back(m.get(0), m.get(24));
		}
	}
}

using error_list = std::vector<std::pair<u32, u32>>;

} // namespace engine_test::messages

#endif
