// SPDX-License-Identifier: GPL-2.0
/* The endpoint: teardown */
#include <rdma/ib_verbs.h>

#include "endpoint.h"

static void close_idle_by_client(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);

	rpcrdma_ep_close(pair->client.ep, NULL);
	rpcrdma_ep_close(pair->client.ep, NULL);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
	rpcrdma_ep_close(pair->client.ep, NULL);
	rpcrdma_ep_wait_closed(pair->client.ep);
}

static void close_idle_by_server(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);

	rpcrdma_ep_close(pair->server.ep, NULL);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
}

/* A fatal event of the queue pair is the only sign of a failure. */
static void close_device_event(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct ib_qp *qp = pair->server.ep->qp;
	struct ib_event event = { .element.qp = qp };

	event.event = IB_EVENT_COMM_EST;
	qp->event_handler(&event, qp->qp_context);
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 0, 0, 0, PAGE_SIZE),
			0);
	event.event = IB_EVENT_QP_FATAL;
	qp->event_handler(&event, qp->qp_context);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
}

/*
 * After a Work Request has failed, the device flushes the Receives. Even if these are
 * processed first, the connection is counted as lost to that failure.
 */
static void close_flushed_first(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct rpcrdma_ep *ep = pair->client.ep;
	u64 failures = rpcrdma_counted(&init_net, RPCRDMA_COUNT_WR_FAILURES);

	/* The softirq has recorded the status, and the work item that reports it is late. */
	WRITE_ONCE(ep->failure_status, IB_WC_RETRY_EXC_ERR);
	WRITE_ONCE(ep->failure, "no answer");
	KUNIT_ASSERT_EQ(test, ib_modify_qp(ep->qp, &error, IB_QP_STATE), 0);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
	KUNIT_EXPECT_EQ(test, rpcrdma_counted(&init_net, RPCRDMA_COUNT_WR_FAILURES),
			failures + 1);
}

/*
 * A service thread may reserve a Send context after the connection is closed and its
 * protection domain freed. All contexts set up so far are in use by other threads.
 */
static void close_reserved_late(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct rpcrdma_ep *ep = pair->server.ep;
	struct rpcrdma_send *sends[32], *s;
	unsigned int nr = 0;

	while (READ_ONCE(ep->core.free_sends) && nr < ARRAY_SIZE(sends)) {
		s = rpcrdma_core_reserve_reply(&ep->core);
		KUNIT_ASSERT_NOT_NULL(test, s);
		sends[nr++] = s;
	}
	KUNIT_ASSERT_NULL(test, READ_ONCE(ep->core.free_sends));
	KUNIT_ASSERT_LT(test, ep->core.sends_made, ep->core.nr_sends);
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_wait_closed(ep);
	/* The teardown has released the contexts of control messages. */
	while (READ_ONCE(ep->core.free_sends) && nr < ARRAY_SIZE(sends)) {
		s = rpcrdma_core_reserve_reply(&ep->core);
		KUNIT_ASSERT_NOT_NULL(test, s);
		sends[nr++] = s;
	}
	KUNIT_ASSERT_NULL(test, READ_ONCE(ep->core.free_sends));
	KUNIT_ASSERT_LT(test, ep->core.sends_made, ep->core.nr_sends);
	s = rpcrdma_core_reserve_reply(&ep->core);
	KUNIT_EXPECT_NOT_NULL(test, s);
	if (s)
		rpcrdma_core_send_put(s);
	while (nr)
		rpcrdma_core_send_put(sends[--nr]);
}

static void close_by_many(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	int i;

	for (i = 0; i < 5; i++) {
		loop_open(test);
		loop_close_by_many(test, pair);
		loop_disconnect(test, pair);
	}
}

/* The transport holds Calls and their Receives beyond the end of the connection. */
static void close_calls_held(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_rpc *rpcs = loop_rpcs(test, 8);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_buf buf;
	int i;

	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 100, 10000), 0);
	s->hold_calls = true;
	for (i = 0; i < 8; i++) {
		loop_rpc_init(&rpcs[i], i & 1 ? &buf : NULL,
			      i & 1 ? NULL : &buf);
		rpcs[i].seed = i;
		rpcs[i].inline_arg = 100 * i;
		KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, loop_wait_until(s, READ_ONCE(s->nr_held) == 8));
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 8U);
	rpcrdma_ep_close(c->ep, NULL);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, loop_rpc_wait(c, &rpcs[i]), -ENOTCONN);
		loop_rpc_end(c, &rpcs[i]);
	}
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
	/*
	 * Serving the Calls must still be possible. Their contents must be unchanged: a
	 * changed Call is counted as bad.
	 */
	loop_release(s, 4);
	loop_buf_free(&buf);
}

/* The connection ends while MRs are released that wait for their invalidation. */
static void close_invalidating(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_rpc *rpcs = loop_rpcs(test, 8);
	struct loop_buf buf;
	int i, round;

	KUNIT_ASSERT_EQ(test, loop_buf_alloc_chopped(&buf, 0, 500, 100), 0);
	for (round = 0; round < 6; round++) {
		loop_open(test);
		pair->server.hold_calls = true;
		for (i = 0; i < 8; i++) {
			loop_rpc_init(&rpcs[i], NULL, &buf);
			KUNIT_ASSERT_EQ(test, loop_rpc_send(&pair->client,
							    &rpcs[i]), 0);
		}
		if (round & 1)
			loop_mute = LOOP_MUTE_CLIENT;
		for (i = 0; i < 8; i++) {
			/*
			 * While the client is muted, only the teardown ends the wait.
			 */
			if (i == (round & 1 ? 0 : round))
				rpcrdma_ep_close(round & 2 ?
						 pair->server.ep :
						 pair->client.ep, NULL);
			loop_rpc_end(&pair->client, &rpcs[i]);
		}
		loop_disconnect(test, pair);
	}
	loop_buf_free(&buf);
}

/* The client abandons an RPC while the server processes its Call. */
static void close_not_cancelled(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_rpc *rpc = loop_rpcs(test, 1);
	struct loop_buf buf;

	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 0, 5000), 0);
	pair->server.hold_calls = true;
	loop_rpc_init(rpc, &buf, NULL);
	KUNIT_ASSERT_EQ(test, loop_rpc_send(&pair->client, rpc), 0);
	KUNIT_ASSERT_TRUE(test, loop_wait_until(&pair->server,
						READ_ONCE(pair->server.nr_held)));
	loop_rpc_end(&pair->client, rpc);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	/* The connection remains usable. */
	pair->server.hold_calls = false;
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 100, 100, 0,
					   PAGE_SIZE), 0);
	/* Reading that Call's argument is an error now. */
	loop_release(&pair->server, 1);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
	loop_buf_free(&buf);
}

/*
 * 7.4: if an MR cannot be invalidated, the connection is closed. The wait for the
 * invalidation ends only after that.
 */
static void close_no_invalidation(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_rpc *rpc = loop_rpcs(test, 1);
	struct loop_buf buf;

	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 0, 5000), 0);
	pair->server.no_inv = true;
	loop_rpc_init(rpc, &buf, NULL);
	loop_buf_fill(&buf, 0);
	KUNIT_ASSERT_EQ(test, loop_rpc_send(&pair->client, rpc), 0);
	KUNIT_ASSERT_EQ(test, loop_rpc_wait(&pair->client, rpc), 0);
	KUNIT_ASSERT_TRUE(test, rpc->exposed);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 1U);

	loop_unpostable_opcode = IB_WR_LOCAL_INV;
	loop_unpostable = LOOP_MUTE_CLIENT;
	loop_rpc_end(&pair->client, rpc);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
	loop_buf_free(&buf);
}

/* 7.4: a Reply that cannot be sent ends the connection. */
static void close_no_reply(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_rpc *rpc = loop_rpcs(test, 1);

	pair->server.hold_calls = true;
	loop_rpc_init(rpc, NULL, NULL);
	KUNIT_ASSERT_EQ(test, loop_rpc_send(&pair->client, rpc), 0);
	KUNIT_ASSERT_TRUE(test, loop_wait_until(&pair->server,
						READ_ONCE(pair->server.nr_held)));
	loop_unpostable_opcode = IB_WR_SEND;
	loop_unpostable = LOOP_MUTE_SERVER;
	loop_release(&pair->server, 1);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
	KUNIT_EXPECT_EQ(test, loop_rpc_wait(&pair->client, rpc), -ENOTCONN);
	loop_rpc_end(&pair->client, rpc);
}

static void close_replies_queued(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_rpc *rpcs = loop_rpcs(test, LOOP_MANY);
	struct loop_side *c = &pair->client, *s = &pair->server;
	int i, round;

	for (round = 0; round < 2; round++) {
		loop_open(test);
		c->hold_replies = true;
		for (i = 0; i < LOOP_MANY; i++) {
			loop_rpc_init(&rpcs[i], NULL, NULL);
			KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
		}
		KUNIT_EXPECT_TRUE(test,
				  loop_poll(loop_replies_wait(s->ep)));
		rpcrdma_ep_close(round ? c->ep : s->ep, NULL);
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(c));
		for (i = 0; i < LOOP_MANY; i++)
			loop_rpc_end(c, &rpcs[i]);
		loop_disconnect(test, pair);
	}
}

/* Time limits of the tests in which a peer grants no credits to waiting messages */
enum {
	STALL_MS = 500,
};

/* Calls wait for credits for too long. */
static void LOOP_ONCE close_no_grants(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs;
	u32 i, sent;

	pair->client_params.stall_ms = STALL_MS;
	loop_open(test);
	rpcs = loop_rpcs(test, LOOP_MANY);
	s->hold_calls = true;
	sent = loop_fill_window(c, rpcs, LOOP_MANY);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(c));
	KUNIT_EXPECT_STREQ(test, c->ep->core.conn.reason,
			   "the peer does not grant credits");
	KUNIT_EXPECT_EQ(test, loop_rpc_try(c, &rpcs[sent]), -ENOTCONN);
	loop_release(s, UINT_MAX);
	for (i = 0; i < sent; i++)
		loop_rpc_end(c, &rpcs[i]);
}

/* Replies wait for credits for too long. */
static void LOOP_ONCE close_no_grants_to_replies(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs;
	u32 i, sent = 0;

	pair->server_params.stall_ms = STALL_MS;
	loop_open(test);
	rpcs = loop_rpcs(test, LOOP_MANY);
	c->hold_replies = true;
	while (sent < LOOP_MANY && !loop_rpc_send(c, &rpcs[sent]))
		sent++;
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
	loop_release(c, UINT_MAX);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(c));
	for (i = 0; i < sent; i++)
		loop_rpc_end(c, &rpcs[i]);
}

/* A connection that is slow, but makes progress, is not closed. */
static void LOOP_ONCE close_not_while_granted(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs;
	u32 i, sent = 0;

	/*
	 * The time limit is much longer than each wait, so that slow machines pass, but
	 * shorter than the sum of the waits.
	 */
	pair->client_params.stall_ms = 20 * STALL_MS;
	loop_open(test);
	rpcs = loop_rpcs(test, LOOP_MANY);
	s->hold_calls = true;
	for (i = 0; i < 12; i++) {
		sent += loop_fill_window(c, rpcs + sent, LOOP_MANY - sent);
		msleep(2 * STALL_MS);
		loop_release(s, 1);
	}
	KUNIT_EXPECT_TRUE(test, rpcrdma_ep_is_open(c->ep));
	s->hold_calls = false;
	loop_release(s, UINT_MAX);
	for (i = 0; i < sent; i++) {
		KUNIT_EXPECT_EQ(test, loop_rpc_wait(c, &rpcs[i]), 0);
		loop_rpc_end(c, &rpcs[i]);
	}
}

static bool loop_streaming(struct rpcrdma_ep *ep)
{
	return READ_ONCE(ep->core.conn.tx_open);
}

/*
 * Close after some fragments of a Call or of Replies were sent, with no credits left.
 */
static void close_streams(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_rpc *rpcs = loop_rpcs(test, 4);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_buf buf;
	int i, round;

	KUNIT_ASSERT_EQ(test, loop_buf_alloc_chopped(&buf, 0, 1000, 100), 0);
	for (round = 0; round < 8; round++) {
		bool calls = round & 1;

		loop_open(test);
		for (i = 0; i < 4; i++) {
			loop_rpc_init(&rpcs[i], calls ? &buf : NULL, NULL);
			rpcs[i].inline_arg = calls ? 250000 : 0;
			rpcs[i].inline_res = calls ? 0 : 250000;
		}
		if (calls) {
			/* The server receives the fragments and grants no credits. */
			loop_mute = LOOP_MUTE_SERVER;
			KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[0]), 0);
			KUNIT_EXPECT_TRUE(test,
					  loop_poll(c->ep->core.conn.sent >= 14));
			KUNIT_EXPECT_TRUE(test, loop_streaming(c->ep));
			KUNIT_EXPECT_EQ(test, loop_rpc_try(c, &rpcs[1]),
					-EAGAIN);
		} else {
			/*
			 * Hold the Calls, so that no Reply is complete before the
			 * client is muted.
			 */
			s->hold_calls = true;
			for (i = 0; i < 4; i++)
				KUNIT_ASSERT_EQ(test, 0,
						loop_rpc_send(c, &rpcs[i]));
			KUNIT_EXPECT_TRUE(test,
					  loop_poll(READ_ONCE(s->nr_held) == 4));
			loop_mute = LOOP_MUTE_CLIENT;
			s->hold_calls = false;
			loop_release(s, 4);
			if (!(round & 4))
				KUNIT_EXPECT_TRUE(test,
						  loop_poll(loop_streaming(s->ep)));
		}
		rpcrdma_ep_close(round & 2 ? c->ep : s->ep, NULL);
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(c));
		for (i = 0; i < 4; i++)
			loop_rpc_end(c, &rpcs[i]);
		loop_disconnect(test, pair);
	}
	loop_buf_free(&buf);
}

/*
 * An RPC is abandoned after some fragments of its Call were sent. The other fragments
 * follow, with handles that are no longer valid.
 */
static void close_half_sent(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_rpc *rpc = loop_rpcs(test, 1);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_buf buf;
	int chunk;

	for (chunk = 0; chunk < 2; chunk++) {
		KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 0, 5000), 0);
		loop_open(test);
		loop_rpc_init(rpc, chunk ? &buf : NULL, NULL);
		rpc->inline_arg = 250000;
		loop_mute = LOOP_MUTE_SERVER;
		KUNIT_ASSERT_EQ(test, loop_rpc_send(c, rpc), 0);
		KUNIT_EXPECT_TRUE(test,
				  loop_poll(c->ep->core.conn.sent >= 14));
		KUNIT_EXPECT_TRUE(test, loop_streaming(c->ep));
		loop_rpc_end(c, rpc);
		KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
		loop_buf_free(&buf);

		/* Any message conveys credits, with which the rest is sent. */
		loop_mute = 0;
		rpcrdma_core_send_error(&s->ep->core, 1, RDMA2_ERR_SYSTEM, 0, 0);
		if (chunk) {
			KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
			KUNIT_EXPECT_TRUE(test, loop_wait_gone(c));
		} else {
			KUNIT_EXPECT_TRUE(test,
					  loop_wait_until(s,
							  atomic_read(&s->served)));
			KUNIT_EXPECT_EQ(test, loop_one_rpc(c, 100, 100, 0,
							   PAGE_SIZE), 0);
		}
		loop_disconnect(test, pair);
	}
}

/* Close with Reads posted and Reads waiting for the Send Queue. */
static void close_reads(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 8);
	struct loop_buf buf;
	int i, round;

	pair->client_params.max_mrs = 256;
	pair->server_params.reads = 4;
	pair->server_params.max_mrs = 0;
	pair->server_params.sends = 8;
	KUNIT_ASSERT_EQ(test, loop_buf_alloc_chopped(&buf, 0, 1200, 100), 0);
	for (round = 0; round < 4; round++) {
		loop_open(test);
		s->hold_calls = true;
		for (i = 0; i < 8; i++) {
			loop_rpc_init(&rpcs[i], &buf, NULL);
			KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
		}
		KUNIT_ASSERT_TRUE(test, loop_wait_until(s,
				  READ_ONCE(s->nr_held) == 8));
		/* In every other round, the device never executes the Reads. */
		if (round & 1)
			loop_mute = LOOP_MUTE_SERVER;
		loop_release(s, 8);
		if (round & 1)
			KUNIT_EXPECT_FALSE(test, list_empty(&s->ep->core.transfers));
		rpcrdma_ep_close(round & 2 ? c->ep : s->ep, NULL);
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
		for (i = 0; i < 8; i++) {
			loop_rpc_wait(c, &rpcs[i]);
			loop_rpc_end(c, &rpcs[i]);
		}
		loop_disconnect(test, pair);
	}
	loop_buf_free(&buf);
}

/* Close while Replies wait for Writes that the device never executes. */
static void close_writes(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 8);
	struct loop_buf buf;
	int i;

	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 0, 100000), 0);
	s->hold_calls = true;
	for (i = 0; i < 8; i++) {
		loop_rpc_init(&rpcs[i], NULL, &buf);
		KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, loop_wait_until(s, READ_ONCE(s->nr_held) == 8));
	loop_mute = LOOP_MUTE_SERVER;
	loop_release(s, 8);
	loop_close_by_many(test, pair);
	for (i = 0; i < 8; i++)
		loop_rpc_end(c, &rpcs[i]);
	/*
	 * Muted Sends were counted as invalidations, and the client invalidates again.
	 */
	atomic_set(&loop_double_inv, 0);
	loop_buf_free(&buf);
}

static void close_under_load(struct kunit *test)
{
	loop_close_under_load(test);
}

static void LOOP_ONCE close_after_any_fault(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->server_params.max_mrs = 0;
	loop_after_any_fault(test);
}

static struct kunit_case close_cases[] = {
	KUNIT_CASE(close_refused),
	KUNIT_CASE(close_refused_id),
	KUNIT_CASE(close_nobody_listens),
	KUNIT_CASE(close_connecting),
	KUNIT_CASE(close_during_connect),
	KUNIT_CASE(close_opening),
	KUNIT_CASE(close_from_opened),
	KUNIT_CASE(close_no_common_version),
	KUNIT_CASE(close_idle_by_client),
	KUNIT_CASE(close_idle_by_server),
	KUNIT_CASE(close_device_event),
	KUNIT_CASE(close_flushed_first),
	KUNIT_CASE(close_reserved_late),
	KUNIT_CASE(close_by_many),
	KUNIT_CASE(close_calls_held),
	KUNIT_CASE(close_invalidating),
	KUNIT_CASE(close_not_cancelled),
	KUNIT_CASE(close_no_invalidation),
	KUNIT_CASE(close_no_reply),
	KUNIT_CASE(close_replies_queued),
	KUNIT_CASE(close_streams),
	KUNIT_CASE(close_half_sent),
	KUNIT_CASE(close_reads),
	KUNIT_CASE(close_writes),
	KUNIT_CASE(close_under_load),
	KUNIT_CASE(close_listener_first),
	KUNIT_CASE(connect_all_at_once),
	KUNIT_CASE(list_goes_on),
	KUNIT_CASE(close_removed_in_setup),
	KUNIT_CASE(listen_device_removed),
	KUNIT_CASE(listen_not_bound),
	KUNIT_CASE(listen_address_changed),
	KUNIT_CASE(listen_device_replaced),
#ifdef LOOP_FIRST_DEVICE
	KUNIT_CASE(close_opening_timeout),
	KUNIT_CASE(close_no_grants),
	KUNIT_CASE(close_no_grants_to_replies),
	KUNIT_CASE(close_not_while_granted),
	KUNIT_CASE(close_after_any_fault),
#endif
	{}
};

static struct kunit_suite close_suite = {
	.name		= "rpcrdma_ep_close" LOOP_OVER,
	.suite_init	= LOOP_SUITE_INIT,
	.suite_exit	= loop_suite_exit,
	.init		= loop_test_init,
	.exit		= loop_test_exit,
	.test_cases	= close_cases,
};

kunit_test_suite(close_suite);
