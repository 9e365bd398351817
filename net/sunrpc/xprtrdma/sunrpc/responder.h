/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Responder, for either direction: Calls with Read chunks, and Replies
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

/* A Reply to be sent, for rpcrdma_core_send_reply() */
struct rpcrdma_svc_reply {
	struct rpcrdma_reply_out core;
	const struct xdr_buf	*res;		/* the complete Reply */
	/*
	 * The thread whose pages @res is in, which Writes take. NULL, for a callback:
	 * Writes are from a copy of @res, which may be reused before they have ended.
	 */
	struct svc_rqst		*rqstp;
	struct page		**pages;	/* that the Writes will hold */
	u32			nr_pages;
	u32			nr_writes;	/* prepared, for the counter */
};

static inline struct rpcrdma_svc_reply *
rpcrdma_svc_reply_of(const struct rpcrdma_reply_out *out)
{
	return container_of((struct rpcrdma_reply_out *)out,
			    struct rpcrdma_svc_reply, core);
}

#endif /* RPCRDMA_RESPONDER_H */
