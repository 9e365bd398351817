// SPDX-License-Identifier: GPL-2.0
/*
 * Replies at the Requester: which of their bytes go where, in which order, and what of the
 * memory belongs to the Reply
 */
#include <cerrno>
#include <cstring>
#include <string>

#include "answer.h"
#include "endpoint/endpoint.hh"
#include "fixture.hh"

namespace
{

using events = std::vector<std::string>;

constexpr u32 XID = 0x1234, HANDLE = 0x1000, OTHER_HANDLE = 0x1001;
constexpr u8 UNTOUCHED = 0xee;
/* Bytes after the memory of a Reply */
constexpr u32 BEYOND = 64;

/* The host's part of an RPC */
struct waiting : rpcrdma_rpc {
	waiting() : rpcrdma_rpc{}
	{
	}

	events log;
	rpcrdma_buf_layout layout{ 100, 1000, 60 };
	std::vector<u8> memory;
	u32 head = ~0u, pages = ~0u; /* of the Reply */
	bool known = true;	     /* an RPC has the xid */
	int status = 0;
	std::string reason;
	bool no_reads = false;
	int read[2] = {}; /* what the functions for Reads return */
	u32 nr_reads = 0;
	rpcrdma_transfer transfer{};
	rpcrdma_transfer_part part{};
};

waiting *the_rpc;

void note(const std::string &what)
{
	the_rpc->log.push_back(what);
}

std::string range(const char *what, u32 to, u32 length)
{
	return std::string(what) + " " + std::to_string(length) + " to " +
	       std::to_string(to);
}

} // namespace

extern "C" {

bool rpcrdma_port_answer(rpcrdma_requester *r, rpcrdma_recv *rv)
{
	return rpcrdma_core_answer_rpc(r, rv);
}

void rpcrdma_port_rpc_lock(rpcrdma_requester *)
{
	note("lock");
}

void rpcrdma_port_rpc_unlock(rpcrdma_requester *)
{
	note("unlock");
}

rpcrdma_rpc *rpcrdma_port_rpc_find(rpcrdma_requester *, u32 xid)
{
	return the_rpc->known && xid == XID ? the_rpc : nullptr;
}

void rpcrdma_port_rpc_hold(rpcrdma_rpc *)
{
	note("hold");
}

void rpcrdma_port_rpc_answered(rpcrdma_rpc *, u32 octets)
{
	note("answered");
	the_rpc->status = static_cast<int>(octets);
}

void rpcrdma_port_rpc_layout(const rpcrdma_rpc *, rpcrdma_buf_layout *layout)
{
	*layout = the_rpc->layout;
}

const void *rpcrdma_port_rpc_head(const rpcrdma_rpc *)
{
	return the_rpc->memory.data();
}

void *rpcrdma_port_rpc_tail(const rpcrdma_rpc *)
{
	return the_rpc->memory.data() + the_rpc->layout.head +
	       the_rpc->layout.pages;
}

void rpcrdma_port_rpc_copy(rpcrdma_rpc *, u32 to, const void *from, u32 length)
{
	note(range("copy", to, length));
	ASSERT_LE(u64{ to } + length, the_rpc->memory.size() - BEYOND);
	memcpy(the_rpc->memory.data() + to, from, length);
}

void rpcrdma_port_rpc_lengths(rpcrdma_rpc *, u32 head, u32 pages)
{
	the_rpc->head = head;
	the_rpc->pages = pages;
}

void rpcrdma_port_rpc_put_mrs(rpcrdma_ep_core *, rpcrdma_rpc *rpc)
{
	note("unmap");
	rpcrdma::list_init(&rpc->mrs);
}

void rpcrdma_port_invalidated(rpcrdma_ep_core *, u32)
{
}

rpcrdma_transfer *rpcrdma_port_rpc_reads(rpcrdma_ep_core *core)
{
	rpcrdma_transfer *t = &the_rpc->transfer;

	if (the_rpc->no_reads)
		return nullptr;
	rpcrdma_core_transfer_begin(core, t, true);
	rpcrdma_transfer_only(t, &the_rpc->part);
	rpcrdma_transfer_prepared(t, &the_rpc->part, 1);
	return t;
}

int rpcrdma_port_rpc_read(rpcrdma_rpc *rpc, rpcrdma_transfer *t,
			  const rpcrdma_msg_range *r)
{
	EXPECT_EQ(t, &the_rpc->transfer);
	EXPECT_EQ(r->chunk, &rpc->rv->rx.lists.reads[0]);
	note(range("read", r->to, r->length) + " from " +
	     std::to_string(r->from));
	return the_rpc->read[the_rpc->nr_reads++];
}

void rpcrdma_port_rpc_reads_built(rpcrdma_ep_core *, rpcrdma_rpc *rpc,
				  rpcrdma_transfer *, int status)
{
	/* The message with the chunk is still there. */
	EXPECT_NE(rpc->rv, nullptr);
	note("built " + std::to_string(status));
}

void rpcrdma_port_rpc_report(rpcrdma_ep_core *, rpcrdma_rpc *,
			     const rpcrdma_actions *s)
{
	the_rpc->reason = s->reason;
}

void rpcrdma_port_rpc_complete(rpcrdma_rpc *, int status)
{
	note("complete");
	the_rpc->status = status;
}

void rpcrdma_port_rpc_leave(rpcrdma_rpc *)
{
	note("leave");
}

} // extern "C"

namespace
{

/* An RPC that waits for its Reply, and the Reply */
class Placing : public EndpointSends
{
protected:
	Placing() : rv{ std::make_unique<rpcrdma_recv>() }
	{
		the_rpc = &rpc;
		port.put = [] {
			note("put");
		};
		grant(8);
		rv->core = core.get();
		rv->verdict = RPCRDMA_RX_REPLY;
		rv->rx.xid = XID;
		begin_rpc();
	}

	/* Begin an RPC without chunks. */
	void begin_rpc()
	{
		rpc = {};
		rpcrdma::list_init(&rpc.mrs);
		rpcrdma_lists_init(&rpc.x.lists);
		rpcrdma_lists_init(&rv->rx.lists);
	}

	/* The Call has a Write chunk, of which the Reply returns @written bytes. */
	void write(u32 octets, u32 written)
	{
		add_write(rpc.x.lists, octets);
		add_write(rv->rx.lists, written);
		result.assign(written, 0);
		for (u32 i = 0; i < written; i++)
			result[i] = static_cast<u8>(i * 7 + 1);
	}
	void reply_chunk(u32 octets)
	{
		rpcrdma_lists_add_reply(&rpc.x.lists);
		rpcrdma_lists_add_segment(&rpc.x.lists, OTHER_HANDLE, octets,
					  0);
	}

	/* Return a message of @octets bytes without its result. */
	static std::vector<u8> stream(u32 octets)
	{
		constexpr u8 words[8] = { 0, 0, 0x12, 0x34, 0, 0, 0, 1 };
		std::vector<u8> m(octets);

		for (u32 i = 0; i < octets; i++)
			m[i] = i < 8 ? words[i] :
				       static_cast<u8>(i * 5 + i / 251);
		return m;
	}

	/*
	 * The Reply arrives. The device has written the result, and the first bytes of
	 * @around to head and tail, if that is in the Reply chunk.
	 */
	void answer()
	{
		const u32 room =
			rpc.layout.head + rpc.layout.pages + rpc.layout.tail;
		const u32 fits = std::min<u32>(static_cast<u32>(result.size()),
					       rpc.layout.pages);

		rpc.memory.assign(room + BEYOND, UNTOUCHED);
		std::copy_n(result.begin(), fits,
			    rpc.memory.begin() + rpc.layout.head);
		for (u32 i = 0; i < in_chunk.size(); i++) {
			u32 at = i;

			if (!covers_pages && i >= rpc.layout.head)
				at += rpc.layout.pages;
			rpc.memory[at] = in_chunk[i];
		}
		rpcrdma_xact_sent(&rpc.x, &core->conn, false);
		rpcrdma_core_answer(nullptr, rv.get());
		const auto *end = rpc.memory.data() + room;

		EXPECT_EQ(std::vector<u8>(end, end + BEYOND),
			  std::vector<u8>(BEYOND, UNTOUCHED));
	}
	void answer_inline(u32 octets)
	{
		payload = stream(octets);
		rv->payload = payload.data();
		rv->payload_len = rv->rx.payload_length = octets;
		answer();
	}
	/* The message is in the Reply chunk. */
	void answer_in_chunk(u32 octets, bool complete)
	{
		in_chunk = stream(octets);
		covers_pages = complete;
		rpcrdma_lists_add_reply(&rv->rx.lists);
		rpcrdma_lists_add_segment(&rv->rx.lists, OTHER_HANDLE, octets,
					  0);
		rv->rx.format = RPCRDMA_SPECIAL;
		answer();
	}
	/* The message is to be pulled. Call this before write(). */
	void provide(u32 octets)
	{
		rpcrdma_lists_add_read(&rv->rx.lists, 0);
		rpcrdma_lists_add_segment(&rv->rx.lists, 0x2000, octets, 0);
		rv->rx.format = RPCRDMA_SPECIAL;
	}

	/* Return the Reply as sunrpc reads it, with a roundup of zeroes. */
	std::vector<u8> message() const
	{
		const rpcrdma_buf_layout &at = rpc.layout;
		const u32 octets = static_cast<u32>(rpc.status);
		const u32 head = std::min({ at.head, rpc.head, octets });
		const u32 pages =
			std::min({ at.pages, rpc.pages, octets - head });
		const u32 pad = rpc.pages == ~0u ? 0 : -pages & 3;
		const u8 *from = rpc.memory.data();
		std::vector<u8> m(from, from + head);

		from += at.head;
		m.insert(m.end(), from, from + pages);
		from += at.pages + pad;
		m.insert(m.end(), pad, 0);
		m.insert(m.end(), from, from + octets - m.size());
		return m;
	}
	/* Return stream(@octets) with the result after @head bytes. */
	std::vector<u8> expected(u32 octets, u32 head = 0) const
	{
		const std::vector<u8> around = stream(octets);
		std::vector<u8> m(around.begin(), around.begin() + head);

		m.insert(m.end(), result.begin(), result.end());
		m.resize((m.size() + 3) & ~size_t{ 3 });
		m.insert(m.end(), around.begin() + head, around.end());
		return m;
	}

	static void add_write(rpcrdma_lists &lists, u32 octets)
	{
		rpcrdma_lists_add_write(&lists);
		rpcrdma_lists_add_segment(&lists, HANDLE + lists.nr_writes * 16,
					  octets, 0);
	}

	waiting rpc;
	std::unique_ptr<rpcrdma_recv> rv;
	std::vector<u8> payload, result, in_chunk;
	bool covers_pages = false;
};

TEST_F(Placing, APlainReplyCompletesItsRpcUnderTheLock)
{
	answer_inline(100);
	EXPECT_EQ(rpc.log, (events{ "lock", "hold", "copy 100 to 0", "answered",
				    "unlock", "put" }));
	EXPECT_EQ(message(), expected(100));
}

TEST_F(Placing, AReplyWithoutAnRpcIsNotCopied)
{
	rpc.known = false;
	answer_inline(100);
	EXPECT_EQ(rpc.log, (events{ "lock", "unlock", "put" }));
}

TEST_F(Placing, ASecondReplyIsNotCopied)
{
	answer_inline(100);
	rpc.log.clear();
	rpcrdma_core_answer(nullptr, rv.get());
	EXPECT_EQ(rpc.log, (events{ "lock", "unlock", "put" }));
}

/* It is copied without the lock. */
TEST_F(Placing, AReplyExtendsOverAllParts)
{
	for (u32 octets : { 104u, 1100u, 1104u, 1160u }) {
		SCOPED_TRACE(octets);
		begin_rpc();
		answer_inline(octets);
		EXPECT_EQ(rpc.log, (events{ "lock", "hold", "unlock",
					    range("copy", 0, octets), "lock",
					    "answered", "unlock", "put" }));
		EXPECT_EQ(message(), expected(octets));
	}
}

/* Bytes without space are left out, and the others are a whole number of words. */
TEST_F(Placing, AReplyThatExceedsItsMemoryIsTruncated)
{
	answer_inline(2000);
	EXPECT_EQ(rpc.log, (events{ "lock", "hold", "unlock", "copy 1160 to 0",
				    "put", "complete" }));
	EXPECT_EQ(rpc.status, 1160);
	EXPECT_EQ(message(), stream(1160));
	EXPECT_EQ(rpc.copied, 2000u);
}

TEST_F(Placing, WithoutPagesAndTailOnlyTheHeadIsUsed)
{
	rpc.layout = { 50, 0, 0 };
	answer_inline(52);
	EXPECT_EQ(rpc.status, 48);
	EXPECT_EQ(message(), stream(48));
}

/* The bytes after a result follow its roundup, which is at the start of the tail. */
TEST_F(Placing, BytesAroundAResultAreCopiedToHeadAndTail)
{
	write(1000, 998);
	answer_inline(120);
	EXPECT_EQ(rpc.log,
		  (events{ "lock", "hold", "unlock", "copy 100 to 0",
			   "copy 20 to 1102", "put", "unmap", "complete" }));
	EXPECT_EQ(rpc.status, 1120);
	EXPECT_EQ(rpc.head, 100u);
	EXPECT_EQ(rpc.pages, 998u);
	EXPECT_EQ(message(), expected(120, 100));
}

TEST_F(Placing, AResultOfAnyLengthHasItsRoundup)
{
	for (u32 octets = 1; octets <= 1000; octets += 333) {
		SCOPED_TRACE(octets);
		begin_rpc();
		write(1000, octets);
		answer_inline(148);
		EXPECT_EQ(rpc.pages, octets);
		EXPECT_EQ(message(), expected(148, 100));
	}
}

/* It begins in the head, although the head is longer. */
TEST_F(Placing, AResultFollowsAShorterHead)
{
	write(1000, 7);
	answer_inline(40);
	EXPECT_EQ(rpc.head, 40u);
	EXPECT_EQ(rpc.status, 48);
	EXPECT_EQ(message(), expected(40, 40));
}

TEST_F(Placing, WithoutSpaceForTheRoundupNothingFollows)
{
	rpc.layout.tail = 2;
	write(1000, 5);
	answer_inline(108);
	EXPECT_EQ(rpc.log[3], "copy 100 to 0");
	EXPECT_EQ(rpc.log[4], "put");
	EXPECT_EQ(rpc.status, 108);
}

/* Bytes of a chunk beyond the pages are not part of the result. */
TEST_F(Placing, AResultIsNotLongerThanThePages)
{
	write(2000, 1200);
	answer_inline(120);
	EXPECT_EQ(rpc.pages, 1000u);
	EXPECT_EQ(rpc.status, 1120);
	result.resize(1000);
	EXPECT_EQ(message(), expected(120, 100));
}

TEST_F(Placing, TwoResultsAreOneRange)
{
	write(600, 600);
	write(400, 150);
	result.resize(750);
	answer_inline(120);
	EXPECT_EQ(rpc.pages, 750u);
	EXPECT_EQ(message(), expected(120, 100));
}

/* More bytes than the chunk has would be in memory of others. */
TEST_F(Placing, AChunkThatIsLongerThanProvidedEndsTheRpc)
{
	write(500, 504);
	answer_inline(120);
	EXPECT_EQ(rpc.log, (events{ "lock", "hold", "unlock", "put", "unmap",
				    "complete" }));
	EXPECT_EQ(rpc.status, -EIO);
	EXPECT_EQ(rpc.pages, ~0u);
}

/* The result is inline: its pages are mapped for the device until then. */
TEST_F(Placing, MemoryOfAnUnusedChunkIsWrittenWhenItIsUnmapped)
{
	write(1000, 0);
	answer_inline(500);
	EXPECT_EQ(rpc.log, (events{ "lock", "hold", "unlock", "unmap",
				    "copy 500 to 0", "put", "complete" }));
	EXPECT_EQ(rpc.pages, ~0u);
	EXPECT_EQ(message(), expected(500));
}

TEST_F(Placing, AnUnusedReplyChunkIsWrittenWhenItIsUnmapped)
{
	reply_chunk(1160);
	answer_inline(80);
	EXPECT_EQ(rpc.log, (events{ "lock", "hold", "unlock", "unmap",
				    "copy 80 to 0", "put", "complete" }));
	EXPECT_EQ(message(), expected(80));
}

TEST_F(Placing, AMessageInAReplyChunkForAllMemoryIsInPlace)
{
	for (u32 octets : { 24u, 104u, 1160u }) {
		SCOPED_TRACE(octets);
		begin_rpc();
		reply_chunk(1160);
		answer_in_chunk(octets, true);
		EXPECT_EQ(rpc.log, (events{ "lock", "hold", "unlock", "put",
					    "unmap", "complete" }));
		EXPECT_EQ(message(), expected(octets));
	}
}

/* The chunk has head and tail: the bytes after the result are moved by its roundup. */
TEST_F(Placing, BytesInTheTailAreMovedAfterTheRoundup)
{
	for (u32 octets : { 997u, 998u, 999u, 1000u }) {
		SCOPED_TRACE(octets);
		begin_rpc();
		write(1000, octets);
		reply_chunk(160);
		answer_in_chunk(156, false);
		EXPECT_EQ(message(), expected(156, 100));
	}
}

/* If the result is in the message, too, it is moved from the tail to the pages. */
TEST_F(Placing, BytesInTheTailAreMovedToThePages)
{
	struct {
		u32 pages, octets;
	} static constexpr cases[] = {
		{ 40, 100 }, { 40, 104 }, { 40, 140 },
		{ 40, 144 }, { 40, 160 }, { 8, 160 },
		{ 56, 160 }, { 60, 160 }, { 1000, 160 },
	};

	for (const auto &c : cases) {
		SCOPED_TRACE(c.octets);
		begin_rpc();
		rpc.layout.pages = c.pages;
		write(c.pages, 0);
		reply_chunk(160);
		answer_in_chunk(c.octets, false);
		EXPECT_EQ(rpc.status, static_cast<int>(c.octets));
		EXPECT_EQ(message(), expected(c.octets));
	}
}

TEST_F(Placing, AnotherMessageInTheReplyChunkIsNotMoved)
{
	write(1000, 998);
	reply_chunk(160);
	rv->rx.xid = XID;
	in_chunk.clear();
	rpcrdma_lists_add_reply(&rv->rx.lists);
	rpcrdma_lists_add_segment(&rv->rx.lists, OTHER_HANDLE, 160, 0);
	rv->rx.format = RPCRDMA_SPECIAL;
	answer();
	EXPECT_EQ(rpc.status, -EIO);
	EXPECT_FALSE(rpc.reason.empty());
	EXPECT_EQ(std::vector<u8>(rpc.memory.begin() + 1100, rpc.memory.end()),
		  std::vector<u8>(60 + BEYOND, UNTOUCHED));
}

TEST_F(Placing, AMessageIsNotAcceptedInAHeadOfLessThanTwoWords)
{
	rpc.layout.head = 7;
	reply_chunk(1067);
	answer_in_chunk(104, true);
	EXPECT_EQ(rpc.status, -EIO);
}

TEST_F(Placing, AReplyThatIsPulledExtendsOverAllParts)
{
	provide(1160);
	answer();
	EXPECT_EQ(rpc.log,
		  (events{ "lock", "hold", "unlock", "read 1160 to 0 from 0",
			   "built 0", "put" }));
	const std::vector<u8> m = stream(1160);

	std::copy(m.begin(), m.end(), rpc.memory.begin());
	rpcrdma_core_rpc_pulled(core.get(), &rpc, true);
	EXPECT_EQ(rpc.status, 1160);
	EXPECT_EQ(message(), m);
}

TEST_F(Placing, OneThatExceedsItsMemoryIsPulledInPart)
{
	provide(4000);
	answer();
	EXPECT_EQ(rpc.log[3], "read 1160 to 0 from 0");
}

TEST_F(Placing, AReplyIsPulledAroundItsResult)
{
	provide(140);
	write(1000, 5);
	answer();
	EXPECT_EQ(rpc.log,
		  (events{ "lock", "hold", "unlock", "unmap",
			   "read 100 to 0 from 0", "read 40 to 1103 from 100",
			   "built 0", "put" }));
}

TEST_F(Placing, NothingIsPulledAfterAResultAtTheEnd)
{
	provide(100);
	write(1000, 5);
	answer();
	EXPECT_EQ(rpc.log[4], "read 100 to 0 from 0");
	EXPECT_EQ(rpc.log[5], "built 0");
}

/* The end of the connection notifies the peer, and the Call is sent again. */
TEST_F(Placing, WithoutReadsTheConnectionIsClosed)
{
	provide(140);
	rpc.no_reads = true;
	answer();
	EXPECT_EQ(rpc.log, (events{ "lock", "hold", "unlock",
				    "built " + std::to_string(-ENOMEM), "put",
				    "leave" }));
	EXPECT_STREQ(port.closing, "no resources to pull a Reply");
}

TEST_F(Placing, AReadThatCannotBeBuiltIsTheLast)
{
	for (u32 failed : { 0u, 1u }) {
		SCOPED_TRACE(failed);
		begin_rpc();
		port.closing = nullptr;
		core->life.stage = RPCRDMA_STAGE_OPEN;
		rpc.read[failed] = -ENOMEM;
		provide(140);
		write(1000, 5);
		answer();
		EXPECT_EQ(rpc.nr_reads, failed + 1);
		EXPECT_EQ(rpc.log[rpc.log.size() - 3],
			  "built " + std::to_string(-ENOMEM));
		EXPECT_EQ(rpc.log.back(), "leave");
		EXPECT_NE(port.closing, nullptr);
	}
}

/* Another attempt would fail as well, so that the RPC ends. */
TEST_F(Placing, AReadThatCanNeverBeBuiltEndsTheRpc)
{
	provide(140);
	rpc.read[0] = -EFAULT;
	answer();
	EXPECT_EQ(rpc.status, -EIO);
	EXPECT_EQ(port.closing, nullptr);
	EXPECT_EQ(port.posted, 1u); /* the DONE */
}

/* The peer has invalidated the only MR: everything is in one step. */
TEST_F(Placing, AResultInOneChunkIsCompleteAtOnce)
{
	rpcrdma_mr mr = {};

	write(1000, 998);
	mr.handle = rpc.x.lists.inv_handle = rpc.x.lists.segs[0].handle;
	mr.exposed = true;
	rpcrdma::list_push_back(&mr.list, &rpc.mrs);
	rv->inv_handle = mr.handle;
	answer_inline(80);
	EXPECT_EQ(rpc.log, (events{ "lock", "hold", "unlock", "unmap",
				    "copy 80 to 0", "complete", "put" }));
	EXPECT_EQ(rpc.status, 1080);
	EXPECT_EQ(rpc.head, 80u);
	EXPECT_EQ(rpc.pages, 998u);
	EXPECT_EQ(rpc.copied, 80u);
	EXPECT_EQ(message(), expected(80, 80));
	EXPECT_FALSE(mr.exposed);
}

} // namespace
