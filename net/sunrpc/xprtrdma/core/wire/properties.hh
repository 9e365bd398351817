/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Transport properties (5, WP 5).
 */
#ifndef RPCRDMA_CORE_PROPERTIES_HH
#define RPCRDMA_CORE_PROPERTIES_HH

#include "xdr.hh"

namespace rpcrdma
{

/* The properties of an end that announces nothing (5.2, WP 5) */
constexpr struct rpcrdma_props DEFAULT_PROPS = {
	.sbsiz = RPCRDMA_V2_DEFAULT_INLINE,
	.rbsiz = RPCRDMA_V2_DEFAULT_INLINE,
	.rssiz = 1048576,
	.rcsiz = 16,
	.brs = RDMA2_RVRSDIR_NONE,
	.reply_read = 0,
	.reassembly = 262144,
};

/*
 * Clamp the properties that this end wants to announce to the engine's limits.
 */
void clamp_props(struct rpcrdma_props *props);

/* The content of a CONNPROP other than the values of struct rpcrdma_props */
struct prop_others {
	u32 count;	/* properties of all kinds */
	u32 nr_auth;	/* of these, HOSTAUTH with data */
	const u8 *auth; /* the data of the last one */
	u32 auth_octets;
};

/*
 * Decode the properties of a CONNPROP (6.3.4) into @props, replacing its
 * values. @others, which may be null, points into the message. Returns the fault,
 * if any; in that case @props is unchanged.
 */
fault decode_props(xdr_reader &in, struct rpcrdma_props *props,
		   struct prop_others *others = nullptr);

/*
 * Write the part of this end's CONNPROP that follows the prefix. The caller writes
 * @more properties after these.
 */
void encode_props(xdr_writer &out, const struct rpcrdma_props *props,
		  bool client, u32 more);

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_PROPERTIES_HH */
