// SPDX-License-Identifier: GPL-2.0
/* The states of an RPC at its Requester: each event in each state */
#include "xact.hh"

using namespace engine_test;
using namespace engine_test::xacts;

namespace
{

void expect_parts(const rpcrdma_reply_layout &p, u32 head, u32 pages, u32 pad,
		  u32 tail, u32 octets)
{
	EXPECT_EQ(p.head, head);
	EXPECT_EQ(p.pages, pages);
	EXPECT_EQ(p.pad, pad);
	EXPECT_EQ(p.tail, tail);
	EXPECT_EQ(p.octets, octets);
}

/* ---- Each event in each state ---- */

std::string name_of(const rpcrdma_actions &s)
{
	static const char *const names[] = {
		"report", "place",    "move",  "put",	"close", "inval",
		"pull",	  "complete", "again", "leave", "done",
	};
	std::string text;

	for (u32 i = 0; i < std::size(names); i++) {
		if (s.todo >> i & 1)
			text += (text.empty() ? "" : " ") +
				std::string(names[i]);
	}
	return text;
}

/* Return an RPC in the state of that name. */
std::unique_ptr<xact> in_state(const std::string &name)
{
	auto e = std::make_unique<xact>();

	e->write();
	if (name == "idle")
		return e;
	if (name == "sent") {
		e->send();
	} else if (name == "claimed") {
		e->send().claim();
	} else if (name == "placed") {
		e->in_write(8).reply();
	} else if (name == "kept") {
		e->in_write(0).payload(101).reply();
	} else if (name == "in chunk") {
		e->reply_chunk(160).in_write(0).in_reply(80).reply();
	} else if (name == "provided") {
		e->provided(160).in_write(0).reply();
	} else if (name == "failed") {
		e->error(-EIO_);
	} else if (name == "refused") {
		e->error(0);
	} else if (name == "pulling") {
		e->provided(160).in_write(0).reply();
		e->invalidated();
	} else if (name == "again") {
		e->error(0);
		e->invalidated();
		rpcrdma_xact_again(&e->x);
	} else if (name == "lost") {
		e->in_write(8).reply();
		e->invalidated(false);
	} else if (name == "over") {
		e->in_write(8).reply();
		e->invalidated();
	} else if (name == "ended") {
		e->error(-EIO_);
		e->invalidated();
		rpcrdma_xact_end(&e->x, -EIO_);
	} else {
		ADD_FAILURE() << name;
	}
	return e;
}

/*
 * Expect the result of an event for each listed state. In the other states the
 * event has no effect. For an event that returns a bool, only the states in
 * which it returns true are listed.
 */
void expect(const char *what, const event &happens,
	    const std::map<std::string, std::string> &results)
{
	for (const char *state : states) {
		auto found = results.find(state);
		auto e = in_state(state);
		const u8 before = e->x.state;

		SCOPED_TRACE(std::string(what) + " when " + state);
		if (found != results.end()) {
			EXPECT_EQ(happens(*e), found->second);
		} else {
			EXPECT_EQ(happens(*e), "");
			EXPECT_EQ(e->x.state, before);
		}
	}
}

std::string yes(bool is)
{
	return is ? "yes" : "";
}

TEST(Xact, IsNotSentTwiceOnAConnectionWithoutAReply)
{
	expect("begin on the same connection",
	       [](xact &e) { return yes(!rpcrdma_xact_begin(&e.x, &e.conn)); },
	       { { "idle", "yes" },
		 { "again", "yes" },
		 { "over", "yes" },
		 { "ended", "yes" } });
	expect("begin on another connection",
	       [](xact &e) { return yes(!rpcrdma_xact_begin(&e.x, &e.next)); },
	       { { "idle", "yes" },
		 { "sent", "yes" },
		 { "again", "yes" },
		 { "lost", "yes" },
		 { "over", "yes" },
		 { "ended", "yes" } });
}

TEST(Xact, IsAnsweredOnce)
{
	expect("an answer",
	       [](xact &e) { return yes(rpcrdma_xact_claim(&e.x, &e.conn)); },
	       { { "sent", "yes" } });
	expect("an answer on another connection",
	       [](xact &e) { return yes(rpcrdma_xact_claim(&e.x, &e.next)); },
	       {});
}

/* Fast path: a Reply without chunks completes the RPC at once. */
TEST(Xact, APlainReplyCompletesIt)
{
	const auto claim = [](xact &e, u32 head) {
		return rpcrdma_xact_claim_reply(&e.x, &e.conn, e.a.rx, e.a.bad,
						e.a.inv_handle, head);
	};
	struct {
		const char *what;
		void (*change)(xact &e);
		rpcrdma_claimed claimed;
	} const table[] = {
		{ "plain", [](xact &) {}, RPCRDMA_CLAIMED_LAST },
		{ "longer than its head",
		  [](xact &e) { e.rx->payload_length = 101; },
		  RPCRDMA_CLAIMED_PLAIN },
		{ "for a Call with a chunk", [](xact &e) { e.write(); },
		  RPCRDMA_CLAIMED },
		{ "with a chunk", [](xact &e) { e.in_write(0); },
		  RPCRDMA_CLAIMED },
		{ "bad", [](xact &e) { e.a.bad = true; }, RPCRDMA_CLAIMED },
		{ "invalidates", [](xact &e) { e.invalidates(HANDLE); },
		  RPCRDMA_CLAIMED },
		{ "elsewhere", [](xact &e) { e.rx->format = RPCRDMA_SPECIAL; },
		  RPCRDMA_CLAIMED },
		{ "in parts", [](xact &e) { e.rx->format = RPCRDMA_CONTINUED; },
		  RPCRDMA_CLAIMED_PLAIN },
	};

	for (const auto &row : table) {
		xact e;

		SCOPED_TRACE(row.what);
		e.rx->format = RPCRDMA_INLINE;
		e.rx->payload_length = 100;
		row.change(e);
		e.send();
		EXPECT_EQ(claim(e, 100), row.claimed);
		/* A Reply is claimed only once. */
		EXPECT_EQ(claim(e, 100), RPCRDMA_CLAIMED_NOT);
		EXPECT_EQ(rpcrdma_xact_release(&e.x),
			  row.claimed == RPCRDMA_CLAIMED_LAST);
	}

	/* The RPC is complete, and may be sent again on any connection. */
	xact e;

	e.rx->format = RPCRDMA_INLINE;
	EXPECT_EQ(claim(e, 100), RPCRDMA_CLAIMED_NOT);
	e.send();
	EXPECT_EQ(rpcrdma_xact_claim_reply(&e.x, &e.next, e.a.rx, false, 0,
					   100),
		  RPCRDMA_CLAIMED_NOT);
	EXPECT_EQ(claim(e, 100), RPCRDMA_CLAIMED_LAST);
	EXPECT_EQ(rpcrdma_xact_begin(&e.x, &e.next), 0);
}

/* A Call can only be answered on the connection it was sent on. */
TEST(Xact, IsLostWithItsConnection)
{
	for (const char *state : states) {
		auto e = in_state(state);

		SCOPED_TRACE(state);
		e->x.continued = 1;
		EXPECT_NE(rpcrdma_xact_begin(&e->x, &e->conn),
			  RPCRDMA_BEGIN_LOST);
		e = in_state(state);
		e->x.continued = 1;
		EXPECT_EQ(rpcrdma_xact_begin(&e->x, &e->next) ==
				  RPCRDMA_BEGIN_LOST,
			  std::string{ state } == "sent");
	}

	for (bool continued : { false, true }) {
		xact e;

		e.plan.format = continued ? RPCRDMA_CONTINUED : RPCRDMA_INLINE;
		e.send();
		EXPECT_EQ(rpcrdma_xact_begin(&e.x, &e.conn), -ENOTCONN_);
		EXPECT_EQ(rpcrdma_xact_begin(&e.x, &e.next),
			  continued ? RPCRDMA_BEGIN_LOST : 0);
		/* Only once */
		EXPECT_EQ(rpcrdma_xact_begin(&e.x, &e.next), 0);
	}
}

TEST(Xact, AnswersCountOnceClaimed)
{
	expect("a Reply",
	       [](xact &e) {
		       e.a.length = 80;
		       e.rx->format = RPCRDMA_INLINE;
		       rpcrdma_lists_init(&e.rx->lists);
		       e.in_write(0);
		       return name_of(rpcrdma_xact_reply(&e.x, &e.conn, &e.a));
	       },
	       { { "claimed", "place put inval" } });
	expect("an ERROR that ends the RPC",
	       [](xact &e) { return name_of(rpcrdma_xact_error(&e.x, -EIO_)); },
	       { { "claimed", "inval" } });
	expect("an ERROR",
	       [](xact &e) { return name_of(rpcrdma_xact_error(&e.x, 0)); },
	       { { "claimed", "inval" } });
}

TEST(Xact, CompletesAfterInvalidation)
{
	expect("the end of an invalidation",
	       [](xact &e) { return name_of(e.invalidated()); },
	       { { "placed", "complete" },
		 { "kept", "place put complete" },
		 { "in chunk", "move complete" },
		 { "provided", "pull" },
		 { "failed", "complete" },
		 { "refused", "again" } });
	expect("the end of the connection instead",
	       [](xact &e) { return name_of(e.invalidated(false)); },
	       { { "placed", "close leave" },
		 { "kept", "put close leave" },
		 { "in chunk", "close leave" },
		 { "provided", "put close leave" },
		 { "failed", "close complete" },
		 { "refused", "close leave" } });
	expect("the end of Reads", [](xact &e) { return name_of(e.pulled()); },
	       { { "pulling", "complete done" } });
	expect("Reads that failed",
	       [](xact &e) { return name_of(e.pulled(RPCRDMA_PULL_FAILED)); },
	       { { "pulling", "close leave" } });
	expect("Reads that cannot be posted now",
	       [](xact &e) { return name_of(e.pulled(RPCRDMA_PULL_SHORT)); },
	       { { "pulling", "close leave" } });
	expect("Reads that can never be posted",
	       [](xact &e) { return name_of(e.pulled(RPCRDMA_PULL_NEVER)); },
	       { { "pulling", "complete done" } });
}

TEST(Xact, ARetryIsReportedOnce)
{
	expect("a task about to wait",
	       [](xact &e) {
		       return yes(rpcrdma_xact_notified(&e.x) == -EAGAIN_ &&
				  !rpcrdma_xact_notified(&e.x));
	       },
	       { { "again", "yes" } });
	expect("a notification, then the wait",
	       [](xact &e) {
		       rpcrdma_xact_again(&e.x);
		       return yes(rpcrdma_xact_notified(&e.x) == -EAGAIN_);
	       },
	       { { "refused", "yes" }, { "again", "yes" } });
	expect("begin, then the wait",
	       [](xact &e) {
		       return yes(!rpcrdma_xact_begin(&e.x, &e.conn) &&
				  rpcrdma_xact_notified(&e.x));
	       },
	       { { "idle", "" },
		 { "again", "" },
		 { "over", "" },
		 { "ended", "" } });
}

/*
 * The task of an RPC that has failed gets the errno even if it was not asleep. It may
 * ask again, because it does not send the Call again.
 */
TEST(Xact, AFailureIsReportedToATaskThatWasAwake)
{
	expect("a task about to wait",
	       [](xact &e) {
		       return yes(rpcrdma_xact_notified(&e.x) == -EIO_ &&
				  rpcrdma_xact_notified(&e.x) == -EIO_);
	       },
	       { { "again", "" }, { "ended", "yes" } });
	expect("a Call that cannot be sent, then the wait",
	       [](xact &e) {
		       if (e.x.state)
			       return std::string();
		       rpcrdma_xact_end(&e.x, -EMSGSIZE_);
		       return yes(rpcrdma_xact_notified(&e.x) == -EMSGSIZE_);
	       },
	       { { "idle", "yes" } });
}

/* A task that is killed waits for the end of outstanding work. */
TEST(Xact, CanBeReleasedWhenIdle)
{
	expect("its release",
	       [](xact &e) { return yes(rpcrdma_xact_release(&e.x)); },
	       { { "idle", "yes" },
		 { "sent", "yes" },
		 { "again", "yes" },
		 { "lost", "yes" },
		 { "over", "yes" },
		 { "ended", "yes" } });
	expect("a late answer after that, or a second RPC",
	       [](xact &e) {
		       if (!rpcrdma_xact_release(&e.x))
			       return std::string();
		       EXPECT_FALSE(rpcrdma_xact_claim(&e.x, &e.conn));
		       EXPECT_TRUE(rpcrdma_xact_release(&e.x));
		       EXPECT_EQ(rpcrdma_xact_begin(&e.x, &e.conn), 0);
		       return std::string("sent anew");
	       },
	       { { "idle", "sent anew" },
		 { "sent", "sent anew" },
		 { "again", "sent anew" },
		 { "lost", "sent anew" },
		 { "over", "sent anew" },
		 { "ended", "sent anew" } });
}

/* ---- Processing a Reply ---- */

TEST(Xact, AReplyWithoutMrsCompletesIt)
{
	xact e;
	const rpcrdma_actions s = e.reply();

	EXPECT_EQ(s.todo, PLACE | PUT | COMPLETE);
	EXPECT_EQ(s.status, 80);
	expect_parts(e.x.parts, 80, 0, 0, 0, 80);
}

/* sunrpc repeats the RPC, with the same xid, if its Reply reports an error. */
TEST(Xact, AnAnsweredCallIsSentAgainOnItsConnection)
{
	xact e;

	e.send();
	EXPECT_EQ(rpcrdma_xact_begin(&e.x, &e.conn), -ENOTCONN_);
	e.claim();
	EXPECT_EQ(rpcrdma_xact_reply(&e.x, &e.conn, &e.a).todo,
		  PLACE | PUT | COMPLETE);
	EXPECT_EQ(rpcrdma_xact_begin(&e.x, &e.conn), 0);
	EXPECT_FALSE(rpcrdma_xact_claim(&e.x, &e.conn));
	e.send().claim();
}

/*
 * A chunk's memory belongs to the device until its MR is invalidated. Only
 * other memory may be written before.
 */
TEST(Xact, AReplyIsPlacedOutsideMappedMemory)
{
	struct {
		u32 payload, written;
		bool with_chunk;
		u32 todo;
	} static constexpr cases[] = {
		{ 100, 0, false, PLACE | PUT | INVALIDATE },
		{ 101, 0, false, INVALIDATE },
		{ 160, 12, false, PLACE | PUT | INVALIDATE },
		{ 80, 0, true, INVALIDATE },
		{ 160, 12, true, INVALIDATE },
	};

	for (const auto &c : cases) {
		xact e;

		e.write();
		if (c.with_chunk)
			e.reply_chunk(160);
		e.in_write(c.written).payload(c.payload);
		EXPECT_EQ(e.reply().todo, c.todo) << c.payload;
		EXPECT_EQ(e.invalidated().todo,
			  c.todo & PLACE ? COMPLETE : PLACE | PUT | COMPLETE);
	}

	/* A Read chunk covers no memory of the Reply. */
	xact e;

	EXPECT_EQ(e.read(1000).payload(160).reply().todo,
		  PLACE | PUT | INVALIDATE);
}

/*
 * The ranges of the stream cover its parts that are not omitted, in the order
 * of the stream.
 */
void expect_ranges(const rpcrdma_reply_layout &parts,
		   const rpcrdma_buf_layout &layout)
{
	const u32 rest_at = layout.head + layout.pages + parts.pad;
	std::map<u32, u32> expected, seen; /* place and byte */
	u32 next = 0;

	for (u32 i = 0; i < parts.head; i++)
		expected[i] = next++;
	for (u32 i = 0; !parts.reduced && i < parts.pages; i++)
		expected[layout.head + i] = next++;
	for (u32 i = 0; i < parts.tail; i++)
		expected[rest_at + i] = next++;
	for (u32 i = 0; i < parts.first; i++)
		seen[i] = i;
	for (u32 i = 0; i < parts.rest; i++)
		seen[parts.rest_at + i] = parts.first + i;
	EXPECT_EQ(seen, expected);
}

TEST(Xact, AReplyIsDividedAmongItsMemory)
{
	struct {
		u32 payload, written;
		u32 head, pages, pad, tail, octets;
	} static constexpr cases[] = {
		{ 8, 0, 8, 0, 0, 0, 8 },
		{ 100, 0, 100, 0, 0, 0, 100 },
		{ 104, 0, 100, 4, 0, 0, 104 },
		{ 1100, 0, 100, 1000, 0, 0, 1100 },
		{ 1160, 0, 100, 1000, 0, 60, 1160 },
		/* the message is truncated */
		{ 1164, 0, 100, 1000, 0, 60, 1160 },
		{ 0xfffffffc, 0, 100, 1000, 0, 60, 1160 },
		/* a message around a result */
		{ 100, 7, 100, 7, 1, 0, 108 },
		{ 120, 7, 100, 7, 1, 20, 128 },
		{ 60, 1000, 60, 1000, 0, 0, 1060 },
		{ 160, 5, 100, 5, 3, 56, 164 },
		{ 156, 5, 100, 5, 3, 56, 164 },
	};

	for (const auto &c : cases) {
		xact e;

		SCOPED_TRACE(c.payload);
		e.write();
		e.in_write(c.written).payload(c.payload);
		e.reply();
		expect_parts(e.x.parts, c.head, c.pages, c.pad, c.tail,
			     c.octets);
		EXPECT_EQ(e.x.parts.reduced, c.written != 0);
		expect_ranges(e.x.parts, e.a.layout);
		EXPECT_EQ(e.invalidated().status, static_cast<int>(c.octets));
	}
}

/* The tail has no space for the roundup. */
TEST(Xact, AResultWithoutSpaceForItsRoundup)
{
	xact e;

	e.write();
	e.a.layout.tail = 2;
	e.in_write(5).payload(108).reply();
	expect_parts(e.x.parts, 100, 5, 3, 0, 108);
}

/* Bytes of a chunk beyond the pages are not part of the result. */
TEST(Xact, AResultThatIsLargerThanItsPages)
{
	xact e;

	e.write(2000).in_write(1200).payload(80).reply();
	expect_parts(e.x.parts, 80, 1000, 0, 0, 1080);
}

TEST(Xact, AReplyInTheReplyChunk)
{
	xact complete, without_item;

	EXPECT_EQ(complete.reply_chunk(1160).in_reply(1160).reply().todo,
		  PUT | INVALIDATE);
	EXPECT_EQ(complete.invalidated().todo, COMPLETE);
	expect_parts(complete.x.parts, 100, 1000, 0, 60, 1160);

	without_item.write().reply_chunk(160).in_write(6).in_reply(120);
	EXPECT_EQ(without_item.reply().todo, PUT | INVALIDATE);
	EXPECT_EQ(without_item.invalidated().todo, MOVE | COMPLETE);
	expect_parts(without_item.x.parts, 100, 6, 2, 20, 128);
}

TEST(Xact, AnotherMessageInTheReplyChunk)
{
	const u8 *const firsts[] = { nullptr, CALL_WORDS };

	for (const u8 *first : firsts) {
		xact e;

		e.reply_chunk(160).in_reply(80).reply();

		const rpcrdma_actions s = e.invalidated(true, first);

		EXPECT_EQ(s.todo, REPORT | COMPLETE);
		EXPECT_EQ(s.status, -EIO_);
		EXPECT_NE(s.reason, nullptr);
		EXPECT_EQ(e.x.placed.reply_octets, 0u);
	}
	xact e;

	e.reply_chunk(160).in_reply(4).reply();
	EXPECT_EQ(e.invalidated().todo, REPORT | COMPLETE);
}

TEST(Xact, AReplyThatIsPulled)
{
	xact e;
	rpcrdma_actions s = e.provided(120).reply();

	/*
	 * Without MRs there is no invalidation. The Receive has the chunk to
	 * read.
	 */
	EXPECT_EQ(s.todo, PULL);
	s = e.pulled();
	EXPECT_EQ(s.todo, COMPLETE | DONE);
	EXPECT_EQ(s.status, 120);
	EXPECT_EQ(s.xid, XID);
	EXPECT_EQ(s.handle, 0x77u);

	xact bad;

	bad.provided(120).reply();
	s = bad.pulled(RPCRDMA_PULL_OK, CALL_WORDS);
	EXPECT_EQ(s.todo, REPORT | COMPLETE | DONE);
	EXPECT_EQ(s.status, -EIO_);
	EXPECT_EQ(s.handle, 0x77u);
	EXPECT_EQ(bad.x.placed.pull_octets, 0u);

	xact never;

	never.provided(120).reply();
	EXPECT_EQ(never.pulled(RPCRDMA_PULL_NEVER).status, -EIO_);

	/* A failed RPC is not outstanding any more. */
	xact failed;

	failed.provided(120).reply();
	failed.pulled(RPCRDMA_PULL_FAILED);
	EXPECT_TRUE(rpcrdma_xact_release(&failed.x));
}

TEST(Xact, ABadReplyEndsItAfterInvalidation)
{
	xact verdict, chunks, provided;
	rpcrdma_actions s;

	verdict.a.bad = true;
	verdict.rx->error.status = -EIO_;
	s = verdict.write().reply();
	EXPECT_EQ(s.todo, REPORT | PUT | INVALIDATE);
	EXPECT_EQ(verdict.invalidated().status, -EIO_);

	/* A Reply that does not return the Write chunk */
	s = chunks.write().reply();
	EXPECT_EQ(s.todo, REPORT | PUT | INVALIDATE);
	s = chunks.invalidated();
	EXPECT_EQ(s.todo, COMPLETE);
	EXPECT_EQ(s.status, -EIO_);

	s = provided.write().provided(120).reply();
	EXPECT_EQ(s.todo, REPORT | PUT | INVALIDATE | DONE);
	EXPECT_EQ(s.xid, XID);
	EXPECT_EQ(s.handle, 0x77u);
}

TEST(Xact, AnUnprovidedHandleClosesTheConnection)
{
	xact wrong, not_exposed, right;
	rpcrdma_actions s;

	wrong.write().reply_chunk(160).in_write(0);
	s = wrong.invalidates(HANDLE).reply();
	EXPECT_EQ(s.todo, REPORT | PUT | CLOSE | INVALIDATE);
	EXPECT_EQ(wrong.invalidated().status, -EIO_);

	not_exposed.write().in_write(0);
	s = not_exposed.invalidates(HANDLE, false).reply();
	EXPECT_EQ(s.todo, REPORT | PUT | CLOSE | INVALIDATE);

	right.write().in_write(0);
	EXPECT_EQ(right.invalidates(HANDLE).reply().todo,
		  PLACE | PUT | INVALIDATE);
}

/*
 * A Reply without chunks is checked, too. It does not complete the RPC
 * successfully if it violates a rule.
 */
TEST(Xact, AReplyWithoutChunksIsChecked)
{
	xact invalidates, bad;
	rpcrdma_actions s = invalidates.invalidates(HANDLE, false).reply();

	EXPECT_EQ(s.todo, REPORT | PUT | CLOSE | COMPLETE);
	EXPECT_EQ(s.status, -EIO_);

	bad.a.bad = true;
	bad.rx->error.status = -EIO_;
	s = bad.reply();
	EXPECT_EQ(s.todo, REPORT | PUT | COMPLETE);
	EXPECT_EQ(s.status, -EIO_);
}

/* A Call without chunks cannot get a Reply in chunks. */
TEST(Xact, AReplyInUnprovidedChunks)
{
	xact written, special;
	rpcrdma_actions s = written.in_write(8).reply();

	EXPECT_EQ(s.todo, REPORT | PUT | COMPLETE);
	EXPECT_EQ(s.status, -EIO_);

	special.rx->format = RPCRDMA_SPECIAL;
	s = special.payload(0).reply();
	EXPECT_EQ(s.todo, REPORT | PUT | COMPLETE);
	EXPECT_EQ(s.status, -EIO_);
}

/* Only the bytes that this Reply placed count, not those of an earlier one. */
TEST(Xact, PlacedBytesAreThoseOfTheLastAnswer)
{
	xact plain, bad, error;

	plain.x.placed.write_octets = 8;
	EXPECT_EQ(plain.reply().status, 80);
	EXPECT_EQ(plain.x.placed.write_octets, 0u);

	bad.x.placed.write_octets = 8;
	bad.a.bad = true;
	bad.reply();
	EXPECT_EQ(bad.x.placed.write_octets, 0u);

	error.x.placed.write_octets = 8;
	error.error(-EIO_);
	EXPECT_EQ(error.x.placed.write_octets, 0u);
}

TEST(Xact, AReplyWithoutAnRpc)
{
	xact plain, provided;
	rpcrdma_actions s;

	EXPECT_EQ(rpcrdma_xact_stray(plain.rx.get(), false).todo, PUT);
	provided.provided(120);
	s = rpcrdma_xact_stray(provided.rx.get(), false);
	EXPECT_EQ(s.todo, PUT | DONE);
	EXPECT_EQ(s.xid, XID);
	EXPECT_EQ(s.handle, 0x77u);
	/* The engine has already sent DONE. */
	EXPECT_EQ(rpcrdma_xact_stray(provided.rx.get(), true).todo, PUT);
}

TEST(Xact, ARefusedCall)
{
	xact fatal, plain;

	EXPECT_EQ(fatal.error(-121).todo, COMPLETE);
	EXPECT_EQ(plain.error(0).todo, AGAIN);
	rpcrdma_xact_again(&plain.x);
	plain.send();
	EXPECT_EQ(rpcrdma_xact_begin(&plain.x, &plain.conn), -ENOTCONN_);
}

/*
 * Retry limits apply only to the connection on which the refusal was received.
 */
TEST(Xact, ANewConnectionHasNoRetryLimits)
{
	xact e;

	e.x.retry_limits.no_writes = 1;
	EXPECT_EQ(rpcrdma_xact_begin(&e.x, &e.conn), 0);
	EXPECT_EQ(e.x.retry_limits.no_writes, 0);

	e.error(0);
	e.x.retry_limits.no_writes = 1;
	rpcrdma_xact_again(&e.x);
	EXPECT_EQ(rpcrdma_xact_begin(&e.x, &e.conn), 0);
	EXPECT_EQ(e.x.retry_limits.no_writes, 1);
	EXPECT_EQ(rpcrdma_xact_begin(&e.x, &e.next), 0);
	EXPECT_EQ(e.x.retry_limits.no_writes, 0);

	e.x.retry_limits.no_writes = 1;
	EXPECT_TRUE(rpcrdma_xact_release(&e.x));
	EXPECT_EQ(e.x.retry_limits.no_writes, 0);
}

} // namespace
