/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The headers of version 2 as octets (6.2, 8.4, WP 3.1, WP 3.2).
 */
#ifndef RPCRDMA_ENGINE_CODEC_V2_H
#define RPCRDMA_ENGINE_CODEC_V2_H

#include "xdr.h"

namespace rpcrdma::v2
{

/* Octet offsets of the prefix's words */
enum {
	OFF_XID = 0,
	OFF_VERS = 4,
	OFF_CREDIT = 8,
	OFF_HTYPE = 12,
	OFF_FLAGS = 16,
	OFF_RECEIVED = 20,
};

/* Octets of what chunk lists consist of */
enum {
	SEGMENT_OCTETS = 16,
	/* "one more follows", position, segment */
	READ_SEGMENT_OCTETS = 8 + SEGMENT_OCTETS,
	/* "one more follows", count */
	WRITE_CHUNK_OCTETS = 8,
	/* count, beside the flag that empty lists have, too */
	REPLY_CHUNK_OCTETS = 4,
	/* inv_handle and the ends of three lists */
	EMPTY_LISTS_OCTETS = 16,
	/* A header without chunks */
	PLAIN_HEADER_OCTETS = RPCRDMA_V2_PREFIX + EMPTY_LISTS_OCTETS,
	/* An ERROR without data, and ERR_VERS: seven words */
	ERROR_OCTETS = 28,
};

/* The words of a prefix */
struct prefix {
	u32 xid;
	u32 credit;
	u32 htype;
	u32 flags;
	u32 received;
};

/* Read the prefix of a message of at least RPCRDMA_V2_PREFIX octets. */
prefix decode_prefix(const void *msg);

/* What the receiver of chunk lists takes */
struct list_limits {
	u32 reads, writes; /* chunks */
	u32 segs;	   /* segments, of all chunks together */
	u32 segment;	   /* octets, of one segment */
};

/*
 * Decode chunk lists (6.2.3) and check everything about them that does not
 * depend on the rest of the message.
 * @in: stands at rdma_inv_handle; behind the lists afterwards.
 * Returns 0, or the RDMA2_ERR_* the message deserves, with its data word in
 * @arg. Lists that are malformed anywhere are BAD_XDR, whatever else is wrong.
 */
u32 decode_lists(xdr_reader &in, const list_limits &max,
		 struct rpcrdma_lists *lists, u32 &arg);

/*
 * Do the Read chunks of a Call fit into its Payload stream (4.3.5, WP 3.6)?
 * @stream: octets of the stream without the reduced items.
 * @special: the stream is in a Position Zero Read chunk, which is reads[0].
 */
bool reads_fit(const struct rpcrdma_lists *lists, u32 stream, bool special);

/* Octets of a header with @lists, which may be null. */
u32 header_octets(const struct rpcrdma_lists *lists);

/*
 * Octets of a header with one Read chunk, one Write chunk and a Reply chunk of
 * that many segments; negative: no such chunk.
 */
u32 header_octets(s32 read_segs, s32 write_segs, s32 reply_segs);

/* Write the prefix, credit fields zero. */
void encode_prefix(xdr_writer &out, u32 xid, u32 htype, u32 flags);
void encode_lists(xdr_writer &out, const struct rpcrdma_lists *lists);

/* Write the credit fields into a header. */
static inline void store_credits(void *header, u32 credit, u32 received)
{
	store_word(header, OFF_CREDIT, credit);
	store_word(header, OFF_RECEIVED, received);
}

} // namespace rpcrdma::v2

#endif /* RPCRDMA_ENGINE_CODEC_V2_H */
