/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Suites of the endpoint: credits and Receives, data, teardown, pulled Replies, device
 * removal, and device traits that can be configured. All but the last run over each
 * kind of device: memdev_test.c includes their sources once more.
 */
#ifndef RPCRDMA_LOOPBACK_ENDPOINT_H
#define RPCRDMA_LOOPBACK_ENDPOINT_H

#include "../lib/loopback.h"

#ifndef LOOP_OVER
#define LOOP_OVER		""
#define LOOP_SUITE_INIT		loop_suite_init
#define LOOP_FIRST_DEVICE
#endif
/*
 * Cases that test only decisions of the core, about credits and time limits. They run
 * over the first device only, because their results do not depend on the device.
 */
#define LOOP_ONCE		__maybe_unused

/* ---- Callers: common.c ---- */

struct loop_caller {
	struct loop_side	*side;
	struct task_struct	*task;
	struct completion	done;
	unsigned int		count;		/* number of RPCs */
	u32			max_len;	/* maximum bytes in chunks; 0: none */
	u32			max_inline;	/* maximum bytes in messages */
	u32			chop;
	bool			may_fail;	/* the test closes the connection */
	unsigned int		ok, failed;
};

#define loop_wait_until(side, cond) \
	wait_event_timeout((side)->wait, cond, 30 * HZ)

/* Connect, and wait until both ends are open. */
struct loop_pair *loop_open(struct kunit *test);
/*
 * Run one RPC, with @arg_len and @res_len bytes in chunks, and @inline_arg and
 * @inline_res bytes inline. Return 0 or a negative errno.
 */
int loop_an_rpc(struct loop_side *side, u32 arg_len, u32 res_len, u32 base, u32 chop,
		u32 inline_arg, u32 inline_res);
/* Run one RPC with data in chunks only. Return 0 or a negative errno. */
int loop_one_rpc(struct loop_side *side, u32 arg_len, u32 res_len, u32 base, u32 chop);
/* Start a thread that runs @count RPCs, and wait for its end. */
void loop_caller_start(struct kunit *test, struct loop_caller *c, struct loop_side *side,
		       unsigned int count, u32 max_len);
void loop_caller_wait(struct kunit *test, struct loop_caller *c);
/* Run @count RPCs in each of @callers threads; if @reverse, half of them at the server. */
void loop_traffic(struct kunit *test, struct loop_pair *pair, unsigned int callers,
		  unsigned int count, u32 max_len, u32 chop, u32 max_inline,
		  bool reverse);

#define LOOP_MANY 48

/* Allocate @n RPCs without chunks. */
struct loop_rpc *loop_rpcs(struct kunit *test, unsigned int n);
/* Send up to @n of @rpcs, until one fails or has to wait. Return how many were sent. */
u32 loop_fill_window(struct loop_side *side, struct loop_rpc *rpcs, u32 n);
/* Return true if a message waits for credits. */
bool loop_replies_wait(struct rpcrdma_ep *ep);
/* Access @chunk as @side. The access must fail and end the connection. */
void loop_intrude(struct kunit *test, struct loop_side *side,
		  const struct rpcrdma_lists *lists, const struct rpcrdma_chunk *chunk,
		  enum dma_data_direction dir);

/* Set parameters with which large Replies are pulled: the client reassembles nothing. */
void loop_pull_params(struct loop_pair *pair);
struct loop_pair *loop_open_pull(struct kunit *test);

/* Removal of a device, by the thread loop_remove_fn() */
struct loop_removal {
	struct ib_device	*dev;
	struct completion	done;
};

int loop_remove_fn(void *data);
/* Return a reference to @device, which the thread that removes the device consumes. */
struct ib_device *loop_get_device(const struct ib_device *device);

/* ---- Ends of connections: ending.c ---- */

/* Close concurrently in four threads, two for each end. */
void loop_close_by_many(struct kunit *test, struct loop_pair *pair);
/* Close under load, from either end, at any time. */
void loop_close_under_load(struct kunit *test);
/*
 * Fail each operation that can fail, one per round, until connecting and an RPC with
 * data in both directions succeed without an injected failure.
 */
void loop_after_any_fault(struct kunit *test);

/* ---- Cases of close_test.c that are in setup.c ---- */

/* Ops of connections that release every Receive at once */
extern const struct rpcrdma_ep_ops loop_no_ops;

void close_refused(struct kunit *test);
void close_refused_id(struct kunit *test);
void close_nobody_listens(struct kunit *test);
void close_connecting(struct kunit *test);
void close_during_connect(struct kunit *test);
void close_opening(struct kunit *test);
void close_opening_timeout(struct kunit *test);
void close_from_opened(struct kunit *test);
void close_no_common_version(struct kunit *test);
void close_removed_in_setup(struct kunit *test);
void close_listener_first(struct kunit *test);
void connect_all_at_once(struct kunit *test);
void list_goes_on(struct kunit *test);
void listen_device_removed(struct kunit *test);
void listen_not_bound(struct kunit *test);
void listen_device_replaced(struct kunit *test);
void listen_address_changed(struct kunit *test);

#endif /* RPCRDMA_LOOPBACK_ENDPOINT_H */
