/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Encoding of version 1's headers (RFC 8166, section 4). */
#ifndef RPCRDMA_CORE_CODEC_V1_HH
#define RPCRDMA_CORE_CODEC_V1_HH

#include "list_codec.hh"

namespace rpcrdma::v1
{

/* Byte offsets */
enum {
	OFF_XID = 0,
	OFF_VERS = 4,
	OFF_CREDIT = 8,
	OFF_PROC = 12,
	OFF_LISTS = 16,
	/* RDMA_ERROR */
	OFF_ERR = 16,
	OFF_ERR_LOW = 20,
	OFF_ERR_HIGH = 24,
};

/* Procedures. Those omitted are obsolete, but may be received. */
enum {
	RDMA_MSG = 0,
	RDMA_NOMSG = 1,
	RDMA_MSGP = 2,
	RDMA_DONE = 3,
	RDMA_ERROR = 4,
};

enum {
	ERR_VERS = 1,
	ERR_CHUNK = 2,
};

/* Lengths of headers */
enum {
	FIXED_OCTETS = +OFF_LISTS,
	PLAIN_HEADER_OCTETS = FIXED_OCTETS + EMPTY_CHUNKS_OCTETS,
	ERR_CHUNK_OCTETS = 20,
	ERR_VERS_OCTETS = 28,
};

/* Write the fixed words, with a credit of zero. */
[[nodiscard]] static inline xdr_writer encode_fixed(xdr_writer out, u32 xid,
						    u32 proc)
{
	out.word(xid);
	out.word(RPCRDMA_VERS_1);
	out.word(0);
	out.word(proc);
	return out;
}

} // namespace rpcrdma::v1

#endif /* RPCRDMA_CORE_CODEC_V1_HH */
