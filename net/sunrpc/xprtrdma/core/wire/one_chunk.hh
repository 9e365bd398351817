/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Fast path of chunk lists: one Read chunk or one Write chunk, of one segment, as in the
 * Calls of READ and WRITE and in the Reply to a READ. list_codec.cc has all other lists.
 */
#ifndef RPCRDMA_CORE_ONE_CHUNK_HH
#define RPCRDMA_CORE_ONE_CHUNK_HH

#include "list_codec.hh"

namespace rpcrdma
{

/* Return a segment; the caller has checked that it is present. */
[[gnu::always_inline]] static inline struct rpcrdma_segment
decode_segment(xdr_reader &in)
{
	struct rpcrdma_segment seg;

	seg.handle = in.word();
	seg.length = in.word();
	seg.offset = in.hyper();
	return seg;
}

[[gnu::always_inline]] static inline xdr_writer
encode_segment(xdr_writer out, const struct rpcrdma_segment &seg)
{
	out.word(seg.handle);
	out.word(seg.length);
	out.hyper(seg.offset);
	return out;
}

/*
 * Set the counts for one chunk, as constants. has_chunks() reads three of these fields
 * as one word, and a processor that has just written them one by one would stall on
 * that read. The compiler stores constants with one instruction.
 */
[[gnu::always_inline]] static inline void one_chunk(struct rpcrdma_lists *lists,
						    bool read)
{
	lists->nr_segs = 1;
	if (read) {
		lists->nr_reads = 1;
		lists->nr_writes = 0;
		lists->has_reply = 0;
	} else {
		lists->nr_reads = 0;
		lists->nr_writes = 1;
		lists->has_reply = 0;
	}
}

/*
 * Fast path: decode lists that have nothing but one Read chunk or one Write
 * chunk of one segment. Returns false if the lists, or these limits, need the
 * full decoder.
 */
[[gnu::always_inline]] static inline bool
decode_one(xdr_reader in, const list_limits &max, struct rpcrdma_lists *lists)
{
	if (!in.has(ONE_CHUNK_OCTETS))
		return false;

	/* A Read segment with its Position; or no more, and a Write chunk */
	const u32 more = in.word(), second = in.word();
	const bool read = more == 1 && second % sizeof(u32) == 0;

	if (!read && (more || second != 1 || in.word() != 1))
		return false;

	const struct rpcrdma_segment seg = decode_segment(in);

	if ((in.word() | in.word()) || (read && in.word()))
		return false;
	if (!(read ? max.reads : max.writes) || !max.segs ||
	    seg.length > max.segment || seg.length > RPCRDMA_MAX_CHUNK_OCTETS)
		return false;

	struct rpcrdma_chunk *const chunk = read ? lists->reads : lists->writes;

	chunk->position = read ? second : 0;
	chunk->length = seg.length;
	chunk->first = 0;
	chunk->count = 1;
	lists->segs[0] = seg;
	one_chunk(lists, read);
	return true;
}

/* Return true if @lists have one segment, which is in a Read chunk or a Write chunk. */
[[gnu::always_inline]] static inline bool
has_one_segment(const struct rpcrdma_lists *lists)
{
	return lists->nr_segs == 1 && !lists->has_reply &&
	       lists->nr_reads + lists->nr_writes == 1;
}

/* Write @lists, for which has_one_segment() is true. */
[[gnu::always_inline, nodiscard]] static inline xdr_writer
encode_one(xdr_writer out, const struct rpcrdma_lists *lists)
{
	const bool read = lists->nr_reads;

	/* A Read segment with its Position; or no more, and a Write chunk */
	out.word(read);
	out.word(read ? lists->reads[0].position : 1);
	if (!read)
		out.word(1);
	out = encode_segment(out, lists->segs[0]);
	out.word(0);
	out.word(0);
	if (read)
		out.word(0);
	return out;
}

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_ONE_CHUNK_HH */
