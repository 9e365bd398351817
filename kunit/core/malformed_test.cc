// SPDX-License-Identifier: GPL-2.0
/* Headers that are truncated, changed, or contradict what follows */
#include "codec.hh"

using namespace engine_test;
using namespace engine_test::codec;

namespace
{

/* Wrong counts, lists that never end, and invalid booleans */
TEST(Malformed, Counts)
{
	for (u32 count : { 2u, 3u, 0x10000000u, 0x10000001u, 0x7fffffffu,
			   0x80000000u, ~0u, ~0u / 16 }) {
		const message write = call_prefix()
					      .word(0)
					      .word(0)
					      .word(1)
					      .word(count)
					      .segment(1, 2, 3);
		const message reply = call_prefix()
					      .word(0)
					      .word(0)
					      .word(0)
					      .word(1)
					      .word(count)
					      .segment(1, 2, 3);

		EXPECT_EQ(decode_call(write).error, +RDMA2_ERR_BAD_XDR);
		EXPECT_EQ(decode_call(reply).error, +RDMA2_ERR_BAD_XDR);
	}
}

TEST(Malformed, Booleans)
{
	for (u32 value : { 2u, ~0u, 0x01000000u, 0x80000001u }) {
		for (u32 place : { 28u, 32u, 36u }) {
			message m =
				call_prefix().no_lists().rpc(XID, CALL, 200);

			EXPECT_EQ(decode_call(m.set(place, value)).error,
				  +RDMA2_ERR_BAD_XDR);
		}
	}
}

TEST(Malformed, TruncatedAtEveryLength)
{
	const message call = call_prefix()
				     .word(1)
				     .read_segment(8, 1, 5)
				     .read_segment(16, 1, 5)
				     .word(0)
				     .word(1)
				     .word(2)
				     .segment(1, 10, 0)
				     .segment(2, 10, 0)
				     .word(0)
				     .word(1)
				     .word(1)
				     .segment(3, 10, 0)
				     .rpc(XID, CALL, 40);
	const u32 header = call.size() - 40;

	ASSERT_EQ(decode_call(call).verdict, RPCRDMA_RX_CALL);
	for (u32 n = 0; n < call.size(); n++) {
		auto e = open_server();
		message cut = call;
		const rpcrdma_verdict v = e->receive(cut.truncate(n));
		const message answer = e->control();

		if (n < 24) {
			/* Too short for an answer */
			EXPECT_EQ(v, RPCRDMA_RX_CONSUMED) << n;
			EXPECT_EQ(answer.size(), 0u) << n;
			EXPECT_EQ(e->conn.counters.dropped, 1u);
		} else if (n < header + 8) {
			EXPECT_EQ(v, RPCRDMA_RX_CONSUMED) << n;
			ASSERT_EQ(answer.size(), 28u) << n;
			EXPECT_EQ(answer.get(24), +RDMA2_ERR_BAD_XDR) << n;
		} else {
			/* The payload may have any length. */
			EXPECT_EQ(v, RPCRDMA_RX_CALL) << n;
		}
	}
}

TEST(Malformed, TruncatedRepliesAreBadReplies)
{
	const message reply = reply_prefix()
				      .word(0)
				      .word(0)
				      .word(1)
				      .word(2)
				      .segment(1, 10, 0)
				      .segment(2, 10, 0)
				      .word(0)
				      .word(0)
				      .rpc(XID, REPLY, 40);
	const u32 header = reply.size() - 40;

	for (u32 n = 0; n <= reply.size(); n++) {
		auto e = open_client();
		message cut = reply;
		const rpcrdma_verdict v = e->receive(cut.truncate(n));

		EXPECT_EQ(e->control().size(), 0u) << n;
		EXPECT_EQ(v, n < 24	    ? RPCRDMA_RX_CONSUMED :
			     n < header + 8 ? RPCRDMA_RX_BAD_REPLY :
					      RPCRDMA_RX_REPLY)
			<< n;
		EXPECT_EQ(e->rx.xid, n < 24 ? 0 : XID);
	}
}

TEST(Malformed, EveryByteChanged)
{
	const message call = call_prefix()
				     .word(1)
				     .read_segment(8, 1, 5)
				     .word(0)
				     .word(1)
				     .word(1)
				     .segment(1, 10, 0)
				     .word(0)
				     .word(1)
				     .word(1)
				     .segment(3, 10, 0)
				     .rpc(XID, CALL, 40);

	for (u32 i = 0; i < call.size(); i++) {
		for (int bit = 0; bit < 8; bit++) {
			octets data = call.data();

			data[i] ^= static_cast<uint8_t>(1 << bit);

			auto e = open_server();

			/*
			 * Any result but a crash is accepted; ASan and UBSan
			 * watch.
			 */
			e->receive(message{ data });
			e->control();
		}
	}
}

} // namespace
