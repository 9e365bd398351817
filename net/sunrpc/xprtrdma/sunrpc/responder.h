/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Responder, for either direction: Calls with Read chunks, and Replies that are not
 * one message without chunks
 */
#ifndef RPCRDMA_RESPONDER_H
#define RPCRDMA_RESPONDER_H

#include <linux/sunrpc/xdr.h>

#include "../verbs/charge.h"
#include "../verbs/data.h"
#include "../verbs/receiving.h"
#include "../verbs/sending.h"

/* Copy @len bytes from @from to byte @to of @pages, or clear them (@from NULL). */
void rpcrdma_pages_fill(struct page **pages, u32 to, const void *from,
			u32 len);
/* Release @nr pages of a thread, unless all of them have been moved away. */
void rpcrdma_pages_put(struct page **pages, u32 nr);

/* rpcrdma_call_pull() without a fast path */
int rpcrdma_call_pull_any(struct rpcrdma_recv *rv,
			  const struct rpcrdma_chunk *item,
			  struct page **pages, u32 octets, gfp_t gfp,
			  void (*done)(struct rpcrdma_rw *rw, bool ok),
			  void *priv);
/*
 * Begin to pull the Read chunks of @rv into @pages: @item, or if that is NULL, the
 * complete Call. @octets: bytes of that item or Call. @done is called at the end, with
 * @priv as rw->priv.
 * Context: process context, may sleep.
 * Return: 0, or -ENOMEM or an errno of rpcrdma_rw_add(): @done is not called.
 */
static __always_inline int
rpcrdma_call_pull(struct rpcrdma_recv *rv, const struct rpcrdma_chunk *item,
		  struct page **pages, u32 octets, gfp_t gfp,
		  void (*done)(struct rpcrdma_rw *rw, bool ok), void *priv)
{
	if (item && likely(rpcrdma_rw_read_one(rv, item, pages, gfp, done, priv)))
		return 0;
	return rpcrdma_call_pull_any(rv, item, pages, octets, gfp, done, priv);
}
/*
 * Complete the Call @rv in @pages, in the linear mapping, with the bytes that were not
 * pulled. Return the reason why it is refused, or RPCRDMA_REFUSE_NONE.
 */
enum rpcrdma_refusal rpcrdma_call_complete(const struct rpcrdma_recv *rv,
					   struct page **pages);

/*
 * A planned Reply. The user fills in the first part, and calls rpcrdma_reply_build().
 * If that succeeds the user calls rpcrdma_reply_send().
 */
struct rpcrdma_reply_out {
	struct rpcrdma_ep	*ep;
	const struct xdr_buf	*res;		/* the complete Reply */
	const struct rpcrdma_reply *reply;
	struct rpcrdma_reply_plan *plan;
	gfp_t			gfp;
	/*
	 * The pages of @res, in order, which Writes take. NULL: Writes are from a copy
	 * of @res, which may be reused before they have ended.
	 */
	struct page		**pages;
	u32			nr_pages;
	struct rpcrdma_send	*send;		/* reserved for it, or NULL */

	struct rpcrdma_stream	*stream;	/* set instead of @send's message */
	struct rpcrdma_rw	*rw;
};

/*
 * Prepare the Reply as a->plan describes: expose its memory if the peer is to read it,
 * and copy its inline bytes to a->send, or prepare a->stream for a continued Reply.
 * Context: process context, may sleep, but does not wait for the peer.
 * Return: 0: a->send has the message, a context was allocated if it was NULL; or
 *	a->stream is set, and a->send is unused. A negative errno: a->send is unused;
 *	a->plan->error is set if the peer must be notified.
 */
int rpcrdma_reply_build(struct rpcrdma_reply_out *a);
/* Send it. Return 0 or -ENOTCONN. */
int rpcrdma_reply_send(struct rpcrdma_reply_out *a);

/*
 * Fast path: prepare the Write of the first @length bytes of page data of @res to the
 * only chunk in @lists, from @nr pages at @pages, which the transfer keeps.
 * Return: the transfer; NULL, with @pages unchanged, if rpcrdma_reply_build() must be used.
 */
struct rpcrdma_rw *rpcrdma_reply_write_one(struct rpcrdma_ep *ep,
					   const struct rpcrdma_lists *lists,
					   const struct xdr_buf *res,
					   u32 length, struct page **pages,
					   u32 nr);

/*
 * Handle the failure @rc to build a Reply of @length bytes. If the Reply can never be
 * sent, now or later, notify the peer (7.3) and return true. @plan: NULL if there is
 * none. @failed: RPCRDMA_FAILED_REPLY or RPCRDMA_FAILED_KEPT_REPLY
 */
bool rpcrdma_reply_give_up(struct rpcrdma_ep *ep, u32 xid, u32 length,
			   const struct rpcrdma_reply_plan *plan,
			   enum rpcrdma_failed failed, int rc);

#endif /* RPCRDMA_RESPONDER_H */
