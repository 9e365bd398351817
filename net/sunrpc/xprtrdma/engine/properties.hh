/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transport properties (5, WP 5).
 */
#ifndef RPCRDMA_ENGINE_PROPERTIES_HH
#define RPCRDMA_ENGINE_PROPERTIES_HH

#include "xdr.hh"

namespace rpcrdma
{

/* What an end that says nothing means (5.2, WP 5) */
constexpr struct rpcrdma_props DEFAULT_PROPS = {
	.sbsiz = RPCRDMA_V2_DEFAULT_INLINE,
	.rbsiz = RPCRDMA_V2_DEFAULT_INLINE,
	.rssiz = 1048576,
	.rcsiz = 16,
	.brs = RDMA2_RVRSDIR_NONE,
	.reply_read = 0,
	.reassembly = 262144,
};

/* Bring what this end wants to announce within what the engine can keep. */
void clamp_props(struct rpcrdma_props *props);

/*
 * Read the properties of a CONNPROP (6.3.4) into @props, over what it holds.
 * Returns what is wrong, in which case @props is as it was.
 */
fault decode_props(xdr_reader &in, struct rpcrdma_props *props);

/* Octets encode_props() writes. */
u32 props_octets(bool client);

/* Write what follows the prefix of this end's CONNPROP. */
void encode_props(xdr_writer &out, const struct rpcrdma_props *props,
		  bool client);

} // namespace rpcrdma

#endif /* RPCRDMA_ENGINE_PROPERTIES_HH */
