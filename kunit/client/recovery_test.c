// SPDX-License-Identifier: GPL-2.0
/* The client: recovery from ERRORs and bad Replies, by one RPC and by many at once */
#include <linux/slab.h>

#include "peer.h"
#include "../../net/sunrpc/xprtrdma/sunrpc/internal.h"

static void peer_kind_name(const struct peer_kind *kind, char *desc)
{
	strscpy(desc, kind->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(peer_kind, peer_kinds, peer_kind_name);

/* Check that the RPC has succeeded at the second attempt. Return that attempt. */
static const struct peer_attempt *peer_second(struct kunit *test)
{
	struct peer *peer = test->priv;

	KUNIT_ASSERT_EQ(test, peer->nr_attempts, 2U);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].xid, peer->attempts[1].xid);
	KUNIT_EXPECT_TRUE(test, peer->attempts[1].sound);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	return &peer->attempts[1];
}

/* Without errors, the peer serves all kinds of Calls. */
static void recover_nothing(struct kunit *test)
{
	struct peer *peer = peer_open(test);

	peer_script(peer, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 8, 0, 300, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 60000, 0, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 0, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 50003, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, 50003, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, 50003, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 7U);
}

/* A Responder may leave the Write chunk unused, however the Reply is conveyed. */
static void recover_unused_write_chunk(struct kunit *test)
{
	struct peer *peer = test->priv;
	u32 want;

	peer->whole = true;
	peer_open(test);
	peer_script(peer, NULL, 0);
	/* Replies inline and continued */
	for (want = 1001; want < 60000; want *= 3) {
		KUNIT_EXPECT_EQ(test, peer_call_proc(test, peer->clnt, 2, 0, 0,
						     want, true), 0);
	}
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_writes, 1);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].has_reply, 0);
	rpc_shutdown_client(peer->clnt);

	/* Replies inline, and in a Reply chunk of head and tail */
	rpcrdma_settings.max_reassembly = 0;
	KUNIT_ASSERT_EQ(test, peer_connect(peer), 0);
	peer_script(peer, NULL, 0);
	for (want = 1001; want < PEER_TAIL; want += 1001) {
		KUNIT_EXPECT_EQ(test, peer_call_proc(test, peer->clnt, 2, 0, 0,
						     want, true), 0);
	}
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_writes, 1);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].has_reply, 1);
}

static void recover_read_chunks(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct peer_attempt *a;

	peer_refuse(peer, RDMA2_ERR_READ_CHUNKS, 0, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 100, true), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_reads, 1);
	a = peer_second(test);
	KUNIT_EXPECT_EQ(test, a->nr_reads, 0);
	KUNIT_EXPECT_EQ(test, a->format, RPCRDMA_CONTINUED);
}

static void recover_read_chunks_special(struct kunit *test)
{
	struct peer *peer = test->priv;
	const struct peer_attempt *a;

	peer->params.reassembly = 0;
	peer_open(test);
	peer_refuse(peer, RDMA2_ERR_READ_CHUNKS, 1, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, 50001, 100, true), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_reads, 2);
	a = peer_second(test);
	KUNIT_EXPECT_EQ(test, a->nr_reads, 1);
	KUNIT_EXPECT_EQ(test, a->format, RPCRDMA_SPECIAL);
}

static void recover_write_chunks(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct peer_attempt *a;

	peer_refuse(peer, RDMA2_ERR_WRITE_CHUNKS, 0, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_writes, 1);
	a = peer_second(test);
	KUNIT_EXPECT_EQ(test, a->nr_writes, 0);
	KUNIT_EXPECT_EQ(test, a->has_reply, 1);
}

/* After ERR_SEGMENTS, the Call and later Calls use fewer segments. */
static void recover_segments(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct peer_attempt *a;
	struct rpcrdma_ep *ep;

	peer_refuse(peer, RDMA2_ERR_SEGMENTS, 1, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_segs, 2);
	a = peer_second(test);
	KUNIT_EXPECT_LE(test, a->nr_segs, 1);

	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_limits(&ep->core.conn).max_segs, 1U);
	rpcrdma_ep_put(ep);
	peer_script(peer, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
	KUNIT_EXPECT_LE(test, peer->attempts[0].nr_segs, 1);
}

static void recover_reply_resource(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct peer_attempt *a;

	peer_refuse(peer, RDMA2_ERR_REPLY_RESOURCE, 60000, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].has_reply, 0);
	a = peer_second(test);
	KUNIT_EXPECT_EQ(test, a->has_reply, 1);

	/* Later Calls with as large a Reply have a Reply chunk at once. */
	peer_script(peer, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].has_reply, 1);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 50000, false), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[1].has_reply, 0);

	/* The ERROR requests more than the buffer holds, or no length. */
	peer_refuse(peer, RDMA2_ERR_REPLY_RESOURCE, 70000, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
	peer_refuse(peer, RDMA2_ERR_REPLY_RESOURCE, 0, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
}

/* The peer requires space for the roundup in the Write chunk. */
static void recover_write_resource(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct peer_attempt *a;

	peer_refuse(peer, RDMA2_ERR_WRITE_RESOURCE, 1, 60004);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_writes, 1);
	a = peer_second(test);
	KUNIT_EXPECT_EQ(test, a->nr_writes, 0);

	peer_refuse(peer, RDMA2_ERR_WRITE_RESOURCE, 1, 60005);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, true), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
	peer_refuse(peer, RDMA2_ERR_WRITE_RESOURCE, 0, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, true), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
}

/* Permanent errors end the RPC, but not the connection. */
static void recover_permanent(struct kunit *test)
{
	static const struct {
		u32 code;
		int status;
	} cases[] = {
		{ RDMA2_ERR_BAD_XDR, -EIO },
		{ RDMA2_ERR_BAD_PROPVAL, -EIO },
		{ RDMA2_ERR_INVAL_HTYPE, -EIO },
		{ RDMA2_ERR_INVAL_CONT, -EIO },
		{ RDMA2_ERR_SYSTEM, -EREMOTEIO },
	};
	struct peer *peer = peer_open(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		peer_refuse(peer, cases[i].code, 0, 0);
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true),
				cases[i].status);
		KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
		KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	}
	peer_script(peer, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

/* The peer refuses every attempt: the retries end. */
static void recover_ends(struct kunit *test)
{
	static const struct peer_step steps[] = {
		{ RDMA2_ERR_SEGMENTS, 3 },
		{ RDMA2_ERR_READ_CHUNKS, 0 },
		{ RDMA2_ERR_WRITE_CHUNKS, 0 },
		{ RDMA2_ERR_SEGMENTS, 0 },
		{ RDMA2_ERR_READ_CHUNKS, 0 },
		{ RDMA2_ERR_WRITE_CHUNKS, 0 },
		{ RDMA2_ERR_SEGMENTS, 0 },
		{ RDMA2_ERR_READ_CHUNKS, 0 },
	};
	struct peer *peer = peer_open(test);
	int i;

	peer_script(peer, steps, ARRAY_SIZE(steps));
	KUNIT_EXPECT_LT(test, peer_call(test, 6000, 50001, 60001, true), 0);
	KUNIT_EXPECT_LE(test, peer->nr_attempts, 4U);
	for (i = 1; i < ARRAY_SIZE(steps); i++) {
		struct peer_step same[ARRAY_SIZE(steps)];
		int j;

		for (j = 0; j < ARRAY_SIZE(same); j++)
			same[j] = steps[i];
		peer_script(peer, same, ARRAY_SIZE(same));
		KUNIT_EXPECT_LT(test, peer_call(test, 0, 50001, 60001, true),
				0);
		KUNIT_EXPECT_LE(test, peer->nr_attempts, 2U);
	}
	peer_script(peer, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
}

/* A bad Reply ends the RPC, because a retry would get the same. */
static void recover_bad_reply(struct kunit *test)
{
	static const struct {
		u32 bad, want;
		bool ddp;
	} cases[] = {
		{ PEER_BAD_CHUNK, 60001, true },
		{ PEER_BAD_XID, 100, false },
		{ PEER_BAD_XID, 60001, true },
	};
	struct peer *peer = peer_open(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct peer_step step = { .bad = cases[i].bad };

		peer_script(peer, &step, 1);
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, cases[i].want,
						cases[i].ddp), -EIO);
		KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
		KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	}
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

/* The peer repeats ERRORs, and replies to refused Calls. */
static void recover_confused_peer(struct kunit *test)
{
	static const struct peer_step confused[] = {
		{ RDMA2_ERR_READ_CHUNKS, 0, 0, 2 },
		{ RDMA2_ERR_WRITE_CHUNKS, 0, 0, 2 },
		{ RDMA2_ERR_BAD_XDR, 0, 0, 3 },
		/* The peer may access memory that is not exposed any more. */
		{ RDMA2_ERR_READ_CHUNKS, 0, 0, 1, true },
		{ RDMA2_ERR_WRITE_CHUNKS, 0, 0, 1, true },
		{ RDMA2_ERR_SYSTEM, 0, 0, 2, true },
	};
	struct peer *peer = peer_open(test);
	int i, rc;

	for (i = 0; i < ARRAY_SIZE(confused); i++) {
		peer_script(peer, &confused[i], 1);
		rc = peer_call(test, 0, 50001, 60001, true);
		kunit_info(test, "step %d: %d, %u attempts", i, rc,
			   peer->nr_attempts);
		KUNIT_EXPECT_LE(test, rc, 0);
		peer_script(peer, NULL, 0);
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true),
				0);
	}
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	/* The peer's Replies invalidate handles that are already invalid. */
	atomic_set(&loop_double_inv, 0);
}

#define PEER_MANY 50

/*
 * Each Call is refused immediately, in any state of its task. No task may be left
 * waiting.
 */
static void recover_many(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	unsigned long start = jiffies;
	struct peer_task *t;
	int i, round;

	t = kunit_kcalloc(test, PEER_MANY, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	peer_refuse(peer, RDMA2_ERR_READ_CHUNKS, 0, 0);
	peer->every = true;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < PEER_MANY; i++) {
			t[i].rpc = peer_rpc_alloc(0, 5000 + i, 10, true);
			KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
			t[i].task = peer_start(peer, t[i].rpc);
			KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
		}
		for (i = 0; i < PEER_MANY; i++) {
			rpc_wait_for_completion_task(t[i].task);
			KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
			KUNIT_EXPECT_EQ(test, peer_rpc_result(t[i].rpc), 0);
			rpc_put_task(t[i].task);
			peer_rpc_free(t[i].rpc);
		}
	}
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 2U * 3 * PEER_MANY);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	KUNIT_EXPECT_LT(test, jiffies - start, (unsigned long)PEER_WAIT_S * HZ);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
}

/*
 * Every other Call is refused permanently and immediately, while other tasks send.
 * Each RPC gets its own result, never another RPC's.
 */
static void recover_own_result(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	struct peer_task *t;
	int i, round;

	t = kunit_kcalloc(test, PEER_MANY, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	/* The peer refuses Calls with eight plain bytes, and serves those with four. */
	peer_refuse(peer, RDMA2_ERR_BAD_XDR, 0, 0);
	peer->marked = true;
	for (round = 0; round < 4; round++) {
		for (i = 0; i < PEER_MANY; i++) {
			t[i].rpc = peer_rpc_alloc(4 + (i & 1) * 4, 0, 10, true);
			KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
			t[i].task = peer_start(peer, t[i].rpc);
			KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
		}
		for (i = 0; i < PEER_MANY; i++) {
			rpc_wait_for_completion_task(t[i].task);
			KUNIT_EXPECT_EQ(test, t[i].task->tk_status,
					i & 1 ? -EIO : 0);
			rpc_put_task(t[i].task);
			peer_rpc_free(t[i].rpc);
		}
	}
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 4U * PEER_MANY);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

static bool peer_attempted(struct peer *peer, unsigned int n)
{
	return wait_event_timeout(peer->wait,
				  READ_ONCE(peer->nr_attempts) >= n,
				  PEER_WAIT_S * HZ);
}

/* Calls are refused, and no credits are left to retransmit them. */
static void recover_without_window(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct peer_task t[6];
	int i, kill;

	peer->params.window = 8;
	peer_open(test);
	for (kill = 0; kill < 2; kill++) {
		peer_refuse(peer, RDMA2_ERR_READ_CHUNKS, 0, 0);
		peer->every = true;
		peer->hold = true;
		for (i = 0; i < ARRAY_SIZE(t); i++) {
			t[i].rpc = peer_rpc_alloc(0, 20000, 10, true);
			KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
			t[i].task = peer_start(peer, t[i].rpc);
			KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
		}
		/* Use all credits except the last two and the reserve. */
		KUNIT_EXPECT_TRUE(test, peer_attempted(peer, 5));
		schedule_timeout_uninterruptible(HZ / 2);
		KUNIT_EXPECT_LE(test, peer->nr_attempts, 7U);
		if (kill)
			rpc_killall_tasks(peer->clnt);
		else
			peer_release(peer);
		for (i = 0; i < ARRAY_SIZE(t); i++) {
			rpc_wait_for_completion_task(t[i].task);
			/* Some Calls may have been sent before that. */
			if (kill)
				KUNIT_EXPECT_LE(test, t[i].task->tk_status, 0);
			else
				KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
			rpc_put_task(t[i].task);
			peer_rpc_free(t[i].rpc);
		}
		peer_release(peer);
		peer->every = false;
		peer_script(peer, NULL, 0);
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 5000, 100, true), 0);
	}
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
}

/* The connection is lost while a Call waits for its retransmission. */
static void recover_reconnect(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct peer_task t[6];
	struct rpcrdma_ep *ep;
	int i;

	peer->params.window = 8;
	peer_open(test);
	peer_refuse(peer, RDMA2_ERR_READ_CHUNKS, 0, 0);
	peer->every = true;
	peer->hold = true;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		t[i].rpc = peer_rpc_alloc(0, 20000, 10, true);
		KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
		t[i].task = peer_start(peer, t[i].rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
	}
	KUNIT_EXPECT_TRUE(test, peer_attempted(peer, 5));
	/* On the new connection, each Call is planned without its retry limits. */
	spin_lock(&peer->lock);
	ep = peer->ep;
	rpcrdma_ep_get(ep);
	peer->nr_attempts = 0;
	spin_unlock(&peer->lock);
	peer_release(peer);
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_put(ep);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		rpc_wait_for_completion_task(t[i].task);
		KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
		rpc_put_task(t[i].task);
		peer_rpc_free(t[i].rpc);
	}
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
}

/* An RPC is killed after some fragments of its Call were sent. */
static void recover_killed_half_sent(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct peer_rpc *rpc;
	struct rpc_task *task;
	struct rpcrdma_ep *ep, *server;
	unsigned long end;
	int chunks;

	peer->params.window = 4;
	peer_open(test);
	for (chunks = 0; chunks < 2; chunks++) {
		peer_script(peer, NULL, 0);
		KUNIT_ASSERT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
		ep = peer_client_ep(peer);
		KUNIT_ASSERT_NOT_NULL(test, ep);
		server = peer_server_ep(peer);

		loop_mute = LOOP_MUTE_SERVER;
		rpc = peer_rpc_alloc(8192, 30000, 20000, chunks);
		KUNIT_ASSERT_NOT_NULL(test, rpc);
		task = peer_start(peer, rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		end = jiffies + PEER_WAIT_S * HZ;
		while (!READ_ONCE(ep->core.conn.tx_open) && time_before(jiffies, end))
			schedule_timeout_uninterruptible(1);
		KUNIT_EXPECT_TRUE(test, READ_ONCE(ep->core.conn.tx_open));
		rpc_killall_tasks(peer->clnt);
		rpc_wait_for_completion_task(task);
		KUNIT_EXPECT_LT(test, task->tk_status, 0);
		rpc_put_task(task);
		KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
		peer_rpc_free(rpc);

		loop_mute = 0;
		rpcrdma_core_send_error(&server->core, 1, RDMA2_ERR_SYSTEM, 0, 0);
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 5000, 5000, true), 0);
		rpcrdma_ep_put(server);
		rpcrdma_ep_put(ep);
	}
}

/*
 * If a Reply says GARBAGE_ARGS, sunrpc retransmits the Call with the same XID. The
 * connection, and its other RPCs, must survive that.
 */
static void recover_answered(struct kunit *test)
{
	static const struct peer_step steps[] = { { .bad = PEER_GARBAGE_ARGS } };
	struct peer *peer = peer_open(test);

	peer_script(peer, steps, ARRAY_SIZE(steps));
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	peer_second(test);
}

/*
 * A Call that got no answer is encoded again. Its pages are freed only when the peer
 * cannot read them any more, although the connection still exists.
 */
static void recover_encoded_again(struct kunit *test)
{
	static const struct peer_step steps[] = { { .silent = true } };
	struct peer *peer = test->priv;
	struct rpc_xprt *xprt;
	struct rpc_task *task;
	struct peer_rpc *rpc;
	int ddp;

	peer->params.reassembly = 0;
	peer_open(test);
	xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	for (ddp = 0; ddp < 2; ddp++) {
		/* Run an RPC that makes the client allocate MRs. */
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50003, 0, ddp), 0);
		peer_script(peer, steps, ARRAY_SIZE(steps));
		rpc = peer_rpc_alloc(0, 50003, 0, ddp);
		KUNIT_ASSERT_NOT_NULL(test, rpc);
		rpc->wrap = true;
		task = peer_start(peer, rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		KUNIT_EXPECT_TRUE(test, peer_attempted(peer, 1));
		KUNIT_EXPECT_TRUE(test, loop_poll(RPC_IS_QUEUED(task)));
		KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_reads, 1);
		KUNIT_EXPECT_NE(test, loop_valid_handles(), 0U);
		KUNIT_EXPECT_EQ(test, rpc->unwrapped, 0U);

		spin_lock(&xprt->queue_lock);
		rpcrdma_wake_with_status(xprt, task, -ETIMEDOUT);
		spin_unlock(&xprt->queue_lock);
		rpc_wait_for_completion_task(task);
		KUNIT_EXPECT_EQ(test, task->tk_status, 0);
		rpc_put_task(task);
		KUNIT_EXPECT_EQ(test, peer->nr_attempts, 2U);
		KUNIT_EXPECT_TRUE(test, peer->attempts[1].sound);
		/* Once for the second encoding, and once at the end */
		KUNIT_EXPECT_EQ(test, rpc->unwrapped, 2U);
		KUNIT_EXPECT_EQ(test, rpc->exposed, 0U);
		peer_rpc_free(rpc);
	}
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
}

/* If memory for a continued Call cannot be allocated, use a Read chunk immediately. */
static void recover_no_memory_for_parts(struct kunit *test)
{
	struct peer *peer = peer_open(test);

	/*
	 * Run an RPC that makes the client allocate MRs, which happens in the
	 * background.
	 */
	KUNIT_EXPECT_EQ(test, peer_call(test, 8, 60000, 60000, true), 0);
	peer_script(peer, NULL, 0);
	loop_no_streams = 3;
	KUNIT_EXPECT_EQ(test, peer_call(test, 8192, 0, 0, true), 0);
	loop_no_streams = 0;
	KUNIT_EXPECT_EQ(test, peer_call(test, 8192, 0, 0, true), 0);
	KUNIT_ASSERT_EQ(test, peer->nr_attempts, 2U);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].format, RPCRDMA_SPECIAL);
	KUNIT_EXPECT_EQ(test, peer->attempts[1].format, RPCRDMA_CONTINUED);
}

static struct kunit_case recover_cases[] = {
	KUNIT_CASE_PARAM(recover_nothing, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_unused_write_chunk, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_read_chunks, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_read_chunks_special, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_write_chunks, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_segments, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_reply_resource, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_write_resource, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_permanent, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_ends, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_bad_reply, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_confused_peer, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_many, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_own_result, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_without_window, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_reconnect, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_killed_half_sent, peer_kind_gen_params),
	KUNIT_CASE(recover_answered),
	KUNIT_CASE(recover_encoded_again),
	KUNIT_CASE(recover_no_memory_for_parts),
	{}
};

static struct kunit_suite recover_suite = {
	.name		= "rpcrdma_client_recovery",
	.suite_init	= peer_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= peer_test_init,
	.exit		= peer_test_exit,
	.test_cases	= recover_cases,
};

kunit_test_suite(recover_suite);
