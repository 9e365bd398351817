/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Encoding of chunk lists (6.2.3; RFC 8166, 4.3): the same in both versions. */
#ifndef RPCRDMA_CORE_LIST_CODEC_HH
#define RPCRDMA_CORE_LIST_CODEC_HH

#include "xdr.hh"

namespace rpcrdma
{

/* Lengths of the elements of chunk lists, in bytes */
enum {
	SEGMENT_OCTETS = 16,
	/* "one more follows", position, segment */
	READ_SEGMENT_OCTETS = 8 + SEGMENT_OCTETS,
	/* "one more follows", count */
	WRITE_CHUNK_OCTETS = 8,
	/* count, in addition to the flag that empty lists have, too */
	REPLY_CHUNK_OCTETS = 4,
	/* The ends of three lists */
	EMPTY_CHUNKS_OCTETS = 12,
	/*
	 * The ends of three lists, and a Read chunk or Write chunk of one
	 * segment
	 */
	ONE_CHUNK_OCTETS = EMPTY_CHUNKS_OCTETS + 8 + SEGMENT_OCTETS,
};

/* Return the number of segments that @lists can hold. */
static inline u32 segment_room(const struct rpcrdma_lists *lists)
{
	return RPCRDMA_MAX_SEGS +
	       (lists->extra_segs ? RPCRDMA_MAX_EXTRA_SEGS : 0);
}

/* rpcrdma_lists_seg() for writing */
static inline struct rpcrdma_segment &segment_at(struct rpcrdma_lists *lists,
						 u32 i)
{
	return const_cast<struct rpcrdma_segment &>(
		*rpcrdma_lists_seg(lists, i));
}

/* Limits of the receiver of chunk lists */
struct list_limits {
	u32 reads, writes; /* chunks */
	u32 segs;	   /* segments, of all chunks together */
	u32 segment;	   /* bytes, of one segment */
	bool any_order;	   /* Read segments need not be in order */
};

/*
 * Return the maximum of Read chunks in a Call to a server. A Read on a
 * connection that was established without any would never end on some devices.
 */
static inline u32 most_reads(const struct rpcrdma_conn *conn)
{
	return conn->no_reads ? 0 : u32{ RPCRDMA_MAX_READ_CHUNKS };
}

/*
 * Decode chunk lists and check everything about them that does not depend on
 * the rest of the message. Read chunks are returned in ascending order.
 * @in: at the first list; on return, after the lists.
 * Returns the fault, if any. Lists that are malformed anywhere are BAD_XDR,
 * whatever other faults they have.
 */
fault decode_chunks(xdr_reader &in, const list_limits &max,
		    struct rpcrdma_lists *lists);

/*
 * Return the number of segments of well-formed chunk lists, 0 for others.
 * @in: at the first list
 */
u32 count_segments(xdr_reader in);

/*
 * Return true if the Read chunks of a Call fit into its Payload stream (4.3.5,
 * WP 6).
 * @stream: length of the stream without the reduced items
 * @special: the stream is in a Position Zero Read chunk, which is
 *	reads[0].
 */
bool reads_fit(const struct rpcrdma_lists *lists, u32 stream, bool special);

/* Set @lists to no chunks. The arrays need no clearing. */
[[gnu::always_inline]] static inline void
empty_lists(struct rpcrdma_lists *lists, u32 inv_handle)
{
	lists->inv_handle = inv_handle;
	lists->nr_reads = 0;
	lists->nr_writes = 0;
	lists->has_reply = 0;
	lists->nr_segs = 0;
}

/*
 * Fill @rx, but not its lists, for a message that is a complete Call or Reply after a
 * header of that length.
 */
[[gnu::always_inline]] static inline void
fill_whole(struct rpcrdma_rx *rx, u32 xid, u32 header, u32 length)
{
	rx->xid = xid;
	rx->events = 0;
	rx->format = RPCRDMA_INLINE;
	rx->first_fragment = 0;
	rx->payload_offset = header;
	rx->payload_length = length - header;
	rx->total_length = length - header;
	rx->error.status = 0;
}

/* Fill @rx and its lists for a message without chunks. */
[[gnu::always_inline]] static inline void fill_plain(struct rpcrdma_rx *rx,
						     u32 xid, u32 header,
						     u32 length, u32 inv_handle)
{
	fill_whole(rx, xid, header, length);
	empty_lists(&rx->lists, inv_handle);
}

static inline bool has_chunks(const struct rpcrdma_lists *lists)
{
	/* Adjacent: the compiler compares the three as one word. */
	return !(lists->nr_reads == 0 && lists->nr_writes == 0 &&
		 lists->has_reply == 0);
}

/* Count a complete Call or Reply that is sent or received. */
[[gnu::always_inline]] static inline void count_call(struct rpcrdma_conn *conn,
						     enum rpcrdma_format format)
{
	conn->counters.calls[format]++;
	conn->calls_outstanding++;
}

[[gnu::always_inline]] static inline void
count_reply(struct rpcrdma_conn *conn, enum rpcrdma_format format)
{
	conn->counters.replies[format]++;
	conn->calls_outstanding--;
}

/*
 * Count a Call or Reply, as rpcrdma_conn_count() does. Chunks are counted with
 * the message that provides them: a Call, or a Reply to be pulled. Their data is
 * counted in @bytes, with the message of the same direction: data in Read chunks
 * with the message that has the chunks, and data in other chunks with the Reply,
 * which returns the lengths written.
 */
[[gnu::always_inline]] static inline void
count_complete(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
	       enum rpcrdma_format format, const struct rpcrdma_lists *lists,
	       u64 *bytes)
{
	struct rpcrdma_conn_counters *counters = &conn->counters;

	if (kind == RPCRDMA_KIND_REPLY)
		count_reply(conn, format);
	else
		count_call(conn, format);
	if (!lists)
		return;
	counters->read_chunks += lists->nr_reads;
	for (u32 i = 0; i < lists->nr_reads; i++)
		*bytes += lists->reads[i].length;
	if (kind == RPCRDMA_KIND_REPLY) {
		for (u32 i = 0; i < lists->nr_writes; i++)
			*bytes += lists->writes[i].length;
		if (lists->has_reply)
			*bytes += lists->reply.length;
		return;
	}
	counters->write_chunks += lists->nr_writes;
	counters->reply_chunks += lists->has_reply;
}

/* Return the length that @lists, which may be null, need beyond empty ones. */
static inline u32 chunk_octets(const struct rpcrdma_lists *lists)
{
	u32 reads = 0;

	if (!lists || !has_chunks(lists))
		return 0;
	/* Their segments are the first ones. */
	if (lists->nr_reads) {
		const struct rpcrdma_chunk &last =
			lists->reads[lists->nr_reads - 1];

		reads = u32{ last.first } + last.count;
	}
	return READ_SEGMENT_OCTETS * reads +
	       SEGMENT_OCTETS * (lists->nr_segs - reads) +
	       WRITE_CHUNK_OCTETS * lists->nr_writes +
	       REPLY_CHUNK_OCTETS * lists->has_reply;
}

/*
 * Return the length that one Read chunk, one Write chunk and a Reply chunk with that
 * many segments need beyond empty lists; negative: no such chunk.
 */
static inline u32 chunk_octets(s32 read_segs, s32 write_segs, s32 reply_segs)
{
	u32 octets = 0;

	if (read_segs > 0)
		octets += READ_SEGMENT_OCTETS * static_cast<u32>(read_segs);
	if (write_segs >= 0)
		octets += WRITE_CHUNK_OCTETS +
			  SEGMENT_OCTETS * static_cast<u32>(write_segs);
	if (reply_segs >= 0)
		octets += REPLY_CHUNK_OCTETS +
			  SEGMENT_OCTETS * static_cast<u32>(reply_segs);
	return octets;
}

/* Write @lists, of which at least one is not empty. */
[[nodiscard]] xdr_writer encode_some_chunks(xdr_writer out,
					    const struct rpcrdma_lists *lists);

/* Write @lists, which may be null. */
[[nodiscard]] static inline xdr_writer
encode_chunks(xdr_writer out, const struct rpcrdma_lists *lists)
{
	if (lists && has_chunks(lists))
		return encode_some_chunks(out, lists);
	out.word(0);
	out.word(0);
	out.word(0);
	return out;
}

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_LIST_CODEC_HH */
