// SPDX-License-Identifier: GPL-2.0
/* Display of an rpc_xprt: its addresses, and the "xprt: rdma" line of mountstats. */

#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/msg_prot.h>

#include "requester.h"

static __printf(3, 4)
int rpcrdma_xprt_string(struct rpc_xprt *xprt, unsigned int which,
			const char *fmt, ...)
{
	va_list args;

	kfree(xprt->address_strings[which]);
	va_start(args, fmt);
	xprt->address_strings[which] = kvasprintf(GFP_KERNEL, fmt, args);
	va_end(args);
	return xprt->address_strings[which] ? 0 : -ENOMEM;
}

int rpcrdma_xprt_format_port(struct rpc_xprt *xprt)
{
	u16 port = rpc_get_port((struct sockaddr *)&xprt->addr);

	return rpcrdma_xprt_string(xprt, RPC_DISPLAY_PORT, "%u", port) ?:
	       rpcrdma_xprt_string(xprt, RPC_DISPLAY_HEX_PORT, "%4hx", port);
}

int rpcrdma_xprt_format_addresses(struct rpc_xprt *xprt)
{
	struct sockaddr *sap = (struct sockaddr *)&xprt->addr;
	char buf[INET6_ADDRSTRLEN + 16];
	int rc;

	switch (sap->sa_family) {
	case AF_INET:
		rc = rpcrdma_xprt_string(xprt, RPC_DISPLAY_HEX_ADDR, "%08x",
					 ntohl(((struct sockaddr_in *)sap)->sin_addr.s_addr));
		xprt->address_strings[RPC_DISPLAY_NETID] = RPCBIND_NETID_RDMA;
		break;
	case AF_INET6:
		rc = rpcrdma_xprt_string(xprt, RPC_DISPLAY_HEX_ADDR, "%pi6",
					 &((struct sockaddr_in6 *)sap)->sin6_addr);
		xprt->address_strings[RPC_DISPLAY_NETID] = RPCBIND_NETID_RDMA6;
		break;
	default:
		return -EAFNOSUPPORT;
	}
	xprt->address_strings[RPC_DISPLAY_PROTO] = "rdma";

	rpc_ntop(sap, buf, sizeof(buf));
	rc |= rpcrdma_xprt_string(xprt, RPC_DISPLAY_ADDR, "%s", buf);
	rc |= rpcrdma_xprt_format_port(xprt);
	if (rc) {
		rpcrdma_xprt_free_addresses(xprt);
		return -ENOMEM;
	}
	return 0;
}

void rpcrdma_xprt_free_addresses(struct rpc_xprt *xprt)
{
	static const u8 allocated[] = {
		RPC_DISPLAY_ADDR, RPC_DISPLAY_PORT, RPC_DISPLAY_HEX_ADDR,
		RPC_DISPLAY_HEX_PORT,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(allocated); i++) {
		kfree(xprt->address_strings[allocated[i]]);
		xprt->address_strings[allocated[i]] = NULL;
	}
}

/*
 * Tools parse the fields in this order: ten that every transport has, then those of
 * chunks, bytes, copies and failures, then those of MRs. Counters of mechanisms that
 * this implementation does not have remain 0.
 */
void rpcrdma_xprt_print_stats(struct rpc_xprt *xprt, struct seq_file *seq,
			      unsigned long mrs_made)
{
	const struct rpcrdma_requester_stats *stats =
		&rpcrdma_xprt_requester(xprt)->stats;
	long idle = 0;

	if (xprt_connected(xprt))
		idle = (long)(jiffies - xprt->last_used) / HZ;

	seq_printf(seq, "\txprt:\trdma %u %lu %lu %lu %ld %lu %lu %lu %llu %llu ",
		   0, xprt->stat.bind_count, xprt->stat.connect_count,
		   xprt->stat.connect_time / HZ, idle, xprt->stat.sends,
		   xprt->stat.recvs, xprt->stat.bad_xids, xprt->stat.req_u,
		   xprt->stat.bklog_u);
	seq_printf(seq, "%lu %lu %lu %llu %llu %llu %llu %lu %lu %lu %lu ",
		   stats->read_chunks, stats->write_chunks,
		   stats->reply_chunks, stats->offered_octets,
		   stats->placed_octets, stats->send_copied,
		   stats->recv_copied, stats->buffer_octets,
		   stats->failed_sends, stats->bad_replies,
		   stats->nomsg_calls);
	/* MRs recycled (0), orphaned (0), allocated; local_inv; no Send context; unused */
	seq_printf(seq, "%lu %lu %lu %lu %lu %lu\n", 0UL, 0UL, mrs_made,
		   stats->local_inv, stats->no_send_space, 0UL);
}
