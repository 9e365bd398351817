// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Chunk lists on the wire: decoding and checking them, and encoding them.
 *
 * Operation
 *
 * decode_chunks() tries the usual cases first: no chunks, and one chunk of one segment
 * (one_chunk.hh). Any other lists are read by list_decoder. It reads to the end of the
 * lists even if a limit is exceeded, and goes on counting chunks and segments, so that
 * lists that are malformed anywhere are detected as such. The segments of one Position
 * are one Read chunk. Version 2 requires ascending Positions. Version 1 leaves the
 * order to the sender: its Read segments are read twice, first to find and count the
 * chunks, then to store each segment in its place.
 *
 * reads_fit() compares the Positions with the length of the Payload stream, which the
 * caller knows only after the lists. encode_some_chunks() writes lists for which the
 * caller has ensured that there is space.
 *
 * Memory
 *
 * Nothing is allocated. Segments are stored in the array of the lists, and then in
 * extra_segs if the caller has provided that. Segments beyond, and chunks beyond the
 * maximum, are only counted. If there is a fault, the numbers of chunks and segments
 * in the lists are not set: the lists remain empty, as the caller has initialised
 * them.
 *
 * Errors
 *
 * The first of these faults is reported: invalid XDR; too many Read chunks, Write
 * chunks or segments, each with the maximum; a segment longer than announced; more
 * bytes than this implementation moves. A count is compared with the bytes that are
 * left before it is used, and each element consumes bytes, so that the length of the
 * message bounds all loops.
 *
 * Locking
 *
 * The functions use only the message and the lists that they are passed, and no
 * connection.
 */
#include "one_chunk.hh"

namespace rpcrdma
{

namespace
{

/*
 * Decodes chunk lists. It continues to count segments that it can no longer
 * store, so that a list that is malformed beyond the receiver's limits is still
 * detected.
 */
class list_decoder
{
public:
	list_decoder(xdr_reader &in, const list_limits &max,
		     struct rpcrdma_lists *lists)
		: in_{ in }, max_{ max }, lists_{ lists }
	{
	}

	/* Each returns false if the encoding is not valid XDR. */
	bool reads();
	bool reads_in_any_order();
	bool writes();
	bool reply();

	/* Return the fault of well-formed lists, if any. */
	fault verdict() const;

	/* Return the reader for what follows the lists. */
	xdr_reader rest() const
	{
		return in_;
	}

private:
	struct rpcrdma_segment read_segment(u64 &total);
	void segment(struct rpcrdma_chunk *chunk, u64 &total);
	bool array(struct rpcrdma_chunk *chunk);
	struct rpcrdma_chunk *chunk_at(u32 position, u32 &index);
	void sort_chunks();

	xdr_reader in_;
	const list_limits &max_;
	struct rpcrdma_lists *lists_;
	const u32 room_ = segment_room(lists_);
	u32 nr_reads_ = 0, nr_writes_ = 0, nr_segs_ = 0;
	u64 read_octets_ = 0, write_octets_ = 0;
	bool has_reply_ = false;
	bool too_long_ = false;
};

/* Read and count a segment. */
[[gnu::always_inline]] inline struct rpcrdma_segment
list_decoder::read_segment(u64 &total)
{
	const struct rpcrdma_segment seg = decode_segment(in_);

	total += seg.length;
	if (seg.length > max_.segment)
		too_long_ = true;
	nr_segs_++;
	return seg;
}

/* Decode a segment of @chunk, which may be null. */
[[gnu::always_inline]] inline void
list_decoder::segment(struct rpcrdma_chunk *chunk, u64 &total)
{
	const struct rpcrdma_segment seg = read_segment(total);

	if (nr_segs_ > room_ || !chunk)
		return;
	segment_at(lists_, nr_segs_ - 1) = seg;
	chunk->length += seg.length;
	chunk->count++;
}

[[gnu::always_inline]] inline bool list_decoder::reads()
{
	u32 last_position = 0;

	for (;;) {
		struct rpcrdma_chunk *chunk = nullptr;
		bool more;
		u32 position;

		if (!in_.get_bool(more))
			return false;
		if (!more)
			return true;
		if (!in_.has(READ_SEGMENT_OCTETS - sizeof(u32)))
			return false;

		/* Segments of one Position are one chunk (4.3.5). */
		position = in_.word();
		if (!nr_reads_ || position != last_position) {
			/* In ascending order, and aligned (WP 6) */
			if ((nr_reads_ && position < last_position) ||
			    position % sizeof(u32))
				return false;
			last_position = position;
			if (nr_reads_ < RPCRDMA_MAX_READ_CHUNKS)
				lists_->reads[nr_reads_] = {
					.position = position,
					.length = 0,
					.first = static_cast<u16>(nr_segs_),
					.count = 0,
				};
			nr_reads_++;
		}
		/* Chunks beyond the maximum are counted, and refused later. */
		if (nr_reads_ <= RPCRDMA_MAX_READ_CHUNKS)
			chunk = &lists_->reads[nr_reads_ - 1];
		segment(chunk, read_octets_);
	}
}

/*
 * Return the Read chunk with @position, begun if it is new; null if there are
 * too many. Consecutive segments mostly have the same Position, so the last
 * chunk found, @index, is tried first.
 */
struct rpcrdma_chunk *list_decoder::chunk_at(u32 position, u32 &index)
{
	struct rpcrdma_chunk *const chunks = lists_->reads;

	if (index < nr_reads_ && chunks[index].position == position)
		return &chunks[index];
	for (index = 0; index < nr_reads_; index++) {
		if (chunks[index].position == position)
			return &chunks[index];
	}
	if (nr_reads_ == RPCRDMA_MAX_READ_CHUNKS)
		return nullptr;
	chunks[nr_reads_++] = {
		.position = position,
		.length = 0,
		.first = 0,
		.count = 0,
	};
	return &chunks[index];
}

/* Sort the Read chunks; the number of segments of each is known. */
void list_decoder::sort_chunks()
{
	struct rpcrdma_chunk *const chunks = lists_->reads;
	u32 first = 0;

	for (u32 i = 1; i < nr_reads_; i++) {
		const struct rpcrdma_chunk moved = chunks[i];
		u32 to = i;

		for (; to && chunks[to - 1].position > moved.position; to--)
			chunks[to] = chunks[to - 1];
		chunks[to] = moved;
	}
	for (u32 i = 0; i < nr_reads_; i++) {
		chunks[i].first = static_cast<u16>(first);
		first += chunks[i].count;
		chunks[i].count = 0;
	}
}

/*
 * Decode Read segments of a version that leaves the order to the sender: afterwards the
 * lists are sorted as usual. A list is read twice, because sorting its segments would
 * cost more: the first pass finds and counts the chunks, of which there are few; the
 * second pass stores each segment in its place.
 */
bool list_decoder::reads_in_any_order()
{
	xdr_reader again = in_;
	bool too_many = false;
	u32 index = 0, nr_segs;

	for (;;) {
		struct rpcrdma_chunk *chunk;
		bool more;
		u32 position;

		if (!in_.get_bool(more))
			return false;
		if (!more)
			break;
		if (!in_.has(READ_SEGMENT_OCTETS - sizeof(u32)))
			return false;
		position = in_.word();
		if (position % sizeof(u32))
			return false;
		read_segment(read_octets_);
		/* Segments beyond the limits are only counted. */
		if (nr_segs_ > room_ || too_many)
			continue;
		chunk = chunk_at(position, index);
		if (chunk)
			chunk->count++;
		else
			too_many = true;
	}
	if (too_many)
		nr_reads_ = RPCRDMA_MAX_READ_CHUNKS + 1;
	if (too_many || nr_segs_ > room_)
		return true;

	sort_chunks();
	nr_segs = nr_segs_;
	index = 0;
	for (u32 i = 0; i < nr_segs; i++) {
		struct rpcrdma_chunk *chunk;
		u32 position;

		again.skip(sizeof(u32)); /* "one more follows" */
		position = again.word();
		chunk = chunk_at(position, index);
		const struct rpcrdma_segment seg = decode_segment(again);

		segment_at(lists_, u32{ chunk->first } + chunk->count++) = seg;
		chunk->length += seg.length;
	}
	return true;
}

/* Decode a counted array of segments. @chunk may be null. */
[[gnu::always_inline]] inline bool
list_decoder::array(struct rpcrdma_chunk *chunk)
{
	u32 count;

	if (!in_.get(count))
		return false;
	/* Do not rely on a count that exceeds the bytes left. */
	if (count > in_.left() / SEGMENT_OCTETS)
		return false;
	if (chunk)
		*chunk = {
			.position = 0,
			.length = 0,
			.first = static_cast<u16>(nr_segs_),
			.count = 0,
		};
	while (count--)
		segment(chunk, write_octets_);
	return true;
}

[[gnu::always_inline]] inline bool list_decoder::writes()
{
	for (;;) {
		struct rpcrdma_chunk *chunk = nullptr;
		bool more;

		if (!in_.get_bool(more))
			return false;
		if (!more)
			return true;
		if (nr_writes_ < RPCRDMA_MAX_WRITE_CHUNKS)
			chunk = &lists_->writes[nr_writes_];
		nr_writes_++;
		if (!array(chunk))
			return false;
	}
}

[[gnu::always_inline]] inline bool list_decoder::reply()
{
	if (!in_.get_bool(has_reply_))
		return false;
	return !has_reply_ || array(&lists_->reply);
}

[[gnu::always_inline]] inline fault list_decoder::verdict() const
{
	if (nr_reads_ > max_.reads)
		return { RDMA2_ERR_READ_CHUNKS, max_.reads };
	if (nr_writes_ > max_.writes)
		return { RDMA2_ERR_WRITE_CHUNKS, max_.writes };
	if (nr_segs_ > max_.segs)
		return { RDMA2_ERR_SEGMENTS, max_.segs };
	/* The peer knows RSSIZ and should not have sent this. */
	if (too_long_)
		return { RDMA2_ERR_BAD_XDR };
	/* Legal, but more than this implementation moves */
	if (read_octets_ > RPCRDMA_MAX_CHUNK_OCTETS ||
	    write_octets_ > RPCRDMA_MAX_CHUNK_OCTETS)
		return { RDMA2_ERR_SYSTEM };

	lists_->nr_reads = static_cast<u8>(nr_reads_);
	lists_->nr_writes = static_cast<u8>(nr_writes_);
	lists_->nr_segs = static_cast<u16>(nr_segs_);
	lists_->has_reply = has_reply_;
	return {};
}

/*
 * Skip a counted array of segments, if it is present. Returns false if the
 * encoding is not valid XDR.
 */
bool skip_array(xdr_reader &in, bool &there, u32 &segs)
{
	u32 count;

	if (!in.get_bool(there))
		return false;
	if (!there)
		return true;
	if (!in.get(count) || count > in.left() / SEGMENT_OCTETS)
		return false;
	in.skip(count * SEGMENT_OCTETS);
	segs += count;
	return true;
}

[[gnu::noinline]] fault decode_in_order(xdr_reader &in, const list_limits &max,
					struct rpcrdma_lists *lists)
{
	list_decoder decoder{ in, max, lists };

	if (!decoder.reads() || !decoder.writes() || !decoder.reply())
		return { RDMA2_ERR_BAD_XDR };
	in = decoder.rest();
	return decoder.verdict();
}

/* A separate decoder, so that the usual one stays in registers. */
[[gnu::noinline]] fault decode_in_any_order(xdr_reader &in,
					    const list_limits &max,
					    struct rpcrdma_lists *lists)
{
	list_decoder decoder{ in, max, lists };

	if (!decoder.reads_in_any_order() || !decoder.writes() ||
	    !decoder.reply())
		return { RDMA2_ERR_BAD_XDR };
	in = decoder.rest();
	return decoder.verdict();
}

} // namespace

/*
 * Return true if these are the ends of three empty lists, as in most messages.
 */
static bool empty(xdr_reader in)
{
	return in.has(EMPTY_CHUNKS_OCTETS) &&
	       !(in.word() | in.word() | in.word());
}

fault decode_chunks(xdr_reader &in, const list_limits &max,
		    struct rpcrdma_lists *lists)
{
	if (empty(in)) {
		in.skip(EMPTY_CHUNKS_OCTETS);
		return {};
	}
	if (decode_one(in, max, lists)) {
		in.skip(ONE_CHUNK_OCTETS);
		return {};
	}
	return max.any_order ? decode_in_any_order(in, max, lists) :
			       decode_in_order(in, max, lists);
}

u32 count_segments(xdr_reader in)
{
	u32 segs = 0;
	bool more;

	while (in.get_bool(more) && more) {
		if (!in.has(READ_SEGMENT_OCTETS - sizeof(u32)))
			return 0;
		in.skip(READ_SEGMENT_OCTETS - sizeof(u32));
		segs++;
	}
	do {
		if (!skip_array(in, more, segs))
			return 0;
	} while (more);
	return skip_array(in, more, segs) ? segs : 0;
}

bool reads_fit(const struct rpcrdma_lists *lists, u32 stream, bool special)
{
	u64 reduced = 0; /* bytes of items and roundup so far */
	u64 passed = 0;	 /* bytes of the stream so far */
	u32 i = 0;

	if (special) {
		if (!lists->nr_reads || lists->reads[0].position)
			return false;
		i = 1;
	}

	for (; i < lists->nr_reads; i++) {
		const struct rpcrdma_chunk *chunk = &lists->reads[i];
		const u64 position = chunk->position;

		/*
		 * Position 0 is for Special Format, and the words that were
		 * compared with the header must not be moved elsewhere.
		 */
		if (position < RPC_MIN_OCTETS)
			return false;
		/* It must not precede the end of the preceding item. */
		if (position < reduced || position - reduced < passed)
			return false;
		/* It must not be after the stream's end. */
		passed = position - reduced;
		if (passed > stream)
			return false;
		reduced += roundup4(chunk->length);
	}
	return true;
}

namespace
{

xdr_writer encode_array(xdr_writer out, const struct rpcrdma_lists *lists,
			const struct rpcrdma_chunk &chunk)
{
	out.word(1);
	out.word(chunk.count);
	for (u32 i = 0; i < chunk.count; i++)
		out = encode_segment(out, *rpcrdma_lists_seg(lists,
							     chunk.first + i));
	return out;
}

xdr_writer encode_read(xdr_writer out, const struct rpcrdma_lists *lists,
		       const struct rpcrdma_chunk &chunk)
{
	for (u32 i = 0; i < chunk.count; i++) {
		out.word(1);
		out.word(chunk.position);
		out = encode_segment(out, *rpcrdma_lists_seg(lists,
							     chunk.first + i));
	}
	return out;
}

} // namespace

xdr_writer encode_some_chunks(xdr_writer out, const struct rpcrdma_lists *lists)
{
	if (has_one_segment(lists))
		return encode_one(out, lists);
	for (u32 i = 0; i < lists->nr_reads; i++)
		out = encode_read(out, lists, lists->reads[i]);
	out.word(0);

	for (u32 i = 0; i < lists->nr_writes; i++)
		out = encode_array(out, lists, lists->writes[i]);
	out.word(0);

	if (lists->has_reply)
		return encode_array(out, lists, lists->reply);
	out.word(0);
	return out;
}

} // namespace rpcrdma
