/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Encoding of version 2's headers (6.2, 8.4, WP 1, WP 2). */
#ifndef RPCRDMA_CORE_CODEC_V2_HH
#define RPCRDMA_CORE_CODEC_V2_HH

#include "list_codec.hh"

namespace rpcrdma::v2
{

/* Byte offsets of the prefix's words */
enum {
	OFF_XID = 0,
	OFF_VERS = 4,
	OFF_CREDIT = 8,
	OFF_HTYPE = 12,
	OFF_FLAGS = 16,
	OFF_RECEIVED = 20,
};

/* Lengths of headers */
enum {
	/* inv_handle and the ends of three lists */
	EMPTY_LISTS_OCTETS = 4 + EMPTY_CHUNKS_OCTETS,
	/* A header without chunks */
	PLAIN_HEADER_OCTETS = RPCRDMA_V2_PREFIX + EMPTY_LISTS_OCTETS,
	/* A header with one Read chunk or Write chunk of one segment */
	ONE_CHUNK_HEADER_OCTETS =
		RPCRDMA_V2_PREFIX + sizeof(u32) + ONE_CHUNK_OCTETS,
	/* An ERROR without data, and ERR_VERS: seven words */
	ERROR_OCTETS = 28,
	/* The words that are parsed before the version is known */
	COMMON_OCTETS = OFF_FLAGS,
};

/* The words of a prefix */
struct prefix {
	u32 xid;
	u32 credit;
	u32 htype;
	u32 flags;
	u32 received;
};

[[gnu::always_inline]] static inline prefix
decode_prefix(span<RPCRDMA_V2_PREFIX> msg)
{
	return {
		.xid = msg.word<OFF_XID>(),
		.credit = msg.word<OFF_CREDIT>(),
		.htype = msg.word<OFF_HTYPE>(),
		.flags = msg.word<OFF_FLAGS>(),
		.received = msg.word<OFF_RECEIVED>(),
	};
}

/*
 * Decode the chunk lists and the word that precedes them, as decode_chunks()
 * does.
 * @in: at rdma_inv_handle; on return, after the lists.
 */
fault decode_lists(xdr_reader &in, const list_limits &max,
		   struct rpcrdma_lists *lists);

/* Write the prefix, with credit fields of zero. */
[[nodiscard, gnu::always_inline]] static inline xdr_writer
encode_prefix(xdr_writer out, u32 xid, u32 htype, u32 flags)
{
	out.word(xid);
	out.word(RPCRDMA_VERS_2);
	out.word(0);
	out.word(htype);
	out.word(flags);
	out.word(0);
	return out;
}

/* Write the prefix, and the lists that follow it; @lists may be null. */
[[nodiscard]] static inline xdr_writer
encode_lists(xdr_writer out, const struct rpcrdma_lists *lists)
{
	out.word(lists ? lists->inv_handle : 0);
	return encode_chunks(out, lists);
}

/* Write the credit fields into a header. */
[[gnu::always_inline]] static inline void
store_credits(span<RPCRDMA_V2_PREFIX, u8> header, u32 credit, u32 received)
{
	header.word<OFF_CREDIT>(credit);
	header.word<OFF_RECEIVED>(received);
}

} // namespace rpcrdma::v2

#endif /* RPCRDMA_CORE_CODEC_V2_HH */
