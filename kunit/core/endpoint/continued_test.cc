// SPDX-License-Identifier: GPL-2.0
/* Continued messages, and what becomes of them if memory for buffers is short */
#include "endpoint/endpoint.hh"
#include "fixture.hh"

extern "C" {

void rpcrdma_port_chain_mrs(rpcrdma_send *, const list_head *)
{
}

} // extern "C"

namespace
{

constexpr u32 XID = 0x1234, LENGTH = 40000, INLINE = 20480, PAGE = 4096;
/* Bytes before the payload of a message without chunks */
constexpr u32 HEADER = 40;

class EndpointContinued : public EndpointSends
{
protected:
	EndpointContinued()
	{
		rpcrdma_lists_init(&lists);
		core->page_size = PAGE;
		core->conn.cfg.props.sbsiz = INLINE;
		core->conn.peer.rbsiz = INLINE;
		give(SENDS);
		grant(40);
	}

	/* Send a continued Call. Return the lengths of its messages' payloads. */
	std::vector<u32> send(u32 length)
	{
		std::vector<u8> payload(length);
		rpcrdma_stream st = {};
		list_head mrs;
		std::vector<u32> parts;
		std::vector<u8> all;

		for (u32 i = 0; i < length; i++)
			payload[i] = static_cast<u8>(i / 7);
		rpcrdma::list_init(&mrs);
		rpcrdma_core_stream_init(&st, RPCRDMA_KIND_CALL, XID,
					 payload.data(), length, &lists);
		EXPECT_EQ(rpcrdma_core_send_continued_call(core.get(), &st,
							   &mrs, nullptr),
			  0);
		for (rpcrdma_work *w = core->inflight; w; w = w->next) {
			const rpcrdma_send *s = rpcrdma::send_of(w);
			const u8 *buf = static_cast<const u8 *>(s->buf);
			const bool more = w->next;

			EXPECT_LE(s->len, s->size);
			EXPECT_EQ(buf[19] & RDMA2_F_MORE,
				  more ? RDMA2_F_MORE : 0);
			EXPECT_EQ((s->len - s->header_len) % 4, 0u);
			parts.push_back(s->len - s->header_len);
			all.insert(all.end(), buf + s->header_len,
				   buf + s->len);
		}
		EXPECT_EQ(all, payload);
		EXPECT_EQ(core->sq.messages, 0u);
		EXPECT_EQ(port.closing, nullptr);
		return parts;
	}

	rpcrdma_lists lists;
};

TEST_F(EndpointContinued, TheMessagesAreAsLargeAsThePeerReceives)
{
	EXPECT_EQ(send(LENGTH), (std::vector<u32>{ INLINE - HEADER,
						   LENGTH - INLINE + HEADER }));
}

/* Contiguous pages are missing: the messages get a page each. */
TEST_F(EndpointContinued, WithoutContiguousPagesTheMessagesAreShorter)
{
	port.largest = PAGE;

	const std::vector<u32> parts = send(LENGTH);

	ASSERT_EQ(parts.size(), 10u);
	for (u32 i = 0; i < 9; i++)
		EXPECT_EQ(parts[i], PAGE - HEADER);
}

/*
 * The memory becomes short within a sequence, when the Send Queue counts the next message
 * as its last one.
 */
TEST_F(EndpointContinued, TheLastMessageIsSplitIfMemoryIsShort)
{
	port.large = 1;
	port.largest = PAGE;

	const std::vector<u32> parts = send(LENGTH);

	ASSERT_EQ(parts.size(), 6u);
	EXPECT_EQ(parts[0], INLINE - HEADER);
	EXPECT_EQ(parts[1], PAGE - HEADER);
}

/* There is no memory at all: the buffers of control messages are used. */
TEST_F(EndpointContinued, WithoutMemoryTheMessagesAreAsShortAsControlMessages)
{
	port.largest = 0;

	const std::vector<u32> parts = send(10000);

	ASSERT_EQ(parts.size(), 11u);
	EXPECT_EQ(parts[0], RPCRDMA_SMALL_SEND - HEADER);
}

} // namespace
