// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Building chunk lists, and encoding them into headers.
 *
 * Lists are built in wire order: Read chunks by ascending position, Write chunks, then the
 * Reply chunk. Segments are appended to the last chunk. A function that would exceed a limit
 * or violate that order returns -1, and changes nothing. Segments for which struct
 * rpcrdma_lists has no space are stored in its extra_segs, if the caller has provided them.
 */
#include "codec.hh"
#include "one_chunk.hh"

namespace rpcrdma
{

u32 largest_segment(const struct rpcrdma_lists *lists)
{
	u32 largest = 0, handle = 0;

	for (u32 i = 0; i < lists->nr_segs; i++) {
		const struct rpcrdma_segment *seg = rpcrdma_lists_seg(lists, i);

		if (seg->length > largest) {
			largest = seg->length;
			handle = seg->handle;
		}
	}
	return handle;
}

} // namespace rpcrdma

using namespace rpcrdma;

static void begin_chunk(const struct rpcrdma_lists *lists,
			struct rpcrdma_chunk *chunk, u32 position)
{
	chunk->position = position;
	chunk->length = 0;
	chunk->first = lists->nr_segs;
	chunk->count = 0;
}

/*
 * Begin a Read chunk at @position, 0 for a Position Zero chunk (4.3.5, 4.4.3).
 * Returns -1 if there are too many, or not in wire order.
 */
int rpcrdma_lists_add_read(struct rpcrdma_lists *lists, u32 position)
{
	if (lists->nr_reads >= RPCRDMA_MAX_READ_CHUNKS || lists->nr_writes ||
	    lists->has_reply)
		return -1;
	if (lists->nr_reads &&
	    position <= lists->reads[lists->nr_reads - 1].position)
		return -1;
	begin_chunk(lists, &lists->reads[lists->nr_reads++], position);
	return 0;
}

/* Begin a Write chunk (4.3.6). Returns -1 if there are too many, or not in wire order. */
int rpcrdma_lists_add_write(struct rpcrdma_lists *lists)
{
	if (lists->nr_writes >= RPCRDMA_MAX_WRITE_CHUNKS || lists->has_reply)
		return -1;
	begin_chunk(lists, &lists->writes[lists->nr_writes++], 0);
	return 0;
}

/* Begin the Reply chunk (4.4.3). Returns -1 if there already is one. */
int rpcrdma_lists_add_reply(struct rpcrdma_lists *lists)
{
	if (lists->has_reply)
		return -1;
	lists->has_reply = 1;
	begin_chunk(lists, &lists->reply, 0);
	return 0;
}

/*
 * Return the bytes of the chunks that share one limit,
 * RPCRDMA_MAX_CHUNK_OCTETS.
 */
static u32 octets_pulled(const struct rpcrdma_lists *lists)
{
	u32 octets = 0;

	for (u32 i = 0; i < lists->nr_reads; i++)
		octets += lists->reads[i].length;
	return octets;
}

static u32 octets_pushed(const struct rpcrdma_lists *lists)
{
	u32 octets = lists->has_reply ? lists->reply.length : 0;

	for (u32 i = 0; i < lists->nr_writes; i++)
		octets += lists->writes[i].length;
	return octets;
}

/*
 * Append a segment to the last chunk (4.3.3). Returns -1 if there is no chunk,
 * no space, or more bytes than a receiver accepts (WP 5).
 */
int rpcrdma_lists_add_segment(struct rpcrdma_lists *lists, u32 handle,
			      u32 length, u64 offset)
{
	const bool read = !lists->has_reply && !lists->nr_writes;
	struct rpcrdma_chunk *chunk;
	u32 before = 0;

	if (lists->has_reply)
		chunk = &lists->reply;
	else if (lists->nr_writes)
		chunk = &lists->writes[lists->nr_writes - 1];
	else if (lists->nr_reads)
		chunk = &lists->reads[lists->nr_reads - 1];
	else
		return -1;

	if (lists->nr_segs)
		before = read ? octets_pulled(lists) : octets_pushed(lists);
	if (lists->nr_segs >= segment_room(lists) ||
	    length > RPCRDMA_MAX_CHUNK_OCTETS - before)
		return -1;
	segment_at(lists, lists->nr_segs++) = {
		.handle = handle,
		.length = length,
		.offset = offset,
	};
	chunk->length += length;
	chunk->count++;
	return 0;
}

void rpcrdma_lists_choose_inv_handle(struct rpcrdma_lists *lists)
{
	lists->inv_handle = largest_segment(lists);
}

/*
 * Return the length that rpcrdma_encode_header() will write, so that a sender can
 * leave space before the payload. Chunk lists are encoded as in 6.2.3.
 */
u32 rpcrdma_header_octets(const struct rpcrdma_conn *conn,
			  const struct rpcrdma_lists *lists)
{
	return header_octets(conn, lists);
}

/*
 * Encode the header of a message that conveys an RPC message: the prefix
 * (6.2.2, WP 1), then the chunk lists (6.2.3), which RDMA2_MSG and
 * RDMA2_NOMSG both have (6.3.1, 6.3.2).
 */
u32 rpcrdma_encode_header(const struct rpcrdma_conn *conn, void *buf, u32 size,
			  u32 xid, u32 htype, u32 flags,
			  const struct rpcrdma_lists *lists)
{
	xdr_writer out{ buf };

	if (header_octets(conn, lists) > size)
		return 0;
	if (conn->version == RPCRDMA_VERS_1) {
		/*
		 * The header types have the same numbers; there are no flags.
		 */
		out = v1::encode_fixed(out, xid, htype);
		out = encode_chunks(out, lists);
	} else {
		out = v2::encode_prefix(out, xid, htype, flags);
		out = v2::encode_lists(out, lists);
	}
	return out.offset();
}

void rpcrdma_encode_plain(const struct rpcrdma_conn *conn, void *buf,
			  enum rpcrdma_kind kind, u32 xid)
{
	const u32 flags = kind == RPCRDMA_KIND_REPLY ? +RDMA2_F_RESPONSE : 0;
	xdr_writer out{ buf };

	if (conn->version == RPCRDMA_VERS_1) {
		out = v1::encode_fixed(out, xid, v1::RDMA_MSG);
		out = encode_chunks(out, nullptr);
	} else {
		out = v2::encode_prefix(out, xid, RDMA2_MSG, flags);
		out = v2::encode_lists(out, nullptr);
	}
}

/* Special Format has a separate header type (4.4.3); continued messages have MORE (4.4.2). */
u32 rpcrdma_encode_rpc(const struct rpcrdma_conn *conn, void *buf, u32 size,
		       enum rpcrdma_kind kind, enum rpcrdma_format format,
		       u32 xid, bool more, const struct rpcrdma_lists *lists)
{
	const u32 htype = format == RPCRDMA_SPECIAL ? RDMA2_NOMSG : RDMA2_MSG;
	u32 flags = kind == RPCRDMA_KIND_REPLY ? +RDMA2_F_RESPONSE : 0;

	/* Fast path: the usual message with a chunk */
	if (format == RPCRDMA_INLINE && !more && lists &&
	    has_one_segment(lists) && conn->version == RPCRDMA_VERS_2 &&
	    size >= v2::ONE_CHUNK_HEADER_OCTETS) [[likely]]
		return encode_one_header(buf, kind, xid, lists);
	if (more)
		flags |= RDMA2_F_MORE;
	return rpcrdma_encode_header(conn, buf, size, xid, htype, flags, lists);
}
