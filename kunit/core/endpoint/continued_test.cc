// SPDX-License-Identifier: GPL-2.0
/* Continued messages, and what becomes of them if memory for buffers is short */
#include <cerrno>

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

	/* Begin to send a continued Call of LONG bytes. Return 0 or a negative errno. */
	int begin(rpcrdma_stream &st)
	{
		list_head mrs;

		rpcrdma::list_init(&mrs);
		payload.assign(LONG, 1);
		st = {};
		rpcrdma_core_stream_init(&st, RPCRDMA_KIND_CALL, XID,
					 payload.data(), LONG, &lists);
		return rpcrdma_core_send_continued_call(core.get(), &st, &mrs,
							nullptr);
	}

	/* The oldest posted Send completes. */
	void complete()
	{
		list_head done_list;

		rpcrdma::list_init(&done_list);
		rpcrdma_core_reap(core.get(), core->inflight, &done_list);
		EXPECT_EQ(freed(), 0u);
	}

	/* Return the number of posted Sends. */
	u32 in_flight() const
	{
		u32 nr = 0;

		for (const rpcrdma_work *w = core->inflight; w; w = w->next)
			nr++;
		return nr;
	}

	/* More than the buffers of all control messages hold */
	static constexpr u32 LONG = RPCRDMA_CONTROL_BUFS + 6000;

	std::vector<u8> payload;
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

/*
 * There is no memory, and all buffers are in use, for example by Calls that are being
 * executed. The connection is not lost: an allocation that may sleep succeeds later.
 */
TEST_F(EndpointContinued, TheNextMessageWaitsForABuffer)
{
	rpcrdma_stream st;

	port.largest = 0;
	ASSERT_EQ(begin(st), 0);
	EXPECT_EQ(in_flight(), u32{ RPCRDMA_CONTROL_SENDS });
	EXPECT_EQ(core->sq.messages, 1u);
	EXPECT_EQ(core->sq.contexts, u32{ SENDS });
	EXPECT_EQ(core->todo, 0u);
	EXPECT_EQ(port.closing, nullptr);
	EXPECT_EQ(port.stall_ms, 100u);

	port.largest = PAGE;
	port.only_later = true;
	for (u32 i = 0; i < 2; i++) {
		const u32 sent = st.sent;

		EXPECT_EQ(port.stall_ms, 100u);
		expire();
		EXPECT_GT(st.sent, sent);
	}
	EXPECT_EQ(st.sent, st.len);
	EXPECT_EQ(core->sq.messages, 0u);
	EXPECT_EQ(port.stall_ms, 0u);
	EXPECT_EQ(port.closing, nullptr);
}

/* A buffer that becomes free is used at once. */
TEST_F(EndpointContinued, TheNextMessageGetsTheBufferThatIsReleased)
{
	rpcrdma_stream st;

	port.largest = 0;
	ASSERT_EQ(begin(st), 0);
	while (st.sent < st.len) {
		const u32 sent = st.sent;

		complete();
		ASSERT_GT(st.sent, sent);
	}
	EXPECT_EQ(core->sq.messages, 0u);
	/* The timer has nothing to do. */
	EXPECT_EQ(port.stall_ms, 100u);
	expire();
	EXPECT_EQ(port.stall_ms, 0u);
	EXPECT_EQ(port.closing, nullptr);
}

/* The wait for a buffer ends. */
TEST_F(EndpointContinued, WithoutMemoryForAMinuteTheConnectionIsClosed)
{
	const u32 begun = port.now;
	rpcrdma_stream st;

	port.largest = 0;
	ASSERT_EQ(begin(st), 0);
	for (u32 i = 0; !port.closing && i < 10000; i++) {
		ASSERT_NE(port.stall_ms, 0u);
		expire();
	}
	EXPECT_STREQ(port.closing, "no memory for a message to send");
	EXPECT_EQ(port.now - begun, 60000u);
}

/* A control message waits, too, for a buffer that a Call has. */
TEST_F(EndpointContinued, AControlMessageWaitsForABuffer)
{
	std::vector<rpcrdma_send *> held;

	port.largest = 0;
	for (u32 i = 0; i < RPCRDMA_CONTROL_SENDS + 1; i++)
		held.push_back(rpcrdma_core_send_get(core.get()));
	send_done(1);
	EXPECT_EQ(port.posted, 0u);
	EXPECT_EQ(port.closing, nullptr);
	EXPECT_EQ(port.stall_ms, 100u);
	rpcrdma_core_send_put(held.back());
	EXPECT_EQ(port.posted, 1u);

	send_done(2);
	EXPECT_EQ(port.posted, 1u);
	port.largest = PAGE;
	expire();
	EXPECT_EQ(port.posted, 2u);
	EXPECT_EQ(port.closing, nullptr);
}

/*
 * The time limit of credits expires while a message waits for a buffer. The connection is
 * closed, although it is the attempt to get a buffer that finds this.
 */
TEST_F(EndpointContinued, AWaitForABufferDoesNotHideAStalledWindow)
{
	port.largest = 0;
	for (u32 i = 0; i < RPCRDMA_CONTROL_SENDS + 1; i++)
		ASSERT_NE(rpcrdma_core_send_get(core.get()), nullptr);
	grant(1);
	EXPECT_FALSE(rpcrdma_core_may_call(core.get()));
	EXPECT_EQ(port.stall_ms, 60000u);
	port.now += port.stall_ms - 50;
	send_done(1);
	EXPECT_EQ(port.posted, 0u);
	EXPECT_EQ(port.stall_ms, 100u);

	port.largest = PAGE;
	expire();
	EXPECT_EQ(port.posted, 1u);
	EXPECT_STREQ(port.closing, "the peer does not grant credits");
}

/* If there is no buffer for the first message of a Call, it is refused and does not wait. */
TEST_F(EndpointContinued, ACallThatCannotBeginIsRefused)
{
	rpcrdma_stream st;

	port.largest = 0;
	for (u32 i = 0; i < RPCRDMA_CONTROL_SENDS + 1; i++)
		ASSERT_NE(rpcrdma_core_send_get(core.get()), nullptr);

	const u32 contexts = core->sq.contexts;

	EXPECT_EQ(begin(st), -ENOMEM);
	EXPECT_EQ(st.sent, 0u);
	EXPECT_EQ(core->sq.messages, 0u);
	EXPECT_EQ(core->sq.contexts, contexts);
	EXPECT_EQ(core->todo, 0u);
	EXPECT_EQ(in_flight(), 0u);
	EXPECT_EQ(port.stall_ms, 0u);
	EXPECT_EQ(port.closing, nullptr);
}

} // namespace
