// SPDX-License-Identifier: GPL-2.0
/* The maximum memory that the server holds for one connection */
#include <stdlib.h>

#include "client.h"

/*
 * Continued Replies. Each time the client has no credit left, it receives one message, and then
 * sends further Calls. The limit advances, but the memory held for the client must stay bounded.
 */
CASE(pressure, replies_hoarded)
{
	enum { LIMIT_MIB = 16, CALLS = 400 };
	struct peer *p, *q;
	uint32_t n = 0;

	set_parameter("svc_max_memory", LIMIT_MIB);
	p = connected();
	q = opened();
	set_parameter("svc_max_memory", 0);
	begin(p, 0, CONNPROP, 0);
	w(p, 1);
	prop(p, REASSEMBLY, 1 << 20);
	p->credit = 1;
	send_out(p);
	expect_connprop(p);
	p->credit = 0;
	while (n < CALLS && !p->closed) {
		if ((int32_t)(p->limit - p->sent) <= 0) {
			struct msg *m;

			/*
			 * Receive one more message: a grant, or the next fragment of the
			 * first Reply.
			 */
			p->credit = 1;
			p->no_wait = true;
			grant(p, 0);
			p->no_wait = false;
			p->credit = 0;
			/*
			 * Stop before a minute has passed: the server then closes a
			 * connection that grants no credits.
			 */
			while ((int32_t)(p->limit - p->sent) <= 0 &&
			       (m = receive(p, 5000 / scale)))
				free(m);
			if ((int32_t)(p->limit - p->sent) <= 0)
				break;
		}
		begin_read(p);
		ww(p, 2, 0, 0);
		rpc_read(p, p->xid, FILE_OCTETS);
		send_out(p);
		n++;
	}
	if (p->closed)
		bad("the server closed the connection after %u Calls", n);
	printf("# %u Calls granted, %llu bytes of Replies held\n", n, largest("memory_replies"));
	if (n == CALLS)
		bad("the server granted credits for %u Calls without credits for their Replies", n);
	if (largest("memory_replies") < FILE_OCTETS || largest("memory_replies") > LIMIT_MIB << 20)
		bad("the server holds %llu bytes of Replies", largest("memory_replies"));
	/* Other connections are not affected. */
	alive(q);
	alive(q);
}
