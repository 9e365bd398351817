// SPDX-License-Identifier: GPL-2.0
/* The RPC program that the client and its peer know, and its RPCs */
#include <linux/mm.h>
#include <linux/slab.h>

#include "peer.h"

/* Free the pages of the last encoding, as auth_gss does. */
static void peer_unwrap(struct rpc_rqst *req)
{
	struct peer_rpc *rpc = req->rq_task->tk_msg.rpc_argp;
	int i;

	rpc->unwrapped++;
	rpc->exposed += loop_valid_handles();
	for (i = 0; i < req->rq_enc_pages_num; i++)
		__free_page(req->rq_enc_pages[i]);
	kfree(req->rq_enc_pages);
	req->rq_release_snd_buf = NULL;
}

/* Replace the pages of the argument with a copy, as auth_gss does for privacy. */
static void peer_wrap(struct rpc_rqst *req, struct peer_rpc *rpc)
{
	struct page **pages;
	int i;

	if (req->rq_release_snd_buf)
		req->rq_release_snd_buf(req);
	pages = kcalloc(PEER_PAGES, sizeof(*pages), GFP_KERNEL | __GFP_NOFAIL);
	for (i = 0; i < PEER_PAGES; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_NOFAIL);
		copy_page(page_address(pages[i]), page_address(rpc->arg[i]));
	}
	req->rq_enc_pages = pages;
	req->rq_enc_pages_num = PEER_PAGES;
	req->rq_release_snd_buf = peer_unwrap;
	req->rq_snd_buf.pages = pages;
}

static void peer_encode(struct rpc_rqst *req, struct xdr_stream *xdr,
			const void *obj)
{
	const struct peer_rpc *rpc = obj;
	__be32 *p;

	p = xdr_reserve_space(xdr, 12 + rpc->plain);
	if (WARN_ON_ONCE(!p))
		return;
	*p++ = cpu_to_be32(rpc->want);
	*p++ = cpu_to_be32(rpc->plain);
	*p++ = cpu_to_be32(rpc->bulk);
	peer_fill((u8 *)p, rpc->plain);
	if (rpc->bulk) {
		xdr_write_pages(xdr, (struct page **)rpc->arg, 0, rpc->bulk);
		if (rpc->ddp)
			req->rq_snd_buf.flags |= XDRBUF_WRITE;
		if (rpc->wrap)
			peer_wrap(req, (struct peer_rpc *)rpc);
	}
	if (rpc->want) {
		rpc_prepare_reply_pages(req, (struct page **)rpc->res, 0,
					rpc->want, 1);
		if (rpc->ddp)
			req->rq_rcv_buf.flags |= XDRBUF_READ;
	}
}

static int peer_decode(struct rpc_rqst *req, struct xdr_stream *xdr, void *obj)
{
	struct peer_rpc *rpc = obj;
	__be32 *p = xdr_inline_decode(xdr, 4);

	if (!p)
		return -EIO;
	rpc->got = be32_to_cpup(p);
	return xdr_read_pages(xdr, rpc->got) == rpc->got ? 0 : -EIO;
}

const struct rpc_procinfo peer_procs[] = {
	{ .p_proc = 0 },
	{
		.p_proc		= 1,
		.p_encode	= peer_encode,
		.p_decode	= peer_decode,
		.p_arglen	= 3 + PEER_PLAIN / 4,
		.p_replen	= 1,
		.p_statidx	= 1,
		.p_name		= "ECHO",
	},
	{
		.p_proc		= 1,
		.p_encode	= peer_encode,
		.p_decode	= peer_decode,
		.p_arglen	= 3 + PEER_PLAIN / 4,
		.p_replen	= PEER_TAIL / 4,
		.p_statidx	= 1,
		.p_name		= "ROOM",
	},
};

static unsigned int peer_counts[ARRAY_SIZE(peer_procs)];
static const struct rpc_version peer_version = {
	.number		= 1,
	.nrprocs	= ARRAY_SIZE(peer_procs),
	.procs		= peer_procs,
	.counts		= peer_counts,
};
static const struct rpc_version *peer_versions[] = { NULL, &peer_version };
static struct rpc_stat peer_stat = { .program = &peer_program };
const struct rpc_program peer_program = {
	.name		= "loopback",
	.number		= 0x20000042,
	.nrvers		= ARRAY_SIZE(peer_versions),
	.version	= peer_versions,
	.stats		= &peer_stat,
};

void peer_rpc_free(struct peer_rpc *rpc)
{
	int i;

	for (i = 0; rpc && i < PEER_PAGES; i++) {
		if (rpc->arg[i])
			put_page(rpc->arg[i]);
		if (rpc->res[i])
			put_page(rpc->res[i]);
	}
	kfree(rpc);
}

struct peer_rpc *peer_rpc_alloc(u32 plain, u32 bulk, u32 want, bool ddp)
{
	struct peer_rpc *rpc = kzalloc(sizeof(*rpc), GFP_KERNEL);
	u32 i, j;

	if (!rpc)
		return NULL;
	rpc->plain = plain;
	rpc->bulk = bulk;
	rpc->want = want;
	rpc->ddp = ddp;
	for (i = 0; i < PEER_PAGES; i++) {
		rpc->arg[i] = alloc_page(GFP_KERNEL);
		rpc->res[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!rpc->arg[i] || !rpc->res[i]) {
			peer_rpc_free(rpc);
			return NULL;
		}
		for (j = 0; j < PAGE_SIZE; j++)
			((u8 *)page_address(rpc->arg[i]))[j] =
				peer_octet(i * PAGE_SIZE + j);
	}
	return rpc;
}

int peer_rpc_result(const struct peer_rpc *rpc)
{
	u32 i;

	if (rpc->got != rpc->want)
		return -EBADMSG;
	for (i = 0; i < rpc->want; i++)
		if (((u8 *)page_address(rpc->res[i >> PAGE_SHIFT]))
		    [offset_in_page(i)] != peer_octet(i))
			return -EILSEQ;
	return 0;
}

int peer_call_proc(struct kunit *test, struct rpc_clnt *clnt,
		   unsigned int proc, u32 plain, u32 bulk, u32 want,
		   bool ddp)
{
	unsigned long start = jiffies;
	struct rpc_message msg = {
		.rpc_proc	= &peer_procs[proc],
	};
	struct peer_rpc *rpc;
	int rc;

	rpc = peer_rpc_alloc(plain, bulk, want, ddp);
	KUNIT_ASSERT_NOT_NULL(test, rpc);
	msg.rpc_argp = rpc;
	msg.rpc_resp = rpc;
	rc = rpc_call_sync(clnt, &msg, 0);
	if (!rc)
		rc = peer_rpc_result(rpc);
	peer_rpc_free(rpc);
	/* The RPC did not wait for a retransmission timeout. */
	KUNIT_EXPECT_LT(test, jiffies - start, (unsigned long)PEER_WAIT_S * HZ);
	return rc;
}

int peer_call_by(struct kunit *test, struct rpc_clnt *clnt, u32 plain,
		 u32 bulk, u32 want, bool ddp)
{
	return peer_call_proc(test, clnt, 1, plain, bulk, want, ddp);
}

int peer_call(struct kunit *test, u32 plain, u32 bulk, u32 want,
	      bool ddp)
{
	struct peer *peer = test->priv;

	return peer_call_by(test, peer->clnt, plain, bulk, want, ddp);
}

static void peer_done(struct rpc_task *task, void *data)
{
}

static const struct rpc_call_ops peer_call_ops = {
	.rpc_call_done	= peer_done,
};

struct rpc_task *peer_start_by(struct rpc_clnt *clnt,
			       struct peer_rpc *rpc)
{
	struct rpc_message msg = {
		.rpc_proc	= &peer_procs[1],
		.rpc_argp	= rpc,
		.rpc_resp	= rpc,
	};
	struct rpc_task_setup setup = {
		.rpc_client	= clnt,
		.rpc_message	= &msg,
		.callback_ops	= &peer_call_ops,
		.flags		= RPC_TASK_ASYNC,
	};

	return rpc_run_task(&setup);
}

struct rpc_task *peer_start(struct peer *peer, struct peer_rpc *rpc)
{
	return peer_start_by(peer->clnt, rpc);
}
