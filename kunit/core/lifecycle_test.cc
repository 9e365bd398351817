// SPDX-License-Identifier: GPL-2.0
/* The lifecycle of a connection: each event in each stage, in either role */
#include "lifecycle.hh"

using namespace engine_test;
using namespace engine_test::lifecycle;

namespace
{

/* The rejection reasons "no such service" and "connection already known" */
constexpr int REJECT_SERVICE = 8, REJECT_STALE = 10;

/*
 * Return a connection in the stage of that name, reached in the usual way, or
 * nullptr if there is no such stage.
 */
std::unique_ptr<life> in_stage(bool client, const std::string &name)
{
	auto e = std::make_unique<life>(client);
	const auto is = [&] {
		return e->stage() == name;
	};

	if (is())
		return e;
	e->make();
	if (client) {
		if (is())
			return e;
		e->cm_event(RPCRDMA_CM_RESOLVED);
		e->make();
		if (is())
			return e;
		e->cm_event(RPCRDMA_CM_RESOLVED);
		e->make();
	}
	if (is())
		return e;
	e->make();
	if (is())
		return e;
	e->cm_event(RPCRDMA_CM_ESTABLISHED);
	if (is())
		return e;
	rpcrdma_lifecycle_opened(&e->l);
	if (is())
		return e;
	e->make();
	rpcrdma_lifecycle_close(&e->l, nullptr);
	if (is())
		return e;
	while (e->release() != RPCRDMA_TEARDOWN_END)
		;
	return is() ? std::move(e) : nullptr;
}

/*
 * Expect the result of an event for each stage listed. In all other stages the
 * event has no effect.
 */
void expect(const char *what, bool client, const event &happens,
	    const std::map<std::string, result> &results)
{
	u32 seen = 0;

	for (const char *stage : stages) {
		auto found = results.find(stage);
		auto e = in_stage(client, stage);

		SCOPED_TRACE(std::string(what) + " when " + stage + ", " +
			     (client ? "client" : "server"));
		if (!e) {
			EXPECT_FALSE(client);
			continue;
		}

		const rpcrdma_lifecycle before = e->l;

		seen += found != results.end();
		if (found != results.end()) {
			EXPECT_EQ(happens(*e), found->second.first);
			EXPECT_EQ(e->stage(), found->second.second);
		} else {
			EXPECT_EQ(happens(*e), "");
			EXPECT_EQ(memcmp(&before, &e->l, sizeof(before)), 0);
		}
		/*
		 * A setup context that waits must be notified of everything it
		 * waits for.
		 */
		EXPECT_EQ(e->l.may_send != 0,
			  e->stage() == "opening" || e->stage() == "open" ||
				  (!client && e->stage() == "connecting"));
		if (e->l.stage >= RPCRDMA_STAGE_OPENING) {
			EXPECT_TRUE(e->l.step_done);
		}
	}
	EXPECT_EQ(seen, results.size());
}

/*
 * Expect that an event ends a connection in every earlier stage, once. @made:
 * the status of a connection that was set up by then
 */
void expect_end(const char *what, const event &happens, const char *reason,
		int status, int made)
{
	for (bool client : { true, false }) {
		std::map<std::string, result> results;

		for (const char *stage :
		     { "idle", "resolving", "routing", "preparing",
		       "connecting", "opening", "open" }) {
			if (in_stage(client, stage))
				results[stage] = { std::string("wake close") +
							   reason,
						   "closing" };
		}
		expect(what, client, happens, results);
		for (const auto &r : results) {
			auto e = in_stage(client, r.first);

			const bool is_made = r.first == "opening" ||
					     r.first == "open";
			const int expected = is_made ? made : status;

			happens(*e);
			EXPECT_EQ(e->l.status, expected)
				<< what << " when " << r.first;
			/* Further events have no effect. */
			EXPECT_EQ(happens(*e), "");
			EXPECT_EQ(e->l.status, expected);
		}
	}
}

void expect_end(const char *what, const event &happens, const char *reason,
		int status)
{
	expect_end(what, happens, reason, status, status);
}

TEST(Lifecycle, CmEventsCountInTheirStage)
{
	for (bool client : { true, false }) {
		std::map<std::string, result> resolved;

		if (client) {
			resolved = { { "resolving", { "wake", "resolving" } },
				     { "routing", { "wake", "routing" } } };
		}
		expect("resolved", client, cm_event(RPCRDMA_CM_RESOLVED),
		       resolved);
		/*
		 * A server may be open already because of its client's
		 * messages.
		 */
		expect("established", client, cm_event(RPCRDMA_CM_ESTABLISHED),
		       { { "connecting", { "begin wake", "opening" } } });
		expect("opened", client,
		       [](life &e) {
			       return name_of(rpcrdma_lifecycle_opened(&e.l));
		       },
		       { { "connecting", { "opened wake", "open" } },
			 { "opening", { "opened wake", "open" } } });
	}
}

TEST(Lifecycle, EventsThatEndIt)
{
	expect_end("unresolved", cm_event(RPCRDMA_CM_UNRESOLVED), "",
		   UNREACHABLE);
	expect_end("unreachable", cm_event(RPCRDMA_CM_UNREACHABLE), "",
		   UNREACHABLE);
	/*
	 * A peer that closes the connection at once rejects an established
	 * connection.
	 */
	expect_end("rejected", cm_event(RPCRDMA_CM_REJECTED, REJECT_SERVICE),
		   "", REFUSED, NO_CONNECTION);
	expect_end("rejected by iWARP", cm_event(RPCRDMA_CM_REJECTED, REFUSED),
		   "", REFUSED, NO_CONNECTION);
	/* A client that was restarted has to retry. */
	expect_end("rejected as known",
		   cm_event(RPCRDMA_CM_REJECTED, REJECT_STALE), "",
		   NO_CONNECTION);
	/* Reason numbers of other events than a rejection mean nothing. */
	expect_end("unreachable, 10",
		   cm_event(RPCRDMA_CM_UNREACHABLE, REJECT_STALE), "",
		   UNREACHABLE);
	expect_end("failed", cm_event(RPCRDMA_CM_FAILED), "", NO_CONNECTION);
	expect_end("disconnected", cm_event(RPCRDMA_CM_DISCONNECTED), "",
		   NO_CONNECTION);
	expect_end("address changed", cm_event(RPCRDMA_CM_ADDRESS_CHANGED),
		   ": a local address changed", NO_DEVICE);
	expect_end("removed", cm_event(RPCRDMA_CM_REMOVED), "", NO_DEVICE);
	expect_end(
		"closed",
		[](life &e) {
			return name_of(rpcrdma_lifecycle_close(&e.l, "enough"));
		},
		": enough", NO_CONNECTION);
	expect_end(
		"a Work Request failed",
		[](life &e) {
			return name_of(rpcrdma_lifecycle_failed(
				&e.l, RPCRDMA_FAILURE_HERE, "broken"));
		},
		": broken", NO_CONNECTION);
}

/* The connection manager is about to report the reason. */
TEST(Lifecycle, ARejectedClientWaitsForTheReason)
{
	const event flushed = [](life &e) {
		return name_of(rpcrdma_lifecycle_failed(
			&e.l, RPCRDMA_FAILURE_FLUSHED, "broken"));
	};

	expect("flushed", true, flushed,
	       { { "opening", { "wake close", "closing" } },
		 { "open", { "wake close", "closing" } } });
	expect("flushed", false, flushed,
	       { { "idle", { "wake close", "closing" } },
		 { "preparing", { "wake close", "closing" } },
		 { "connecting", { "wake close", "closing" } },
		 { "opening", { "wake close", "closing" } },
		 { "open", { "wake close", "closing" } } });
}

TEST(Lifecycle, AnUnfinishedOpeningIsClosed)
{
	const event overdue = [](life &e) {
		return name_of(rpcrdma_lifecycle_overdue(&e.l));
	};
	const result out = {
		"wake close: the peer did not finish opening in time", "closing"
	};

	expect("overdue", false, overdue,
	       { { "idle", out },
		 { "preparing", out },
		 { "connecting", out },
		 { "opening", out } });
}

/* ---- Setup ---- */

TEST(Lifecycle, SetupOfAClient)
{
	life e{ true };

	expect_make(e.make(), RPCRDMA_SETUP_ADDRESS, 5000);
	expect_make(e.make(), RPCRDMA_SETUP_WAIT, 5000);
	EXPECT_FALSE(e.l.step_done);
	e.cm_event(RPCRDMA_CM_RESOLVED);
	EXPECT_TRUE(e.l.step_done);
	expect_make(e.make(), RPCRDMA_SETUP_ROUTE, 5000);
	EXPECT_FALSE(e.l.step_done);
	expect_make(e.make(), RPCRDMA_SETUP_WAIT, 5000);
	e.cm_event(RPCRDMA_CM_RESOLVED);
	expect_make(e.make(), RPCRDMA_SETUP_OBJECTS, 0);
	expect_make(e.make(), RPCRDMA_SETUP_CONNECT, 20000);
	expect_make(e.make(), RPCRDMA_SETUP_WAIT, 20000);
	EXPECT_FALSE(e.l.step_done);
	e.cm_event(RPCRDMA_CM_ESTABLISHED);
	EXPECT_TRUE(e.l.step_done);
	expect_make(e.make(), RPCRDMA_SETUP_WAIT, 15000);
	EXPECT_FALSE(e.l.step_done);
	rpcrdma_lifecycle_opened(&e.l);
	EXPECT_TRUE(e.l.step_done);
	EXPECT_FALSE(e.l.owned_by_transport);
	expect_make(e.make(), RPCRDMA_SETUP_END, 0);
	EXPECT_TRUE(e.l.owned_by_transport);
}

/* A shorter limit applies to connecting, not to opening the connection. */
TEST(Lifecycle, AClientKeepsItsConnectLimit)
{
	life e{ true };

	e.l.limit_ms = 3000;
	expect_make(e.make(), RPCRDMA_SETUP_ADDRESS, 3000);
	expect_make(e.make(), RPCRDMA_SETUP_WAIT, 3000);
	e.cm_event(RPCRDMA_CM_RESOLVED);
	expect_make(e.make(), RPCRDMA_SETUP_ROUTE, 3000);
	expect_make(e.make(), RPCRDMA_SETUP_WAIT, 3000);
	e.l.limit_ms = 12000;
	expect_make(e.make(), RPCRDMA_SETUP_WAIT, 5000);
	e.cm_event(RPCRDMA_CM_RESOLVED);
	expect_make(e.make(), RPCRDMA_SETUP_OBJECTS, 0);
	expect_make(e.make(), RPCRDMA_SETUP_CONNECT, 12000);
	expect_make(e.make(), RPCRDMA_SETUP_WAIT, 12000);
	e.cm_event(RPCRDMA_CM_ESTABLISHED);
	expect_make(e.make(), RPCRDMA_SETUP_WAIT, 15000);
}

/* The answer may arrive before the request has returned. */
TEST(Lifecycle, EarlyAnswersCount)
{
	life e{ true };

	e.make();
	e.cm_event(RPCRDMA_CM_RESOLVED);
	expect_make(e.make(), RPCRDMA_SETUP_ROUTE, 5000);
	e.cm_event(RPCRDMA_CM_RESOLVED);
	expect_make(e.make(), RPCRDMA_SETUP_OBJECTS, 0);
	expect_make(e.make(), RPCRDMA_SETUP_CONNECT, 20000);
	e.cm_event(RPCRDMA_CM_ESTABLISHED);
	rpcrdma_lifecycle_opened(&e.l);
	expect_make(e.make(), RPCRDMA_SETUP_END, 0);
	EXPECT_TRUE(e.l.owned_by_transport);
}

TEST(Lifecycle, SetupOfAServer)
{
	life e{ false };

	expect_make(e.make(), RPCRDMA_SETUP_OBJECTS, 0);
	EXPECT_FALSE(e.l.may_send);
	expect_make(e.make(), RPCRDMA_SETUP_ACCEPT, 15000);
	EXPECT_TRUE(e.l.may_send);
	expect_make(e.make(), RPCRDMA_SETUP_END, 0);
	EXPECT_EQ(e.stage(), "connecting");
	for (const char *stage : { "opening", "open" })
		expect_make(in_stage(false, stage)->make(), RPCRDMA_SETUP_END,
			    0);
}

TEST(Lifecycle, AFailedStepEndsTheSetup)
{
	for (const char *stage :
	     { "idle", "resolving", "routing", "preparing", "connecting" }) {
		for (bool client : { true, false }) {
			auto e = in_stage(client, stage);
			rpcrdma_setup_step m;

			if (!e)
				continue;
			SCOPED_TRACE(stage);
			m = e->make(NO_MEMORY);
			EXPECT_EQ(m.what, RPCRDMA_SETUP_END);
			EXPECT_EQ(m.status, NO_MEMORY);
			EXPECT_EQ(name_of(m.step), "wake close");
			EXPECT_EQ(e->stage(), "closing");
			EXPECT_FALSE(e->l.owned_by_transport);
		}
	}
}

TEST(Lifecycle, EachWaitIsBounded)
{
	for (const char *stage : { "resolving", "routing", "connecting" }) {
		auto e = in_stage(true, stage);
		rpcrdma_setup_step m;

		SCOPED_TRACE(stage);
		EXPECT_EQ(e->make().what, RPCRDMA_SETUP_WAIT);
		m = e->make(LATE);
		EXPECT_EQ(m.what, RPCRDMA_SETUP_END);
		EXPECT_EQ(m.status, LATE);
		EXPECT_EQ(name_of(m.step), "wake close");
	}
	for (bool answered : { true, false }) {
		auto e = in_stage(true, "opening");
		rpcrdma_setup_step m;

		EXPECT_EQ(e->make().what, RPCRDMA_SETUP_WAIT);
		e->conn.answered = answered;
		e->conn.version = answered ? 2 : 0;
		m = e->make(LATE);
		EXPECT_EQ(m.status, answered ? NO_CONNECTION : SILENT);
		EXPECT_EQ(
			name_of(m.step),
			"wake close: the peer did not finish opening in time");
	}
}

/* An answer that arrives at the end of the wait counts. */
TEST(Lifecycle, AnAnswerAtTheLastMomentCounts)
{
	auto e = in_stage(true, "resolving");

	e->make();
	e->cm_event(RPCRDMA_CM_RESOLVED);
	EXPECT_EQ(e->make(LATE).what, RPCRDMA_SETUP_ROUTE);

	e = in_stage(true, "connecting");
	e->make();
	e->cm_event(RPCRDMA_CM_ESTABLISHED);
	EXPECT_EQ(e->make(LATE).what, RPCRDMA_SETUP_WAIT);
	rpcrdma_lifecycle_opened(&e->l);
	EXPECT_EQ(e->make(LATE).what, RPCRDMA_SETUP_END);
	EXPECT_TRUE(e->l.owned_by_transport);

	e = in_stage(true, "connecting");
	e->make();
	e->cm_event(RPCRDMA_CM_REJECTED, REJECT_SERVICE);
	EXPECT_EQ(e->make(LATE).status, REFUSED);
}

/*
 * In any step, the setup context stops and returns what ended the connection.
 */
TEST(Lifecycle, TheSetupReturnsWhatEndedIt)
{
	for (const char *stage : { "idle", "resolving", "routing", "preparing",
				   "connecting", "opening", "open" }) {
		for (int result : { 0, NO_MEMORY, LATE }) {
			auto e = in_stage(true, stage);
			const bool met = e->l.established;
			rpcrdma_setup_step m;

			SCOPED_TRACE(stage);
			e->cm_event(RPCRDMA_CM_REMOVED);
			expect_make(e->make(result), RPCRDMA_SETUP_END, 0,
				    NO_DEVICE);
			EXPECT_FALSE(e->l.owned_by_transport);

			/* Connected, but the peer sent nothing. */
			e = in_stage(true, stage);
			e->cm_event(RPCRDMA_CM_DISCONNECTED);
			m = e->make(result);
			EXPECT_EQ(m.status, met ? SILENT : NO_CONNECTION);
			e->conn.answered = true;
			e->conn.version = RPCRDMA_VERS_2;
			EXPECT_EQ(e->make(result).status, NO_CONNECTION);
		}
	}
	for (const char *stage :
	     { "idle", "preparing", "connecting", "opening", "open" }) {
		auto e = in_stage(false, stage);

		/*
		 * The context that closed the connection has already reported
		 * the reason.
		 */
		e->cm_event(RPCRDMA_CM_REMOVED);
		expect_make(e->make(), RPCRDMA_SETUP_END, 0, 0);
	}
}

/*
 * The messages of a client show that it is connected, even if its confirmation
 * was lost.
 */
TEST(Lifecycle, ALostConfirmationIsReported)
{
	life e(false);

	e.make();
	e.make();
	ASSERT_EQ(e.stage(), "connecting");
	EXPECT_EQ(rpcrdma_lifecycle_opened(&e.l).todo,
		  RPCRDMA_LIFECYCLE_OPENED | RPCRDMA_LIFECYCLE_WAKE);
	EXPECT_EQ(rpcrdma_lifecycle_overdue(&e.l).todo,
		  RPCRDMA_LIFECYCLE_CONFIRM);
	EXPECT_EQ(e.stage(), "open");
	/* The connection manager then reports the client as connected. */
	EXPECT_EQ(e.cm_event(RPCRDMA_CM_ESTABLISHED).todo, 0u);
	EXPECT_EQ(rpcrdma_lifecycle_overdue(&e.l).todo, 0u);
	EXPECT_EQ(e.stage(), "open");
}

/* The Reply to a Call cannot be sent once the connection is closing. */
TEST(Lifecycle, ACallIsDroppedOnceTheConnectionCloses)
{
	for (const char *stage : stages) {
		auto e = in_stage(false, stage);

		if (!e)
			continue;
		EXPECT_EQ(rpcrdma_lifecycle_drops_calls(&e->l),
			  e->l.stage >= RPCRDMA_STAGE_CLOSING)
			<< stage;
	}
}

/* ---- Teardown ---- */

/* @refusals: the number of times that STOP fails */
std::vector<rpcrdma_teardown> releases(life &e, bool qp, bool posted,
				       u32 refusals = 0)
{
	std::vector<rpcrdma_teardown> all;
	int result = 0;

	do {
		all.push_back(e.release(qp, posted, result));
		result = 0;
		if (all.back() == RPCRDMA_TEARDOWN_STOP && refusals) {
			refusals--;
			result = NO_MEMORY;
		}
		if (all.back() == RPCRDMA_TEARDOWN_QUEUE_PAIR)
			qp = false;
		EXPECT_EQ(e.l.stage == RPCRDMA_STAGE_GONE,
			  all.back() >= RPCRDMA_TEARDOWN_GONE);
	} while (all.back() != RPCRDMA_TEARDOWN_END);
	return all;
}

bool has(const std::vector<rpcrdma_teardown> &all, rpcrdma_teardown what)
{
	return std::find(all.begin(), all.end(), what) != all.end();
}

/* The order of the teardown steps, each pair separately */
TEST(Lifecycle, TeardownOrder)
{
	static constexpr struct {
		rpcrdma_teardown first, then;
	} orders[] = {
		/*
		 * No context sets the connection up or starts a timer any more.
		 */
		{ RPCRDMA_TEARDOWN_SETUP, RPCRDMA_TEARDOWN_TIMERS },
		{ RPCRDMA_TEARDOWN_TIMERS, RPCRDMA_TEARDOWN_DISCONNECT },
		{ RPCRDMA_TEARDOWN_DISCONNECT, RPCRDMA_TEARDOWN_STOP },
		/*
		 * The result of the drain does not show whether the device
		 * stops.
		 */
		{ RPCRDMA_TEARDOWN_STOP, RPCRDMA_TEARDOWN_DRAIN },
		{ RPCRDMA_TEARDOWN_DRAIN, RPCRDMA_TEARDOWN_MESSAGES },
		/*
		 * Completions may have arrived before the device has finished.
		 */
		{ RPCRDMA_TEARDOWN_MESSAGES, RPCRDMA_TEARDOWN_RESET },
		{ RPCRDMA_TEARDOWN_RESET, RPCRDMA_TEARDOWN_POSTED },
		/* Users wait for the end of their work. */
		{ RPCRDMA_TEARDOWN_POSTED, RPCRDMA_TEARDOWN_USERS },
		{ RPCRDMA_TEARDOWN_WAITING, RPCRDMA_TEARDOWN_USERS },
		{ RPCRDMA_TEARDOWN_USERS, RPCRDMA_TEARDOWN_QUEUE_PAIR },
		/* As long as the queue pair exists, peers can access memory. */
		{ RPCRDMA_TEARDOWN_QUEUE_PAIR, RPCRDMA_TEARDOWN_MRS },
		{ RPCRDMA_TEARDOWN_MRS, RPCRDMA_TEARDOWN_EXPOSED },
		{ RPCRDMA_TEARDOWN_QUEUE_PAIR, RPCRDMA_TEARDOWN_COMPLETIONS },
		{ RPCRDMA_TEARDOWN_COMPLETIONS, RPCRDMA_TEARDOWN_BUFFERS },
		{ RPCRDMA_TEARDOWN_MRS, RPCRDMA_TEARDOWN_DOMAIN },
		{ RPCRDMA_TEARDOWN_BUFFERS, RPCRDMA_TEARDOWN_DOMAIN },
		{ RPCRDMA_TEARDOWN_DOMAIN, RPCRDMA_TEARDOWN_ID },
		{ RPCRDMA_TEARDOWN_ID, RPCRDMA_TEARDOWN_GONE },
		{ RPCRDMA_TEARDOWN_GONE, RPCRDMA_TEARDOWN_NOTIFY },
		{ RPCRDMA_TEARDOWN_NOTIFY, RPCRDMA_TEARDOWN_END },
	};
	auto e = in_stage(false, "closing");
	const auto all = releases(*e, true, true);
	const auto at = [&](rpcrdma_teardown what) {
		EXPECT_EQ(std::count(all.begin(), all.end(), what), 1) << what;
		return std::find(all.begin(), all.end(), what) - all.begin();
	};

	/* All steps except PAUSE */
	EXPECT_EQ(all.size(), size_t{ RPCRDMA_TEARDOWN_END });
	for (const auto &o : orders)
		EXPECT_LT(at(o.first), at(o.then)) << o.first << " " << o.then;
	EXPECT_EQ(e->release(), RPCRDMA_TEARDOWN_END);
}

/* A device may stop when asked again. The number of attempts is bounded. */
TEST(Lifecycle, StopIsRetried)
{
	for (u32 refusals : { 1u, 2u, RPCRDMA_STOP_TRIES - 1u }) {
		auto e = in_stage(false, "closing");
		const auto all = releases(*e, true, true, refusals);
		const auto stop = std::find(all.begin(), all.end(),
					    RPCRDMA_TEARDOWN_STOP);
		const auto drain = std::find(all.begin(), all.end(),
					     RPCRDMA_TEARDOWN_DRAIN);

		EXPECT_EQ(std::count(all.begin(), all.end(),
				     RPCRDMA_TEARDOWN_STOP),
			  refusals + 1);
		EXPECT_EQ(std::count(all.begin(), all.end(),
				     RPCRDMA_TEARDOWN_PAUSE),
			  refusals);
		/* A pause precedes each attempt but the first one. */
		ASSERT_EQ(drain - stop, 2 * refusals + 1);
		for (u32 i = 0; i < 2 * refusals + 1; i++)
			EXPECT_EQ(stop[i], i & 1 ? RPCRDMA_TEARDOWN_PAUSE :
						   RPCRDMA_TEARDOWN_STOP);
		/* The rest is as if the device had stopped at once. */
		EXPECT_EQ(std::count(all.begin(), all.end(),
				     RPCRDMA_TEARDOWN_POSTED),
			  1);
		EXPECT_LT(std::find(all.begin(), all.end(),
				    RPCRDMA_TEARDOWN_POSTED),
			  std::find(all.begin(), all.end(),
				    RPCRDMA_TEARDOWN_USERS));
		EXPECT_FALSE(e->l.unstopped);
	}
}

/*
 * A device that does not stop may complete posted work and place data as long
 * as the queue pair or a completion queue exists. It is not drained or reset
 * either, because the results of these mean nothing then.
 */
TEST(Lifecycle, UnstoppedWorkIsEndedLast)
{
	for (bool posted : { true, false }) {
		auto e = in_stage(false, "closing");
		const auto all = releases(*e, true, posted, RPCRDMA_STOP_TRIES);
		const auto at = [&](rpcrdma_teardown what) {
			EXPECT_EQ(std::count(all.begin(), all.end(), what), 1)
				<< what;
			return std::find(all.begin(), all.end(), what) -
			       all.begin();
		};

		EXPECT_FALSE(has(all, RPCRDMA_TEARDOWN_DRAIN));
		EXPECT_FALSE(has(all, RPCRDMA_TEARDOWN_RESET));
		EXPECT_LT(at(RPCRDMA_TEARDOWN_MESSAGES),
			  at(RPCRDMA_TEARDOWN_USERS));
		EXPECT_LT(at(RPCRDMA_TEARDOWN_WAITING),
			  at(RPCRDMA_TEARDOWN_USERS));
		EXPECT_LT(at(RPCRDMA_TEARDOWN_USERS),
			  at(RPCRDMA_TEARDOWN_QUEUE_PAIR));
		EXPECT_LT(at(RPCRDMA_TEARDOWN_QUEUE_PAIR),
			  at(RPCRDMA_TEARDOWN_COMPLETIONS));
		EXPECT_LT(at(RPCRDMA_TEARDOWN_COMPLETIONS),
			  at(RPCRDMA_TEARDOWN_POSTED));
		/* Pulled Replies hold the memory of their invalidations. */
		EXPECT_LT(at(RPCRDMA_TEARDOWN_POSTED),
			  at(RPCRDMA_TEARDOWN_EXPOSED));
		EXPECT_LT(at(RPCRDMA_TEARDOWN_POSTED),
			  at(RPCRDMA_TEARDOWN_DOMAIN));
		EXPECT_EQ(std::count(all.begin(), all.end(),
				     RPCRDMA_TEARDOWN_STOP),
			  u32{ RPCRDMA_STOP_TRIES });
	}
}

/*
 * From the last failure of STOP on, completions are not processed until there
 * are none.
 */
TEST(Lifecycle, NothingIsReapedWhileTheDeviceDoesNotStop)
{
	auto e = in_stage(false, "closing");
	rpcrdma_teardown what;
	bool over = false, gone = false;
	u32 stops = 0;
	int result = 0;

	do {
		what = e->release(!gone, true, result);
		result = 0;
		if (what == RPCRDMA_TEARDOWN_STOP) {
			result = NO_MEMORY;
			stops++;
		}
		if (what == RPCRDMA_TEARDOWN_QUEUE_PAIR)
			gone = true;
		if (what == RPCRDMA_TEARDOWN_POSTED)
			over = true;
		if (what != RPCRDMA_TEARDOWN_STOP &&
		    what != RPCRDMA_TEARDOWN_PAUSE)
			EXPECT_EQ(e->l.unstopped,
				  stops == RPCRDMA_STOP_TRIES && !over);
	} while (what != RPCRDMA_TEARDOWN_END);
}

TEST(Lifecycle, AbsentObjectsNeedNoTeardown)
{
	for (bool qp : { true, false }) {
		for (bool posted : { true, false }) {
			auto e = in_stage(false, "closing");
			const auto all = releases(*e, qp, posted);

			for (rpcrdma_teardown r :
			     { RPCRDMA_TEARDOWN_DISCONNECT,
			       RPCRDMA_TEARDOWN_STOP, RPCRDMA_TEARDOWN_DRAIN,
			       RPCRDMA_TEARDOWN_MESSAGES,
			       RPCRDMA_TEARDOWN_POSTED,
			       RPCRDMA_TEARDOWN_WAITING,
			       RPCRDMA_TEARDOWN_QUEUE_PAIR })
				EXPECT_EQ(has(all, r), qp) << r;
			/*
			 * The connection manager may still use the connection.
			 */
			EXPECT_EQ(has(all, RPCRDMA_TEARDOWN_RESET),
				  qp && posted);
			EXPECT_EQ(all.size(), size_t{ RPCRDMA_TEARDOWN_END } -
						      (qp ? 0 : 7) -
						      (qp && posted ? 0 : 1));
		}
	}
}

/* A transport is notified of the end of a connection that it owns. */
TEST(Lifecycle, OnlyOwnersAreNotified)
{
	for (const char *stage :
	     { "idle", "resolving", "connecting", "opening", "open" }) {
		for (bool client : { true, false }) {
			auto e = in_stage(client, stage);

			if (!e)
				continue;
			rpcrdma_lifecycle_close(&e->l, nullptr);
			e->make();

			const auto all = releases(*e, true, true);

			EXPECT_EQ(all[all.size() - 2] ==
					  RPCRDMA_TEARDOWN_NOTIFY,
				  !client)
				<< stage;
		}
	}

	auto e = in_stage(true, "open");

	e->make();
	rpcrdma_lifecycle_close(&e->l, nullptr);
	EXPECT_EQ(releases(*e, true, true).size(),
		  size_t{ RPCRDMA_TEARDOWN_END });
}

/* ---- The errno that sunrpc gets ---- */

TEST(Lifecycle, TasksGetErrnosOfSunrpc)
{
	static constexpr struct {
		int status, reported;
	} cases[] = {
		/* Passed unchanged */
		{ REFUSED, REFUSED },
		{ UNREACHABLE, UNREACHABLE },
		{ LATE, LATE },
		{ NO_CONNECTION, NO_CONNECTION },
		{ -104, -104 },
		{ -103, -103 },
		/* The port knows that the network is lost. */
		{ -100, -100 },
		{ -32, -32 },
		{ -98, -98 },
		{ -105, -105 },
		/* Worth a retry */
		{ NO_MEMORY, -105 },
		{ NO_DEVICE, UNREACHABLE },
		{ -99, UNREACHABLE },
		/* No route, which is fatal to a mount in a container */
		{ -101, UNREACHABLE },
		{ SILENT, NO_CONNECTION },
		{ -5, NO_CONNECTION },
		{ -512, NO_CONNECTION },
		/* Permanent failures of this end */
		{ -22, -71 },
		{ -13, -71 },
		{ -1, -71 },
		{ -97, -71 },
		{ NO_REGIONS, -71 },
	};

	for (const auto &c : cases)
		EXPECT_EQ(rpcrdma_connect_status(c.status), c.reported)
			<< c.status;
}

TEST(Lifecycle, ASilentServerGetsTheOtherVersionAtOnce)
{
	rpcrdma_version_cache memory{};

	const auto next = [&](u8 tried, u8 low, u8 high) {
		rpcrdma_version_learn(&memory, 1, tried, RPCRDMA_ANSWER_NONE);
		return rpcrdma_version_first(&memory, 1, low, high);
	};

	EXPECT_EQ(next(2, 1, 2), 1);
	/* If that gets no answer either, the version was not the reason. */
	EXPECT_EQ(next(1, 1, 2), 2);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1, 1, 2), 2);

	memory = {};
	EXPECT_EQ(next(2, 2, 2), 2);
	memory = {};
	EXPECT_EQ(next(1, 1, 1), 1);
	/* A peer known to have version 2 is more likely going down. */
	memory = {};
	rpcrdma_version_learn(&memory, 1, 2, RPCRDMA_ANSWER_V2);
	EXPECT_EQ(next(2, 1, 2), 2);
	EXPECT_EQ(next(2, 1, 2), 1);
}

} // namespace
