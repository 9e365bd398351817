// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Decoding the chunk lists of version 2's RDMA2_MSG and RDMA2_NOMSG (6.2.3). The rest of
 * the codec is inline, in codec_v2.hh.
 */
#include "codec_v2.hh"

namespace rpcrdma::v2
{

fault decode_lists(xdr_reader &in, const list_limits &max,
		   struct rpcrdma_lists *lists)
{
	if (!in.has(EMPTY_LISTS_OCTETS))
		return { RDMA2_ERR_BAD_XDR };
	lists->inv_handle = in.word();
	return decode_chunks(in, max, lists);
}

} // namespace rpcrdma::v2
