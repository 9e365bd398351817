// SPDX-License-Identifier: GPL-2.0
#include "codec_v2.h"

namespace rpcrdma::v2
{

prefix decode_prefix(const void *msg)
{
	return {
		.xid = load_word(msg, OFF_XID),
		.credit = load_word(msg, OFF_CREDIT),
		.htype = load_word(msg, OFF_HTYPE),
		.flags = load_word(msg, OFF_FLAGS),
		.received = load_word(msg, OFF_RECEIVED),
	};
}

u32 decode_lists(xdr_reader &in, const list_limits &max,
		 struct rpcrdma_lists *lists, u32 &arg)
{
	arg = 0;
	if (!in.has(EMPTY_LISTS_OCTETS))
		return RDMA2_ERR_BAD_XDR;
	lists->inv_handle = in.word();
	return decode_chunks(in, max, lists, arg);
}

void encode_prefix(xdr_writer &out, u32 xid, u32 htype, u32 flags)
{
	out.word(xid);
	out.word(RPCRDMA_VERS_2);
	out.word(0);
	out.word(htype);
	out.word(flags);
	out.word(0);
}

void encode_lists(xdr_writer &out, const struct rpcrdma_lists *lists)
{
	if (!lists) {
		out.hyper(0);
		out.hyper(0);
		return;
	}
	out.word(lists->inv_handle);
	encode_chunks(out, lists);
}

} // namespace rpcrdma::v2
