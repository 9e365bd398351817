// SPDX-License-Identifier: GPL-2.0
#include "codec_v2.h"

namespace rpcrdma::v2
{

u32 decode_lists(xdr_reader &in, const list_limits &max,
		 struct rpcrdma_lists *lists, u32 &arg)
{
	arg = 0;
	if (!in.has(EMPTY_LISTS_OCTETS))
		return RDMA2_ERR_BAD_XDR;
	lists->inv_handle = in.word();
	return decode_chunks(in, max, lists, arg);
}

} // namespace rpcrdma::v2
