/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Maps a connection's version to the codec of that version. Code that needs a
 * header's length or encoding calls these functions, not a version's codec: a
 * codec for another version is added here.
 */
#ifndef RPCRDMA_CORE_CODEC_HH
#define RPCRDMA_CORE_CODEC_HH

#include "codec_v1.hh"
#include "codec_v2.hh"

namespace rpcrdma
{

/* The versions that have a codec */
constexpr u32 LOWEST_VERSION = RPCRDMA_VERS_1;
constexpr u32 HIGHEST_VERSION = RPCRDMA_VERS_2;

/* The constants of the public interface must match. */
static_assert(+v1::PLAIN_HEADER_OCTETS == RPCRDMA_V1_PLAIN_HEADER);
static_assert(+v2::PLAIN_HEADER_OCTETS == RPCRDMA_V2_PLAIN_HEADER);

/*
 * Return the length of a header with one Read chunk, one Write chunk and a
 * Reply chunk with that many segments; negative: no such chunk.
 */
static inline u32 header_octets(const struct rpcrdma_conn *conn, s32 read_segs,
				s32 write_segs, s32 reply_segs)
{
	return rpcrdma_plain_header(conn) +
	       chunk_octets(read_segs, write_segs, reply_segs);
}

/* Return the length of a header with @lists, which may be null. */
static inline u32 header_octets(const struct rpcrdma_conn *conn,
				const struct rpcrdma_lists *lists)
{
	return rpcrdma_plain_header(conn) + chunk_octets(lists);
}

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_CODEC_HH */
