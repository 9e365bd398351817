// SPDX-License-Identifier: GPL-2.0
/* Calls at the Responder: what becomes of them, and in which order they are released */
#include <cerrno>
#include <deque>
#include <string>

#include "call_take.h"
#include "endpoint/endpoint.hh"
#include "fixture.hh"
#include "transfer_end.h"

namespace
{

/* The service, and what it and the host return */
struct service {
	std::vector<std::string> log;
	std::deque<rpcrdma_recv *> messages;
	rpcrdma_call_queue queue{};
	bool due = false;
	bool must_ask = false;
	u64 reserved = 0, room = 0, asked = 0; /* bytes of Replies */
	int pages = 0, reads = 0, deliver = 0, begin = 0;
	int prepared =
		-ENOMEM; /* Work Requests of a part, or a negative errno */
	rpcrdma_transfer transfer{};
	rpcrdma_transfer_part part{};
	u32 start[3] = {}; /* of the memory of a Call */
	u32 refused = 0, traced = 0;
	u32 pulled = 0; /* calls of rpcrdma_port_call_pages() */
	u32 state = 0;	/* rv->priv refers to it */
};

/* null in the tests of Replies, which have transfers, too */
service *the_service;

void note(const char *what)
{
	if (the_service)
		the_service->log.push_back(what);
}

} // namespace

extern "C" {

rpcrdma_recv *rpcrdma_port_message(rpcrdma_poll *)
{
	rpcrdma_recv *rv = nullptr;

	if (!the_service->messages.empty()) {
		rv = the_service->messages.front();
		the_service->messages.pop_front();
	}
	return rv;
}

void rpcrdma_port_response(rpcrdma_ep_core *, rpcrdma_recv *)
{
	note("response");
}

rpcrdma_call_queue *rpcrdma_port_lock_calls(rpcrdma_ep_core *)
{
	return &the_service->queue;
}

void rpcrdma_port_unlock_calls(rpcrdma_ep_core *)
{
}

void rpcrdma_port_calls_queued(rpcrdma_ep_core *)
{
	note("queued");
	the_service->due = true;
}

void rpcrdma_port_calls_due(rpcrdma_ep_core *)
{
	the_service->due = true;
}

void rpcrdma_port_calls_starve(rpcrdma_ep_core *)
{
	note("starves");
}

bool rpcrdma_port_calls_idle(rpcrdma_ep_core *)
{
	the_service->due = false;
	return !the_service->messages.empty();
}

bool rpcrdma_port_has_messages(rpcrdma_ep_core *)
{
	return !the_service->messages.empty();
}

bool rpcrdma_port_must_ask(rpcrdma_ep_core *)
{
	return the_service->must_ask;
}

u64 rpcrdma_port_reserved(rpcrdma_ep_core *)
{
	return the_service->reserved;
}

bool rpcrdma_port_room(rpcrdma_ep_core *, rpcrdma_quota_use use, u64 octets)
{
	if (use == RPCRDMA_QUOTA_CALLS)
		return true;
	the_service->asked = octets;
	return octets <= the_service->room;
}

int rpcrdma_port_call_pages(rpcrdma_recv *rv, rpcrdma_thread *)
{
	rv->priv = &the_service->state;
	the_service->pulled++;
	return the_service->pages;
}

rpcrdma_transfer *rpcrdma_port_call_read_one(rpcrdma_recv *rv,
					     const rpcrdma_segment *)
{
	rpcrdma_transfer *t = &the_service->transfer;

	*t = {};
	rpcrdma_core_transfer_begin(rv->core, t, true);
	rpcrdma_transfer_only(t, &the_service->part);
	return t;
}

int rpcrdma_port_prepare(rpcrdma_transfer *, rpcrdma_transfer_part *)
{
	note("prepare");
	return the_service->prepared;
}

void rpcrdma_port_unprepare(rpcrdma_transfer *, rpcrdma_transfer_part *)
{
	note("unprepare");
}

bool rpcrdma_port_post_batch(rpcrdma_ep_core *, rpcrdma_transfer *t)
{
	note("post");
	EXPECT_TRUE(!the_service || t->octets == 4096);
	return true;
}

void rpcrdma_port_transfer_ended(rpcrdma_transfer *, bool)
{
	note("ended");
}

void rpcrdma_port_transfer_free(rpcrdma_transfer *)
{
	note("transfer freed");
}

rpcrdma_transfer *rpcrdma_port_call_reads(rpcrdma_recv *)
{
	note("reads");
	return nullptr;
}

void rpcrdma_port_call_fill(rpcrdma_recv *, u32, const void *, u32)
{
}

const void *rpcrdma_port_call_start(const rpcrdma_recv *)
{
	return the_service->start;
}

int rpcrdma_port_call_deliver(rpcrdma_recv *rv, rpcrdma_thread *)
{
	rv->priv = &the_service->state;
	return the_service->deliver;
}

void rpcrdma_port_call_free(rpcrdma_recv *rv)
{
	rv->priv = nullptr;
	note("freed");
}

void rpcrdma_port_recv_put(rpcrdma_recv *)
{
	/* No ERROR has been sent yet. */
	EXPECT_EQ(the_host->posted, 0u);
	the_host->put();
}

void rpcrdma_port_call_refused(rpcrdma_ep_core *, u32, rpcrdma_refusal refusal)
{
	EXPECT_EQ(the_host->posted, 1u);
	EXPECT_EQ(the_service->traced, rpcrdma_refusal_code(refusal));
	the_service->refused = refusal;
}

void rpcrdma_port_refuses(rpcrdma_ep_core *, u32, u32 code)
{
	the_service->traced = code;
}

int rpcrdma_port_callback_begin(rpcrdma_recv *rv)
{
	if (!the_service->begin)
		rv->priv = &the_service->state;
	return the_service->begin;
}

int rpcrdma_port_callback_deliver(rpcrdma_ep_core *, void *call, u32)
{
	EXPECT_EQ(call, &the_service->state);
	note("delivered");
	return the_service->deliver;
}

} // extern "C"

namespace
{

using events = std::vector<std::string>;

constexpr u32 XID = 0x1234;

class EndpointCalls : public EndpointSends
{
protected:
	EndpointCalls()
	{
		the_service = &calls;
		port.put = [] {
			note("put");
		};
		core->life.client = false;
		rpcrdma_calls_init(&calls.queue, 4096, 40);
		rpcrdma_calls_serve(&calls.queue, 65536);
		grant(8);
		give(SENDS);
		calls.start[0] = __builtin_bswap32(XID);
	}

	~EndpointCalls() override
	{
		the_service = nullptr;
	}

	/* A Call arrives, with @octets in a Read chunk. */
	rpcrdma_recv *arrive(u32 octets = 0)
	{
		rpcrdma_recv *rv = &received.emplace_back();

		rv->core = core.get();
		rv->verdict = RPCRDMA_RX_CALL;
		rv->rx.xid = XID;
		rpcrdma_lists_init(&rv->rx.lists);
		if (octets) {
			rv->rx.lists.nr_reads = 1;
			rv->rx.lists.reads[0].length = octets;
		}
		calls.messages.push_back(rv);
		return rv;
	}

	/* A Call with one item, in one segment, arrives. */
	rpcrdma_recv *arrive_with_item()
	{
		rpcrdma_recv *rv = arrive(4096);
		rpcrdma_lists &lists = rv->rx.lists;

		rv->rx.total_length = lists.reads[0].position = 40;
		lists.reads[0].count = 1;
		lists.segs[0].length = 4096;
		core->rw.read_part = 65536;
		return rv;
	}

	rpcrdma_recv *next(bool room = true)
	{
		calls.must_ask = !room;
		return rpcrdma_core_calls_next(core.get(), &calls.queue,
					       nullptr);
	}

	bool ready()
	{
		return rpcrdma_core_calls_ready(core.get(), &calls.queue);
	}

	/* A thread takes the next Call. */
	int take()
	{
		rpcrdma_recv *rv = next();

		EXPECT_NE(rv, nullptr);
		EXPECT_NE(rv->send, nullptr);
		calls.log.clear();
		return rpcrdma_core_call_take(
			core.get(), rv,
			reinterpret_cast<rpcrdma_thread *>(this));
	}

	service calls;
	std::deque<rpcrdma_recv> received;
};

TEST_F(EndpointCalls, AThreadGetsTheFirstThatArrives)
{
	rpcrdma_recv *first = arrive(), *second = arrive(), *third = arrive();

	EXPECT_EQ(next(), first);
	EXPECT_TRUE(calls.due);
	EXPECT_EQ(next(), second);
	EXPECT_TRUE(calls.due);
	EXPECT_EQ(next(), third);
	EXPECT_FALSE(calls.due);
	EXPECT_EQ(next(), nullptr);
}

TEST_F(EndpointCalls, WithoutRoomMessagesAreProcessedButNoCall)
{
	arrive();
	arrive()->verdict = RPCRDMA_RX_REPLY;
	EXPECT_EQ(next(false), nullptr);
	EXPECT_EQ(calls.log, (events{ "queued", "response" }));
	EXPECT_TRUE(calls.due);
	EXPECT_EQ(take(), 1);
}

TEST_F(EndpointCalls, AThreadIsNeededForAMessageOrACallWithItsResources)
{
	/* A Call that waits may have the resources. */
	EXPECT_TRUE(ready());
	EXPECT_EQ(calls.asked, 0u);
	/* The quota is asked for this Reply and those to the Calls in progress. */
	rpcrdma_calls_serve(&calls.queue, 1000);
	calls.must_ask = true;
	calls.reserved = 500;
	calls.room = 1499;
	EXPECT_FALSE(ready());
	EXPECT_EQ(calls.asked, 1500u);
	calls.room = 1500;
	EXPECT_TRUE(ready());
	/* Without a context for the Reply, the quota is not asked. */
	calls.asked = 0;
	while (rpcrdma_core_reserve_reply(core.get()))
		;
	EXPECT_FALSE(ready());
	EXPECT_EQ(calls.asked, 0u);
	/* A message is processed without these. */
	arrive();
	EXPECT_TRUE(ready());
	EXPECT_EQ(calls.asked, 0u);
}

TEST_F(EndpointCalls, NoCallIsTakenWithoutAContextForItsReply)
{
	arrive();
	while (rpcrdma_core_reserve_reply(core.get()))
		;
	EXPECT_EQ(next(), nullptr);
	EXPECT_EQ(calls.log, (events{ "queued", "starves" }));
}

/* To the peer, an ERROR may mean that a Receive is available again. */
TEST_F(EndpointCalls, OneThatIsTooLargeIsReleasedAndThenRefused)
{
	arrive();
	calls.deliver = -E2BIG;
	EXPECT_EQ(take(), 0);
	EXPECT_EQ(calls.log, (events{ "freed", "put" }));
	EXPECT_EQ(calls.refused, u32{ RPCRDMA_REFUSE_TOO_LARGE });
	EXPECT_EQ(port.closing, nullptr);
}

TEST_F(EndpointCalls, WithoutMemoryTheConnectionIsClosed)
{
	arrive();
	calls.deliver = -ENOMEM;
	EXPECT_EQ(take(), -ENOTCONN);
	EXPECT_EQ(calls.log, (events{ "freed", "put" }));
	EXPECT_EQ(calls.refused, 0u);
	EXPECT_STREQ(port.closing, "no memory for a received Call");
}

/* Ahead of the threads there are no pages, and the thread cannot read. */
TEST_F(EndpointCalls, OneThatCannotBePulledClosesTheConnection)
{
	arrive(4096);
	calls.pages = -ENOMEM;
	EXPECT_EQ(take(), -ENOTCONN);
	EXPECT_EQ(calls.log, (events{ "freed", "put" }));
	EXPECT_STREQ(port.closing, "no resources to pull a Call's data");
}

/*
 * The quota has no memory for a Call that exceeds the service's largest: neither is any
 * taken from a thread, which may have more pages than that.
 */
TEST_F(EndpointCalls, OneWithTooMuchToPullIsRefused)
{
	arrive(65537);
	EXPECT_EQ(take(), 0);
	EXPECT_EQ(calls.pulled, 0u);
	EXPECT_EQ(calls.log, (events{ "put" }));
	EXPECT_EQ(calls.refused, u32{ RPCRDMA_REFUSE_TOO_LARGE });
	EXPECT_EQ(port.closing, nullptr);
}

TEST_F(EndpointCalls, ReadsOfOnePartReportTheirEnd)
{
	rpcrdma_recv *rv = arrive_with_item();

	calls.prepared = 2;
	EXPECT_EQ(next(), nullptr);
	EXPECT_EQ(calls.log, (events{ "prepare", "post" }));
	EXPECT_EQ(calls.transfer.work.wrs.nr, 2u);
	calls.log.clear();
	rpcrdma_core_transfer_done(&calls.transfer.work, true);
	EXPECT_EQ(calls.log, (events{ "ended", "queued", "transfer freed" }));
	EXPECT_TRUE(rv->queued.pulled);
}

/* They are built again, part by part. Here, that fails, too. */
TEST_F(EndpointCalls, AReadThatCannotBePreparedIsBuiltAgain)
{
	arrive_with_item();
	EXPECT_EQ(take(), -ENOTCONN);
	EXPECT_EQ(calls.log, (events{ "prepare", "ended", "transfer freed",
				      "reads", "freed", "put" }));
	EXPECT_EQ(rpcrdma_core_transfers_posted(core.get()), 0u);
}

TEST_F(EndpointCalls, FailedReadsCloseTheConnection)
{
	rpcrdma_recv *rv = arrive();

	rv->priv = &calls.state;
	rpcrdma_core_call_pulled(rv, false);
	EXPECT_EQ(calls.log, (events{ "freed", "put" }));
	EXPECT_STREQ(port.closing, "an RDMA Read of a Call's data failed");
}

/* The Reply permits the server to send another Call. */
TEST_F(EndpointCalls, ACallbackIsDeliveredWhenItsReceiveIsReleased)
{
	rpcrdma_core_callback(core.get(), arrive());
	EXPECT_EQ(calls.log, (events{ "put", "delivered" }));
	EXPECT_EQ(calls.refused, 0u);
}

TEST_F(EndpointCalls, WithoutAServiceACallbackIsRefused)
{
	calls.begin = -EOPNOTSUPP;
	rpcrdma_core_callback(core.get(), arrive());
	EXPECT_EQ(calls.log, (events{ "put" }));
	EXPECT_EQ(calls.refused, u32{ RPCRDMA_REFUSE_NO_SERVICE });
}

TEST_F(EndpointCalls, TheEndOfTheConnectionReleasesTheCallsInTheQueue)
{
	arrive();
	arrive();
	next(false);
	calls.log.clear();
	rpcrdma_core_calls_end(&calls.queue);
	EXPECT_EQ(calls.log, (events{ "put", "put" }));
	EXPECT_FALSE(rpcrdma_calls_any(&calls.queue));
}

} // namespace
