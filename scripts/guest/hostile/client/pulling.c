// SPDX-License-Identifier: GPL-2.0
/* Memory that the server exposes (WP 8) */
#include <stdlib.h>
#include <string.h>

#include "client.h"

void take_exposure(struct exposure *e, const struct msg *m)
{
	uint32_t at = 28;

	memset(e, 0, sizeof(*e));
	e->xid = get(m->data, 0);
	if (m->len < HEADER || get(m->data, 12) != NOMSG || get(m->data, 16) != RESPONSE)
		bad("a Reply to be pulled should come, not %s", describe(m));
	for (; at + 28 <= m->len && get(m->data, at) && e->count < 16; at += 24, e->count++) {
		e->handle[e->count] = get(m->data, at + 8);
		e->len[e->count] = get(m->data, at + 12);
		e->offset[e->count] = get64(m->data, at + 16);
	}
	if (!e->count)
		bad("a Reply to be pulled should come, not %s", describe(m));
}

void pull(struct peer *p, const struct exposure *e, uint32_t to)
{
	uint32_t i;

	for (i = 0; i < e->count; i++, to += e->len[i - 1])
		rdma_post(p, true, to, e->len[i], e->handle[i], e->offset[i]);
}

void done(struct peer *p, uint32_t xid)
{
	begin(p, xid, DONE, 0);
	send_out(p);
}

static struct exposure exposed_to(struct peer *p)
{
	uint32_t xid = begin_read(p);
	struct exposure e;
	struct msg *m;

	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	m = answer(p, "Reply to be pulled");
	take_exposure(&e, m);
	free(m);
	if (e.xid != xid)
		bad("the Reply to %x should come, not the one to %x", xid, e.xid);
	return e;
}

CASE(pulling, controls)
{
	struct peer *p = opened_with(2, REPLY_READ, 1, REASSEMBLY, 0);
	struct exposure e = exposed_to(p);

	memset(exposed, 0, EXPOSED);
	pull(p, &e, 0);
	if (!sends_done(p))
		bad("an exposed Reply cannot be read");
	if (get(exposed, 0) != e.xid || !exposed_is(READ_ITEM, 20000, 'h') ||
	    !exposed_is(READ_ITEM + 20000, 1000, 0))
		bad("the exposed memory does not hold the Reply");
	done(p, e.xid);
	alive(p);
	/* After DONE the memory is invalid. */
	pull(p, &e, 0);
	if (sends_done(p))
		bad("an exposed Reply can be read after DONE");
}

CASE(pulling, of_another_connection)
{
	struct peer *p = opened_with(2, REPLY_READ, 1, REASSEMBLY, 0), *q = opened();
	struct exposure e = exposed_to(p);

	pull(q, &e, 0);
	if (sends_done(q))
		bad("memory exposed to one connection can be read on another");
	alive(p);
	pull(p, &e, 0);
	if (!sends_done(p))
		bad("an exposed Reply cannot be read");
	done(p, e.xid);
	alive(p);
}

CASE(pulling, only_reads)
{
	struct peer *p = opened_with(2, REPLY_READ, 1, REASSEMBLY, 0);
	struct exposure e = exposed_to(p);

	rdma_post(p, false, 0, 100, e.handle[0], e.offset[0]);
	if (sends_done(p))
		bad("an exposed Reply can be written");
}

/*
 * In a separate group, because rpcrdma-ctl is run while the Reply is exposed. The server
 * withdraws the Reply, and the connection continues.
 */
CASE(unpulled, stays)
{
	struct peer *p = opened_with(2, REPLY_READ, 1, REASSEMBLY, 0);
	int seconds;

	exposed_to(p);
	for (seconds = 0; seconds < 60 * scale; seconds++) {
		peers_run(NULL, 1000);
		alive(p);
	}
}
