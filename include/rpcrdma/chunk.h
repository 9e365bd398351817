/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Chunk lists: decoded from a message, or to be encoded.
 */
#ifndef RPCRDMA_CHUNK_H
#define RPCRDMA_CHUNK_H

#include "base.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_segment - a plain segment (4.3.3)
 * @handle: key of the memory
 * @length: bytes; 0: an empty segment
 * @offset: address of the memory, for the device of its owner
 */
struct rpcrdma_segment {
	u32 handle;
	u32 length;
	u64 offset;
};

/**
 * struct rpcrdma_chunk - a run of segments of the lists that contain it
 * @position: bytes into the unreduced Payload stream; Read chunks only
 * @length: bytes, the sum over its segments
 * @first: index of its first segment
 * @count: number of segments; 0: an empty chunk
 */
struct rpcrdma_chunk {
	u32 position;
	u32 length;
	u16 first;
	u16 count;
};

/**
 * struct rpcrdma_lists - the chunk lists of one message (6.2.3), decoded or to be
 *	encoded
 * @inv_handle: handle that may be invalidated (6.2.4); 0: none
 * @nr_reads: number of Read chunks. This and the next three are one word, which
 *	is zero for most messages
 * @nr_writes: number of Write chunks
 * @has_reply: 1 if a Reply chunk is present
 * @nr_segs: number of segments
 * @extra_segs: array of RPCRDMA_MAX_EXTRA_SEGS, or NULL if there is none
 * @reads: Read chunks in list order; a Position Zero Read chunk is the first
 * @writes: Write chunks in list order
 * @reply: the Reply chunk
 * @segs: the first segments
 *
 * Segments of all chunks are in wire order: reads, writes, reply. Those that do not
 * fit into @segs are in @extra_segs; rpcrdma_lists_seg() finds either. @extra_segs
 * belongs to the user of the lists: a copy of them must not outlive it.
 */
struct rpcrdma_lists {
	u32 inv_handle;
	u8 nr_reads;
	u8 nr_writes;
	u16 has_reply;
	u16 nr_segs;
	struct rpcrdma_segment *extra_segs;
	struct rpcrdma_chunk reads[RPCRDMA_MAX_READ_CHUNKS];
	struct rpcrdma_chunk writes[RPCRDMA_MAX_WRITE_CHUNKS];
	struct rpcrdma_chunk reply;
	struct rpcrdma_segment segs[RPCRDMA_MAX_SEGS];
};

/**
 * rpcrdma_lists_seg() - get a segment, which must exist
 * @lists: chunk lists of the message
 * @i: index of the segment
 *
 * Return: the segment.
 */
static inline const struct rpcrdma_segment *
rpcrdma_lists_seg(const struct rpcrdma_lists *lists, u32 i)
{
	return i < RPCRDMA_MAX_SEGS ? &lists->segs[i] :
				      &lists->extra_segs[i - RPCRDMA_MAX_SEGS];
}

/* A cursor over a byte range of a chunk */
struct rpcrdma_chunk_cursor {
	u32 offset;			/* bytes from the start of the current segment */
	/* index of the current segment in the chunk; 0 to begin */
	u32 segment;
	u32 length;			/* bytes left */
};

/**
 * rpcrdma_chunk_next() - advance to the next bytes of a chunk that are contiguous in
 *	memory
 * @lists: holds the segments of @chunk
 * @chunk: chunk
 * @at: position in the chunk; at->length is reduced by the length of @part
 * @part: returns the bytes, at least one
 *
 * If at->length is not 0 at the end, the chunk is too short by that much.
 * Return: false at the end.
 */
static inline bool rpcrdma_chunk_next(const struct rpcrdma_lists *lists,
				      const struct rpcrdma_chunk *chunk,
				      struct rpcrdma_chunk_cursor *at,
				      struct rpcrdma_segment *part)
{
	const struct rpcrdma_segment *seg;

	while (at->length && at->segment < chunk->count) {
		seg = rpcrdma_lists_seg(lists, chunk->first + at->segment++);
		if (at->offset >= seg->length) {
			at->offset -= seg->length;
			continue;
		}
		part->handle = seg->handle;
		part->length = seg->length - at->offset;
		if (part->length > at->length)
			part->length = at->length;
		part->offset = seg->offset + at->offset;
		at->offset = 0;
		at->length -= part->length;
		return true;
	}
	return false;
}

/**
 * rpcrdma_lists_init() - initialise lists, to build them
 * @lists: chunk lists
 *
 * Chunks must be added in wire order (reads by ascending position, writes, reply). Add
 * a chunk, then append its segments; a Write chunk may stay empty. Initialised lists
 * have no extra_segs; it may be set while they are empty.
 */
static inline void rpcrdma_lists_init(struct rpcrdma_lists *lists)
{
	/* The arrays need no clearing: the counts bound the valid entries. */
	lists->inv_handle = 0;
	lists->nr_reads = 0;
	lists->nr_writes = 0;
	lists->has_reply = 0;
	lists->nr_segs = 0;
	lists->extra_segs = NULL;
}

/**
 * rpcrdma_lists_add_read() - add a Read chunk
 * @lists: chunk lists
 * @position: Position of the chunk
 *
 * Return: 0, or -1 if the bounds in wire.h would be exceeded.
 */
int rpcrdma_lists_add_read(struct rpcrdma_lists *lists, u32 position);

/**
 * rpcrdma_lists_add_write() - add a Write chunk
 * @lists: chunk lists
 *
 * Return: 0, or -1 if the bounds in wire.h would be exceeded.
 */
int rpcrdma_lists_add_write(struct rpcrdma_lists *lists);

/**
 * rpcrdma_lists_add_reply() - add the Reply chunk
 * @lists: chunk lists
 *
 * Return: 0, or -1 if the bounds in wire.h would be exceeded.
 */
int rpcrdma_lists_add_reply(struct rpcrdma_lists *lists);

/**
 * rpcrdma_lists_add_segment() - append a segment to the last chunk added
 * @lists: chunk lists
 * @handle: handle of the MR
 * @length: bytes
 * @offset: offset of the segment
 *
 * Return: 0, or -1 if the bounds in wire.h would be exceeded.
 */
int rpcrdma_lists_add_segment(struct rpcrdma_lists *lists, u32 handle,
			      u32 length, u64 offset);

/**
 * rpcrdma_lists_set_only() - set lists to one chunk of one segment
 * @lists: chunk lists, without extra_segs
 * @read: a Read chunk, otherwise a Write chunk
 * @position: Position of a Read chunk
 * @handle: handle of the MR
 * @length: bytes, at most RPCRDMA_MAX_CHUNK_OCTETS
 * @offset: offset of the segment
 *
 * inv_handle is left as it is.
 */
static inline void rpcrdma_lists_set_only(struct rpcrdma_lists *lists,
					  bool read, u32 position, u32 handle,
					  u32 length, u64 offset)
{
	struct rpcrdma_chunk *chunk = read ? lists->reads : lists->writes;

	chunk->position = read ? position : 0;
	chunk->length = length;
	chunk->first = 0;
	chunk->count = 1;
	lists->segs[0].handle = handle;
	lists->segs[0].length = length;
	lists->segs[0].offset = offset;
	/*
	 * As constants: three of these fields are read as one word, and a processor that
	 * has just written them one by one would stall on that read. A compiler stores
	 * constants with one instruction.
	 */
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

/**
 * rpcrdma_lists_choose_inv_handle() - choose inv_handle among any number of segments
 * @lists: chunk lists
 *
 * The slow path of rpcrdma_lists_set_inv_handle().
 */
void rpcrdma_lists_choose_inv_handle(struct rpcrdma_lists *lists);

/**
 * rpcrdma_lists_set_inv_handle() - set inv_handle to the largest segment's (6.2.4), if there is
 *	a segment
 * @lists: chunk lists
 */
static inline void rpcrdma_lists_set_inv_handle(struct rpcrdma_lists *lists)
{
	if (__builtin_expect(lists->nr_segs == 1 && lists->segs[0].length, 1))
		lists->inv_handle = lists->segs[0].handle;
	else
		rpcrdma_lists_choose_inv_handle(lists);
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CHUNK_H */
