/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Fast path of chunk lists: one Read chunk or one Write chunk, of one segment, as in the
 * Calls of READ and WRITE and in the Reply to a READ. list_codec.cc has all other lists.
 */
#ifndef RPCRDMA_CORE_ONE_CHUNK_HH
#define RPCRDMA_CORE_ONE_CHUNK_HH

#include "codec_v2.hh"
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

/* Return true if @max permits a chunk of the segment @seg only. */
[[gnu::always_inline]] static inline bool
takes_segment(const list_limits &max, const struct rpcrdma_segment &seg)
{
	return max.segs && seg.length <= max.segment &&
	       seg.length <= RPCRDMA_MAX_CHUNK_OCTETS;
}

/*
 * Decode lists that have nothing but one Read chunk of one segment. ONE_CHUNK_OCTETS are
 * present. Returns false if the lists, or these limits, need the full decoder.
 */
[[gnu::always_inline]] static inline bool
decode_one_read(xdr_reader in, const list_limits &max,
		struct rpcrdma_lists *lists)
{
	if (in.word() != 1)
		return false;

	const u32 position = in.word();
	const struct rpcrdma_segment seg = decode_segment(in);

	if ((in.word() | in.word() | in.word()) || position % sizeof(u32) ||
	    !max.reads || !takes_segment(max, seg))
		return false;
	rpcrdma_lists_set_only(lists, true, position, seg.handle, seg.length,
			       seg.offset);
	return true;
}

/* The same for one Write chunk */
[[gnu::always_inline]] static inline bool
decode_one_write(xdr_reader in, const list_limits &max,
		 struct rpcrdma_lists *lists)
{
	if (in.word() || in.word() != 1 || in.word() != 1)
		return false;

	const struct rpcrdma_segment seg = decode_segment(in);

	if ((in.word() | in.word()) || !max.writes || !takes_segment(max, seg))
		return false;
	rpcrdma_lists_set_only(lists, false, 0, seg.handle, seg.length,
			       seg.offset);
	return true;
}

/*
 * Fast path: decode lists that have nothing but one Read chunk or one Write
 * chunk of one segment. Returns false if the lists, or these limits, need the
 * full decoder.
 */
[[gnu::always_inline]] static inline bool
decode_one(xdr_reader in, const list_limits &max, struct rpcrdma_lists *lists)
{
	return in.has(ONE_CHUNK_OCTETS) && (decode_one_read(in, max, lists) ||
					    decode_one_write(in, max, lists));
}

/* Return true if @lists have one segment, which is in a Read chunk or a Write chunk. */
[[gnu::always_inline]] static inline bool
has_one_segment(const struct rpcrdma_lists *lists)
{
	return lists->nr_segs == 1 && !lists->has_reply &&
	       lists->nr_reads + lists->nr_writes == 1;
}

/* Write a chunk of the segment @seg: a Read chunk at *@position, or a Write chunk. */
[[gnu::always_inline, nodiscard]] static inline xdr_writer
encode_chunk(xdr_writer out, const u32 *position,
	     const struct rpcrdma_segment &seg)
{
	/* A Read segment with its Position; or no more, and a Write chunk */
	if (position) {
		out.word(1);
		out.word(*position);
		out = encode_segment(out, seg);
		out.word(0);
	} else {
		out.word(0);
		out.word(1);
		out.word(1);
		out = encode_segment(out, seg);
	}
	out.word(0);
	out.word(0);
	return out;
}

/* Return the Position of the chunk, or null if it is a Write chunk. */
[[gnu::always_inline]] static inline const u32 *
position_of_one(const struct rpcrdma_lists *lists)
{
	return lists->nr_reads ? &lists->reads[0].position : nullptr;
}

/* Write @lists, for which has_one_segment() is true. */
[[gnu::always_inline, nodiscard]] static inline xdr_writer
encode_one(xdr_writer out, const struct rpcrdma_lists *lists)
{
	return encode_chunk(out, position_of_one(lists), lists->segs[0]);
}

[[gnu::always_inline, nodiscard]] static inline xdr_writer
encode_simple(void *buf, enum rpcrdma_kind kind, u32 xid, u32 inv_handle)
{
	xdr_writer out{ buf };

	out = v2::encode_prefix(out, xid, RDMA2_MSG,
				kind == RPCRDMA_KIND_REPLY ? +RDMA2_F_RESPONSE :
							     0);
	out.word(inv_handle);
	return out;
}

/*
 * Write the header of a message of version 2 in one piece with @lists, for which
 * has_one_segment() is true. Return its length, v2::ONE_CHUNK_HEADER_OCTETS.
 */
[[gnu::always_inline]] static inline u32
encode_one_header(void *buf, enum rpcrdma_kind kind, u32 xid,
		  const struct rpcrdma_lists *lists)
{
	return encode_one(encode_simple(buf, kind, xid, lists->inv_handle),
			  lists)
		.offset();
}

/* The same for a Call, the only chunk of which is @item, with the segment @seg */
[[gnu::always_inline]] static inline void
encode_one_call(void *buf, u32 xid, const struct rpcrdma_call_item &item,
		const struct rpcrdma_segment &seg)
{
	const xdr_writer out =
		encode_simple(buf, RPCRDMA_KIND_CALL, xid, seg.handle);
	const u32 position = item.position;

	if (item.result)
		(void)encode_chunk(out, nullptr, seg);
	else
		(void)encode_chunk(out, &position, seg);
}

/* The same for a Reply with a Write chunk of the segment @seg */
[[gnu::always_inline]] static inline void
encode_written_header(void *buf, u32 xid, const struct rpcrdma_segment &seg)
{
	(void)encode_chunk(encode_simple(buf, RPCRDMA_KIND_REPLY, xid, 0),
			   nullptr, seg);
}

/*
 * count_complete() of a message in one piece with a chunk of one segment of @octets; a
 * Reply has no Read chunk.
 */
[[gnu::always_inline]] static inline void count_one(struct rpcrdma_conn *conn,
						    bool reply, bool read,
						    u32 octets, u64 *bytes)
{
	if (reply) {
		count_reply(conn, RPCRDMA_INLINE);
		*bytes += octets;
		return;
	}
	count_call(conn, RPCRDMA_INLINE);
	if (read) {
		conn->counters.read_chunks++;
		*bytes += octets;
	} else {
		conn->counters.write_chunks++;
	}
}

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_ONE_CHUNK_HH */
