/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A connection of the library, shared by conn.cc and send.cc */
#ifndef RPCRDMA2_CONN_HH
#define RPCRDMA2_CONN_HH

#include "internal.hh"

#include "conn/credits.hh"

namespace rpcrdma2
{

/* Calls or Replies to be sent, in order */
struct tx_queue {
	struct rpcrdma2_tx *first, *last;

	void push(struct rpcrdma2_tx *tx)
	{
		tx->next = nullptr;
		if (first)
			last->next = tx;
		else
			first = tx;
		last = tx;
	}

	void pop()
	{
		first = first->next;
	}
};

} // namespace rpcrdma2

struct rpcrdma2_conn {
	struct rpcrdma_conn core;
	struct rpcrdma_hostauth auth;
	struct rpcrdma_rx rx;
	struct rpcrdma2_callbacks callbacks;
	void *user;
	struct rpcrdma2::tx_queue replies, calls;
	struct rpcrdma2_tx *current; /* a continued message that was begun */
	u64 opening_timeout;
	u64 opening_until; /* RPCRDMA2_NEVER: not established, or open */
	u64 stall_until;
	int error;	  /* the error that ended the connection, 0: open */
	const char *text; /* the reason, if the core does not have it */
	u8 opened;	  /* the callback was called */
	u8 in_call;	  /* a Call is being reported: it may be held */
	u8 held;	  /* its Receive is held */

	int end(int why);
	int process(u32 events, u64 now);
	int authenticate(u64 now);
	void watch(u64 now);
	int report(enum rpcrdma_verdict verdict, const void *pkt, u32 length);
	int report_rpc(enum rpcrdma_verdict verdict, const void *pkt,
		       u32 length);
	int report_failed(u32 code);
	int queue(struct rpcrdma2_tx *tx, enum rpcrdma_kind kind);
	struct rpcrdma2_tx *next_tx();
	ptrdiff_t write(struct rpcrdma2_tx *tx, u8 *buf, size_t size,
			struct rpcrdma2_out *out);
	int written(struct rpcrdma2_tx *tx);
};

static_assert(alignof(struct rpcrdma2_conn) <= RPCRDMA2_CONN_ALIGN);

#endif /* RPCRDMA2_CONN_HH */
