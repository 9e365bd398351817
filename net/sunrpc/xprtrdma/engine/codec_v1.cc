// SPDX-License-Identifier: GPL-2.0
#include "codec_v1.h"

namespace rpcrdma::v1
{

void encode_fixed(xdr_writer &out, u32 xid, u32 proc)
{
	out.word(xid);
	out.word(RPCRDMA_VERS_1);
	out.word(0);
	out.word(proc);
}

void encode_lists(xdr_writer &out, const struct rpcrdma_lists *lists)
{
	if (lists) {
		encode_chunks(out, lists);
		return;
	}
	out.word(0);
	out.word(0);
	out.word(0);
}

} // namespace rpcrdma::v1
