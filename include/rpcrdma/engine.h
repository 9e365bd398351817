/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol engine of RPC-over-RDMA: its interface for C and C++.
 *
 * The engine converts between messages and plain values, and makes the
 * protocol's decisions. It does no I/O, allocates nothing, takes no lock and
 * keeps no pointer beyond the call, unless the function says so. All state of a
 * connection is in struct rpcrdma_conn, which the user embeds and protects:
 * calls with a non-const struct rpcrdma_conn must be serialised per connection.
 * Once the connection is open, const functions may run concurrently with them
 * if they read only what is then fixed: version, properties, limits, plans and
 * the codec. Two of those fields still change, each in a single store: the
 * peer's RCSIZ (rpcrdma_call_refused()) and the state (to CLOSING). Functions
 * that report credits or queued work must be serialised like the non-const
 * ones. No function sleeps; all can be called in any context.
 *
 * A function named by a past participle reports an event (_posted, _opened,
 * _sent). One named by a verb decides or performs something.
 *
 * Section numbers: "4.2" alone is the version 2 draft, "DR 4.1" the
 * reliable-reply draft, "WP 3" the wire profile in
 * Documentation/wire-profile.rst.
 *
 * Lengths and sizes are in bytes unless the name says otherwise. Integers are
 * in host order everywhere but in the message buffers themselves.
 */
#ifndef RPCRDMA_ENGINE_H
#define RPCRDMA_ENGINE_H

#ifdef __cplusplus
/*
 * No system header: the engine is freestanding. Same layout as in the kernel.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#ifndef NULL
#define NULL nullptr
#endif

#include "serial.hh"

extern "C" {
#else
#ifdef __KERNEL__
#include <linux/types.h>
#else
/* No kernel header: these are the names that the kernel uses internally. */
#include <stdbool.h>
#include <stddef.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#endif

typedef u32 rpcrdma_serial;
#endif

/* ------------------------------------------------------------------ */
/* Protocol constants                                                  */

enum {
	RPCRDMA_VERS_1 = 1,
	RPCRDMA_VERS_2 = 2,
};

/* Header types, 6.1 and DR 4.1.3 */
enum {
	RDMA2_MSG = 0,
	RDMA2_NOMSG = 1,
	RDMA2_DONE = 3,
	RDMA2_ERROR = 4,
	RDMA2_CONNPROP = 5,
};

/* rdma_flags, 6.2.2 */
enum {
	RDMA2_F_RESPONSE = 1,
	RDMA2_F_MORE = 2,
	RDMA2_F_TPMORE = 4,
};

/* Error codes, 8.4 */
enum {
	RDMA2_ERR_VERS = 1,
	RDMA2_ERR_BAD_XDR = 2,
	RDMA2_ERR_BAD_PROPVAL = 3,
	RDMA2_ERR_INVAL_HTYPE = 4,
	RDMA2_ERR_INVAL_CONT = 5,
	RDMA2_ERR_READ_CHUNKS = 6,
	RDMA2_ERR_WRITE_CHUNKS = 7,
	RDMA2_ERR_SEGMENTS = 8,
	RDMA2_ERR_WRITE_RESOURCE = 9,
	RDMA2_ERR_REPLY_RESOURCE = 10,
	RDMA2_ERR_SYSTEM = 100,
};

/* Transport property ids, 5.2 and WP 5 */
enum {
	RDMA2_PROPID_SBSIZ = 1,
	RDMA2_PROPID_RBSIZ = 2,
	RDMA2_PROPID_RSSIZ = 3,
	RDMA2_PROPID_RCSIZ = 4,
	RDMA2_PROPID_BRS = 5,
	RDMA2_PROPID_HOSTAUTH = 6,
};
#define RDMA2_PROPID_REPLY_READ		0xF0000001u
#define RDMA2_PROPID_REASSEMBLY		0xF0000002u

/* Reverse-direction support, 5.2.5 (CONT is 2: the XDR's 1 is an error) */
enum {
	RDMA2_RVRSDIR_NONE = 0,
	RDMA2_RVRSDIR_SIMPLE = 1,
	RDMA2_RVRSDIR_CONT = 2,
	RDMA2_RVRSDIR_GENL = 3,
};

/* Bits of RDMA2_PROPID_REPLY_READ, WP 5 */
enum {
	RDMA2_REPLY_READ_PULL = 1,	/* can pull and complete such a Reply */
	RDMA2_REPLY_READ_PROVIDE = 2,	/* will provide one to a peer that can pull */
};

enum {
	RPCRDMA_V2_PREFIX = 24,		/* six words, WP 1 */
	/* Headers without chunks, 6.3.1 and RFC 8166, 4.2 */
	RPCRDMA_V1_PLAIN_HEADER = 28,
	RPCRDMA_V2_PLAIN_HEADER = 40,
	RPCRDMA_V2_DEFAULT_INLINE = 4096,
	RPCRDMA_V2_FIRST_CONNPROP = 1024,	/* 4.2.3: v1's threshold */
	RPCRDMA_MIN_INLINE_OCTETS = 1024,
	RPCRDMA_MAX_CREDIT = 65535,	/* WP 3 */
	RPCRDMA_MIN_WINDOW = 4,		/* WP 3 */
	RPCRDMA_CALL_RESERVE = 2,	/* left to Replies by a Call, WP 3 */
	RPCRDMA_FIRST_WINDOW = 4,	/* messages, at the start */
	RPCRDMA_USUAL_WINDOW = 16,	/* messages, once the peer uses the connection */
	RPCRDMA_MAX_PENDING_CONTROL = 64,	/* WP 3 */
	RPCRDMA_PRIVATE_OCTETS = 8,	/* RFC 8797 */
};

/* Bounds of this implementation */
enum {
	RPCRDMA_MAX_SEGS = 64,		/* segments in one message: our RCSIZ */
	/*
	 * Version 1 has no RCSIZ, and clients may rely on the limits of other
	 * servers: with these, there is a segment for each page that 1 MiB of
	 * payload and the rest of its message touch.
	 */
	RPCRDMA_MORE_SEGS = 200,
	RPCRDMA_MAX_READ_CHUNKS = 16,	/* Read chunks in one Call */
	RPCRDMA_MAX_WRITE_CHUNKS = 16,	/* Write chunks in one message */
	/* Read chunks together, and Write chunks and Reply chunk together */
	RPCRDMA_MAX_CHUNK_OCTETS = 16 << 20,
	/*
	 * Replies exposed at a time for the peer to pull. All their DONEs may
	 * be pending at a peer that has our RPCRDMA_MAX_PENDING_CONTROL, in
	 * addition to ERRORs.
	 */
	RPCRDMA_MAX_EXPOSED = 48,
	/*
	 * Milliseconds for which a peer may grant no credit to queued messages:
	 * as long as an RPC waits for its Reply before it is retransmitted.
	 */
	RPCRDMA_STALL_MS = 60000,
	/*
	 * Receives that a server has in addition to the window of a version 1
	 * peer. An ERROR may be sent, and answered by the next Call, shortly
	 * before the Receive of the refused Call is free again; and some free
	 * Receives are withheld to be posted in a batch.
	 */
	RPCRDMA_V1_SPARE_RECEIVES = 24,
};

/* ------------------------------------------------------------------ */
/* Chunk lists                                                         */

/* A plain segment, 4.3.3 */
struct rpcrdma_segment {
	u32 handle;
	u32 length;			/* bytes; 0: an empty segment */
	u64 offset;
};

/* A chunk: a run of segments of the containing lists */
struct rpcrdma_chunk {
	u32 position;			/* bytes; Read chunks only */
	u32 length;			/* bytes, the sum over its segments */
	u16 first;			/* index of its first segment */
	u16 count;			/* segments; 0: an empty chunk */
};

/*
 * The chunk lists of one message, 6.2.3, decoded or to be encoded. Read chunks
 * are in list order; a Position Zero Read chunk is reads[0] with position 0.
 * Segments of all chunks are in wire order: reads, writes, reply. The first
 * segments are in segs[], those that do not fit there in more[]:
 * rpcrdma_lists_seg() finds them. @more belongs to the user of the lists; a
 * copy of the lists must not outlive it.
 */
struct rpcrdma_lists {
	u32 inv_handle;			/* 6.2.4; 0: none */
	/* These four are one word, which is zero for most messages. */
	u8 nr_reads;
	u8 nr_writes;
	u16 has_reply;			/* a Reply chunk is present */
	u16 nr_segs;
	struct rpcrdma_segment *more;	/* RPCRDMA_MORE_SEGS, or NULL: none */
	struct rpcrdma_chunk reads[RPCRDMA_MAX_READ_CHUNKS];
	struct rpcrdma_chunk writes[RPCRDMA_MAX_WRITE_CHUNKS];
	struct rpcrdma_chunk reply;
	struct rpcrdma_segment segs[RPCRDMA_MAX_SEGS];
};

/* Return segment @i of @lists, which must exist. */
static inline const struct rpcrdma_segment *
rpcrdma_lists_seg(const struct rpcrdma_lists *lists, u32 i)
{
	return i < RPCRDMA_MAX_SEGS ? &lists->segs[i] :
				      &lists->more[i - RPCRDMA_MAX_SEGS];
}

/* A byte range of a chunk, as a cursor */
struct rpcrdma_stretch {
	u32 offset;			/* bytes from the start of the current segment */
	/* index of the current segment in the chunk; 0 to begin */
	u32 segment;
	u32 length;			/* bytes left */
};

/*
 * Advance @at to the next bytes that are contiguous in memory, and return them
 * in @part. at->length is reduced by the length of @part, which is at least 1.
 * @lists: holds the segments of @chunk.
 * Returns false at the end. The chunk is too short by the at->length that is
 * left.
 */
static inline bool rpcrdma_chunk_next(const struct rpcrdma_lists *lists,
				      const struct rpcrdma_chunk *chunk,
				      struct rpcrdma_stretch *at,
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

/*
 * Functions to build lists. Chunks must be added in wire order (reads by
 * ascending position, writes, reply). Add a chunk, then append its segments; a
 * Write chunk may stay empty. Each function returns 0, or -1 if the bounds
 * above would be exceeded. Initialised lists have no more[]; it may be set
 * while they are empty.
 */
static inline void rpcrdma_lists_init(struct rpcrdma_lists *lists)
{
	/* The arrays need no clearing: the counts say what is valid. */
	lists->inv_handle = 0;
	lists->nr_reads = 0;
	lists->nr_writes = 0;
	lists->has_reply = 0;
	lists->nr_segs = 0;
	lists->more = NULL;
}
int rpcrdma_lists_add_read(struct rpcrdma_lists *lists, u32 position);
int rpcrdma_lists_add_write(struct rpcrdma_lists *lists);
int rpcrdma_lists_add_reply(struct rpcrdma_lists *lists);
/* Append a segment to the last chunk added. */
int rpcrdma_lists_add_segment(struct rpcrdma_lists *lists, u32 handle,
			      u32 length, u64 offset);
/* Set inv_handle to the largest segment's (6.2.4), if there is a segment. */
void rpcrdma_lists_offer(struct rpcrdma_lists *lists);

/* ------------------------------------------------------------------ */
/* Memory regions                                                      */

/*
 * Limits by which memory is split into MRs, each of which is a segment of a
 * chunk. Both the registration and the functions that count segments in advance
 * use them.
 */
struct rpcrdma_cut {
	u32 page_shift;		/* a page has 1 << page_shift bytes */
	u32 pages;		/* pages in an MR, at most; not 0 */
	u32 octets;		/* bytes in an MR, at most; not 0 */
	bool gaps;		/* an MR may have gaps between its pages */
	/*
	 * The device may use another offset for a part of a page, for instance
	 * in a bounce buffer: without @gaps, such a part needs an MR of its
	 * own.
	 */
	bool apart;
};

/* An MR that is being filled. All zero at first. */
struct rpcrdma_region {
	u32 pages;
	u32 octets;
	u32 begin;		/* bytes of its first page that precede it */
	u32 end;		/* bytes used of its last page; 0: all */
};

/*
 * Return true if a gap prevents memory of @length bytes, at @offset into a
 * page, from following the memory in @r, which is not empty.
 */
static inline bool rpcrdma_region_gap(const struct rpcrdma_cut *cut,
				      const struct rpcrdma_region *r,
				      u32 offset, u32 length)
{
	if (cut->gaps)
		return false;
	if (offset || r->end)
		return true;
	return cut->apart && (r->begin || length >> cut->page_shift == 0);
}

/*
 * Add as much of a memory range to @r as fits. The range starts @offset bytes
 * into a page and continues for @length bytes in whole pages. A page is never
 * split between MRs unless it is larger than an MR. Returns the number of bytes
 * added; 0 means that a new MR is needed. An empty MR always accepts some.
 */
static inline u32 rpcrdma_region_take(const struct rpcrdma_cut *cut,
				      struct rpcrdma_region *r, u32 offset,
				      u32 length)
{
	const u32 in_page = (1u << cut->page_shift) - 1;
	u32 n = length, room, beyond;

	if (r->octets && rpcrdma_region_gap(cut, r, offset, length))
		return 0;
	if (r->pages == cut->pages)
		return 0;
	if (cut->apart && !cut->gaps) {
		if (offset)
			room = in_page + 1 - offset;
		else
			room = n > in_page ? n & ~in_page : n;
		if (n > room)
			n = room;
	}
	room = ((cut->pages - r->pages) << cut->page_shift) - offset;
	if (n > room)
		n = room;
	room = cut->octets - r->octets;
	if (n > room)
		n = room;
	if (n < length) {
		beyond = (offset + n) & in_page;
		if (beyond < n)
			n -= beyond;
		else if (r->octets)
			return 0;
	}
	if (!r->octets)
		r->begin = offset;
	r->pages += (offset + n + in_page) >> cut->page_shift;
	r->octets += n;
	r->end = (offset + n) & in_page;
	return n;
}

/*
 * Return the number of MRs needed to register @length bytes that start @offset
 * bytes into a page. If adjacent memory is registered with them, they add at
 * most this many. Counting stops once the result exceeds RPCRDMA_MAX_SEGS.
 */
static inline u32 rpcrdma_region_count(const struct rpcrdma_cut *cut,
				       u32 offset, u32 length)
{
	const u32 in_page = (1u << cut->page_shift) - 1;
	u32 count = 0, n;

	/* Fast path: everything is in one MR. */
	if (length && !cut->apart && length <= cut->octets &&
	    (u64)offset + length <= (u64)cut->pages << cut->page_shift)
		return 1;
	while (length && count <= RPCRDMA_MAX_SEGS) {
		struct rpcrdma_region r = { 0, 0, 0, 0 };

		n = rpcrdma_region_take(cut, &r, offset, length);
		offset = (offset + n) & in_page;
		length -= n;
		count++;
	}
	return count;
}

/*
 * Lower the limits in @now because a device mapped less into an MR than @used
 * permits. If another context has lowered them since @used was copied, that is
 * enough. Returns true if the caller must plan its message again, false if
 * lower limits cannot help.
 */
bool rpcrdma_cut_finer(struct rpcrdma_cut *now, const struct rpcrdma_cut *used);

/* ------------------------------------------------------------------ */
/* A connection                                                        */

/* Transport properties of one end, WP 5. 0 is never "default" here. */
struct rpcrdma_props {
	u32 sbsiz;			/* bytes, largest message sent */
	u32 rbsiz;			/* bytes, size of its Receives */
	u32 rssiz;			/* bytes per segment; 0: no chunks */
	u32 rcsiz;			/* segments per message; 0: no chunks */
	u32 brs;			/* RDMA2_RVRSDIR_*; a client's only */
	u32 reply_read;			/* RDMA2_REPLY_READ_* */
	u32 reassembly;			/* bytes reassembled from continued messages */
};

struct rpcrdma_conn_config {
	u32 number;			/* unique among all connections; not 0 */
	u8 client;			/* 1: this end opens (4.2.3) */
	u8 version_low, version_high;	/* versions allowed to this role */
	u8 inv_ok;			/* device can invalidate remotely */
	u8 no_regions;			/* device cannot register memory */
	u8 guess;			/* version 1 is a fallback: 2 got no answer */
	u32 window;			/* Receives for RPC traffic, at most, >= 4 */
	/* Receives for RPC traffic to begin with, >= 4; 0: all */
	u32 first_window;
	/* Receives of the window for the reverse direction */
	u32 reverse;
	u32 expose_octets;		/* bytes of Replies exposed at a time, at most */
	/* milliseconds to wait for the DONEs of exposed Replies */
	u32 done_ms;
	/* milliseconds without credit; 0: RPCRDMA_STALL_MS */
	u32 stall_ms;
	struct rpcrdma_props props;	/* what this end announces */
};

/*
 * Return true if reverse Calls and their Replies have chunks at this level
 * (4.5.4).
 */
static inline bool rpcrdma_reverse_chunks(u32 brs)
{
	return brs == RDMA2_RVRSDIR_GENL;
}

/*
 * Return the RDMA2_REPLY_READ_* bits of an end that @pulls Replies, or
 * @provides them.
 */
static inline u32 rpcrdma_reply_read(bool pulls, bool provides)
{
	u32 bits = 0;

	if (pulls)
		bits |= RDMA2_REPLY_READ_PULL;
	if (provides)
		bits |= RDMA2_REPLY_READ_PROVIDE;
	return bits;
}

/* The private message of connection requests and accepts, RFC 8797 */
struct rpcrdma_private {
	u8 valid;		/* decoded: a message was present */
	u8 inv_ok;
	u32 send_size, recv_size;	/* bytes, 1024..262144 */
};

enum rpcrdma_conn_state {
	RPCRDMA_CONN_OPENING,		/* properties not exchanged yet */
	RPCRDMA_CONN_OPEN,		/* RPC traffic may pass */
	RPCRDMA_CONN_CLOSING,		/* the engine asked to close */
};

enum rpcrdma_format {
	RPCRDMA_INLINE,			/* Simple Format, 4.4.1 */
	RPCRDMA_CONTINUED,		/* 4.4.2 */
	RPCRDMA_SPECIAL,		/* 4.4.3 */
	RPCRDMA_NR_FORMATS,
};

/* The kind of a message, for credit accounting and counters */
enum rpcrdma_kind {
	RPCRDMA_KIND_CALL,
	RPCRDMA_KIND_REPLY,
	RPCRDMA_KIND_CONTROL,		/* CONNPROP, ERROR, DONE, grant */
};

struct rpcrdma_conn_counters {
	u64 calls[RPCRDMA_NR_FORMATS];	/* complete Calls sent or received */
	u64 replies[RPCRDMA_NR_FORMATS];
	u64 read_chunks, write_chunks, reply_chunks;	/* in either direction */
	u64 errors_sent, errors_received;
	u64 grants_sent, grants_received;
	u64 dropped;			/* messages dropped without an answer */
	/* Replies by Read chunk (WP 8): exposed here, received to be pulled */
	u64 replies_exposed, replies_to_pull;
	u64 dones_sent, dones_received;	/* received: for a Reply exposed here */
	u64 dones_overdue;		/* Replies withdrawn without a DONE */
};

/* A control message that is queued (WP 3) */
struct rpcrdma_pending {
	u32 xid;
	u32 htype;
	u32 code;			/* error code, or handle for DONE */
	u32 arg[2];
};

/*
 * A Reply that the peer can pull, or will be able to (WP 8). Embed it in the
 * object that owns the Reply's memory. All fields are private to the engine.
 */
struct rpcrdma_exposure {
	struct rpcrdma_exposure *next;
	u32 xid, octets;
	u32 handle;		/* that DONE may invalidate, 0: none */
	rpcrdma_serial since;	/* milliseconds, when it was sent */
	u8 state;
};

/*
 * The state of one connection. Embed it and set it up with rpcrdma_conn_init().
 * Users read a field only if no accessor returns it.
 */
struct rpcrdma_conn {
	struct rpcrdma_conn_config cfg;
	struct rpcrdma_conn_counters counters;
	struct rpcrdma_props peer;	/* effective once open */
	struct rpcrdma_props staged;	/* the peer's properties received so far */
	/*
	 * Adjacent: is_settled() compares these four as one 32-bit word, and
	 * the next two together.
	 */
	u8 state;			/* enum rpcrdma_conn_state */
	u8 version;			/* 0 until fixed */
	u8 props_sent;			/* all CONNPROPs of this end were sent */
	u8 pend_count;			/* control messages queued, see below */
	u8 rx_open;			/* 1: a continued message is being received */
	u8 nr_discard;			/* sequences to discard, see below */
	u8 props_received;		/* all CONNPROPs of the peer were received */
	u8 props_due;			/* CONNPROPs of this end may be sent */
	u8 err_vers_high, err_vers_low;	/* from an ERR_VERS, 255 at most */
	u8 answered;			/* client: something valid was received */
	u8 refused;			/* client: that was ERR_VERS, and nothing else */
	/* client: something other than an opening was received */
	u8 odd;
	/* Credits, WP 3 */
	rpcrdma_serial sent;		/* messages sent by this end */
	/* the peer permits messages up to this value of sent */
	rpcrdma_serial limit;
	/* Calls outstanding in both directions; read unlocked as a hint */
	u32 underway;
	rpcrdma_serial received;	/* messages received by this end */
	rpcrdma_serial posted;		/* Receives posted since the start */
	/* the peer's acknowledgement: our messages it has received */
	rpcrdma_serial counted;
	/* value of sent after the last message that was not a credit grant */
	rpcrdma_serial said;
	/* received + credit, as in the last header sent */
	rpcrdma_serial advertised;
	u32 unreplaced;			/* Receives that will soon be free again */
	/* of these, Receives of credit grants since the last header */
	u16 grants_unreplaced;
	u16 moved;			/* other Receives became free since then */
	/* Receives: posted, free, or with a message */
	u32 window;			/* Receives for RPC traffic, at present */
	/* Receives to have: window, reserve and spare ones */
	u32 wanted;
	u32 batch;			/* free Receives to post together */
	/* while that many are posted, without the reserve */
	u32 least_posted;
	u32 receives;			/* Receives allocated */
	u32 making;			/* Receives that the caller is allocating */
	u32 kept_back;			/* free Receives that are withheld */
	/* value of received at which the peer knows the window */
	rpcrdma_serial heard_later;
	/* credits that the peer left unused at least, in the interval */
	u32 least_left;
	/* milliseconds: begin of the interval for least_left */
	rpcrdma_serial watched_since;
	/* value of sent after the last complete message that needs credit */
	rpcrdma_serial whole;
	u8 stalled;			/* a message waits for credit */
	rpcrdma_serial stalled_since;	/* stalled: milliseconds, since when */
	rpcrdma_serial stalled_sent;	/* stalled: sent at that time */
	rpcrdma_serial stalled_whole;	/* stalled: whole at that time */
	u32 prop_octets;		/* bytes of CONNPROP received, bounded */
	/* Version 1: its credits, and the origin of its limits */
	u32 calls_out;			/* Calls sent and not answered */
	u32 call_limit;			/* maximum of calls_out */
	u32 granted;			/* Calls granted to the peer */
	struct rpcrdma_private peer_private;
	/* The open continued messages, one in each direction */
	u32 rx_xid, rx_response, rx_octets;
	u8 tx_open;			/* kind of the message being sent, + 1 */
	/* 7.1.3: sequences the rest of which is to be discarded */
	struct {
		u32 xid, response;
	} discard[2];
	/* WP 8: Replies that the peer can pull, or will be able to */
	u32 nr_exposed, exposed_octets;
	struct rpcrdma_exposure *exposed;
	const char *reason;		/* why closing, a static string */
	/*
	 * Queued control messages, a ring; last here, see rpcrdma_conn_init()
	 */
	u8 pend_head;
	struct rpcrdma_pending pend[RPCRDMA_MAX_PENDING_CONTROL];
};

/*
 * Initialise @conn for a new connection. @cfg is copied; values out of range
 * are clamped in the copy. No Receive has been posted yet.
 */
void rpcrdma_conn_init(struct rpcrdma_conn *conn,
		       const struct rpcrdma_conn_config *cfg);

/*
 * Return the reason for the connection's version, one word for logs; never
 * NULL.
 */
const char *rpcrdma_version_why(const struct rpcrdma_conn *conn);

/*
 * Memory of a server's versions that a client keeps from one connection to the
 * next, WP 4. All zero at first. @now below: seconds, of a monotonic clock.
 */
struct rpcrdma_version_memory {
	u64 only_v1_until;		/* seconds; 0: no */
	u8 silent;			/* consecutive attempts without an answer */
	u8 has_v2;			/* the server has used version 2 */
	u8 has_v1;			/* the server has used version 1 since */
	u8 lasts;			/* version 1 extends only_v1_until */
};

/*
 * Return the version to begin with: @high, or 1 if the memory says so and @low
 * allows it. A connection with a version lower than @high is a fallback
 * (rpcrdma_conn_config.guess).
 */
u8 rpcrdma_version_first(const struct rpcrdma_version_memory *memory, u64 now,
			 u8 low, u8 high);

/* A server's answer on a connection */
enum rpcrdma_answer {
	RPCRDMA_ANSWER_NOT_YET,		/* nothing that is conclusive */
	RPCRDMA_ANSWER_NONE,		/* nothing, in all the time it had */
	RPCRDMA_ANSWER_LOST,		/* nothing: it closed the connection */
	RPCRDMA_ANSWER_AWAY,		/* it did not accept the connection */
	RPCRDMA_ANSWER_V1,
	RPCRDMA_ANSWER_V2,
	RPCRDMA_ANSWER_REFUSED,		/* ERR_VERS, and nothing after it */
	RPCRDMA_ANSWER_ODD,		/* neither ERR_VERS nor version 2 */
};

/* The cause of the end of a connection, or of the attempt at one */
enum rpcrdma_end {
	RPCRDMA_END_NONE,		/* none: it has not ended */
	RPCRDMA_END_HERE,		/* a failure of this end, or of its network */
	RPCRDMA_END_PEER,		/* the peer, or the connection to it */
	RPCRDMA_END_WAITED,		/* this end, after waiting for the peer */
	/* never established: the peer did not accept it */
	RPCRDMA_END_AWAY,
};

/*
 * Return what a client's connection has shown of its server. @end: as in
 * rpcrdma_life.end. A failure of this end shows nothing.
 */
enum rpcrdma_answer rpcrdma_conn_answer(const struct rpcrdma_conn *conn,
					enum rpcrdma_end end);

/*
 * Learn from a connection that has opened or ended, or from a failed attempt.
 * @tried: the version it began with. Returns true if the server has refused
 * that version and closed the connection, so that the next attempt, which
 * begins with version 1, need not be delayed.
 */
bool rpcrdma_version_learn(struct rpcrdma_version_memory *memory, u64 now,
			   u8 tried, enum rpcrdma_answer answer);

/* Limits for messages to the peer of an open connection, WP 5 */
struct rpcrdma_conn_limits {
	u32 send_inline;		/* bytes, inline threshold outbound */
	u32 recv_inline;		/* bytes, inline threshold inbound */
	u32 max_segment;		/* bytes per segment; 0: no chunks */
	u32 max_segs;			/* segments in a message; 0: no chunks */
	u32 continued;			/* bytes the peer reassembles; 0: none */
};

static inline struct rpcrdma_conn_limits
rpcrdma_conn_limits(const struct rpcrdma_conn *conn)
{
	const struct rpcrdma_props *own = &conn->cfg.props;
	const struct rpcrdma_props *peer = &conn->peer;
	/* A SEGMENTS error lowers it concurrently. */
	const u32 rcsiz = __atomic_load_n(&peer->rcsiz, __ATOMIC_RELAXED);
	/* The peer may accept chunks that this end has no MRs for. */
	const bool chunks = peer->rssiz && rcsiz && !conn->cfg.no_regions;
	struct rpcrdma_conn_limits limits;

	limits.send_inline =
		own->sbsiz < peer->rbsiz ? own->sbsiz : peer->rbsiz;
	limits.recv_inline =
		peer->sbsiz < own->rbsiz ? peer->sbsiz : own->rbsiz;
	limits.max_segment = chunks ? peer->rssiz : 0;
	limits.max_segs = chunks ? rcsiz : 0;
	if (limits.max_segs > RPCRDMA_MAX_SEGS)
		limits.max_segs = RPCRDMA_MAX_SEGS;
	limits.continued = peer->reassembly;
	return limits;
}

/* Return the length of a header without chunks. */
static inline u32 rpcrdma_plain_header(const struct rpcrdma_conn *conn)
{
	return conn->version == RPCRDMA_VERS_1 ? RPCRDMA_V1_PLAIN_HEADER :
						 RPCRDMA_V2_PLAIN_HEADER;
}

/*
 * Return the payload that fits inline after a header without chunks, in each
 * direction.
 */
static inline u32 rpcrdma_plain_send_room(const struct rpcrdma_conn *conn)
{
	const u32 own = conn->cfg.props.sbsiz, peer = conn->peer.rbsiz;

	/* No threshold is shorter than a header. */
	return (own < peer ? own : peer) - rpcrdma_plain_header(conn);
}

static inline u32 rpcrdma_plain_recv_room(const struct rpcrdma_conn *conn)
{
	const u32 own = conn->cfg.props.rbsiz, peer = conn->peer.sbsiz;

	return (own < peer ? own : peer) - rpcrdma_plain_header(conn);
}

/*
 * Return the Receives to post for a window of @window messages. The advertised
 * limit stays one below the number posted, to leave a reserve for a credit
 * grant (WP 3).
 */
static inline u32 rpcrdma_window_receives(u32 window)
{
	return window + 1;
}

/*
 * Return the length of the largest RPC message, Call or Reply, that can be
 * conveyed without chunks in the reverse direction, at the level this client
 * announced (5.2.5).
 */
u32 rpcrdma_reverse_payload(const struct rpcrdma_conn *conn);

/*
 * ---- Events: what the caller must do after a call that returned them ----
 *
 * Everything the caller must do comes with an event, except what the caller
 * initiates: the first Receives, and sending a Call, a Reply or the next
 * message of a continued one. If several events are returned together, first
 * allocate and post Receives, then send control messages, then retry queued
 * messages.
 */
enum {
	RPCRDMA_EV_CONTROL = 1,		/* call rpcrdma_conn_next_control() */
	RPCRDMA_EV_WINDOW = 2,		/* queued messages may be tried again */
	RPCRDMA_EV_OPENED = 4,		/* once: RPC traffic may begin */
	RPCRDMA_EV_CLOSE = 8,		/* close the connection: conn->reason */
	RPCRDMA_EV_RECEIVES = 16,	/* allocate Receives, or post free ones */
	/* free the Receive that was released: it is surplus */
	RPCRDMA_EV_LET_GO = 32,
	RPCRDMA_EV_ODD = 64,		/* once: rpcrdma_life_odd() */
};

/*
 * Record the peer's private message, as decoded by rpcrdma_decode_private().
 * Call this no later than when the connection is established.
 */
void rpcrdma_conn_private(struct rpcrdma_conn *conn,
			  const struct rpcrdma_private *priv);

/*
 * Build the private message of this end's connect request or accept. For an
 * accept, the peer's must be known before.
 */
void rpcrdma_conn_announce(const struct rpcrdma_conn *conn,
			   struct rpcrdma_private *priv);

/*
 * Record how many RDMA Reads may be outstanding, as negotiated by the
 * connection managers: @outbound from this end, @inbound from the peer. A
 * feature that needs a direction without Reads is not announced (WP 8). Call
 * this no later than when the connection is established.
 */
void rpcrdma_conn_read_depth(struct rpcrdma_conn *conn, u32 outbound,
			     u32 inbound);

/*
 * Report that the connection is established. A client's first control message
 * (CONNPROP) becomes due, or, if only version 1 is allowed, the connection is
 * open. Returns events.
 */
u32 rpcrdma_conn_established(struct rpcrdma_conn *conn);

/*
 * ---- Receives ----
 *
 * The engine decides how many Receives there are and when they are posted: it
 * grows the window when the peer uses it, shrinks it when the peer does not,
 * and has free Receives posted in batches. The caller carries that out, first
 * before the connection is established, and then whenever events contain
 * EV_RECEIVES:
 *
 *   rpcrdma_conn_to_make() -> rpcrdma_conn_made()
 *   rpcrdma_conn_to_post() -> rpcrdma_conn_posted()
 *
 * It also reports each Receive whose message has been processed:
 * rpcrdma_conn_given_back(). If a version 1 client that sends many Calls at
 * once needs withheld Receives, the event comes with the next message.
 */

/* The consequence of a lack of memory for Receives */
enum rpcrdma_receives_need {
	/* It gets a smaller window, which does no harm. */
	RPCRDMA_RECEIVES_WANTED,
	/* It allocates smaller Receives. */
	RPCRDMA_RECEIVES_OR_SMALLER,
	/* It is closed. */
	RPCRDMA_RECEIVES_NEEDED,
};

/*
 * Receives to allocate
 * @octets: size of each: as much as this end announces, or the default
 *	threshold if that is larger (WP 4); with version 1 no more than the
 *	peer sends
 * @need: the consequence if there is no memory for them
 */
struct rpcrdma_receives {
	u32 count;
	u32 octets;
	enum rpcrdma_receives_need need;
};

/*
 * Return the Receives to allocate now. If the count is not zero, the caller
 * must report the outcome with rpcrdma_conn_made(); until it does, other
 * callers get a count of zero.
 */
struct rpcrdma_receives rpcrdma_conn_to_make(struct rpcrdma_conn *conn);

/*
 * Return the length of the largest message sent, or the default threshold if
 * that is larger. Once the connection is open, needs no serialisation.
 */
u32 rpcrdma_conn_send_octets(const struct rpcrdma_conn *conn);

/*
 * Report that @count Receives of rpcrdma_conn_to_make() were allocated, and are
 * free. If there was no memory for the others, enum rpcrdma_receives_need says
 * what follows. If smaller ones will do, this end announces less, and
 * rpcrdma_conn_send_octets() decreases, too. Returns events.
 */
u32 rpcrdma_conn_made(struct rpcrdma_conn *conn, u32 count);

/*
 * Return how many of the free Receives to post now: all of them, or none. If
 * not zero, rpcrdma_conn_posted() must follow.
 * @now: milliseconds of any clock, the same clock each time.
 */
u32 rpcrdma_conn_to_post(struct rpcrdma_conn *conn, u32 now);

/*
 * Report that @count Receives were posted, WP 3: free ones, and if there are
 * fewer than @count, others that were reposted at once after their message was
 * processed. Returns events.
 */
u32 rpcrdma_conn_posted(struct rpcrdma_conn *conn, u32 count);

/*
 * Report that a message has been processed and its Receive can be reused. Do
 * not call this after EV_CLOSE.
 * Returns events. EV_LET_GO: the window has shrunk and this Receive is surplus;
 * free it instead of keeping it. EV_RECEIVES: the Receives may be posted now,
 * see rpcrdma_conn_to_post(); it is one of the free ones.
 */
u32 rpcrdma_conn_given_back(struct rpcrdma_conn *conn);

/* A control message to send now */
struct rpcrdma_control {
	u32	octets;		/* length of the message, 0: none is due */
	u32	inv_handle;	/* invalidate it with the message, 0: plain Send */
};

/*
 * Encode the next control message that may be sent now, in the order of WP 3
 * and 4: ERRORs and DONEs, this end's CONNPROPs, then a credit grant that is
 * owed. The message is counted as sent: the caller must post it before any
 * other message, or close the connection.
 * @buf: 4-byte aligned
 * @size: bytes at @buf. If it is less than RPCRDMA_V2_FIRST_CONNPROP,
 *	nothing is due.
 */
struct rpcrdma_control rpcrdma_conn_next_control(struct rpcrdma_conn *conn,
						 void *buf, u32 size);

/*
 * Return true if no RPC is outstanding in either direction other than the one
 * being sent or answered. A hint, read without the lock: use it for
 * optimisation only. Any context.
 */
static inline bool rpcrdma_conn_alone(const struct rpcrdma_conn *conn,
				      enum rpcrdma_kind kind)
{
	return (int)__atomic_load_n(&conn->underway, __ATOMIC_RELAXED) <=
	       (kind == RPCRDMA_KIND_REPLY);
}

/* Return true if a control message is due and can be sent now. */
bool rpcrdma_conn_control_due(const struct rpcrdma_conn *conn);

/*
 * Return true if a message of this kind may be sent now. Queued control
 * messages precede Calls; a Call leaves the last two messages of the window to
 * Replies (WP 3). While a continued message is being sent, only its next
 * message may be sent: no other Call or Reply may come between (4.1).
 */
bool rpcrdma_conn_may_send(const struct rpcrdma_conn *conn,
			   enum rpcrdma_kind kind);

/*
 * Count a Call or Reply, or one message of a continued one, as sent, and write
 * the credit fields into its encoded header. Call this only after
 * rpcrdma_conn_may_send() returned true, in the same critical section. The
 * caller must then post the message before any other message, or close the
 * connection.
 * @header: as written by rpcrdma_encode_header().
 */
void rpcrdma_conn_stamp(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
			void *header);

/*
 * Queue an ERROR that answers a Call (7), or a DONE: pull completion of a
 * Reply. Returns events; EV_CLOSE if more than 64 are queued.
 * @code: not RDMA2_ERR_VERS, which the engine sends by itself.
 * @arg0, @arg1: the code's data words in wire order, 0 if it has none.
 * Under version 1, a code that does not exist there becomes ERR_CHUNK.
 */
u32 rpcrdma_conn_queue_error(struct rpcrdma_conn *conn, u32 xid, u32 code,
			     u32 arg0, u32 arg1);
u32 rpcrdma_conn_queue_done(struct rpcrdma_conn *conn, u32 xid,
			    u32 inv_handle);

/* The state of messages that wait for credit */
struct rpcrdma_stall {
	u32	wait;		/* call again after that many milliseconds, 0: never */
	u32	events;		/* EV_CLOSE when the time is over */
};

/* Messages of the caller that are queued or were refused: rpcrdma_sq_waits() */
enum {
	RPCRDMA_WAITS_CALL = 1,		/* a Call, of which nothing was sent */
	RPCRDMA_WAITS_MESSAGE = 2,	/* a Reply, or the rest of a continued message */
};

/*
 * Check for credit starvation. A peer owes grants (WP 3). If for cfg.stall_ms
 * it has granted nothing, or too little for a Call to be sent, the connection
 * is closed, because a Call that has not been sent has no other timeout. A
 * Reply that has credit, and any Reply of version 1, waits for something else
 * and has no such limit.
 * @waits: RPCRDMA_WAITS_* for all that waits, for whatever reason;
 *	control messages need not be included
 * @now: milliseconds of any clock
 */
struct rpcrdma_stall rpcrdma_conn_stalled(struct rpcrdma_conn *conn, u32 waits,
					  u32 now);

/* ------------------------------------------------------------------ */
/* Depths of queues                                                    */

/*
 * The maximum load of a connection
 * @window: Receives for RPC traffic
 * @sends: messages of RPC traffic
 * @regions: MRs that its peer is provided with; 0: none
 * @reads: transfers by RDMA Read; 0: neither RDMA Reads nor RDMA Writes
 * @version_low: 1 if the peer may only have version 1
 */
struct rpcrdma_load {
	u32 window;
	u32 sends;
	u32 regions;
	u32 reads;
	u8 client;
	u8 version_low;
};

/*
 * Scale @load down to a device whose queues hold at most @max_wrs Work
 * Requests.
 */
void rpcrdma_load_fit(struct rpcrdma_load *load, u32 max_wrs);

/*
 * Limits of a device
 * @wrs, @cqes: Work Requests and completions in a queue, at most
 * @read_regions: RDMA Reads need MRs
 */
struct rpcrdma_queue_limits {
	u32 wrs;
	u32 cqes;
	u8 read_regions;
};

/*
 * The resources that a connection needs
 * @receives: Work Requests of the Receive Queue, and their completions
 * @slots: Work Requests of the Send Queue, without those of @reads
 * @reads: transfers into MRs; the creator of the queue adds their Work
 *	Requests
 * @send_cqes: completions of the Send Queue
 */
struct rpcrdma_queues {
	u32 receives;
	u32 slots;
	u32 reads;
	u32 send_cqes;
};

/* Return the queues for @load, after rpcrdma_load_fit(). */
struct rpcrdma_queues rpcrdma_queues_for(const struct rpcrdma_load *load,
					 const struct rpcrdma_queue_limits *most);

/*
 * Return the Work Requests of the Send Queue, without those of queues->reads.
 */
u32 rpcrdma_queues_send_wrs(const struct rpcrdma_queues *queues);

/*
 * Shorten the Send Queue because the device could not create one that long.
 * Returns false if there is no shorter one.
 */
bool rpcrdma_queues_shorten(struct rpcrdma_queues *queues);

/*
 * Return the depth for rpcrdma_sq_init() if the Send Queue was created with
 * @send_wrs Work Requests: some devices make it longer than requested.
 */
u32 rpcrdma_queues_depth(const struct rpcrdma_queues *queues, u32 send_wrs);

/* ------------------------------------------------------------------ */
/* The Send Queue                                                      */

/*
 * Scheduler and accounting for a connection's Send Queue and Send contexts (the
 * buffers messages are sent from). It decides what may be posted, what must be
 * queued, what is posted next, and which Work Requests are signaled. It is used
 * in the same serialisation as its rpcrdma_conn. The user keeps three lists:
 * posted work, in posting order; queued transfers; and queued messages. A
 * transfer is RDMA work or invalidations without a message. Queued messages are
 * Replies, preceded by the continued message that is being sent.
 *
 * Control messages have the highest priority, then transfers, then messages,
 * then Calls. Calls are not queued here: their sender retries. While a transfer
 * waits until all the slots of its chain are free, no message uses the slots
 * that become free; nor does a Call while a message is queued. No queue can
 * starve: a peer has to wait for Replies before it can request more transfers.
 *
 * Invariant: whenever something is queued, a completion is pending. Unsignaled
 * Work Requests never occupy so many slots that the largest allowed chain could
 * not follow (rpcrdma_sq_fits()), and never hold the last free contexts.
 */
enum {
	/* Send contexts reserved for control messages */
	RPCRDMA_CONTROL_SENDS = 16,
	/* Of that many Work Requests posted, at least one is signaled. */
	RPCRDMA_SQ_BATCH = 16,
};

struct rpcrdma_sq {
	u32 depth;		/* slots */
	u32 batch;		/* of that many Work Requests at least one is signaled */
	/*
	 * Slots ever used, modulo 2^32: all, those free again, and those up to
	 * the last signaled Work Request
	 */
	rpcrdma_serial posted, through;
	rpcrdma_serial signaled;
	u32 contexts;		/* free Send contexts */
	/* Adjacent: these two are tested together. */
	u32 transfers;		/* queued transfers */
	/* queued messages, including a continued one that is being sent */
	u32 messages;
	/*
	 * Contexts that Replies may not reserve; then its values while no
	 * message is queued, and while some are
	 */
	u32 reply_reserve;
	u32 reserve, reserve_waits;
	u32 call_wrs;		/* slots of the largest Call refused; 0: none was */
	/* other callers that were refused, private to the engine */
	u8 refused;
};

/* A chain of Work Requests that is posted at once; embed it in the work. */
struct rpcrdma_wrs {
	u32 nr;			/* Work Requests */
	rpcrdma_serial begin;	/* private to the engine: slots used before this chain */
	u8 signaled;		/* must be signaled, or (once posted) is */
};

/*
 * Initialise @sq.
 * @depth: slots of the queue
 * @sends: contexts for RPC traffic; the user adds them one by one with
 *	rpcrdma_sq_give(), and RPCRDMA_CONTROL_SENDS more. The context in
 *	which the next Call is built is not among them.
 * @reverse: Calls that the peer accepts at a time in this end's own
 *	direction
 * @replies: while messages are queued, for credit or for slots, work on
 *	a Call is not started if Replies, built or yet to be built, hold
 *	that many contexts.
 */
void rpcrdma_sq_init(struct rpcrdma_sq *sq, u32 depth, u32 sends, u32 reverse,
		     u32 replies);

/*
 * Change @replies. A server's is its number of Receives, because each of these
 * is charged together with a Send buffer and no client has more Calls
 * outstanding.
 */
void rpcrdma_sq_set_replies(struct rpcrdma_sq *sq, u32 sends, u32 replies);

/* Count a message as queued. Private to the engine. */
static inline void rpcrdma_sq_wait(struct rpcrdma_sq *sq)
{
	sq->messages++;
	sq->reply_reserve = sq->reserve_waits;
}

/*
 * Return true if @nr_wrs Work Requests can ever be posted at once. Any context.
 */
static inline bool rpcrdma_sq_fits(const struct rpcrdma_sq *sq, u32 nr_wrs)
{
	return nr_wrs + sq->batch <= sq->depth;
}

/*
 * Return how many Work Requests of a transfer are posted at once, at most. A
 * longer transfer is posted in batches, each when the preceding one has
 * completed. Any context.
 */
static inline u32 rpcrdma_sq_turn_wrs(const struct rpcrdma_sq *sq)
{
	const u32 most = (sq->depth - sq->batch) / 2;

	return most ? most : 1;
}

/*
 * Return the maximum number of pages of a part of a transfer that is never
 * divided between batches, if each of its Work Requests moves @pages pages. Any
 * context.
 */
static inline u32 rpcrdma_sq_part_pages(const struct rpcrdma_sq *sq, u32 pages)
{
	return rpcrdma_sq_turn_wrs(sq) * pages;
}

/*
 * Return true if @writes Work Requests are posted in one chain with a Reply
 * that needs @message itself. Otherwise they are a transfer, and the Reply is
 * posted when that has completed. Any context.
 */
static inline bool rpcrdma_sq_in_chain(const struct rpcrdma_sq *sq, u32 message,
				       u32 writes)
{
	return !writes || (writes <= rpcrdma_sq_turn_wrs(sq) &&
			   rpcrdma_sq_fits(sq, message + writes));
}

/* Return true if that many slots are free now. */
static inline bool rpcrdma_sq_room(const struct rpcrdma_sq *sq, u32 nr_wrs)
{
	return sq->posted - sq->through + nr_wrs <= sq->depth;
}

/*
 * Charge the slots of @wrs, which must be free. wrs->signaled returns whether
 * its last Work Request must be signaled. One completion also covers the Work
 * Requests posted before it, so few are signaled; but if few contexts are left,
 * all are, so that contexts are not stuck without a completion to come.
 */
static inline void rpcrdma_sq_post(struct rpcrdma_sq *sq,
				   struct rpcrdma_wrs *wrs)
{
	wrs->begin = sq->posted;
	sq->posted += wrs->nr;
	if (wrs->signaled || sq->posted - sq->signaled >= sq->batch ||
	    sq->contexts < 2 * RPCRDMA_CONTROL_SENDS) {
		wrs->signaled = 1;
		sq->signaled = sq->posted;
	}
}

/*
 * Return true if the completion of @completed also retires @wrs, which was
 * posted earlier. It does if @wrs is unsignaled. Some devices complete Sends
 * while earlier Reads are in progress, so a signaled chain is retired only by
 * its own completion.
 */
static inline bool rpcrdma_sq_vouches(const struct rpcrdma_wrs *completed,
				      const struct rpcrdma_wrs *wrs)
{
	return wrs == completed || !wrs->signaled;
}

/*
 * Free the slots of retired chains, which the user has removed from the list of
 * posted work. @oldest: now the first in that list, NULL if it is empty. Slots
 * become free in order only.
 */
static inline void rpcrdma_sq_reaped(struct rpcrdma_sq *sq,
				     const struct rpcrdma_wrs *oldest)
{
	sq->through = oldest ? oldest->begin : sq->posted;
}

/* Add a free Send context, or release one. */
static inline void rpcrdma_sq_give(struct rpcrdma_sq *sq)
{
	sq->contexts++;
}

/* Answers to a request to post something */
enum rpcrdma_sq_answer {
	RPCRDMA_SQ_GO,		/* post it now */
	RPCRDMA_SQ_WAIT,	/* no slots or credit, or others are first */
	RPCRDMA_SQ_NEVER,	/* the Send Queue is too short for it */
};

/* Request to post a transfer. WAIT: it was counted; append it to the queue. */
static inline enum rpcrdma_sq_answer
rpcrdma_sq_transfer(struct rpcrdma_sq *sq, u32 nr_wrs)
{
	if (!rpcrdma_sq_fits(sq, nr_wrs))
		return RPCRDMA_SQ_NEVER;
	if (!sq->transfers && rpcrdma_sq_room(sq, nr_wrs))
		return RPCRDMA_SQ_GO;
	sq->transfers++;
	return RPCRDMA_SQ_WAIT;
}

/*
 * Request to post a complete Reply, which has its context. GO: its slots are
 * charged (rpcrdma_sq_post()) and its header is stamped (rpcrdma_conn_stamp()):
 * post it now. WAIT: append it to the queued messages and call
 * rpcrdma_sq_next(). In both cases it is counted by its format.
 * @wrs: with nr and signaled set
 * @header: the encoded header
 * @lists: NULL for none
 */
enum rpcrdma_sq_answer rpcrdma_sq_reply(struct rpcrdma_conn *conn,
					struct rpcrdma_sq *sq,
					struct rpcrdma_wrs *wrs, void *header,
					enum rpcrdma_format format,
					const struct rpcrdma_lists *lists);

/*
 * Request to queue a continued Reply, or one whose Writes were posted first and
 * which was counted then (rpcrdma_conn_count()). No chain of it has more than
 * @nr_wrs Work Requests. Returns NEVER, or WAIT as above.
 */
static inline enum rpcrdma_sq_answer
rpcrdma_sq_reply_waits(struct rpcrdma_sq *sq, u32 nr_wrs)
{
	if (!rpcrdma_sq_fits(sq, nr_wrs))
		return RPCRDMA_SQ_NEVER;
	rpcrdma_sq_wait(sq);
	return RPCRDMA_SQ_WAIT;
}

/*
 * Request to send a complete Call. The context in which the next Call is built
 * is not part of the account. GO: as above, and another context has been
 * charged for the next Call. WAIT: nothing was changed; rpcrdma_sq_next()
 * returns RPCRDMA_TURN_RETRY when the Call may be tried again. Until then call
 * rpcrdma_conn_stalled().
 */
enum rpcrdma_sq_answer rpcrdma_sq_call(struct rpcrdma_conn *conn,
				       struct rpcrdma_sq *sq,
				       struct rpcrdma_wrs *wrs, void *header,
				       enum rpcrdma_format format,
				       const struct rpcrdma_lists *lists);

/*
 * Request to send a continued Call, the first message of which needs @nr_wrs
 * Work Requests. GO: send that message, as for RPCRDMA_TURN_MESSAGE, in a
 * context that has been charged. @more: others follow, so that the Call is
 * counted as queued: insert it at the head of the queued messages.
 */
enum rpcrdma_sq_answer
rpcrdma_sq_call_in_parts(const struct rpcrdma_conn *conn, struct rpcrdma_sq *sq,
			 u32 nr_wrs, bool more);

/*
 * Return true if a Call could be sent now. If false, RPCRDMA_TURN_RETRY
 * follows; until then call rpcrdma_conn_stalled().
 */
bool rpcrdma_sq_may_call(const struct rpcrdma_conn *conn,
			 struct rpcrdma_sq *sq);

/*
 * Return true if there is credit for at least one Call. A hint that only saves
 * the calls above. Any context.
 */
static inline bool rpcrdma_sq_call_is_likely(const struct rpcrdma_conn *conn)
{
	rpcrdma_serial limit, sent;

	__atomic_load(&conn->limit, &limit, __ATOMIC_RELAXED);
	__atomic_load(&conn->sent, &sent, __ATOMIC_RELAXED);
	return (int)(limit - sent) > RPCRDMA_CALL_RESERVE;
}

/*
 * Return true if anything is queued or a Call was refused, so that another Call
 * may be refused, too. A hint, read without the lock. Any context.
 */
static inline bool rpcrdma_sq_somebody_waits(const struct rpcrdma_sq *sq)
{
	return __atomic_load_n(&sq->transfers, __ATOMIC_RELAXED) |
	       __atomic_load_n(&sq->messages, __ATOMIC_RELAXED) |
	       __atomic_load_n(&sq->call_wrs, __ATOMIC_RELAXED);
}

/*
 * Reserve a Send context, where no other answer includes one. If true, it is
 * charged; if false, RPCRDMA_TURN_RETRY follows.
 * - rpcrdma_sq_take(): for a message that is built next, whatever else it may
 *   have to wait for
 * - rpcrdma_sq_take_ahead(): for a Reply yet to be built, before work on its
 *   Call is started
 */
bool rpcrdma_sq_take(struct rpcrdma_sq *sq);
bool rpcrdma_sq_take_ahead(struct rpcrdma_sq *sq);

/*
 * Return true if rpcrdma_sq_take_ahead() would succeed. If false,
 * RPCRDMA_TURN_RETRY follows.
 */
bool rpcrdma_sq_may_take_ahead(struct rpcrdma_sq *sq);

/* The same as a hint, read without the lock. Any context. */
static inline bool rpcrdma_sq_spares(const struct rpcrdma_sq *sq)
{
	return __atomic_load_n(&sq->contexts, __ATOMIC_RELAXED) >
	       __atomic_load_n(&sq->reply_reserve, __ATOMIC_RELAXED);
}

/* The first of the queued transfers and of the queued messages, if any */
struct rpcrdma_sq_first {
	u32 transfer_wrs;	/* Work Requests of the transfer */
	/* Work Requests of the message, or of its next fragment */
	u32 message_wrs;
	u8 kind;		/* enum rpcrdma_kind of the message */
	u8 parts;		/* the message is a continued one */
	u8 more;		/* parts: the next fragment is not the last */
};

/* The next action */
enum rpcrdma_sq_turn {
	RPCRDMA_TURN_NONE,	/* nothing can be posted now */
	/* call rpcrdma_conn_next_control(), in a context that is charged */
	RPCRDMA_TURN_CONTROL,
	/* post the first transfer, which is no longer counted as queued */
	RPCRDMA_TURN_TRANSFER,
	/*
	 * post the first message, or the next fragment of a continued one, in a
	 * context that is charged; it is no longer counted as queued, unless
	 * fragments remain
	 */
	RPCRDMA_TURN_MESSAGE,
	/* retry refused Calls, and Replies yet to be built */
	RPCRDMA_TURN_RETRY,
};

/*
 * Return the next action. Call this after credit has arrived, after a control
 * message has become due, and, if rpcrdma_sq_wanted(), after slots or contexts
 * were freed; and again after each action. Only while messages may be sent.
 */
enum rpcrdma_sq_turn rpcrdma_sq_next(const struct rpcrdma_conn *conn,
				     struct rpcrdma_sq *sq,
				     const struct rpcrdma_sq_first *first);

/*
 * Return true if anything may be waiting for slots or contexts. False in the
 * fast path.
 */
static inline bool rpcrdma_sq_wanted(const struct rpcrdma_sq *sq)
{
	return sq->transfers | sq->messages | sq->call_wrs | sq->refused;
}

/*
 * Return what waits, perhaps for credit, as RPCRDMA_WAITS_*, for
 * rpcrdma_conn_stalled().
 */
static inline u32 rpcrdma_sq_waits(const struct rpcrdma_sq *sq)
{
	u32 waits = 0;

	if (sq->call_wrs)
		waits |= RPCRDMA_WAITS_CALL;
	if (sq->messages)
		waits |= RPCRDMA_WAITS_MESSAGE;
	return waits;
}

/* ---- Reads that need MRs ---- */

/*
 * Some devices can read into MRs only, of which a queue pair has a pool. A
 * transfer is prepared segment by segment while it is being built. If there are
 * not enough MRs, the transfer releases those it has and is queued; it is
 * prepared later, all at once. No transfer holds MRs while it waits, so waiting
 * transfers cannot deadlock. New transfers queue after it. Returning MRs to the
 * pool retries the queue in order. A transfer in progress always ends, if only
 * with the connection.
 *
 * Used in the serialisation of the connection's rpcrdma_sq, except for
 * functions marked "any context". The user keeps the queue of waiting
 * transfers.
 */
enum {
	/* Work Requests of a Read into one MR: invalidate, register, read */
	RPCRDMA_READ_REGION_WRS = 3,
};

struct rpcrdma_read_pool {
	u32 regions;		/* MRs in the pool */
	u32 pages;		/* pages in an MR, at most; not 0 */
	u32 waiting;		/* transfers queued, or to be queued when complete */
};

/* One transfer. Zero it to begin, but for @reads. */
struct rpcrdma_read_claim {
	u32 regions;		/* MRs that it needs, at most */
	u8 reads;		/* 0 for a Write: it needs no MRs and waits for none */
	u8 waits;
};

/*
 * Return true if a transfer waits. False in the fast path. Any context, if used
 * as a hint.
 */
static inline bool rpcrdma_read_wanted(const struct rpcrdma_read_pool *pool)
{
	return __atomic_load_n(&pool->waiting, __ATOMIC_RELAXED);
}

/* Begin a transfer. */
void rpcrdma_read_begin(struct rpcrdma_read_pool *pool,
			struct rpcrdma_read_claim *claim);

/*
 * Add a segment with @pages pages, or memory ranges, to a transfer. Returns
 * true: prepare it now; false: later. Any context, one at a time for a
 * transfer.
 */
static inline bool rpcrdma_read_add(const struct rpcrdma_read_pool *pool,
				    struct rpcrdma_read_claim *claim, u32 pages)
{
	claim->regions += (pages + pool->pages - 1) / pool->pages;
	return !claim->waits;
}

/*
 * Report that a segment could not be prepared now, because of @status, a
 * negative errno. Returns true: undo the preparation of the transfer and
 * continue to build it; it waits. False: waiting cannot help.
 */
bool rpcrdma_read_short(struct rpcrdma_read_pool *pool,
			struct rpcrdma_read_claim *claim, int status);

/* Return true if the transfer can ever be prepared. Any context. */
static inline bool rpcrdma_read_fits(const struct rpcrdma_read_pool *pool,
				     const struct rpcrdma_read_claim *claim)
{
	return !claim->waits || claim->regions <= pool->regions;
}

/* The disposition of a transfer */
enum rpcrdma_read_turn {
	RPCRDMA_READ_POST,	/* it is prepared */
	/* append it to the queue, and try the queue */
	RPCRDMA_READ_BEHIND,
	/*
	 * undo the preparation, put it at the head of the queue and stop
	 * trying: returning MRs retries the queue
	 */
	RPCRDMA_READ_FRONT,
	RPCRDMA_READ_FAIL,	/* it ends with an error */
};

/*
 * Return the disposition of a transfer that is completely built. @closing: the
 * connection is closing, so that no context would retry it.
 */
enum rpcrdma_read_turn rpcrdma_read_whole(const struct rpcrdma_read_claim *claim,
					  bool closing);

/*
 * Return the disposition of a transfer that was removed from the head of the
 * queue and prepared completely, with @status: 0 or a negative errno.
 */
enum rpcrdma_read_turn rpcrdma_read_tried(struct rpcrdma_read_pool *pool,
					  struct rpcrdma_read_claim *claim,
					  int status, bool closing);

/*
 * Report that a transfer has ended, or is abandoned, and holds no MRs. If
 * others wait, try the queue.
 */
void rpcrdma_read_over(struct rpcrdma_read_pool *pool,
		       struct rpcrdma_read_claim *claim);

/* ---- MRs of this end ---- */

/*
 * Memory that the peer reads and writes is registered in MRs. A connection
 * allocates them on demand, a batch at a time and up to a maximum, and keeps
 * them. Allocating them sleeps, so a work item of the user (the maker) does it,
 * and a caller that finds too few MRs does not sleep: it returns those that it
 * got and retries when notified. It is notified at once if an RPC that used MRs
 * has ended, or if MRs were allocated. If MRs are returned unused, the
 * notification is delayed, because it is another refused caller that returns
 * them.
 *
 * A device may have no MRs left. After RPCRDMA_POOL_FAILURES consecutive
 * attempts that allocated none the pool is starved: Calls are planned with the
 * MRs that exist, see rpcrdma_call_regions(), and the maker retries at a slower
 * pace until it succeeds.
 *
 * The user keeps the MRs, and serialises all calls for one pool; any context.
 */
enum {
	RPCRDMA_POOL_BATCH = 8,		/* MRs allocated at a time */
	RPCRDMA_POOL_PAUSE_MS = 20,
	RPCRDMA_POOL_LATER_MS = 1000,
	RPCRDMA_POOL_FAILURES = 250,	/* two for each pause: 2.5 seconds */
};

/* Zero it to begin, but for @most. */
struct rpcrdma_region_pool {
	u32 most;		/* MRs that there may be */
	u32 made;		/* MRs allocated; it never decreases */
	u32 free;		/* free ones of these */
	u8 wanted;		/* a caller was refused one, and not notified since */
	u8 maker;		/* private to the engine */
	u16 failures;		/* consecutive attempts that allocated none */
	u64 shortages;		/* attempts that allocated fewer than required */
};

/* Actions after an event */
enum {
	RPCRDMA_POOL_TAKEN = 1,		/* the caller got a free one */
	RPCRDMA_POOL_MAKE = 2,		/* run the maker now */
	RPCRDMA_POOL_PAUSE = 4,		/* run the maker in RPCRDMA_POOL_PAUSE_MS */
	RPCRDMA_POOL_TELL = 8,		/* notify the callers that were refused */
	RPCRDMA_POOL_LATER = 16,	/* run the maker in RPCRDMA_POOL_LATER_MS */
	RPCRDMA_POOL_LOG = 32,		/* log that the device has no MRs left */
};

/* The slow path of rpcrdma_pool_take(): at most one MR is free. */
u32 rpcrdma_pool_take_last(struct rpcrdma_region_pool *pool);

/*
 * Get an MR. Returns TAKEN if there is one, and perhaps MAKE. Without TAKEN,
 * the caller must return the MRs it has; it is notified (TELL) when it may
 * retry.
 */
static inline u32 rpcrdma_pool_take(struct rpcrdma_region_pool *pool)
{
	if (pool->free <= 1)
		return rpcrdma_pool_take_last(pool);
	pool->free--;
	return RPCRDMA_POOL_TAKEN;
}

/* The slow path of rpcrdma_pool_give(): callers wait for MRs. */
u32 rpcrdma_pool_given(struct rpcrdma_region_pool *pool, bool used);

/*
 * Return @count MRs to the pool. @used: at least one was posted. Returns TELL,
 * PAUSE or 0.
 */
static inline u32 rpcrdma_pool_give(struct rpcrdma_region_pool *pool, u32 count,
				    bool used)
{
	pool->free += count;
	return pool->wanted && count ? rpcrdma_pool_given(pool, used) : 0;
}

/* Return how many MRs the maker is to allocate. One maker at a time. */
u32 rpcrdma_pool_to_make(const struct rpcrdma_region_pool *pool);

/*
 * Report that the maker has allocated @count MRs, no more than
 * rpcrdma_pool_to_make() returned; they are free. Must be called even if @count
 * is 0. Returns any of TELL, PAUSE, LATER and LOG, or 0.
 */
u32 rpcrdma_pool_made(struct rpcrdma_region_pool *pool, u32 count);

/*
 * Return true if no more MRs are expected soon. A hint, if not serialised with
 * the calls above.
 */
static inline bool rpcrdma_pool_is_starved(const struct rpcrdma_region_pool *pool)
{
	return __atomic_load_n(&pool->failures, __ATOMIC_RELAXED) >=
	       RPCRDMA_POOL_FAILURES;
}

/*
 * Return true if others have all MRs that there will ever be. A caller that
 * cannot wait for those must do without. A hint, if not serialised with the
 * calls above.
 */
static inline bool rpcrdma_pool_is_spent(const struct rpcrdma_region_pool *pool)
{
	return (__atomic_load_n(&pool->made, __ATOMIC_RELAXED) >= pool->most ||
		rpcrdma_pool_is_starved(pool)) &&
	       !__atomic_load_n(&pool->free, __ATOMIC_RELAXED);
}

/* ---- Receiving ---- */

enum rpcrdma_verdict {
	RPCRDMA_RX_DONE,	/* nothing to deliver: repost the Receive */
	RPCRDMA_RX_PART,	/* append the payload to the open continued message */
	RPCRDMA_RX_CALL,	/* a Call is complete with this message */
	RPCRDMA_RX_REPLY,	/* a Reply is complete with this message */
	RPCRDMA_RX_BAD_REPLY,	/* xid pending: end its RPC; otherwise drop it */
	RPCRDMA_RX_ERROR,	/* a Call of this end was refused: see error */
	RPCRDMA_RX_PULLED,	/* DONE: rx.exposed is no longer in use */
	RPCRDMA_RX_CLOSE,	/* close the connection: conn->reason */
};

struct rpcrdma_rx {
	u32 xid;
	u32 events;		/* RPCRDMA_EV_* */
	u8 format;		/* enum rpcrdma_format of the complete message */
	u8 first_part;		/* PART: begins a new continued message */
	u32 payload_offset;	/* bytes into this message */
	u32 payload_length;	/* bytes in this message */
	u32 total_length;	/* bytes of the Payload stream in all messages */
	struct rpcrdma_exposure *exposed; /* PULLED: that Reply */
	/*
	 * ERROR: rpcrdma_call_refused() returns what happens to the RPC.
	 * BAD_REPLY: the RPC ends with @status; code and arg are 0.
	 */
	struct {
		u32 code;	/* RDMA2_ERR_* */
		u32 arg[2];
		int status;	/* negative errno for sunrpc, if the RPC ends */
	} error;
	struct rpcrdma_lists lists;
};

/*
 * Return true if a message that was just received has more segments than lists
 * hold without more[], and may have them. In that case rpcrdma_conn_receive()
 * needs @rx->lists.more; without it the message is refused as one with too many
 * segments. Only version 1 clients may send that many (RFC 8166 limits no
 * list): version 2 has its RCSIZ, and a client knows what it has provided.
 * @msg: @length bytes, 4-byte aligned.
 */
bool rpcrdma_has_more_segs(const void *msg, u32 length);
static inline bool rpcrdma_wants_more_segs(const struct rpcrdma_conn *conn,
					   const void *msg, u32 length)
{
	return !conn->cfg.client && conn->version != RPCRDMA_VERS_2 &&
	       rpcrdma_has_more_segs(msg, length);
}

/*
 * Process one received message.
 * PART, CALL and REPLY with a payload: append it to the open continued message
 * (@rx->first_part: begin one); CALL and REPLY complete it.
 * BAD_REPLY: if the RPC @rx->xid waits for its Reply, it ends with
 * @rx->error.status once its memory is out of the peer's reach; otherwise
 * nothing needs to be done. The connection stays open (WP 7), and a DONE that
 * the Reply needs is already queued. The verdict may be about the open
 * continued message, which is then discarded, and not about @msg.
 * @msg: @length bytes, 4-byte aligned.
 * @rx: filled as far as the verdict needs; rx->events always. On entry
 *	only its lists.more is used: see above, or NULL.
 * Every successful Receive completion must be passed to this function, in
 * order.
 */
enum rpcrdma_verdict rpcrdma_conn_receive(struct rpcrdma_conn *conn,
					  const void *msg, u32 length,
					  struct rpcrdma_rx *rx);

/*
 * Close the connection because the caller cannot keep the last message, or must
 * not trust it: from now on the verdict for each message is CLOSE. After a lost
 * message of a continued one, another one would complete it with a hole.
 * @reason: static, in plain words; it becomes conn->reason, unless
 *	there is one already
 */
void rpcrdma_conn_refuse(struct rpcrdma_conn *conn, const char *reason);

/*
 * Return true if the first two words of a Special Format message's Payload
 * stream agree with the header (6.2.2.1, 7.2).
 * @first: the stream's first 8 bytes
 * If false: BAD_XDR for a Call, a bad Reply for a Reply.
 */
bool rpcrdma_payload_ok(u32 xid, bool response, const void *first);

/*
 * Return true if the handle that the peer's Send invalidated is one that it was
 * provided with for this RPC (WP 6). @offered: the Call's lists. If false,
 * close the connection.
 */
bool rpcrdma_invalidation_ok(const struct rpcrdma_conn *conn,
			     const struct rpcrdma_lists *offered,
			     u32 invalidated);

/*
 * Return true if a message that was received with that verdict may have
 * invalidated @handle, 0 for none. A Reply may, as far as is known without its
 * RPC, which has its own check; a DONE may invalidate the handle that its Reply
 * named. If false, close the connection.
 */
bool rpcrdma_may_invalidate(enum rpcrdma_verdict verdict,
			    const struct rpcrdma_rx *rx, u32 handle);

/*
 * Return true if a Reply must be pulled (DR 4.1.2). In that case a DONE is due
 * when the pull has ended, with or without success, and at once if no RPC waits
 * for the Reply any more, or if rpcrdma_check_reply() finds that it is a bad
 * one: pass its xid and inv_handle to rpcrdma_conn_queue_done().
 */
static inline bool rpcrdma_reply_needs_done(const struct rpcrdma_rx *rx)
{
	return rx->lists.nr_reads;
}

/* ---- Requester ---- */

/*
 * Limits for a Call that follow from the ERRORs about it (7.3, WP 7). All zero
 * for a Call that was not refused, and again for one that is planned for
 * another connection; only rpcrdma_call_refused() modifies it.
 */
struct rpcrdma_recovery {
	/* bit for each code: retried once because of it */
	u32 given_in;
	u32 reply_needed;		/* bytes of Reply chunk, 0: not known */
	u32 max_reads;			/* Read chunks, with few_reads */
	u8 few_reads;
	u8 no_writes;			/* no Write chunk may be used */
};

/* Geometry of a Call about to be sent */
struct rpcrdma_call {
	u32 xid;
	u32 length;		/* complete unreduced Call message */
	u32 item_position;	/* DDP-eligible argument: its position */
	u32 item_length;	/* and length without roundup; 0: none */
	u32 reply_max;		/* largest complete Reply message expected */
	u32 result_max;		/* DDP-eligible result in it; 0: none */
	u16 call_segs;		/* segments if registered; 0: cannot be */
	u16 item_segs;
	u16 reply_segs;
	u16 result_segs;
	u8 reverse;		/* sent by the server end */
	u8 ddp;			/* 0: reduction not allowed (GSS i and p) */
	u8 bulk;		/* the Reply is expected to be nearly reply_max */
	/* Set by rpcrdma_call_regions() */
	u8 few_regions;		/* max_regions is a limit */
	u16 max_regions;	/* for the chunks of the Call */
	/* Set by rpcrdma_lessons_recall() */
	u8 no_parts;		/* Special Format rather than continued */
	u8 whole_writes;	/* a Write chunk must include space for roundup */
	u32 reply_chunk_from;	/* Replies from this length need a chunk; 0: not known */
	u32 refused_max;	/* reply_max of the Call it was learned from */
	struct rpcrdma_recovery recovery;
};

struct rpcrdma_call_plan {
	u8 format;		/* enum rpcrdma_format */
	u8 read_item;		/* argument goes in a Read chunk */
	u8 write_chunk;		/* provide a Write chunk for the result */
	u8 reply_chunk;		/* provide a Reply chunk */
	u32 inline_length;	/* payload bytes conveyed in Sends */
};

/*
 * Plan how a Call is conveyed and how its Reply may be (4.4, 6.4, DR 5.3.1).
 * Returns 0 or a negative errno:
 * -EMSGSIZE: the peer cannot accept it in any form
 * -ENOTCONN: the connection is not open
 * -EOPNOTSUPP: reverse Calls are not supported
 * -ENOBUFS: it needs more MRs than there are: close the connection, another one
 * may get them
 */
int rpcrdma_plan_call(const struct rpcrdma_conn *conn,
		      const struct rpcrdma_call *call,
		      struct rpcrdma_call_plan *plan);

/* Limit a Call to the MRs that @pool has, if the pool is starved. */
static inline void rpcrdma_call_regions(struct rpcrdma_call *call,
					const struct rpcrdma_region_pool *pool)
{
	const u32 made = __atomic_load_n(&pool->made, __ATOMIC_RELAXED);

	call->few_regions = rpcrdma_pool_is_starved(pool);
	call->max_regions = (u16)(made < RPCRDMA_MAX_SEGS ? made :
						   (u32)RPCRDMA_MAX_SEGS);
}

/*
 * Return how to continue after an ERROR about a Call: it may be possible to
 * send it again in a form that this error permits (7.3, WP 7). Each kind of
 * error permits one retry, so that retries end; a plan is known to exist.
 * Lowers the peer's RCSIZ, if that is the meaning of the error.
 * @rx: the ERROR
 * @call: the Call's geometry, with segments counted; @call->recovery is
 *	the result of earlier errors.
 * @offered: the lists it was sent with
 * @recovery: plan and send it with this. The earlier attempt's memory
 *	must be invalidated before.
 * Returns 0: send it again, with the same xid; or the negative errno that ends
 * the RPC.
 */
int rpcrdma_call_refused(struct rpcrdma_conn *conn, const struct rpcrdma_rx *rx,
			 const struct rpcrdma_call *call,
			 const struct rpcrdma_lists *offered,
			 struct rpcrdma_recovery *recovery);

/*
 * A requester's memory of a peer's refusals, from one RPC to the next, and from
 * one connection to the next (WP 7). With NFS sessions, a Call that was
 * executed before it was refused is repeated as another RPC: its requirements
 * must be known by then. All zero at first, and protected by a lock of the
 * user, except for rpcrdma_lessons_any(). @now: seconds, of a monotonic clock.
 */
struct rpcrdma_lessons {
	u64 reply_until;		/* seconds; after that the limit expires */
	u64 writes_until;
	u64 parts_until;
	u32 reply_octets;		/* the shortest Reply that needed a Reply chunk */
	u32 reply_max;			/* the smallest reply_max of such a Call */
	u8 any;				/* a limit may be valid; private to the engine */
};

/*
 * Return true if there may be anything to recall. If all has expired,
 * rpcrdma_lessons_recall() finds that. Any context, without a lock.
 */
static inline bool rpcrdma_lessons_any(const struct rpcrdma_lessons *lessons)
{
	return __atomic_load_n(&lessons->any, __ATOMIC_RELAXED);
}

/*
 * Learn from an ERROR, before rpcrdma_call_refused() is called with the same
 * @rx, @call and @offered.
 */
void rpcrdma_lessons_learn(struct rpcrdma_lessons *lessons, u64 now,
			   const struct rpcrdma_rx *rx,
			   const struct rpcrdma_call *call,
			   const struct rpcrdma_lists *offered);

/* Apply the limits learned to a Call that is about to be planned. */
void rpcrdma_lessons_recall(struct rpcrdma_lessons *lessons, u64 now,
			    struct rpcrdma_call *call);

/*
 * Fast path of rpcrdma_plan_call(), without looking at the Call's memory: if
 * the Call and its Reply are one message each, without chunks, fill @plan.
 * @length: of the Call
 * @reply_max: length of its largest Reply
 * @recovery, @lessons: what was refused before
 * Returns false if rpcrdma_plan_call() is needed. A Call whose largest Reply
 * fits inline provides no chunks, and a Call that fits is sent inline: all
 * other rules of rpcrdma_plan_call() come after these two.
 */
static inline bool rpcrdma_plan_plain(const struct rpcrdma_conn *conn,
				      const struct rpcrdma_recovery *recovery,
				      const struct rpcrdma_lessons *lessons,
				      u32 length, u32 reply_max,
				      struct rpcrdma_call_plan *plan)
{
	if (conn->state != RPCRDMA_CONN_OPEN || rpcrdma_lessons_any(lessons) ||
	    (!conn->cfg.client && conn->peer.brs == RDMA2_RVRSDIR_NONE) ||
	    recovery->reply_needed || recovery->no_writes ||
	    length > rpcrdma_plain_send_room(conn) ||
	    reply_max > rpcrdma_plain_recv_room(conn))
		return false;
	plan->format = RPCRDMA_INLINE;
	plan->read_item = 0;
	plan->write_chunk = 0;
	plan->reply_chunk = 0;
	plan->inline_length = length;
	return true;
}

/* Return true if the plan needs memory that the peer reads or writes. */
static inline bool
rpcrdma_plan_has_chunks(const struct rpcrdma_call_plan *plan)
{
	return plan->read_item || plan->write_chunk || plan->reply_chunk ||
	       plan->format == RPCRDMA_SPECIAL;
}

/*
 * Layout of a message in memory: three ranges that follow each other, in bytes.
 * The pages of a Call are the argument, and those of a Reply are the result, if
 * that is reduced.
 */
struct rpcrdma_room {
	u32 head;
	u32 pages;
	u32 tail;
};

/* Memory that a Call provides to the peer in a chunk, or in a part of one */
struct rpcrdma_offer {
	bool written;			/* of the Reply; else of the Call */
	u32 from;			/* bytes into that memory */
	u32 length;			/* never 0 */
	bool data;			/* the pages, in a chunk of their own */
};

/* Iterator over the memory that a Call provides. Both messages have a head. */
struct rpcrdma_offers {
	const struct rpcrdma_call_plan *plan;
	struct rpcrdma_room call;	/* layout of the Call */
	struct rpcrdma_room reply;	/* layout of the memory for its Reply */
	u32 left;			/* private to the engine; 0 to begin */
};

/*
 * Return the next memory range of a Call's chunks, in wire order (6.2.3).
 * Before the first range of a chunk, the chunk is begun in @lists; the user
 * appends a segment for each MR that the range needs, and calls this function
 * again. At the last range the inv_handle is set, so that the peer may
 * invalidate an MR. No memory is in two chunks that the peer writes to.
 * @lists: initialised
 * Returns 1 with @offer; 0 at the end; -EMSGSIZE if @lists have no space for
 * the chunk, which ends the iteration.
 */
int rpcrdma_offer_next(struct rpcrdma_offers *at, struct rpcrdma_lists *lists,
		       struct rpcrdma_offer *offer);

/*
 * Encode a message's header, without the credit fields, which
 * rpcrdma_conn_stamp() writes.
 * @size: bytes at @buf (4-byte aligned)
 * @lists: NULL for none
 * @htype, @flags: RDMA2_MSG or RDMA2_NOMSG, RDMA2_F_RESPONSE,
 *	RDMA2_F_MORE
 * Returns the header's length, 0 if it does not fit.
 */
u32 rpcrdma_encode_header(const struct rpcrdma_conn *conn, void *buf, u32 size,
			  u32 xid, u32 htype, u32 flags,
			  const struct rpcrdma_lists *lists);

/*
 * Fast path: encode the header of a Call or Reply that is one message without
 * chunks. @buf has space for rpcrdma_plain_header() bytes.
 */
void rpcrdma_encode_plain(const struct rpcrdma_conn *conn, void *buf,
			  enum rpcrdma_kind kind, u32 xid);

/*
 * Encode the header of a Call or Reply of that format, with its header type and
 * flags. @more: this is one message of a continued one, and not the last.
 * Returns as rpcrdma_encode_header().
 */
u32 rpcrdma_encode_rpc(const struct rpcrdma_conn *conn, void *buf, u32 size,
		       enum rpcrdma_kind kind, enum rpcrdma_format format,
		       u32 xid, bool more, const struct rpcrdma_lists *lists);

/*
 * Return the length that rpcrdma_encode_header() needs for @lists (NULL: none).
 */
u32 rpcrdma_header_octets(const struct rpcrdma_conn *conn,
			  const struct rpcrdma_lists *lists);

/* One message of a CONTINUED message (4.4.2) */
struct rpcrdma_part {
	u32	octets;		/* of the payload */
	bool	more;		/* others follow: it has RDMA2_F_MORE */
};

/*
 * Return the next message of a CONTINUED one (4.4.2), of the payload of which
 * @left bytes have not been sent yet. @lists go with the last one.
 */
struct rpcrdma_part rpcrdma_next_part(const struct rpcrdma_conn *conn,
				      const struct rpcrdma_lists *lists,
				      u32 left);

/* Lengths that a Reply reports for the chunks of its Call */
struct rpcrdma_placed {
	u32 write_octets;	/* in all Write chunks */
	u32 reply_octets;	/* in the Reply chunk, 0: unused */
	u32 pull_octets;	/* to be pulled from the Responder (WP 8) */
	u8 write_chunks;	/* Write chunks that are neither empty nor unused */
};

/*
 * Check a Reply's returned lists against the Call's (4.3.6: same count and
 * handles, no segment longer; an unused chunk in either form, WP 2).
 * Returns 0; or, for a bad Reply, the negative errno with which its RPC ends,
 * as with verdict BAD_REPLY.
 */
int rpcrdma_check_reply(const struct rpcrdma_conn *conn,
			const struct rpcrdma_lists *offered,
			const struct rpcrdma_rx *rx,
			struct rpcrdma_placed *placed);

/*
 * The state of an RPC at its Requester, from its first Call to its end. Zero
 * it, and embed it in the object that holds the RPC's memory. Events are
 * reported by the functions below, one at a time for each RPC; they return the
 * actions to run.
 *
 * The context that sends or releases the Call owns the RPC until the Call is
 * sent. From then on the context whose rpcrdma_exchange_claim() succeeds owns
 * it, until an action completes the RPC, retransmits it or leaves it. The two
 * may run concurrently: call rpcrdma_exchange_sent() in the connection's
 * serialisation, in the critical section that posts the Call, so that no Reply
 * is processed before.
 */

/* How a Payload stream is divided over a Reply's memory, in this order */
struct rpcrdma_parts {
	u32 head;
	u32 pages;			/* reduced: not from the stream */
	u32 pad;			/* reduced: their roundup, not sent */
	u32 tail;			/* after @pad */
	u32 octets;			/* of the complete Reply, as far as it fits */
	u8 reduced;			/* a Write chunk has the page data */
};

struct rpcrdma_exchange {
	u8 state;			/* private to the engine */
	u8 in_parts;			/* the Call is a continued message */
	int status;			/* errno that the RPC ends with */
	/* number of the connection the Call was sent on */
	u32 conn;
	u32 xid, pull_handle;		/* of the Reply */
	struct rpcrdma_recovery recovery;	/* on that connection */
	struct rpcrdma_placed placed;
	struct rpcrdma_parts parts;
	struct rpcrdma_lists lists;	/* provided by the Call; its sender sets them */
};

/* Actions, in this order */
enum {
	RPCRDMA_STEP_REPORT = 1,	/* report a bad Reply: @reason */
	RPCRDMA_STEP_PLACE = 2,		/* copy the inline payload to @parts */
	/* move what lies in head and tail memory to @parts */
	RPCRDMA_STEP_MOVE = 4,
	RPCRDMA_STEP_PUT = 8,		/* release the Receive: it has been read */
	RPCRDMA_STEP_CLOSE = 16,	/* close the connection: @reason, or NULL */
	/*
	 * At most one of the next five. INVALIDATE: make the RPC's MRs
	 * inaccessible to the peer, return them, then call
	 * rpcrdma_exchange_invalidated()
	 */
	RPCRDMA_STEP_INVALIDATE = 32,
	/* read the Reply to @parts, then call rpcrdma_exchange_pulled() */
	RPCRDMA_STEP_PULL = 64,
	/* complete the RPC with @status: length of the Reply, or an errno */
	RPCRDMA_STEP_COMPLETE = 128,
	/* encode and send the Call again: rpcrdma_exchange_again() */
	RPCRDMA_STEP_AGAIN = 256,
	/* leave the RPC until it is sent on another connection or released */
	RPCRDMA_STEP_LEAVE = 512,
	RPCRDMA_STEP_DONE = 1024,	/* rpcrdma_conn_queue_done() */
};

struct rpcrdma_step {
	u32 todo;			/* RPCRDMA_STEP_* */
	int status;
	u32 xid, handle;		/* of the DONE */
	const char *reason;		/* a static string */
};

/*
 * Prepare to send a Call on @conn. Returns 0: MRs left from an earlier attempt
 * must be released first. -ENOTCONN: the Call was sent there before and no
 * Reply has come: a second Call with that xid (WP 7) would get a second Reply,
 * or receive the first one's. An RPC that was answered may be sent there again:
 * sunrpc repeats a Call, with the same xid, if its Reply reports an RPC error.
 */
int rpcrdma_exchange_begin_anew(struct rpcrdma_exchange *x,
				const struct rpcrdma_conn *conn);
static inline int rpcrdma_exchange_begin(struct rpcrdma_exchange *x,
					 const struct rpcrdma_conn *conn)
{
	/*
	 * Fast path: the Call is not outstanding, and was last sent on this
	 * connection.
	 */
	if (!x->state && x->conn == conn->cfg.number)
		return 0;
	return rpcrdma_exchange_begin_anew(x, conn);
}

/*
 * Return true if the Call was sent as a continued message, on another
 * connection, and never answered. Call this before rpcrdma_exchange_begin().
 * That connection may have ended because the peer had no memory for the
 * continued message: rpcrdma_lessons_lost() remembers that.
 */
bool rpcrdma_exchange_is_lost(const struct rpcrdma_exchange *x,
			      const struct rpcrdma_conn *conn);
static inline bool
rpcrdma_exchange_lost_in_parts(const struct rpcrdma_exchange *x,
			       const struct rpcrdma_conn *conn)
{
	return x->in_parts && rpcrdma_exchange_is_lost(x, conn);
}
/* Remember, for later Calls, that continued messages were lost. */
void rpcrdma_lessons_lost(struct rpcrdma_lessons *lessons, u64 now);

/*
 * Report that the Call is posted next, as a continued message if @in_parts,
 * with x->lists. These must be initialised even if they are empty, and must not
 * change.
 */
void rpcrdma_exchange_sent(struct rpcrdma_exchange *x,
			   const struct rpcrdma_conn *conn, bool in_parts);

/*
 * Claim the RPC for a Reply or an ERROR that arrived on @conn. Returns true if
 * it waits for that; the caller then owns it, and must call
 * rpcrdma_exchange_reply() or rpcrdma_exchange_error().
 */
bool rpcrdma_exchange_claim(struct rpcrdma_exchange *x,
			    const struct rpcrdma_conn *conn);

enum rpcrdma_claimed {
	RPCRDMA_CLAIMED_NOT,		/* no RPC waits for it (any more) */
	RPCRDMA_CLAIMED,		/* call rpcrdma_exchange_reply() */
	RPCRDMA_CLAIMED_LAST,		/* complete the RPC now, see below */
};

/*
 * Claim the RPC for a Reply.
 * Fast path: if neither the Call nor the Reply has chunks and the Reply fits in
 * the head iovec (@head bytes), returns RPCRDMA_CLAIMED_LAST. The caller then
 * copies the inline payload to the head, releases the Receive and completes the
 * RPC with that length.
 * @bad, @inv_handle: as in struct rpcrdma_arrival
 */
enum rpcrdma_claimed
rpcrdma_exchange_claim_reply(struct rpcrdma_exchange *x,
			     const struct rpcrdma_conn *conn,
			     const struct rpcrdma_rx *rx, bool bad,
			     u32 inv_handle, u32 head);

/* A claimed Reply, and what is known about it and its RPC */
struct rpcrdma_arrival {
	const struct rpcrdma_rx *rx;
	bool bad;			/* verdict BAD_REPLY */
	u32 inv_handle;			/* invalidated by the peer, 0: none */
	bool exposed;			/* inv_handle was one of the RPC's MRs */
	u32 length;			/* of the inline payload */
	struct rpcrdma_room room;
};

/*
 * Process a claimed Reply. The Receive is kept until the actions contain PUT.
 * With PULL, PUT may be run before the Reads.
 */
struct rpcrdma_step rpcrdma_exchange_reply(struct rpcrdma_exchange *x,
					   const struct rpcrdma_conn *conn,
					   const struct rpcrdma_arrival *a);

/*
 * Process a Reply for which no RPC waits (any more). @bad: verdict BAD_REPLY.
 */
struct rpcrdma_step rpcrdma_exchange_stray(const struct rpcrdma_rx *rx,
					   bool bad);

/*
 * Process a claimed ERROR. @status: returned by rpcrdma_call_refused() for it
 */
struct rpcrdma_step rpcrdma_exchange_error(struct rpcrdma_exchange *x,
					   int status);

/*
 * Report that the MRs were invalidated and unmapped (@ok). If not @ok, the
 * connection is closing, and they are inaccessible once it has ended.
 * @first: the first 8 bytes of the Reply's memory, NULL if that is
 *	shorter
 */
struct rpcrdma_step rpcrdma_exchange_invalidated(struct rpcrdma_exchange *x,
						 bool ok, const void *first);

enum rpcrdma_pull {
	RPCRDMA_PULL_OK,
	RPCRDMA_PULL_FAILED,		/* the connection cannot do it (now) */
	RPCRDMA_PULL_SHORT,		/* no resources for it now */
	RPCRDMA_PULL_NEVER,		/* another attempt would fail, too */
};

/* Report that the Reads have ended, or cannot be posted. @first: as above. */
struct rpcrdma_step rpcrdma_exchange_pulled(struct rpcrdma_exchange *x,
					    enum rpcrdma_pull how,
					    const void *first);

/*
 * Report, for the action AGAIN, that the RPC's task is notified now.
 * rpcrdma_exchange_resend() returns whether that has happened to a task that is
 * about to wait for the Reply: in the same serialisation, once for each
 * notification.
 */
void rpcrdma_exchange_again(struct rpcrdma_exchange *x);
bool rpcrdma_exchange_resend(struct rpcrdma_exchange *x);

/*
 * Report that the RPC has ended for its task, by completion or because it was
 * killed, and will not be claimed any more: its MRs have to be released. May be
 * called any number of times. Returns false while actions are in progress,
 * which must finish first.
 */
bool rpcrdma_exchange_release(struct rpcrdma_exchange *x);

/* ---- Responder ---- */

struct rpcrdma_item {
	u32 position;		/* bytes into the unreduced Reply message */
	u32 length;		/* bytes without roundup */
};

/* Geometry of a Reply about to be sent */
struct rpcrdma_reply {
	u32 xid;
	u32 length;		/* complete unreduced Reply message */
	u8 nr_items;		/* DDP-eligible results, ascending */
	struct rpcrdma_item items[RPCRDMA_MAX_WRITE_CHUNKS];
	u8 reverse;		/* sent by the client end */
};

struct rpcrdma_reply_plan {
	u8 format;		/* enum rpcrdma_format */
	u8 nr_items;		/* items after the last one placed are all inline */
	u16 placed;		/* bit i: item i goes to Write chunk i */
	u32 inv_handle;		/* Send With Invalidate this; 0: plain Send */
	u32 inline_length;	/* payload bytes conveyed in Sends */
	u32 reply_length;	/* payload bytes for the Reply chunk */
	u32 read_length;	/* payload bytes to expose for pulling */
	u32 error, arg[2];	/* RDMA2_ERR_* to send instead, 0: none */
	/*
	 * The Reply's lists: their lengths are the bytes to place in each
	 * segment
	 */
	struct rpcrdma_lists lists;
};

/* Return true if item @i of the Reply goes to its Write chunk. */
static inline bool
rpcrdma_item_placed(const struct rpcrdma_reply_plan *plan, u32 i)
{
	return plan->placed >> i & 1;
}

/*
 * Plan how a Reply is conveyed, given the lists of its Call (4.4.3, 6.4, WP 6,
 * DR 5.3.2). Always fills @plan; plan->error is set if the Reply cannot be
 * conveyed. A plan with a read_length is not complete yet, see below.
 * The plan's lists share the more[] of @call_lists and overwrite it: a Reply
 * can be planned only once.
 */
void rpcrdma_plan_reply(const struct rpcrdma_conn *conn,
			const struct rpcrdma_lists *call_lists,
			const struct rpcrdma_reply *reply,
			struct rpcrdma_reply_plan *plan);

/*
 * Fast path: return true if a Reply of @length bytes needs no plan, because it
 * is one message without chunks, and nothing is written or exposed for it.
 */
static inline bool rpcrdma_reply_is_plain(const struct rpcrdma_conn *conn,
					  const struct rpcrdma_lists *call_lists,
					  u32 length)
{
	/* In version 1 a Reply chunk must be returned. */
	return !call_lists->nr_writes &&
	       !(call_lists->has_reply && conn->version == RPCRDMA_VERS_1) &&
	       length <= rpcrdma_plain_send_room(conn);
}

/* Return the handle of the Call that its Reply invalidates, 0: none (6.2.4). */
static inline u32
rpcrdma_reply_invalidates(const struct rpcrdma_conn *conn,
			  const struct rpcrdma_lists *call_lists)
{
	return conn->cfg.inv_ok ? call_lists->inv_handle : 0;
}

/* Where bytes of a message come from */
enum rpcrdma_origin {
	RPCRDMA_PIECE_INLINE,		/* the Payload stream outside of chunks */
	RPCRDMA_PIECE_CHUNK,
	RPCRDMA_PIECE_ROUNDUP,		/* zeroes, which are not sent */
};

/* Bytes that are contiguous both in their source and in their destination */
struct rpcrdma_piece {
	const struct rpcrdma_chunk *chunk;	/* CHUNK: that chunk; else NULL */
	enum rpcrdma_origin origin;
	u32 from;			/* bytes into the source */
	u32 to;				/* bytes into the destination */
	u32 length;			/* never 0 */
};

/* The position of an iterator. Zero it to begin. */
struct rpcrdma_pieces {
	u8 next;			/* all fields are private to the engine */
	u32 item, stream, out;
};

/*
 * Return the length of a complete Call: inline payload and Read chunks (4.3.5).
 */
u64 rpcrdma_call_octets(const struct rpcrdma_rx *rx);

/* Return the length of a Call's Read chunks alone, 0 for most Calls. */
static inline u64 rpcrdma_call_read_octets(const struct rpcrdma_rx *rx)
{
	u64 octets = 0;
	u32 i;

	for (i = 0; i < rx->lists.nr_reads; i++)
		octets += rx->lists.reads[i].length;
	return octets;
}

/*
 * Return the only Read chunk of a Call, if all around it came inline and at
 * least @before bytes precede it, or NULL. Such a chunk can be read to separate
 * memory.
 */
const struct rpcrdma_chunk *rpcrdma_call_only_item(const struct rpcrdma_rx *rx,
						   u32 before);

/*
 * Return the next range of a Call, in the order of its bytes. Source: the
 * inline payload, a Read chunk or roundup; destination: the Call before
 * reduction.
 * @rx: a Call that was delivered
 * Returns false at the end.
 */
bool rpcrdma_call_next(const struct rpcrdma_rx *rx, struct rpcrdma_pieces *at,
		       struct rpcrdma_piece *piece);

/*
 * Return the next range of a Reply, in the order of its bytes. Source: the
 * complete Reply; destination: its item's Write chunk, or else the payload that
 * is sent, written to the Reply chunk or exposed, as @plan says. Returns false
 * at the end.
 */
bool rpcrdma_reply_next(const struct rpcrdma_reply *reply,
			const struct rpcrdma_reply_plan *plan,
			struct rpcrdma_pieces *at, struct rpcrdma_piece *piece);

/*
 * Reasons for a Responder to give up a Call, or its Reply, for good. If another
 * attempt might succeed, it closes the connection instead (7.4).
 */
enum rpcrdma_refusal {
	RPCRDMA_REFUSE_NOT,
	RPCRDMA_REFUSE_TOO_LARGE,	/* a Call, for the service */
	/* the Read chunks contain another message */
	RPCRDMA_REFUSE_ANOTHERS,
	RPCRDMA_REFUSE_NO_SERVICE,	/* for a Call */
	/* a Reply cannot be conveyed in any form */
	RPCRDMA_REFUSE_NO_REPLY,
};

/*
 * Places at which an operation on a Call or a Reply may fail with a negative
 * errno. The message is given up for good, or tried again.
 */
enum rpcrdma_failed {
	RPCRDMA_FAILED_CALL,		/* Responder: deliver a Call to its service */
	RPCRDMA_FAILED_REPLY,		/* Responder: send a Reply, which is lost */
	RPCRDMA_FAILED_KEPT_REPLY,	/* Responder: send a Reply, kept by its task */
	RPCRDMA_FAILED_PULL,		/* Requester: pull a Reply */
	RPCRDMA_FAILED_SEND,		/* Requester: send a Call, kept by its task */
};

enum rpcrdma_remedy_kind {
	RPCRDMA_REMEDY_NONE,		/* nothing has failed */
	/* The task tries again on this connection, if that is still open. */
	RPCRDMA_REMEDY_RETRY,
	/* Close the connection: the Requester sends the Call again on the next. */
	RPCRDMA_REMEDY_CLOSE,
	/* Each attempt would fail: end the RPC, at a Responder with an ERROR. */
	RPCRDMA_REMEDY_GIVE_UP,
};

struct rpcrdma_remedy {
	enum rpcrdma_remedy_kind kind;
	enum rpcrdma_refusal refusal;	/* GIVE_UP at a Responder */
};

/*
 * Return the remedy after @failed has ended with @status, 0 or a negative
 * errno. A lack of memory, of queue space or of a connection is temporary: an
 * ERROR for it would end an RPC that could succeed. At a Responder -EOPNOTSUPP
 * is the lack of a service.
 */
struct rpcrdma_remedy rpcrdma_remedy_for(enum rpcrdma_failed failed, int status);

/* Return the ERROR's code, RDMA2_ERR_*, and its text for a log. */
u32 rpcrdma_refusal_code(enum rpcrdma_refusal refusal);
const char *rpcrdma_refusal_text(enum rpcrdma_refusal refusal);

/*
 * Return the refusal of a Call whose Read chunks have been read, if it is no
 * Call (6.2.2.1, 7.2).
 * @first: its first 8 bytes
 */
enum rpcrdma_refusal rpcrdma_call_refusal(const struct rpcrdma_rx *rx,
				      const void *first);

/*
 * Three steps for a plan with a read_length (WP 8, DR 4.1.1).
 *
 * 1. Reserve the resources. @exposure need not be initialised; it belongs to
 * the connection from then on, until rpcrdma_conn_unexpose(). Returns 0, or
 * -EMSGSIZE with @plan->error set: the limit of exposed bytes is reached, or
 * another Reply to that xid is still exposed.
 */
int rpcrdma_conn_expose(struct rpcrdma_conn *conn,
			struct rpcrdma_exposure *exposure, u32 xid,
			struct rpcrdma_reply_plan *plan);

/*
 * 2. Add the chunk to @plan->lists. @chunk contains only a Read chunk with the
 * handles of the memory, or of a part of it: @status is 0, or the negative
 * errno with which building it failed; -EAGAIN if @pool had too few MRs.
 * Returns 0; -EAGAIN if MRs are being allocated, retry later; another negative
 * errno otherwise. plan->error is set if the peer can help: it does not accept
 * a message with so many segments, or all MRs are used by other Replies that it
 * has not read.
 */
int rpcrdma_plan_expose(const struct rpcrdma_conn *conn,
			const struct rpcrdma_region_pool *pool, int status,
			const struct rpcrdma_lists *chunk,
			struct rpcrdma_reply_plan *plan);

/*
 * 3. Report that the Reply was sent: from now on the peer may pull it, and its
 * time limit runs.
 * @inv_handle: @plan->lists.inv_handle
 * @now: milliseconds of any clock
 */
void rpcrdma_conn_exposed(struct rpcrdma_conn *conn,
			  struct rpcrdma_exposure *exposure, u32 inv_handle,
			  u32 now);

/* A Reply whose DONE is overdue, if there is one */
struct rpcrdma_overdue {
	struct rpcrdma_exposure *exposure; /* no longer found by a DONE */
	/*
	 * if NULL: milliseconds until the next call is useful, 0: nothing waits
	 */
	u32	wait;
};
/* Return an exposed Reply whose DONE is overdue. */
struct rpcrdma_overdue rpcrdma_conn_overdue(struct rpcrdma_conn *conn, u32 now);

/*
 * End the exposure: the memory is inaccessible to the peer, or never was
 * accessible.
 */
void rpcrdma_conn_unexpose(struct rpcrdma_conn *conn,
			   struct rpcrdma_exposure *exposure);

/*
 * Return true if the Reply, by being sent, permits the peer to send another
 * Call. In that case the Receive of the Call that it answers must be reposted
 * before the Reply is sent: version 1 has no other flow control.
 */
static inline bool rpcrdma_reply_is_credit(const struct rpcrdma_conn *conn)
{
	return conn->version == RPCRDMA_VERS_1;
}

/*
 * Count a complete Call or Reply by its format, once, when only credit and the
 * Send Queue can still delay it, or later. Received messages are counted
 * without this.
 */
void rpcrdma_conn_count(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
			enum rpcrdma_format format,
			const struct rpcrdma_lists *lists);

/* ------------------------------------------------------------------ */
/* Memory held for peers */

/*
 * Quotas of a server's memory. A connection has reserved what it needs while it
 * is idle: its own structures, and the buffers of its first window. Everything
 * else is charged when it is used, and shared by all connections:
 *
 * - A connection may have as much beyond its reservation as it leaves free. A
 *   single greedy connection gets half; two get a third each.
 * - The last part of the limit is a reserve, which is not available for
 *   reservations and windows. A connection may use it for one message, if it
 *   has nothing yet for that. Connections that find the reserve used up wait in
 *   a queue.
 * - While one of these waits, connections that hold messages for a peer that
 *   makes no progress are to be closed, see rpcrdma_memory_stuck().
 *
 * A Reply to a Call in progress is always charged and never refused, so the
 * limit may be exceeded by as many Replies as there are service threads. While
 * it is exceeded, no Call is started.
 *
 * A connection keeps the quota that it once had, unless memory is tight. A
 * charge within the quota affects that connection alone.
 *
 * Functions with an @all and an account need a lock for all accounts and,
 * within it or around it, one of the account. Functions with an account need
 * its lock.
 */
enum rpcrdma_memory_use {
	RPCRDMA_MEMORY_BUFFERS,	/* Receives, and the buffers to send Replies from */
	RPCRDMA_MEMORY_PARTS,	/* a continued message being reassembled */
	RPCRDMA_MEMORY_CALLS,	/* messages received, until they are processed */
	RPCRDMA_MEMORY_REPLIES,	/* Replies, until the peer has received them */
	RPCRDMA_MEMORY_USES,
};

enum {
	/*
	 * Milliseconds between calls of rpcrdma_memory_stuck() for an account
	 */
	RPCRDMA_MEMORY_TICK_MS = 250,
	/* Ticks without progress after which a connection is closed */
	RPCRDMA_MEMORY_STUCK_TICKS = 8,
};

struct rpcrdma_memory_account;

/* All connections; bytes. All zero at first. */
struct rpcrdma_memory {
	u64 limit;
	u64 reserve;		/* the last part of the limit */
	/* Read without a lock; they change rarely. */
	/* over a quarter of the limit is used, or an account waits */
	u8 tight;
	u8 full;		/* more than the limit is used */
	/* Padding: frequently modified fields are in a separate cache line. */
	u8 apart[46];
	u64 used;		/* reservations and quotas */
	u32 waiting;		/* accounts in the queue */
	struct rpcrdma_memory_account *first, *last;
};

/* One connection; bytes. All zero, except the reservation, at first. */
struct rpcrdma_memory_account {
	u64 fixed;		/* held for the connection's lifetime */
	/*
	 * BUFFERS: reserved. Other uses: the maximum of one message, for which
	 * the reserve may be used.
	 */
	u64 share[RPCRDMA_MEMORY_USES];
	u64 held[RPCRDMA_MEMORY_USES];
	u64 quota;		/* of the shared memory */
	u32 released;		/* number of releases, modulo 2^32 */
	u32 seen;		/* value of released at the last rpcrdma_memory_stuck() */
	u8 ticks;		/* since then */
	u8 member;		/* it is one of the connections that share a limit */
	u8 wanted;		/* it was refused memory, and not woken since */
	u8 replies;		/* Replies are held */
	/* Protected by the lock for all accounts */
	u8 queued;		/* it waits for memory that others release */
	u8 turn;		/* it was removed from the queue to try again */
	struct rpcrdma_memory_account *next, *prev;
};

/*
 * Set the limit, of which the reserve is a part. @message: bytes of the largest
 * message
 */
void rpcrdma_memory_set_limit(struct rpcrdma_memory *all, u64 limit,
			      u64 message);

/*
 * Return true if new connections should have few and small buffers, so that
 * very many connections can have their reservation.
 */
static inline bool rpcrdma_memory_is_tight(const struct rpcrdma_memory *all)
{
	return __atomic_load_n(&all->tight, __ATOMIC_RELAXED);
}

/*
 * Set the reservation of a connection, and the maximum of a message.
 * @fixed: bytes that it needs in any case
 * @buffers: bytes of buffers that it has before its window grows
 * @message: bytes of the largest Call or Reply, as its memory is
 *	allocated
 * @parts: bytes reassembled from continued messages, in addition
 * @spare: more that one message may need
 */
void rpcrdma_memory_promise(struct rpcrdma_memory_account *account, u64 fixed,
			    u64 buffers, u64 message, u64 parts, u64 spare);

/*
 * Attach a connection. Returns 0, or -1 if there is no memory for its
 * reservation.
 */
int rpcrdma_memory_join(struct rpcrdma_memory *all,
			struct rpcrdma_memory_account *account);
/*
 * Detach a connection, even if it still holds memory for a moment. May be
 * called any number of times, attached or not.
 */
void rpcrdma_memory_leave(struct rpcrdma_memory *all,
			  struct rpcrdma_memory_account *account);

/*
 * Return true if @octets more may be charged to the account. If it is not
 * attached, everything is counted and nothing is limited.
 */
bool rpcrdma_memory_room(const struct rpcrdma_memory *all,
			 const struct rpcrdma_memory_account *account,
			 enum rpcrdma_memory_use use, u64 octets);
/*
 * Return true if @octets are within the account's quota, whatever others use.
 */
bool rpcrdma_memory_room_own(const struct rpcrdma_memory_account *account,
			     enum rpcrdma_memory_use use, u64 octets);
/*
 * Return how many of @count buffers of @octets each may be charged: all, or
 * half of them, a quarter and so on.
 */
u32 rpcrdma_memory_fits(const struct rpcrdma_memory *all,
			const struct rpcrdma_memory_account *account,
			enum rpcrdma_memory_use use, u64 octets, u32 count);
/*
 * As rpcrdma_memory_room(), for a caller that waits if the result is false:
 * until rpcrdma_memory_give() returns true for its account, or
 * rpcrdma_memory_next() returns it.
 */
bool rpcrdma_memory_ask(struct rpcrdma_memory *all,
			struct rpcrdma_memory_account *account,
			enum rpcrdma_memory_use use, u64 octets);
/*
 * Return true if a Call may be started only after rpcrdma_memory_may_begin(),
 * because Replies wait for the peer, or all connections use too much. False in
 * the fast path. Any context, if used as a hint.
 */
static inline bool
rpcrdma_memory_must_ask(const struct rpcrdma_memory *all,
			const struct rpcrdma_memory_account *account)
{
	return __atomic_load_n(&account->replies, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&all->full, __ATOMIC_RELAXED);
}
/*
 * Return true if another Call can be started when the Replies to all Calls in
 * progress, including this one, may need @octets. Always true while no Reply is
 * waiting for the peer and no more than the limit is used, because Calls in
 * progress then depend on this end alone. If false, the caller waits as for
 * rpcrdma_memory_ask().
 */
bool rpcrdma_memory_may_begin(struct rpcrdma_memory *all,
			      struct rpcrdma_memory_account *account,
			      u64 octets);
/* Charge @octets, even if they exceed a limit. */
void rpcrdma_memory_hold(struct rpcrdma_memory *all,
			 struct rpcrdma_memory_account *account,
			 enum rpcrdma_memory_use use, u64 octets);
/*
 * Charge @octets within the account's quota. Returns false if nothing was
 * changed.
 */
bool rpcrdma_memory_hold_own(struct rpcrdma_memory_account *account,
			     enum rpcrdma_memory_use use, u64 octets);
/*
 * Charge a reassembled message of @octets to CALLS instead of PARTS. Returns
 * false if that is not possible because of the other Calls that are held.
 */
bool rpcrdma_memory_assembled(const struct rpcrdma_memory *all,
			      struct rpcrdma_memory_account *account,
			      u64 octets);
/*
 * Uncharge @octets. Returns true if a caller of rpcrdma_memory_ask() waits and
 * must try again.
 */
bool rpcrdma_memory_give(struct rpcrdma_memory *all,
			 struct rpcrdma_memory_account *account,
			 enum rpcrdma_memory_use use, u64 octets);
/*
 * Uncharge @octets if the account may keep its quota, without the lock for all
 * accounts. *@tell returns the result of rpcrdma_memory_give(). Returns false
 * if nothing was changed.
 */
bool rpcrdma_memory_give_own(const struct rpcrdma_memory *all,
			     struct rpcrdma_memory_account *account,
			     enum rpcrdma_memory_use use, u64 octets,
			     bool *tell);
/* Release the unused part of the account's quota. */
void rpcrdma_memory_trim(struct rpcrdma_memory *all,
			 struct rpcrdma_memory_account *account);
/*
 * Remove the account that has waited longest from the queue, to try again.
 * Needs only the lock for all accounts. Returns NULL if there is none, or no
 * memory is free.
 */
struct rpcrdma_memory_account *rpcrdma_memory_next(struct rpcrdma_memory *all);
/*
 * Check for a lack of progress, once in a tick while accounts wait. Returns
 * true if the connection is to be closed: it holds parts of a message, Replies,
 * or with @reads Calls that are being read, and has released nothing for
 * RPCRDMA_MEMORY_STUCK_TICKS.
 */
bool rpcrdma_memory_stuck(struct rpcrdma_memory_account *account, bool reads);

/* ------------------------------------------------------------------ */
/* Incoming connections */

/*
 * Tracks a connection (guest) from the connect request until the service has
 * accepted it. Until a service thread accepts it the listener owns it, and it
 * is freed with its endpoint. After that the service owns it and is notified
 * when it closes.
 *
 * A listener limits the number of its connections. If the limit is reached, or
 * there is no memory for another one, the connection that has been opening
 * longest is evicted, if that is long enough: a client opens within moments,
 * and one that sends nothing must not keep others out until its time limit. But
 * hundreds of clients may connect at the same moment, as after a restart of
 * their server, and these must not evict each other.
 */

/* Limits of a listener */
enum {
	RPCRDMA_MAX_GUESTS = 1024,		/* opening, or not accepted yet */
	/* including those that were evicted and still exist */
	RPCRDMA_MAX_GUESTS_ALL = 2 * RPCRDMA_MAX_GUESTS,
	/* Milliseconds of opening before a connection may be evicted */
	RPCRDMA_GUEST_GRACE_MS = 1000,
};

/* A listener; all zero at first, protected by a lock of the user */
struct rpcrdma_admission {
	u32 opening;			/* properties are not exchanged yet */
	u32 opened;			/* not accepted yet */
	u32 all;			/* these, and those that were evicted */
	u8 stopped;			/* no connection is admitted any more */
};

/* Users compare these: keep the order. */
enum rpcrdma_guest_stage {
	RPCRDMA_GUEST_ASKING,
	RPCRDMA_GUEST_OPENING,
	RPCRDMA_GUEST_OPENED,
	RPCRDMA_GUEST_LEAVING,		/* evicted, or refused */
	RPCRDMA_GUEST_TAKEN,		/* by a thread; the service has yet to get it */
	RPCRDMA_GUEST_LOST,		/* TAKEN, but it has ended since */
	RPCRDMA_GUEST_SERVED,		/* the service has it */
	RPCRDMA_GUEST_GONE,		/* SERVED, and it has ended */
};

/*
 * One connection; all zero at first. It may have a lock of its own, which nests
 * inside the listener's where both are needed: in each function with an
 * admission.
 */
struct rpcrdma_guest {
	u8 stage;			/* enum rpcrdma_guest_stage */
	u8 displaced;			/* another one was evicted for it */
	u32 since_ms;			/* time when it began to open */
};

/* The answer to a connect request */
enum rpcrdma_admit {
	RPCRDMA_ADMIT,			/* admitted; it is opening now */
	/*
	 * evict the oldest that is opening: rpcrdma_admission_leave(), then ask
	 * again
	 */
	RPCRDMA_ADMIT_DISPLACE,
	RPCRDMA_ADMIT_STOPPED,		/* refused: the listener has stopped */
	RPCRDMA_ADMIT_NO_MEMORY,	/* refused: there is no memory for it */
	RPCRDMA_ADMIT_TOO_MANY,		/* refused: the backlog is full */
};

/*
 * Decide about a connect request.
 * @oldest: the connection that has been opening longest, or NULL
 * @memory: its account is attached (rpcrdma_memory_join()); that is
 *	tried again after another connection was evicted.
 * @now_ms: milliseconds of any clock, modulo 2^32
 */
enum rpcrdma_admit rpcrdma_admission_ask(struct rpcrdma_admission *all,
					 struct rpcrdma_guest *guest,
					 const struct rpcrdma_guest *oldest,
					 bool memory, u32 now_ms);

/* Actions after an event */
enum {
	RPCRDMA_GUEST_LISTED = 1,	/* add it to the list of those to accept */
	RPCRDMA_GUEST_FREE = 2,		/* free it: there are no references */
	RPCRDMA_GUEST_DATA = 4,		/* notify the service of Calls */
	RPCRDMA_GUEST_CLOSE = 8,	/* have the service close it */
	RPCRDMA_GUEST_LAST = 16,	/* it was the listener's last: wake the waiter */
};

/*
 * Evict the connection in favour of a new one: close it and release its quota.
 */
void rpcrdma_admission_leave(struct rpcrdma_admission *all,
			     struct rpcrdma_guest *guest);

/*
 * Report that RPC traffic may begin. Returns LISTED, or 0 if it is too late for
 * that.
 */
u32 rpcrdma_admission_opened(struct rpcrdma_admission *all,
			     struct rpcrdma_guest *guest);

/*
 * Report that a service thread accepts a listed connection, which then has no
 * listener. Returns LAST or 0.
 */
u32 rpcrdma_admission_take(struct rpcrdma_admission *all,
			   struct rpcrdma_guest *guest);

/*
 * Report that the service has the connection. @calls: Calls have arrived.
 * Returns any of DATA and CLOSE.
 */
u32 rpcrdma_guest_served(struct rpcrdma_guest *guest, bool calls);

/*
 * Return true if the service has the connection and is notified of Calls at
 * once.
 */
static inline bool rpcrdma_guest_known(const struct rpcrdma_guest *guest)
{
	return guest->stage >= RPCRDMA_GUEST_SERVED;
}

/*
 * Report that the connection has ended, and uses nothing on the device. @all:
 * NULL after it was accepted. Returns FREE, and perhaps LAST; or CLOSE; or 0,
 * if rpcrdma_guest_served() will return what to do.
 */
u32 rpcrdma_admission_gone(struct rpcrdma_admission *all,
			   struct rpcrdma_guest *guest);

/*
 * Stop: no connection is admitted or accepted any more. The user closes those
 * that are left.
 */
void rpcrdma_admission_stop(struct rpcrdma_admission *all);

/* ---- RFC 8797 private message ---- */

void rpcrdma_encode_private(const struct rpcrdma_private *priv,
			    u8 buf[RPCRDMA_PRIVATE_OCTETS]);
/* @buf may be NULL, @length 0. Bytes after the eighth are ignored. */
void rpcrdma_decode_private(const void *buf, u32 length,
			    struct rpcrdma_private *priv);

/* Return a code's name as in 8.4, for logs; never NULL. */
const char *rpcrdma_error_name(u32 code);

/* ------------------------------------------------------------------ */
/* The state machine of a connection */

/*
 * It covers the time from the first request to the connection manager until
 * nothing is left on the device: the meaning of an event, the next step, and
 * the order of the teardown. Embed it. All calls for one connection are
 * serialised; events may be reported in any stage, as often as they happen:
 * events without a meaning in the current stage return no action.
 *
 * Three contexts drive it. The setup context (the maker) calls
 * rpcrdma_life_make() in a loop and performs the step it returns. Event sources
 * report an event and run the actions returned for it. The teardown is run by
 * the context that was asked to close: it calls rpcrdma_life_release() in a
 * loop and performs the step it returns, after the maker has finished.
 */

/* Users compare these: keep the order. */
enum rpcrdma_stage {
	RPCRDMA_STAGE_IDLE,		/* nothing was requested yet */
	RPCRDMA_STAGE_RESOLVING,	/* client: the address */
	RPCRDMA_STAGE_ROUTING,		/* client: the route */
	RPCRDMA_STAGE_PREPARING,	/* the device's objects are allocated */
	RPCRDMA_STAGE_CONNECTING,	/* a request, or an accept, was sent */
	RPCRDMA_STAGE_OPENING,		/* connected, properties are being exchanged */
	RPCRDMA_STAGE_OPEN,		/* RPC traffic may pass */
	RPCRDMA_STAGE_CLOSING,		/* nothing is posted any more */
	RPCRDMA_STAGE_GONE,		/* nothing is left on the device */
};

/* Zero it except for @client. */
struct rpcrdma_life {
	u8 client;
	u8 stage;		/* enum rpcrdma_stage, modified only by the engine */
	u8 may_send;		/* messages may be posted */
	u8 settled;		/* the maker's wait is over */
	u8 met;			/* the connection manager has reported: established */
	u8 handed;		/* client: the maker has passed it to the transport */
	u8 released;		/* teardown steps that are complete */
	u8 odd;			/* client: rpcrdma_life_odd() was called */
	u8 end;			/* enum rpcrdma_end */
	u8 stops;		/* how often STOP has failed */
	/* STOP has failed for good: the device may complete and place data */
	u8 unstopped;
	int status;		/* the errno that it closed with */
	u32 limit_ms;		/* of each step before opening, 0: the default */
};

/* Actions after an event, in this order */
enum {
	/*
	 * rpcrdma_conn_established(), before any other event is reported; then
	 * handle its events
	 */
	RPCRDMA_LIFE_BEGIN = 1,
	/*
	 * notify the transport that RPC traffic may begin; stop the time limit
	 */
	RPCRDMA_LIFE_OPENED = 2,
	/* wake the maker, which checks life->settled */
	RPCRDMA_LIFE_WAKE = 4,
	/* start the teardown; log @reason, if there is one */
	RPCRDMA_LIFE_CLOSE = 8,
	/*
	 * server: report to the connection manager that the connection is
	 * established
	 */
	RPCRDMA_LIFE_CONFIRM = 16,
};

struct rpcrdma_life_step {
	u32 todo;			/* RPCRDMA_LIFE_* */
	const char *reason;		/* a static string; NULL: an ordinary close */
};

/* Events of the connection manager */
enum rpcrdma_news {
	RPCRDMA_NEWS_RESOLVED,		/* the address, or the route */
	RPCRDMA_NEWS_UNRESOLVED,
	RPCRDMA_NEWS_ESTABLISHED,
	RPCRDMA_NEWS_UNREACHABLE,	/* the peer does not respond */
	RPCRDMA_NEWS_REJECTED,		/* with a reason */
	RPCRDMA_NEWS_FAILED,		/* the connection could not be established */
	RPCRDMA_NEWS_DISCONNECTED,
	RPCRDMA_NEWS_ADDRESS_CHANGED,	/* of this end */
	RPCRDMA_NEWS_REMOVED,		/* the device */
	RPCRDMA_NR_NEWS,
};

/*
 * Report a connection manager event. @rejection: for REJECTED, the IBTA reject
 * reason, or a negative errno
 */
struct rpcrdma_life_step rpcrdma_life_news(struct rpcrdma_life *life,
					   enum rpcrdma_news news,
					   int rejection);

/* Report RPCRDMA_EV_OPENED: the properties of both ends were exchanged. */
struct rpcrdma_life_step rpcrdma_life_opened(struct rpcrdma_life *life);

/*
 * Report that a server's time limit for opening has expired; the step ACCEPT
 * returned it. May also be called for a connection that has opened.
 */
struct rpcrdma_life_step rpcrdma_life_overdue(struct rpcrdma_life *life);

/*
 * Report RPCRDMA_EV_ODD: a client's peer has answered with something other than
 * an opening of version 2. An opening may still follow, but the time for it is
 * short.
 */
struct rpcrdma_life_step rpcrdma_life_odd(struct rpcrdma_life *life);

/* Causes of a failed Work Request */
enum rpcrdma_failure {
	RPCRDMA_FAILURE_FLUSHED,	/* the queue pair had stopped */
	RPCRDMA_FAILURE_PEER,		/* the peer does not answer, or objects */
	RPCRDMA_FAILURE_HERE,
};

/*
 * Report a failed Work Request. @why: a static string, logged if this was the
 * first sign of the failure.
 */
struct rpcrdma_life_step rpcrdma_life_failed(struct rpcrdma_life *life,
					     enum rpcrdma_failure failure,
					     const char *why);

/*
 * Close the connection for any other reason. @reason: a static string; NULL: an
 * ordinary close of a connection that is no longer needed or waited for.
 */
struct rpcrdma_life_step rpcrdma_life_close(struct rpcrdma_life *life,
					    const char *reason);

/* The fate of a Call that has arrived */
enum rpcrdma_call_fate {
	RPCRDMA_CALL_DROPPED,	/* its Receive is released */
	RPCRDMA_CALL_KEPT,	/* returned to the context that processes messages */
	RPCRDMA_CALL_TOLD,	/* passed to the transport */
};

/*
 * Return the fate of the Call @rx. @keep: the context that processes messages can
 * execute a Call without Read chunks. Once the connection is closing, a Call is dropped
 * because its Reply cannot be sent; its sender sends it again on another connection.
 */
static inline enum rpcrdma_call_fate
rpcrdma_call_fate(const struct rpcrdma_life *life, const struct rpcrdma_rx *rx,
		  bool keep)
{
	if (__atomic_load_n(&life->stage, __ATOMIC_RELAXED) >=
	    RPCRDMA_STAGE_CLOSING)
		return RPCRDMA_CALL_DROPPED;
	return keep && !rpcrdma_call_read_octets(rx) ? RPCRDMA_CALL_KEPT :
						       RPCRDMA_CALL_TOLD;
}

/* The next setup step */
enum rpcrdma_make {
	RPCRDMA_MAKE_ADDRESS,		/* resolve the address, within @ms */
	RPCRDMA_MAKE_ROUTE,		/* resolve the route, within @ms */
	RPCRDMA_MAKE_OBJECTS,		/* allocate the device's objects, post Receives */
	RPCRDMA_MAKE_CONNECT,		/* send the connect request */
	RPCRDMA_MAKE_ACCEPT,		/* accept the request; it is overdue in @ms */
	RPCRDMA_MAKE_WAIT,		/* wait for life->settled, for @ms */
	/*
	 * Setup is complete, with @status. A client has an open connection, the
	 * close of which will be reported; or, with an errno, none, and must
	 * wait for the teardown. A server only learns whether something failed
	 * here.
	 */
	RPCRDMA_MAKE_END,
};

struct rpcrdma_make_step {
	enum rpcrdma_make what;
	u32 ms;				/* milliseconds */
	int status;			/* 0 or a negative errno */
	/* END of a client, with @status: for rpcrdma_version_learn() */
	enum rpcrdma_answer answer;
	struct rpcrdma_life_step step;	/* END: run these actions, too */
};

/*
 * Return the next step to set up a connection.
 * @result: of the last step: 0 or a negative errno; -ETIMEDOUT if a
 *	wait ended before life->settled; 0 at first
 * @conn: read only, for the peer's answer; zeroed or set up
 * The status of END is -EPROTONOSUPPORT if the peer has accepted the
 * connection, but did not open it with the version that was tried; another
 * version may succeed. Otherwise it is the reason why there is no connection.
 */
struct rpcrdma_make_step rpcrdma_life_make(struct rpcrdma_life *life,
					   const struct rpcrdma_conn *conn,
					   int result);

/* The next teardown step; skip it for objects that do not exist */
enum rpcrdma_release {
	RPCRDMA_RELEASE_MAKER,		/* wait until setup has ended */
	RPCRDMA_RELEASE_TIMERS,		/* stop the connection's time limits */
	RPCRDMA_RELEASE_DISCONNECT,	/* disconnect from the peer */
	RPCRDMA_RELEASE_STOP,		/* move the queue pair to ERR */
	RPCRDMA_RELEASE_PAUSE,		/* wait RPCRDMA_STOP_PAUSE_MS */
	RPCRDMA_RELEASE_DRAIN,		/* wait for posted Work Requests */
	RPCRDMA_RELEASE_MESSAGES,	/* process the messages received */
	RPCRDMA_RELEASE_RESET,		/* wait until the device has finished */
	RPCRDMA_RELEASE_POSTED,		/* end posted work */
	RPCRDMA_RELEASE_WAITING,	/* end queued work */
	RPCRDMA_RELEASE_USERS,		/* wait for contexts that prepare work */
	/* destroy it: the peer can access no memory after this */
	RPCRDMA_RELEASE_QUEUE_PAIR,
	RPCRDMA_RELEASE_COMPLETIONS,	/* destroy the CQs: no completions after this */
	RPCRDMA_RELEASE_REGIONS,
	RPCRDMA_RELEASE_EXPOSED,	/* Replies that were exposed to be pulled */
	RPCRDMA_RELEASE_BUFFERS,	/* unmap them */
	RPCRDMA_RELEASE_DOMAIN,
	RPCRDMA_RELEASE_ID,		/* of the connection manager */
	RPCRDMA_RELEASE_GONE,		/* wake the waiters for the teardown */
	RPCRDMA_RELEASE_TELL,		/* notify the transport: closed */
	RPCRDMA_RELEASE_END,
};

enum {
	/* Milliseconds between two attempts of STOP, and number of attempts */
	RPCRDMA_STOP_PAUSE_MS = 100,
	RPCRDMA_STOP_TRIES = 50,
};

/*
 * Return the next teardown step. The preceding one must be complete.
 * @qp: there is a queue pair
 * @posted: something was posted to its Send Queue
 * @result: of STOP, 0 or a negative errno; 0 for any other step
 */
enum rpcrdma_release rpcrdma_life_release(struct rpcrdma_life *life, bool qp,
					  bool posted, int result);

/*
 * A listener that is bound to one address. Its ID in the connection manager is
 * lost with the device, and remains if the address is removed. Embed it,
 * zeroed. All calls for one listener are serialised.
 */
struct rpcrdma_listening {
	u8 listening;
	u8 begun;		/* it was listening before */
	u32 failures;		/* attempts since the last loss */
};

enum rpcrdma_listen_event {
	RPCRDMA_LISTEN_MOVED,	/* another device has the address */
	RPCRDMA_LISTEN_REMOVED,	/* the device was removed */
	RPCRDMA_LISTEN_GONE,	/* the address was removed */
	RPCRDMA_LISTEN_BACK,	/* the address was added */
	RPCRDMA_NR_LISTEN_EVENTS,
};

/* The line for the log */
enum rpcrdma_listen_say {
	RPCRDMA_LISTEN_SAY_NOTHING,
	RPCRDMA_LISTEN_SAY_LOST,	/* with the cause */
	RPCRDMA_LISTEN_SAY_FAILS,	/* retries are slower from now on */
	RPCRDMA_LISTEN_SAY_AGAIN,
};

struct rpcrdma_listen_step {
	bool retry;		/* listen again in @ms, and report the result */
	u32 ms;
	enum rpcrdma_listen_say say;
	const char *cause;	/* a static string */
};

/* Report an event. Returns the actions. */
struct rpcrdma_listen_step rpcrdma_listen_news(struct rpcrdma_listening *l,
						enum rpcrdma_listen_event event);
/*
 * Report an attempt to listen, including the first one. @result: 0 or a
 * negative errno. Returns the actions.
 */
struct rpcrdma_listen_step rpcrdma_listen_tried(struct rpcrdma_listening *l,
						int result);

/*
 * The reconnect procedure of a client: the actions for its connection, of which
 * it has one at a time, and their order. Meanwhile sunrpc blocks senders.
 */
enum rpcrdma_link {
	/*
	 * Remove the existing connection, if any, from the senders; close it,
	 * wait for its end, and learn what it shows of the server.
	 */
	RPCRDMA_LINK_FORGET,
	/*
	 * Set up a connection with rpcrdma_version_first(); learn from a failed
	 * attempt.
	 */
	RPCRDMA_LINK_TRY,
	/*
	 * The peer did not open it with that version. If
	 * rpcrdma_version_first() returns another one now, try that; otherwise
	 * the attempt has failed.
	 */
	RPCRDMA_LINK_TRY_OTHER,
	RPCRDMA_LINK_KEEP,		/* install it for senders */
	RPCRDMA_LINK_SETTLED,		/* the attempt has ended */
	RPCRDMA_LINK_UP,		/* mark connected, with a new connect cookie */
	RPCRDMA_LINK_DROP,		/* close it: it has ended */
	RPCRDMA_LINK_WAKE,		/* wake tasks that wait for one, with @status */
	RPCRDMA_LINK_UNLOCK,		/* permit others to send */
	RPCRDMA_LINK_DOWN,		/* mark disconnected, with a new connect cookie */
	RPCRDMA_LINK_END,		/* the procedure is complete */
};

/* Progress of the procedure. Zero it to begin, except for @close. */
struct rpcrdma_link_walk {
	u8 close;		/* close only, do not connect */
	u8 next;		/* private to the engine */
	int status;		/* of the attempt */
};

struct rpcrdma_link_step {
	enum rpcrdma_link what;
	int status;		/* WAKE: a negative errno */
};

/*
 * Return the next action. @result: of the last attempt, 0 or a negative errno.
 * @open: true if the new connection is still open. It must be read after UP.
 */
struct rpcrdma_link_step rpcrdma_link_next(struct rpcrdma_link_walk *walk,
					   int result, bool open);

/*
 * Return the status with which tasks that wait for a connection are woken after
 * an attempt ended with @status, a negative errno. sunrpc ends an RPC for an
 * errno that it does not know, even on a hard mount. The errnos that it knows
 * are of two kinds. Some end an RPC that tests for a connection, such as a
 * mount's first one, and are retried by others: they are for failures that will
 * repeat. After the rest, every RPC retries.
 */
int rpcrdma_connect_status(int status);

#ifdef __cplusplus
}
#endif
#endif /* RPCRDMA_ENGINE_H */
