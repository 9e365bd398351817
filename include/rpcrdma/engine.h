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
	/* will provide one to a peer that can pull */
	RDMA2_REPLY_READ_PROVIDE = 2,
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
	/* messages, once the peer uses the connection */
	RPCRDMA_USUAL_WINDOW = 16,
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
	/* bytes from the start of the current segment */
	u32 offset;
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
	/* bytes reassembled from continued messages */
	u32 reassembly;
};

struct rpcrdma_conn_config {
	/* unique among all connections; not 0 */
	u32 number;
	u8 client;			/* 1: this end opens (4.2.3) */
	u8 version_low, version_high;	/* versions allowed to this role */
	u8 inv_ok;			/* device can invalidate remotely */
	u8 no_regions;			/* device cannot register memory */
	/* version 1 is a fallback: 2 got no answer */
	u8 guess;
	u32 window;			/* Receives for RPC traffic, at most, >= 4 */
	/* Receives for RPC traffic to begin with, >= 4; 0: all */
	u32 first_window;
	/* Receives of the window for the reverse direction */
	u32 reverse;
	/* bytes of Replies exposed at a time, at most */
	u32 expose_octets;
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
	/* the peer's properties received so far */
	struct rpcrdma_props staged;
	/*
	 * Adjacent: is_settled() compares these four as one 32-bit word, and
	 * the next two together.
	 */
	u8 state;			/* enum rpcrdma_conn_state */
	u8 version;			/* 0 until fixed */
	/* all CONNPROPs of this end were sent */
	u8 props_sent;
	u8 pend_count;			/* control messages queued, see below */
	/* 1: a continued message is being received */
	u8 rx_open;
	u8 nr_discard;			/* sequences to discard, see below */
	/* all CONNPROPs of the peer were received */
	u8 props_received;
	u8 props_due;			/* CONNPROPs of this end may be sent */
	u8 err_vers_high, err_vers_low;	/* from an ERR_VERS, 255 at most */
	/* client: something valid was received */
	u8 answered;
	/* client: that was ERR_VERS, and nothing else */
	u8 refused;
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
	/* Receives that will soon be free again */
	u32 unreplaced;
	/* Receives of credit grants that came since the last header */
	u16 grants_unreplaced;
	/* more than such credit grants came since then */
	u16 moved;
	/* Receives: posted, free, or with a message */
	/* Receives for RPC traffic, at present */
	u32 window;
	/* Receives to have: window, reserve and spare ones */
	u32 wanted;
	u32 batch;			/* free Receives to post together */
	/* while that many are posted, without the reserve */
	u32 least_posted;
	u32 receives;			/* Receives allocated */
	/* Receives that the caller is allocating */
	u32 making;
	u32 kept_back;			/* free Receives that are withheld */
	/* value of received at which the peer knows the window */
	rpcrdma_serial heard_later;
	/* credits that the peer had unused at least, since ... */
	u32 least_left;
	/* watched_since, milliseconds: the interval for least_left */
	rpcrdma_serial watched_since;
	/* value of sent after the last complete message that needs credit */
	rpcrdma_serial whole;
	u8 stalled;			/* a message waits for credit */
	rpcrdma_serial stalled_since;	/* stalled: milliseconds, since when */
	rpcrdma_serial stalled_sent;	/* stalled: sent at that time */
	rpcrdma_serial stalled_whole;	/* stalled: whole at that time */
	/* bytes of CONNPROP received, bounded */
	u32 prop_octets;
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
 * What a client remembers of a server's versions from one connection to the
 * next, WP 4. All zero at first. @now below: seconds, of a monotonic clock.
 */
struct rpcrdma_version_memory {
	u64 only_v1_until;		/* seconds; 0: no */
	/* consecutive attempts without an answer */
	u8 silent;
	u8 has_v2;			/* the server has used version 2 */
	/* the server has used version 1 since */
	u8 has_v1;
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
	/* this end, after waiting for the peer */
	RPCRDMA_END_WAITED,
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
	/* bytes the peer reassembles; 0: none */
	u32 continued;
};

static inline struct rpcrdma_conn_limits
rpcrdma_conn_limits(const struct rpcrdma_conn *conn)
{
	const struct rpcrdma_props *own = &conn->cfg.props;
	const struct rpcrdma_props *peer = &conn->peer;
	/* A SEGMENTS error lowers it concurrently. */
	const u32 rcsiz = __atomic_load_n(&peer->rcsiz, __ATOMIC_RELAXED);
	/* Whatever the peer accepts, this end may have no MRs to provide. */
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
	/* allocate Receives, or post free ones */
	RPCRDMA_EV_RECEIVES = 16,
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
 * The engine says how many there are, and when they are posted: it makes the
 * window larger when the peer uses it, smaller when it does not, and has free
 * Receives posted several at a time. A caller carries that out, first before
 * the connection is up, and then whenever events have EV_RECEIVES:
 *
 *   rpcrdma_conn_to_make() -> rpcrdma_conn_made()
 *   rpcrdma_conn_to_post() -> rpcrdma_conn_posted()
 *
 * and tells of each Receive whose message it is through with:
 * rpcrdma_conn_given_back(). A client of version 1 that sends many Calls at once may
 * need Receives posted that are kept back: the event comes with the next message.
 */

/* What a connection does without the Receives that it is to make */
enum rpcrdma_receives_need {
	/* It has a smaller window, which is no harm. */
	RPCRDMA_RECEIVES_WANTED,
	/* It makes smaller ones. */
	RPCRDMA_RECEIVES_OR_SMALLER,
	/* It is closed. */
	RPCRDMA_RECEIVES_NEEDED,
};

/*
 * Receives to be made
 * @octets: that each has to take: as much as this end announces, or the default
 *	threshold if that is more (WP 4); with version 1 no more than the peer sends
 * @need: how much is to be done for their memory
 */
struct rpcrdma_receives {
	u32 count;
	u32 octets;
	enum rpcrdma_receives_need need;
};

/*
 * The Receives that are to be made now. If any, rpcrdma_conn_made() follows;
 * until then there are none for others.
 */
struct rpcrdma_receives rpcrdma_conn_to_make(struct rpcrdma_conn *conn);

/*
 * Octets of the largest message that is sent, or the default threshold if that is
 * more. Without the connection's serialisation, too, once it is open.
 */
u32 rpcrdma_conn_send_octets(const struct rpcrdma_conn *conn);

/*
 * @count of the Receives that were to be made are there, and free; there was no
 * memory for the others, see enum rpcrdma_receives_need. Where smaller ones do, this
 * end announces less, and rpcrdma_conn_send_octets() is less, too. Returns events.
 */
u32 rpcrdma_conn_made(struct rpcrdma_conn *conn, u32 count);

/*
 * How many of the free Receives are to be posted now: all of them, or none. If
 * any, rpcrdma_conn_posted() follows.
 * @now: any clock of milliseconds, the same each time.
 */
u32 rpcrdma_conn_to_post(struct rpcrdma_conn *conn, u32 now);

/*
 * @count Receives were posted, WP 3: free ones, and where there are not as
 * many, others that were given back and posted at once. Returns events.
 */
u32 rpcrdma_conn_posted(struct rpcrdma_conn *conn, u32 count);

/*
 * A message is dealt with, and so its Receive is free. Not one after
 * EV_CLOSE.
 * Returns events. With EV_LET_GO there are more than the window takes now: this
 * one does not count as free, and is to be let go of. With EV_RECEIVES those of
 * rpcrdma_conn_posted() follow.
 */
u32 rpcrdma_conn_given_back(struct rpcrdma_conn *conn);

/* A control message that has its turn */
struct rpcrdma_control {
	u32	octets;		/* of the message, 0: none is due */
	u32	inv_handle;	/* to invalidate with it, 0: a plain Send */
};

/*
 * Fetch the next control message that may be sent now, in the order of WP 3
 * and 4: ERRORs and DONEs, own CONNPROP parts, then a grant that is owed. It
 * is counted as sent: the caller posts it before any other message, or closes
 * the connection.
 * @buf: 4-octet aligned; @size: its octets, at least
 * RPCRDMA_V2_FIRST_CONNPROP, or nothing is due.
 */
struct rpcrdma_control rpcrdma_conn_next_control(struct rpcrdma_conn *conn,
						 void *buf, u32 size);

/*
 * Is there no Call under way, in either direction, beside the one that this end makes
 * now, or answers? A guess, from which nothing follows. Any context.
 */
static inline bool rpcrdma_conn_alone(const struct rpcrdma_conn *conn,
				      enum rpcrdma_kind kind)
{
	return (int)__atomic_load_n(&conn->underway, __ATOMIC_RELAXED) <=
	       (kind == RPCRDMA_KIND_REPLY);
}

/* Is a control message due (and sendable) now? */
bool rpcrdma_conn_control_due(const struct rpcrdma_conn *conn);

/*
 * May a message of this kind be sent now? Control messages waiting in order
 * go before Calls; a Call leaves the last two of the window (WP 3). While a
 * continued message has parts to be sent, the answer is about its next part:
 * no other Call or Reply may go in between (4.1).
 */
bool rpcrdma_conn_may_send(const struct rpcrdma_conn *conn,
			   enum rpcrdma_kind kind);

/*
 * Count a Call or Reply, or a part of one, as sent and write the credit fields
 * into its encoded header. Only after rpcrdma_conn_may_send(), without letting
 * go of the connection in between; the caller then posts it before any other
 * message, or closes the connection.
 * @header: what rpcrdma_encode_header() wrote.
 */
void rpcrdma_conn_stamp(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
			void *header);

/*
 * Answer a Call with an ERROR (7), or report that a Reply was pulled (DONE).
 * Queued in order. Returns events; more than 64 waiting is EV_CLOSE.
 * @code: not RDMA2_ERR_VERS, which the engine sends by itself.
 * @arg0, @arg1: the code's data words in wire order, 0 where it has none.
 * Under version 1, what has no code there becomes ERR_CHUNK.
 */
u32 rpcrdma_conn_queue_error(struct rpcrdma_conn *conn, u32 xid, u32 code,
			     u32 arg0, u32 arg1);
u32 rpcrdma_conn_queue_done(struct rpcrdma_conn *conn, u32 xid,
			    u32 inv_handle);

/* What there is to be done about window that is waited for */
struct rpcrdma_stall {
	u32	wait;		/* ask again in so many milliseconds, 0: never */
	u32	events;		/* EV_CLOSE when the time is over */
};

/* Messages of the caller that could not be sent, and wait: rpcrdma_sq_waits() */
enum {
	RPCRDMA_WAITS_CALL = 1,		/* a Call of which nothing was sent */
	RPCRDMA_WAITS_MESSAGE = 2,	/* a Reply, or further parts of a message */
};

/*
 * How long may what waits for window still wait? A peer owes grants (WP 3);
 * one that for cfg.stall_ms lets nothing of it go, or grants so little that no
 * Call could have, is given up, as nothing else would ever end the wait of a
 * Call that was not sent. A Reply for which there is window, and any Reply of version
 * 1, waits for something else, and has no such limit.
 * @waits: RPCRDMA_WAITS_*, for whatever reason they wait; control messages need no
 * mention. @now: any clock of milliseconds.
 */
struct rpcrdma_stall rpcrdma_conn_stalled(struct rpcrdma_conn *conn, u32 waits,
					  u32 now);

/* ------------------------------------------------------------------ */
/* Depths of queues                                                    */

/*
 * What a connection is to do at a time, at most
 * @window: Receives for RPC traffic
 * @sends: messages of RPC traffic
 * @regions: memory regions that its peer is offered; 0: none
 * @reads: transfers by RDMA Read; 0: neither these nor RDMA Writes
 * @version_low: 1, if its peer may have no newer one
 */
struct rpcrdma_load {
	u32 window;
	u32 sends;
	u32 regions;
	u32 reads;
	u8 client;
	u8 version_low;
};

/* Less of all, where a queue of the device's has @max_wrs Work Requests at most */
void rpcrdma_load_fit(struct rpcrdma_load *load, u32 max_wrs);

/*
 * What a device has
 * @wrs, @cqes: Work Requests, and completions, that a queue of it has at most
 * @read_regions: it reads into memory regions
 */
struct rpcrdma_queue_limits {
	u32 wrs;
	u32 cqes;
	u8 read_regions;
};

/*
 * What a connection takes of that
 * @receives: Work Requests of the Receive Queue, and their completions
 * @slots: Work Requests of the Send Queue, but for those of @reads
 * @reads: transfers into memory regions; who makes the queue adds what they take
 * @send_cqes: completions of the Send Queue
 */
struct rpcrdma_queues {
	u32 receives;
	u32 slots;
	u32 reads;
	u32 send_cqes;
};

/* @load: after rpcrdma_load_fit() */
struct rpcrdma_queues rpcrdma_queues_for(const struct rpcrdma_load *load,
					 const struct rpcrdma_queue_limits *most);

/* Work Requests that the Send Queue is to have, but for those of queues->reads */
u32 rpcrdma_queues_send_wrs(const struct rpcrdma_queues *queues);

/*
 * The device has no room for so long a Send Queue. Returns false when there is no
 * shorter one.
 */
bool rpcrdma_queues_shorten(struct rpcrdma_queues *queues);

/*
 * For rpcrdma_sq_init(), when the Send Queue has room for @send_wrs Work Requests: some
 * devices make it longer than they were asked to.
 */
u32 rpcrdma_queues_depth(const struct rpcrdma_queues *queues, u32 send_wrs);

/* ------------------------------------------------------------------ */
/* The Send Queue                                                      */

/*
 * An account of a connection's Send Queue and of its Send contexts, which are the
 * buffers that messages are sent from: what may be posted, what has to wait and
 * whose turn it is then, and which work reports its end. It is used in the same
 * serialisation as its rpcrdma_conn. The user keeps three lists: what is posted, in
 * that order; transfers that wait; and messages that wait. A transfer is work without
 * a message, RDMA or invalidations. Messages that wait are Replies, and in front of
 * them the one that is sent in parts.
 *
 * Control messages go first, then transfers, then messages, then Calls, which are not
 * kept here: who wants to send one asks again. While a transfer waits for as many
 * slots as it takes at once, no message takes them one by one as they come free; nor
 * does a Call while a message waits. All who wait come to their turn: a peer has to
 * wait for Replies before it can ask for more transfers.
 *
 * Nothing waits without a completion to come. What is posted without one never fills
 * what is left of the queue beside the largest work, rpcrdma_sq_fits(), nor does it
 * hold the last contexts.
 */
enum {
	/* Send contexts that only control messages take */
	RPCRDMA_CONTROL_SENDS = 16,
	/* Of so many Work Requests posted, one at least reports itself. */
	RPCRDMA_SQ_BATCH = 16,
};

struct rpcrdma_sq {
	u32 depth;		/* slots */
	u32 batch;		/* one of so many reports itself, at least */
	/* Slots ever used, modulo 2^32: all, those that are free again, and */
	rpcrdma_serial posted, through;
	rpcrdma_serial signaled;	/* ... up to the last that reports itself */
	u32 contexts;		/* that are free */
	/* These two are looked at together. */
	u32 transfers;		/* that wait */
	u32 messages;		/* that wait, and the one that has parts to go */
	/* Contexts which Replies to be made leave to others, and ... */
	u32 reply_reserve;
	u32 reserve, reserve_waits;	/* ... while no message waits, or some do */
	u32 call_wrs;		/* slots for the largest Call refused; 0: none was */
	u8 refused;		/* who else was, the engine's */
};

/* A chain of Work Requests that is posted at once; embed it in what that is. */
struct rpcrdma_wrs {
	u32 nr;			/* Work Requests */
	rpcrdma_serial begin;	/* the account's: slots ever used before it */
	u8 signaled;		/* has to report its end, or (once posted) will */
};

/*
 * @depth: slots of the queue. @sends: contexts for RPC traffic; they are added one by
 * one with rpcrdma_sq_give(), and so are RPCRDMA_CONTROL_SENDS more. The one that the
 * next Call is made in is not among them.
 * @reverse: Calls that the peer takes at a time in this end's own direction.
 * @replies: no work on a Call is begun while messages wait, for the peer's window or
 * for the queue, and so many contexts are taken by Replies, made or to be made.
 */
void rpcrdma_sq_init(struct rpcrdma_sq *sq, u32 depth, u32 sends, u32 reverse,
		     u32 replies);

/*
 * Change @replies. A server's are as many as it has Receives: each of these is charged
 * with a buffer to send from, and no client has more Calls under way.
 */
void rpcrdma_sq_set_replies(struct rpcrdma_sq *sq, u32 sends, u32 replies);

/* The account's: a message has to wait, or its further parts have. */
static inline void rpcrdma_sq_wait(struct rpcrdma_sq *sq)
{
	sq->messages++;
	sq->reply_reserve = sq->reserve_waits;
}

/* Can so many Work Requests ever be posted at once? Any context. */
static inline bool rpcrdma_sq_fits(const struct rpcrdma_sq *sq, u32 nr_wrs)
{
	return nr_wrs + sq->batch <= sq->depth;
}

/*
 * Work Requests of a transfer that are posted at once, at most. One that has more is
 * posted in turns, each when the one before it has ended. Any context.
 */
static inline u32 rpcrdma_sq_turn_wrs(const struct rpcrdma_sq *sq)
{
	const u32 most = (sq->depth - sq->batch) / 2;

	return most ? most : 1;
}

/*
 * Pages of a part of a transfer, at most, which is never divided between turns: a Work
 * Request of it moves @pages pages. Any context.
 */
static inline u32 rpcrdma_sq_part_pages(const struct rpcrdma_sq *sq, u32 pages)
{
	return rpcrdma_sq_turn_wrs(sq) * pages;
}

/*
 * Do @writes Work Requests go in front of a Reply that itself takes @message, in one
 * chain? If not, they are a transfer, and the Reply waits until that has ended. Any
 * context.
 */
static inline bool rpcrdma_sq_in_chain(const struct rpcrdma_sq *sq, u32 message,
				       u32 writes)
{
	return !writes || (writes <= rpcrdma_sq_turn_wrs(sq) &&
			   rpcrdma_sq_fits(sq, message + writes));
}

/* Are there so many slots now? */
static inline bool rpcrdma_sq_room(const struct rpcrdma_sq *sq, u32 nr_wrs)
{
	return sq->posted - sq->through + nr_wrs <= sq->depth;
}

/*
 * @wrs is posted, for which there is room; wrs->signaled says whether its last Work
 * Request has to report itself. One completion tells of what was posted before it,
 * too, so few are asked for; but the last contexts are not left to wait for one.
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
 * @completed has reported its end. Is the device through with @wrs, which was posted
 * before that, too? Some devices complete Sends while Reads before them are still
 * under way: what reports itself is not through before it does.
 */
static inline bool rpcrdma_sq_vouches(const struct rpcrdma_wrs *completed,
				      const struct rpcrdma_wrs *wrs)
{
	return wrs == completed || !wrs->signaled;
}

/*
 * What the device is through with was taken from the list of what is posted; @oldest
 * is the first in it now, NULL when it is empty. Slots come back in order only.
 */
static inline void rpcrdma_sq_reaped(struct rpcrdma_sq *sq,
				     const struct rpcrdma_wrs *oldest)
{
	sq->through = oldest ? oldest->begin : sq->posted;
}

/* A Send context is free (again). */
static inline void rpcrdma_sq_give(struct rpcrdma_sq *sq)
{
	sq->contexts++;
}

/* Answers to who wants to post something */
enum rpcrdma_sq_answer {
	RPCRDMA_SQ_GO,		/* post it now */
	RPCRDMA_SQ_WAIT,	/* there is no room, or it is not its turn */
	RPCRDMA_SQ_NEVER,	/* the Send Queue is too short for it */
};

/* A transfer; WAIT: it is counted, append it to those that wait. */
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
 * A Reply that is whole, with its context. GO: it has its slots (rpcrdma_sq_post()), and
 * its header is stamped (rpcrdma_conn_stamp()): post it now. WAIT: append it to the
 * messages that wait and see whose turn it is. Either way it counts by its format.
 * @wrs: nr and signaled say what it is. @header: what was encoded. @lists: NULL for none.
 */
enum rpcrdma_sq_answer rpcrdma_sq_reply(struct rpcrdma_conn *conn,
					struct rpcrdma_sq *sq,
					struct rpcrdma_wrs *wrs, void *header,
					enum rpcrdma_format format,
					const struct rpcrdma_lists *lists);

/*
 * A Reply in parts, or one whose Writes went ahead and which was counted then
 * (rpcrdma_conn_count()). None of it takes more than @nr_wrs: NEVER, or WAIT as above.
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
 * A Call that is whole. One context is whose turn it is to make a Call, and counts for
 * nobody. GO: as above, and another one is counted as taken, for the next Call. WAIT:
 * nothing was done, and RPCRDMA_TURN_RETRY comes when it may be tried again; meanwhile
 * rpcrdma_conn_stalled() is to be asked.
 */
enum rpcrdma_sq_answer rpcrdma_sq_call(struct rpcrdma_conn *conn,
				       struct rpcrdma_sq *sq,
				       struct rpcrdma_wrs *wrs, void *header,
				       enum rpcrdma_format format,
				       const struct rpcrdma_lists *lists);

/*
 * The same for a Call in parts, of which the first takes so many Work Requests. GO: take
 * its turn, in a context that is counted as taken. @more: there are others, and so it is
 * counted with the messages that wait: put it in front of them.
 */
enum rpcrdma_sq_answer
rpcrdma_sq_call_in_parts(const struct rpcrdma_conn *conn, struct rpcrdma_sq *sq,
			 u32 nr_wrs, bool more);

/*
 * Could a Call be sent now? If not, RPCRDMA_TURN_RETRY comes, and
 * rpcrdma_conn_stalled() is to be asked, too.
 */
bool rpcrdma_sq_may_call(const struct rpcrdma_conn *conn,
			 struct rpcrdma_sq *sq);

/* Is there window for one, at least? A guess, which only spares that. Any context. */
static inline bool rpcrdma_sq_call_is_likely(const struct rpcrdma_conn *conn)
{
	rpcrdma_serial limit, sent;

	__atomic_load(&conn->limit, &limit, __ATOMIC_RELAXED);
	__atomic_load(&conn->sent, &sent, __ATOMIC_RELAXED);
	return (int)(limit - sent) > RPCRDMA_CALL_RESERVE;
}

/*
 * Does anything wait for its turn, or was a Call refused, so that another may be? A
 * guess, from which nothing follows. Any context.
 */
static inline bool rpcrdma_sq_somebody_waits(const struct rpcrdma_sq *sq)
{
	return __atomic_load_n(&sq->transfers, __ATOMIC_RELAXED) |
	       __atomic_load_n(&sq->messages, __ATOMIC_RELAXED) |
	       __atomic_load_n(&sq->call_wrs, __ATOMIC_RELAXED);
}

/*
 * Send contexts, where they are not part of another answer. Each is counted as taken
 * if the answer is true, and RPCRDMA_TURN_RETRY comes if it is false.
 * - for a message that is made next, whatever else it may have to wait for
 * - for a Reply yet to be made, before work on its Call is begun
 */
bool rpcrdma_sq_take(struct rpcrdma_sq *sq);
bool rpcrdma_sq_take_ahead(struct rpcrdma_sq *sq);

/* Is there one for a Reply yet to be made? If not, RETRY comes. */
bool rpcrdma_sq_may_take_ahead(struct rpcrdma_sq *sq);

/* The same as a guess, from which nothing follows. Any context. */
static inline bool rpcrdma_sq_spares(const struct rpcrdma_sq *sq)
{
	return __atomic_load_n(&sq->contexts, __ATOMIC_RELAXED) >
	       __atomic_load_n(&sq->reply_reserve, __ATOMIC_RELAXED);
}

/* The first of those that wait, as far as there are any */
struct rpcrdma_sq_first {
	u32 transfer_wrs;	/* Work Requests of the transfer */
	u32 message_wrs;	/* ... of the message, or of its next part */
	u8 kind;		/* enum rpcrdma_kind of the message */
	u8 parts;		/* the message is sent in parts, */
	u8 more;		/* ... and there is one behind the next */
};

/* What is done next */
enum rpcrdma_sq_turn {
	RPCRDMA_TURN_NONE,	/* nothing can be, now */
	/* rpcrdma_conn_next_control(), in a context that is counted as taken */
	RPCRDMA_TURN_CONTROL,
	/* post the first transfer, which counts no more among those that wait */
	RPCRDMA_TURN_TRANSFER,
	/* ... the first message, likewise; of one in parts its next one, in a */
	/* context that is counted as taken, and it waits on if there are more */
	RPCRDMA_TURN_MESSAGE,
	/* let Calls, and Replies yet to be made, be tried that were refused */
	RPCRDMA_TURN_RETRY,
};

/*
 * After whatever has opened the window or made a control message due, and where
 * something is waited for, freed slots or contexts; and again after each turn. Only
 * while messages may be sent.
 */
enum rpcrdma_sq_turn rpcrdma_sq_next(const struct rpcrdma_conn *conn,
				     struct rpcrdma_sq *sq,
				     const struct rpcrdma_sq_first *first);

/* Does anybody wait for slots or contexts, perhaps? Mostly not. */
static inline bool rpcrdma_sq_wanted(const struct rpcrdma_sq *sq)
{
	return sq->transfers | sq->messages | sq->call_wrs | sq->refused;
}

/* Return what waits, RPCRDMA_WAITS_*, perhaps for window: for rpcrdma_conn_stalled(). */
static inline u32 rpcrdma_sq_waits(const struct rpcrdma_sq *sq)
{
	u32 waits = 0;

	if (sq->call_wrs)
		waits |= RPCRDMA_WAITS_CALL;
	if (sq->messages)
		waits |= RPCRDMA_WAITS_MESSAGE;
	return waits;
}

/* ---- Reads that need memory regions ---- */

/*
 * Some devices read into memory regions only, of which a queue pair has a pool. A
 * transfer is made ready segment by segment while it is put together. When it finds too
 * few regions, it is made ready later and as a whole: it holds none while it waits, so
 * that nobody waits for one that waits; and who comes then, waits behind it. Whoever is
 * through with regions has those tried that wait, in order. A transfer that is under way
 * ends, if only with the connection.
 *
 * Used in the serialisation of the connection's rpcrdma_sq, but for what says "any
 * context". The user keeps the list of the transfers that wait.
 */
enum {
	/* Work Requests of a Read into one region: invalidate, register, read */
	RPCRDMA_READ_REGION_WRS = 3,
};

struct rpcrdma_read_pool {
	u32 regions;		/* in it */
	u32 pages;		/* in a region, at most; not 0 */
	u32 waiting;		/* transfers that wait, or will when they are whole */
};

/* One transfer. Zero it to begin, but for @reads. */
struct rpcrdma_read_claim {
	u32 regions;		/* that it takes, at most */
	u8 reads;		/* a Write takes none, and waits for none */
	u8 waits;
};

/* Does anybody wait? Mostly not. Any context, where it is a guess. */
static inline bool rpcrdma_read_wanted(const struct rpcrdma_read_pool *pool)
{
	return __atomic_load_n(&pool->waiting, __ATOMIC_RELAXED);
}

/* A transfer is begun. */
void rpcrdma_read_begin(struct rpcrdma_read_pool *pool,
			struct rpcrdma_read_claim *claim);

/*
 * A segment of it has so many pages, or pieces of memory. Returns true: make it ready
 * now; false: later. Any context, one at a time for a transfer.
 */
static inline bool rpcrdma_read_add(const struct rpcrdma_read_pool *pool,
				    struct rpcrdma_read_claim *claim, u32 pages)
{
	claim->regions += (pages + pool->pages - 1) / pool->pages;
	return !claim->waits;
}

/*
 * A segment could not be made ready now, for @status, a negative errno. Returns true:
 * undo what has been made ready of the transfer, and go on putting it together; it
 * waits. False: no waiting will help.
 */
bool rpcrdma_read_short(struct rpcrdma_read_pool *pool,
			struct rpcrdma_read_claim *claim, int status);

/* Can it ever be made ready? Any context. */
static inline bool rpcrdma_read_fits(const struct rpcrdma_read_pool *pool,
				     const struct rpcrdma_read_claim *claim)
{
	return !claim->waits || claim->regions <= pool->regions;
}

/* What becomes of a transfer */
enum rpcrdma_read_turn {
	RPCRDMA_READ_POST,	/* it is ready */
	/* append it to those that wait, and have them tried */
	RPCRDMA_READ_BEHIND,
	/* undo what was made ready, put it in front of those that wait, */
	/* and try no more of them: who gives regions back comes here again */
	RPCRDMA_READ_FRONT,
	RPCRDMA_READ_FAIL,	/* it ends without success */
};

/* It is whole. @closing: nobody would try it any more. */
enum rpcrdma_read_turn rpcrdma_read_whole(const struct rpcrdma_read_claim *claim,
					  bool closing);

/*
 * It was taken from the front of those that wait, and all of it made ready: with
 * @status, 0 or a negative errno.
 */
enum rpcrdma_read_turn rpcrdma_read_tried(struct rpcrdma_read_pool *pool,
					  struct rpcrdma_read_claim *claim,
					  int status, bool closing);

/* It has ended, or is given up, and holds nothing. If others wait, have them tried. */
void rpcrdma_read_over(struct rpcrdma_read_pool *pool,
		       struct rpcrdma_read_claim *claim);

/* ---- Memory regions of this end ---- */

/*
 * What the peer reads and writes here is registered in regions. A connection makes them
 * as it comes to need them, some at a time and up to a most, and keeps them. Making them
 * sleeps, so a maker of the user's does it, and who finds too few does not wait for it
 * there: it gives up those that it took, and tries again when it is told to. That is at
 * once when there is reason: an RPC that used some has ended, or others were made. What
 * comes back unused is no reason, since it is such a refusal that gives it back; then
 * there is a pause.
 *
 * A device may have no regions left. After RPCRDMA_POOL_FAILURES attempts in a row that
 * made none the pool is starved: Calls are planned with the regions that were made, see
 * rpcrdma_call_regions(), and the maker goes on at a slower pace until it makes some.
 *
 * The user keeps the regions, and serialises all calls for one pool; any context.
 */
enum {
	RPCRDMA_POOL_BATCH = 8,		/* regions made at a time */
	RPCRDMA_POOL_PAUSE_MS = 20,
	RPCRDMA_POOL_LATER_MS = 1000,
	RPCRDMA_POOL_FAILURES = 250,	/* two for each pause: 2.5 seconds */
};

/* Zero it to begin, but for @most. */
struct rpcrdma_region_pool {
	u32 most;		/* regions that there may be */
	u32 made;		/* that there are; it never falls */
	u32 free;		/* ... of these, that nobody has */
	u8 wanted;		/* somebody was refused one, and not told since */
	u8 maker;		/* the engine's */
	u16 failures;		/* attempts in a row that made none */
	u64 shortages;		/* attempts that made fewer than they had to */
};

/* What is to be done about an event */
enum {
	RPCRDMA_POOL_TAKEN = 1,		/* a free one is the asker's */
	RPCRDMA_POOL_MAKE = 2,		/* the maker has to come now */
	RPCRDMA_POOL_PAUSE = 4,		/* ... in RPCRDMA_POOL_PAUSE_MS */
	RPCRDMA_POOL_TELL = 8,		/* those who were refused try again */
	RPCRDMA_POOL_LATER = 16,	/* as PAUSE, in RPCRDMA_POOL_LATER_MS */
	RPCRDMA_POOL_LOG = 32,		/* log that the device has none left */
};

/* Somebody takes one, where one at most is free: returns as below. */
u32 rpcrdma_pool_take_last(struct rpcrdma_region_pool *pool);

/*
 * Somebody wants a region. Returns TAKEN or not, and MAKE perhaps. TELL comes when it
 * was not; until then it gives back those that it has.
 */
static inline u32 rpcrdma_pool_take(struct rpcrdma_region_pool *pool)
{
	if (pool->free <= 1)
		return rpcrdma_pool_take_last(pool);
	pool->free--;
	return RPCRDMA_POOL_TAKEN;
}

/* Regions came back to a pool of which more are wanted: returns as below. */
u32 rpcrdma_pool_given(struct rpcrdma_region_pool *pool, bool used);

/*
 * Somebody gives @count of them back. @used: at least one was posted. Returns TELL, PAUSE
 * or 0.
 */
static inline u32 rpcrdma_pool_give(struct rpcrdma_region_pool *pool, u32 count,
				    bool used)
{
	pool->free += count;
	return pool->wanted && count ? rpcrdma_pool_given(pool, used) : 0;
}

/* The maker has come: so many it is to make. One maker at a time. */
u32 rpcrdma_pool_to_make(const struct rpcrdma_region_pool *pool);

/*
 * It has made @count regions, no more than that; they are free. Returns any of TELL, PAUSE,
 * LATER and LOG, or 0; and is to be called whatever it made.
 */
u32 rpcrdma_pool_made(struct rpcrdma_region_pool *pool, u32 count);

/* Return true if no more regions are expected soon. A guess, as below. */
static inline bool rpcrdma_pool_is_starved(const struct rpcrdma_region_pool *pool)
{
	return __atomic_load_n(&pool->failures, __ATOMIC_RELAXED) >=
	       RPCRDMA_POOL_FAILURES;
}

/*
 * Do others have all that there will ever be? Who cannot wait for those goes without. A
 * guess, where the calls above are not serialised with it.
 */
static inline bool rpcrdma_pool_is_spent(const struct rpcrdma_region_pool *pool)
{
	return (__atomic_load_n(&pool->made, __ATOMIC_RELAXED) >= pool->most ||
		rpcrdma_pool_is_starved(pool)) &&
	       !__atomic_load_n(&pool->free, __ATOMIC_RELAXED);
}

/* ---- Receiving ---- */

enum rpcrdma_verdict {
	RPCRDMA_RX_DONE,	/* nothing to deliver: post the Receive again */
	RPCRDMA_RX_PART,	/* append the payload to the open sequence */
	RPCRDMA_RX_CALL,	/* a Call is complete with this message */
	RPCRDMA_RX_REPLY,	/* a Reply is complete with this message */
	RPCRDMA_RX_BAD_REPLY,	/* xid pending: end its RPC; else drop */
	RPCRDMA_RX_ERROR,	/* a Call of ours was refused: error */
	RPCRDMA_RX_PULLED,	/* DONE: rx.exposed is out of use */
	RPCRDMA_RX_CLOSE,	/* close the connection: conn->reason */
};

struct rpcrdma_rx {
	u32 xid;
	u32 events;		/* RPCRDMA_EV_* */
	u8 format;		/* enum rpcrdma_format of the whole message */
	u8 first_part;		/* PART: begins a new sequence */
	u32 payload_offset;	/* octets into this message */
	u32 payload_length;	/* octets in this message */
	u32 total_length;	/* octets of Payload stream over all parts */
	struct rpcrdma_exposure *exposed; /* PULLED: which Reply */
	/*
	 * ERROR: rpcrdma_call_refused() says what becomes of the RPC.
	 * BAD_REPLY: the RPC ends with @status; code and arg are 0.
	 */
	struct {
		u32 code;	/* RDMA2_ERR_* */
		u32 arg[2];
		int status;	/* negative errno for sunrpc, if it ends */
	} error;
	struct rpcrdma_lists lists;
};

/*
 * Does a message that was just received have more segments than lists hold by
 * themselves, and may it? Then rpcrdma_conn_receive() takes it with
 * @rx->lists.more; without, it refuses it as one with too many. Only clients of
 * version 1 may (RFC 8166 bounds no list): version 2 has its RCSIZ, and a client
 * knows how much it has offered.
 * @msg: @length octets, 4-octet aligned.
 */
bool rpcrdma_has_more_segs(const void *msg, u32 length);
static inline bool rpcrdma_wants_more_segs(const struct rpcrdma_conn *conn,
					   const void *msg, u32 length)
{
	return !conn->cfg.client && conn->version != RPCRDMA_VERS_2 &&
	       rpcrdma_has_more_segs(msg, length);
}

/*
 * Take one received message.
 * PART, CALL and REPLY with a payload: append it to the open sequence (@rx->
 * first_part: begin one); CALL and REPLY end it.
 * BAD_REPLY: if the RPC @rx->xid waits for its Reply, it ends with
 * @rx->error.status when its memory is out of the peer's reach; otherwise there
 * is nothing to do. The connection goes on (WP 7), and a DONE that the Reply
 * needs is queued already. It may be about the open sequence, which is then
 * over, and not about @msg.
 * @msg: @length octets, 4-octet aligned.
 * @rx: filled as far as the verdict needs; rx->events always. What counts
 * before is only its lists.more, see above, or NULL.
 * Every successful Receive completion must be given here, in order.
 */
enum rpcrdma_verdict rpcrdma_conn_receive(struct rpcrdma_conn *conn,
					  const void *msg, u32 length,
					  struct rpcrdma_rx *rx);

/*
 * The caller cannot keep what came last, or may not trust it, and closes the
 * connection: from here on each message gets CLOSE. Behind a part that is lost
 * another one would complete a message with a hole.
 * @reason: static, in plain words; conn->reason, unless there is one already
 */
void rpcrdma_conn_refuse(struct rpcrdma_conn *conn, const char *reason);

/*
 * The Payload stream of a Special Format message arrived: do its first two
 * words agree with the header? (6.2.2.1, 7.2)
 * @first: the stream's first 8 octets. Returns false when they do not: BAD_XDR
 * for a Call, a bad Reply for a Reply.
 */
bool rpcrdma_payload_ok(u32 xid, bool response, const void *first);

/*
 * Was a handle that the peer's Send invalidated one it was offered for this
 * RPC? (WP 6) @offered: the Call's lists. False: close.
 */
bool rpcrdma_invalidation_ok(const struct rpcrdma_conn *conn,
			     const struct rpcrdma_lists *offered,
			     u32 invalidated);

/*
 * May a message that was received with that verdict have invalidated @handle, 0
 * for none? A Reply may, as far as one knows without its RPC, which has its own
 * check; a DONE what its Reply named. False: close.
 */
bool rpcrdma_may_invalidate(enum rpcrdma_verdict verdict,
			    const struct rpcrdma_rx *rx, u32 handle);

/*
 * Has a Reply to be pulled? (DR 4.1.2) Then a DONE is due when that has ended,
 * well or not, and at once when nobody waits for the Reply any more, or when
 * rpcrdma_check_reply() finds that it is a bad one: give
 * rpcrdma_conn_queue_done() its xid and inv_handle.
 */
static inline bool rpcrdma_reply_needs_done(const struct rpcrdma_rx *rx)
{
	return rx->lists.nr_reads;
}

/* ---- Requester ---- */

/*
 * What the ERRORs about a Call have ruled out for it (7.3, WP 7). All zero
 * for a Call that was not refused, and again for one that is planned for
 * another connection; only rpcrdma_call_refused() writes it.
 */
struct rpcrdma_recovery {
	u32 given_in;			/* bit for each code: not a second time */
	u32 reply_needed;		/* octets of Reply chunk, 0: not told */
	u32 max_reads;			/* Read chunks, with few_reads */
	u8 few_reads;
	u8 no_writes;			/* no Write chunk any more */
};

/* Geometry of a Call about to be sent */
struct rpcrdma_call {
	u32 xid;
	u32 length;		/* whole unreduced Call message */
	u32 item_position;	/* DDP-eligible argument, ... */
	u32 item_length;	/* ... without roundup; 0: none */
	u32 reply_max;		/* largest whole Reply message expected */
	u32 result_max;		/* DDP-eligible result in it; 0: none */
	u16 call_segs;		/* segments if registered; 0: cannot be */
	u16 item_segs;
	u16 reply_segs;
	u16 result_segs;
	u8 reverse;		/* sent by the server end */
	u8 ddp;			/* 0: reduction not allowed (GSS i and p) */
	u8 bulk;		/* the Reply is expected to be that large */
	/* rpcrdma_call_regions() writes these two. */
	u8 few_regions;		/* max_regions is a limit */
	u16 max_regions;	/* for the chunks of the Call */
	/* rpcrdma_lessons_recall() writes these three. */
	u8 no_parts;		/* Special Format rather than continued */
	u8 whole_writes;	/* a Write chunk must have room for roundup */
	u32 reply_chunk_from;	/* Replies as large need a chunk; 0: not told */
	u32 refused_max;	/* reply_max of the Call that taught it */
	struct rpcrdma_recovery recovery;
};

struct rpcrdma_call_plan {
	u8 format;		/* enum rpcrdma_format */
	u8 read_item;		/* argument goes in a Read chunk */
	u8 write_chunk;		/* provide a Write chunk for the result */
	u8 reply_chunk;		/* provide a Reply chunk */
	u32 inline_length;	/* payload octets that travel in Sends */
};

/*
 * How a Call travels and how its Reply may (4.4, 6.4, DR 5.3.1).
 * Returns 0, or a negative errno: -EMSGSIZE the peer cannot take it in any
 * form, -ENOTCONN not open, -EOPNOTSUPP reverse Calls are not supported, -ENOBUFS
 * it takes more regions than there are: close, another connection may get them.
 */
int rpcrdma_plan_call(const struct rpcrdma_conn *conn,
		      const struct rpcrdma_call *call,
		      struct rpcrdma_call_plan *plan);

/* Have the Call planned with no more regions than @pool has, if that is starved. */
static inline void rpcrdma_call_regions(struct rpcrdma_call *call,
					const struct rpcrdma_region_pool *pool)
{
	const u32 made = __atomic_load_n(&pool->made, __ATOMIC_RELAXED);

	call->few_regions = rpcrdma_pool_is_starved(pool);
	call->max_regions = (u16)(made < RPCRDMA_MAX_SEGS ? made :
						   (u32)RPCRDMA_MAX_SEGS);
}

/*
 * An ERROR came about a Call: can it be sent again in a form that this error
 * leaves (7.3, WP 7)? Each kind of error allows that once, so a Call has an
 * end; a plan is known to exist. Lowers the peer's RCSIZ, if that is what the
 * error says.
 * @rx: the ERROR. @call: the Call's geometry, with segments counted;
 * @call->recovery is what earlier errors left.
 * @offered: the lists it was sent with.
 * @recovery: what to plan and send it with. The earlier attempt's memory must
 * be invalid before.
 * Returns 0: send it again, with the same xid; or the negative errno
 * that ends the RPC.
 */
int rpcrdma_call_refused(struct rpcrdma_conn *conn, const struct rpcrdma_rx *rx,
			 const struct rpcrdma_call *call,
			 const struct rpcrdma_lists *offered,
			 struct rpcrdma_recovery *recovery);

/*
 * What a requester remembers of a peer's refusals from one RPC to the next, and
 * from one connection to the next (WP 7). A Call that was executed before it was
 * refused comes back as another RPC where NFS has sessions: what it needs must be
 * known by then. All zero at first, and protected by a lock of the user's, but for
 * rpcrdma_lessons_any(). @now: seconds, of a clock that does not go back.
 */
struct rpcrdma_lessons {
	u64 reply_until;		/* seconds; later it is asked anew */
	u64 writes_until;
	u64 parts_until;
	u32 reply_octets;		/* the least that needed a Reply chunk */
	u32 reply_max;			/* ... and the least that was expected then */
	u8 any;				/* one may hold: the engine's */
};

/*
 * Return true if there may be anything to recall. If there is not any more,
 * rpcrdma_lessons_recall() finds that. Any context, without a lock.
 */
static inline bool rpcrdma_lessons_any(const struct rpcrdma_lessons *lessons)
{
	return __atomic_load_n(&lessons->any, __ATOMIC_RELAXED);
}

/* @rx, @call, @offered: as for rpcrdma_call_refused(), before that. */
void rpcrdma_lessons_learn(struct rpcrdma_lessons *lessons, u64 now,
			   const struct rpcrdma_rx *rx,
			   const struct rpcrdma_call *call,
			   const struct rpcrdma_lists *offered);

/* What is known bears on any Call that is about to be planned. */
void rpcrdma_lessons_recall(struct rpcrdma_lessons *lessons, u64 now,
			    struct rpcrdma_call *call);

/*
 * rpcrdma_plan_call() for most Calls, from what is known without looking at their
 * memory: is it one message, and its Reply, too, without chunks? Then @plan says so.
 * @length: octets of the Call. @reply_max: of its largest Reply. @recovery and
 * @lessons: what was refused before.
 * Returns false where the whole geometry has to be looked at. Nothing is offered where
 * the largest Reply fits, and what fits goes inline: all the others of a plan's reasons
 * come after these.
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

/* Does it take memory that the peer reads or writes? */
static inline bool
rpcrdma_plan_has_chunks(const struct rpcrdma_call_plan *plan)
{
	return plan->read_item || plan->write_chunk || plan->reply_chunk ||
	       plan->format == RPCRDMA_SPECIAL;
}

/*
 * Memory of a message, in three parts that follow each other; octets. Of a Call, the
 * pages are the argument and of a Reply's, the result, if that is reduced.
 */
struct rpcrdma_room {
	u32 head;
	u32 pages;
	u32 tail;
};

/* What a Call offers to its peer in a chunk, or in a part of one */
struct rpcrdma_offer {
	bool written;			/* the Reply's memory; else the Call's */
	u32 from;			/* octets into that memory */
	u32 length;			/* never 0 */
	bool data;			/* its pages, in a chunk of their own */
};

/* A walk over what a Call offers: neither message is without a head. */
struct rpcrdma_offers {
	const struct rpcrdma_call_plan *plan;
	struct rpcrdma_room call;	/* what the Call consists of */
	struct rpcrdma_room reply;	/* the memory for its Reply */
	u32 left;			/* the engine's; 0 to begin */
};

/*
 * The memory that a Call's chunks consist of, range by range and in wire order (6.2.3).
 * Before the first range of a chunk, that is begun in @lists; the user appends a segment
 * for each region that the range takes, and asks for the next. With the last one the
 * peer is let invalidate a region. No memory is in two chunks that it writes to.
 * @lists: initialised.
 * Returns 1 with @offer; 0 when there is none any more; -EMSGSIZE if @lists take no
 * such chunk, which ends the walk.
 */
int rpcrdma_offer_next(struct rpcrdma_offers *at, struct rpcrdma_lists *lists,
		       struct rpcrdma_offer *offer);

/*
 * Encode a message's header, credit fields left for rpcrdma_conn_stamp().
 * @size: octets at @buf (4-octet aligned). @lists: NULL for none.
 * @htype, @flags: RDMA2_MSG or RDMA2_NOMSG, RDMA2_F_RESPONSE, RDMA2_F_MORE.
 * Returns the header's octets, 0 when it does not fit.
 */
u32 rpcrdma_encode_header(const struct rpcrdma_conn *conn, void *buf, u32 size,
			  u32 xid, u32 htype, u32 flags,
			  const struct rpcrdma_lists *lists);

/*
 * The same for a Call or Reply that is one message without chunks, as most are: @buf has
 * rpcrdma_plain_header() octets of room.
 */
void rpcrdma_encode_plain(const struct rpcrdma_conn *conn, void *buf,
			  enum rpcrdma_kind kind, u32 xid);

/*
 * The same for a Call or Reply of that format, with its header type and flags.
 * @more: the message is a part of one, and not the last.
 */
u32 rpcrdma_encode_rpc(const struct rpcrdma_conn *conn, void *buf, u32 size,
		       enum rpcrdma_kind kind, enum rpcrdma_format format,
		       u32 xid, bool more, const struct rpcrdma_lists *lists);

/* Octets rpcrdma_encode_header() needs for @lists (NULL: none). */
u32 rpcrdma_header_octets(const struct rpcrdma_conn *conn,
			  const struct rpcrdma_lists *lists);

/* A part of a CONTINUED message */
struct rpcrdma_part {
	u32	octets;		/* of the payload */
	bool	more;		/* others follow: it carries RDMA2_F_MORE */
};

/*
 * Cut a CONTINUED message (4.4.2): its next part, when @left octets of its payload
 * have not been sent yet. @lists go with the last part.
 */
struct rpcrdma_part rpcrdma_next_part(const struct rpcrdma_conn *conn,
				      const struct rpcrdma_lists *lists,
				      u32 left);

/* What a Reply says it placed in the chunks of its Call */
struct rpcrdma_placed {
	u32 write_octets;	/* in the Write chunks together */
	u32 reply_octets;	/* in the Reply chunk, 0: unused */
	u32 pull_octets;	/* to be pulled from the Responder (WP 8) */
	u8 write_chunks;	/* Write chunks not empty or unused */
};

/*
 * Check a Reply's returned lists against the Call's (4.3.6: same count and
 * handles, no segment longer; an unused chunk in either form, WP 2).
 * Returns 0; or, for a bad Reply, the negative errno with which its RPC ends as
 * with verdict BAD_REPLY.
 */
int rpcrdma_check_reply(const struct rpcrdma_conn *conn,
			const struct rpcrdma_lists *offered,
			const struct rpcrdma_rx *rx,
			struct rpcrdma_placed *placed);

/*
 * The life of an RPC at its Requester, from its first Call to its end. Zero it,
 * and embed it in what holds the RPC's memory. What happens is told by the
 * functions below, one at a time for each RPC; they return what is to be done.
 *
 * Who sends or releases the Call owns it until the Call is sent. From then on
 * that is whose rpcrdma_exchange_claim() succeeds, until a step completes the RPC,
 * sends it again or leaves it. The two may run side by side: rpcrdma_exchange_sent()
 * is told in the connection's serialisation, with the Call posted in the same round, so
 * that no Reply is looked at before.
 */

/* How a Payload stream is divided among a Reply's memory: one after the other */
struct rpcrdma_parts {
	u32 head;
	u32 pages;			/* reduced: not from the stream */
	u32 pad;			/* reduced: their roundup, not sent */
	u32 tail;			/* behind @pad */
	u32 octets;			/* of the whole Reply, as far as there is room */
	u8 reduced;			/* a Write chunk has the page data */
};

struct rpcrdma_exchange {
	u8 state;			/* the engine's */
	u8 in_parts;			/* the Call is a continued message */
	int status;			/* errno that it ends with */
	u32 conn;			/* number of the connection it was sent on */
	u32 xid, pull_handle;		/* of the Reply */
	struct rpcrdma_recovery recovery;	/* on that connection */
	struct rpcrdma_placed placed;
	struct rpcrdma_parts parts;
	struct rpcrdma_lists lists;	/* what the Call offers: its sender's */
};

/* What is to be done, in this order */
enum {
	RPCRDMA_STEP_REPORT = 1,	/* tell that the Reply is bad: @reason */
	RPCRDMA_STEP_PLACE = 2,		/* the inline payload goes to @parts */
	RPCRDMA_STEP_MOVE = 4,		/* what lies in head and tail memory does */
	RPCRDMA_STEP_PUT = 8,		/* its Receive has been read */
	RPCRDMA_STEP_CLOSE = 16,	/* the connection: @reason, or NULL */
	/*
	 * One of these, or nothing: take its regions out of the peer's reach and
	 * give them back, then rpcrdma_exchange_invalidated();
	 */
	RPCRDMA_STEP_INVALIDATE = 32,
	/* ... read the Reply to @parts, then rpcrdma_exchange_pulled(); */
	RPCRDMA_STEP_PULL = 64,
	/* ... the RPC ends with @status: octets of the Reply, or an errno; */
	RPCRDMA_STEP_COMPLETE = 128,
	/* ... it is encoded and sent again: rpcrdma_exchange_again(); */
	RPCRDMA_STEP_AGAIN = 256,
	/* ... it waits for another connection, or for being released. */
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
 * It is going to be sent on @conn. Returns 0: what regions of an earlier attempt
 * are left have to be released first; or -ENOTCONN: it was sent there before and no
 * Reply has come. A second Call of that xid (WP 7) would get a second Reply, or meet
 * the first one's. An RPC that was answered may be sent there again: sunrpc repeats
 * a Call, with the same xid, when its Reply reports an RPC error.
 */
int rpcrdma_exchange_begin_anew(struct rpcrdma_exchange *x,
				const struct rpcrdma_conn *conn);
static inline int rpcrdma_exchange_begin(struct rpcrdma_exchange *x,
					 const struct rpcrdma_conn *conn)
{
	/* As it mostly is: nothing of it is out, or ever was on another one. */
	if (!x->state && x->conn == conn->cfg.number)
		return 0;
	return rpcrdma_exchange_begin_anew(x, conn);
}

/*
 * Before that: was it sent in parts, on another connection, and never answered?
 * That connection may have ended because the peer had no memory for the parts:
 * rpcrdma_lessons_lost() remembers that.
 */
bool rpcrdma_exchange_is_lost(const struct rpcrdma_exchange *x,
			      const struct rpcrdma_conn *conn);
static inline bool
rpcrdma_exchange_lost_in_parts(const struct rpcrdma_exchange *x,
			       const struct rpcrdma_conn *conn)
{
	return x->in_parts && rpcrdma_exchange_is_lost(x, conn);
}
void rpcrdma_lessons_lost(struct rpcrdma_lessons *lessons, u64 now);

/*
 * It is posted next, @in_parts or whole, with x->lists, which are initialised even if
 * they are empty, and stay so.
 */
void rpcrdma_exchange_sent(struct rpcrdma_exchange *x,
			   const struct rpcrdma_conn *conn, bool in_parts);

/*
 * A Reply to it arrived on @conn, or an ERROR. Returns true: it waits for that,
 * and the caller owns it; rpcrdma_exchange_reply() or _error() follows.
 */
bool rpcrdma_exchange_claim(struct rpcrdma_exchange *x,
			    const struct rpcrdma_conn *conn);

enum rpcrdma_claimed {
	RPCRDMA_CLAIMED_NOT,		/* nobody waits for it (any more) */
	RPCRDMA_CLAIMED,		/* rpcrdma_exchange_reply() follows */
	RPCRDMA_CLAIMED_LAST,		/* the RPC ends with what the caller does now */
};

/*
 * The same for a Reply. Most have no chunks, nor had their Calls, and fit into the first
 * @head octets of the RPC's memory. Of these the caller copies the inline payload there,
 * puts the Receive, and completes the RPC with as many octets. @bad, @inv_handle: as in
 * struct rpcrdma_arrival.
 */
enum rpcrdma_claimed
rpcrdma_exchange_claim_reply(struct rpcrdma_exchange *x,
			     const struct rpcrdma_conn *conn,
			     const struct rpcrdma_rx *rx, bool bad,
			     u32 inv_handle, u32 head);

/* A Reply that was claimed, and what is known about it and its RPC */
struct rpcrdma_arrival {
	const struct rpcrdma_rx *rx;
	bool bad;			/* verdict BAD_REPLY */
	u32 inv_handle;			/* that the peer invalidated, 0: none */
	bool exposed;			/* ... which was one of the RPC's regions */
	u32 length;			/* inline payload */
	struct rpcrdma_room room;
};

/* The Receive is kept until a step says PUT; with PULL it can be put then. */
struct rpcrdma_step rpcrdma_exchange_reply(struct rpcrdma_exchange *x,
					   const struct rpcrdma_conn *conn,
					   const struct rpcrdma_arrival *a);

/* A Reply that nobody waits for (any more). @bad: verdict BAD_REPLY. */
struct rpcrdma_step rpcrdma_exchange_stray(const struct rpcrdma_rx *rx,
					   bool bad);

/* @status: what rpcrdma_call_refused() returned about the ERROR */
struct rpcrdma_step rpcrdma_exchange_error(struct rpcrdma_exchange *x,
					   int status);

/*
 * The regions were invalidated, and given back to the processor; or, not @ok,
 * the connection ends, and they are out of reach when it has.
 * @first: the first 8 octets of the Reply's memory, NULL if that is shorter.
 */
struct rpcrdma_step rpcrdma_exchange_invalidated(struct rpcrdma_exchange *x,
						 bool ok, const void *first);

enum rpcrdma_pull {
	RPCRDMA_PULL_OK,
	RPCRDMA_PULL_FAILED,		/* the connection cannot do it (now) */
	RPCRDMA_PULL_SHORT,		/* no resources for it now */
	RPCRDMA_PULL_NEVER,		/* it would be the same the next time */
};

/* The Reads have ended, or cannot be made. @first: as above. */
struct rpcrdma_step rpcrdma_exchange_pulled(struct rpcrdma_exchange *x,
					    enum rpcrdma_pull how,
					    const void *first);

/*
 * A step said AGAIN: the RPC's task is told now. rpcrdma_exchange_resend() asks,
 * in the same serialisation and once for each, whether that has happened to a task
 * that is about to wait for the Reply.
 */
void rpcrdma_exchange_again(struct rpcrdma_exchange *x);
bool rpcrdma_exchange_resend(struct rpcrdma_exchange *x);

/*
 * The RPC is over for its task, which has its end or was killed, and nobody will
 * claim it: its regions have to be released. Any number of times. Returns false
 * while a step is under way, which has to come to its end first.
 */
bool rpcrdma_exchange_release(struct rpcrdma_exchange *x);

/* ---- Responder ---- */

struct rpcrdma_item {
	u32 position;		/* octets into the unreduced Reply message */
	u32 length;		/* octets without roundup */
};

/* Geometry of a Reply about to be sent */
struct rpcrdma_reply {
	u32 xid;
	u32 length;		/* whole unreduced Reply message */
	u8 nr_items;		/* DDP-eligible results, ascending */
	struct rpcrdma_item items[RPCRDMA_MAX_WRITE_CHUNKS];
	u8 reverse;		/* sent by the client end */
};

struct rpcrdma_reply_plan {
	u8 format;		/* enum rpcrdma_format */
	u8 nr_items;		/* items behind the last one placed: all inline */
	u16 placed;		/* bit i: item i goes to Write chunk i */
	u32 inv_handle;		/* Send With Invalidate this; 0: plain Send */
	u32 inline_length;	/* payload octets that travel in Sends */
	u32 reply_length;	/* payload octets for the Reply chunk */
	u32 read_length;	/* payload octets to expose for pulling */
	u32 error, arg[2];	/* RDMA2_ERR_* to send instead, 0: none */
	/* The Reply's lists: lengths say what to place in each segment */
	struct rpcrdma_lists lists;
};

/* Does item @i of the Reply go to its Write chunk, or with the message? */
static inline bool
rpcrdma_item_placed(const struct rpcrdma_reply_plan *plan, u32 i)
{
	return plan->placed >> i & 1;
}

/*
 * How a Reply travels, given the lists of its Call (4.4.3, 6.4, WP 6, DR
 * 5.3.2). Always fills @plan; plan->error is set when no way is left. A plan
 * with a read_length is not whole yet, see below.
 * The plan's lists use the more[] of @call_lists, too, and overwrite it: what was
 * in there of the Call is lost, so a Reply is planned once.
 */
void rpcrdma_plan_reply(const struct rpcrdma_conn *conn,
			const struct rpcrdma_lists *call_lists,
			const struct rpcrdma_reply *reply,
			struct rpcrdma_reply_plan *plan);

/*
 * ... and of most Replies: is it one message without chunks, and nothing is written or
 * exposed for it? Without a plan, then; @length: octets of the Reply.
 */
static inline bool rpcrdma_reply_is_plain(const struct rpcrdma_conn *conn,
					  const struct rpcrdma_lists *call_lists,
					  u32 length)
{
	/* A Requester of version 1 gets its Reply chunk back. */
	return !call_lists->nr_writes &&
	       !(call_lists->has_reply && conn->version == RPCRDMA_VERS_1) &&
	       length <= rpcrdma_plain_send_room(conn);
}

/* The handle of the Call's that its Reply invalidates, 0: none (6.2.4) */
static inline u32
rpcrdma_reply_invalidates(const struct rpcrdma_conn *conn,
			  const struct rpcrdma_lists *call_lists)
{
	return conn->cfg.inv_ok ? call_lists->inv_handle : 0;
}

/* Octets of a message that lie together, and where they go together */
enum rpcrdma_origin {
	RPCRDMA_PIECE_INLINE,		/* the Payload stream outside of chunks */
	RPCRDMA_PIECE_CHUNK,
	RPCRDMA_PIECE_ROUNDUP,		/* zeroes, which nobody sends */
};

struct rpcrdma_piece {
	const struct rpcrdma_chunk *chunk;	/* CHUNK: which; else NULL */
	enum rpcrdma_origin origin;
	u32 from;			/* octets into where they come from */
	u32 to;				/* octets into where they go */
	u32 length;			/* never 0 */
};

/* How far a walk has come. Zero it to begin. */
struct rpcrdma_pieces {
	u8 next;			/* the engine's, all of it */
	u32 item, stream, out;
};

/* Octets of a whole Call: what came inline, and its Read chunks (4.3.5) */
u64 rpcrdma_call_octets(const struct rpcrdma_rx *rx);

/* Octets of its Read chunks alone, 0 for most Calls */
static inline u64 rpcrdma_call_read_octets(const struct rpcrdma_rx *rx)
{
	u64 octets = 0;
	u32 i;

	for (i = 0; i < rx->lists.nr_reads; i++)
		octets += rx->lists.reads[i].length;
	return octets;
}

/*
 * The only Read chunk of a Call, if all around it came inline and at least @before
 * octets lie in front of it, or NULL. Then it can be read to a place of its own.
 */
const struct rpcrdma_chunk *rpcrdma_call_only_item(const struct rpcrdma_rx *rx,
						   u32 before);

/*
 * The next piece of a Call, in the order of its octets: from the inline payload,
 * a Read chunk or nowhere, to the Call as it was before it was reduced.
 * @rx: a Call that was delivered. Returns false when there is none any more.
 */
bool rpcrdma_call_next(const struct rpcrdma_rx *rx, struct rpcrdma_pieces *at,
		       struct rpcrdma_piece *piece);

/*
 * The next piece of a Reply, in the order of its octets: from the whole Reply,
 * to its item's Write chunk, or else to what is sent, written to the Reply chunk
 * or exposed, as @plan says. Returns false when there is none any more.
 */
bool rpcrdma_reply_next(const struct rpcrdma_reply *reply,
			const struct rpcrdma_reply_plan *plan,
			struct rpcrdma_pieces *at, struct rpcrdma_piece *piece);

/*
 * Why a Responder that has a Call, or its Reply, gives it up for good. Where it
 * might do better the next time, it closes the connection instead (7.4).
 */
enum rpcrdma_refusal {
	RPCRDMA_REFUSE_NOT,
	RPCRDMA_REFUSE_TOO_LARGE,	/* a Call, for the service */
	RPCRDMA_REFUSE_ANOTHERS,		/* Read chunks have another message */
	RPCRDMA_REFUSE_NO_SERVICE,	/* for a Call */
	RPCRDMA_REFUSE_NO_REPLY,		/* a Reply cannot be sent in any form */
};

/*
 * A step that moves a Call or a Reply along has failed with a negative errno: it is
 * given up for good, or tried again. Each of these is a place where that is decided.
 */
enum rpcrdma_failed {
	RPCRDMA_FAILED_CALL,		/* Responder: deliver a Call to its service */
	RPCRDMA_FAILED_REPLY,		/* Responder: send a Reply, which is lost then */
	RPCRDMA_FAILED_KEPT_REPLY,	/* Responder: send a Reply that its task keeps */
	RPCRDMA_FAILED_PULL,		/* Requester: pull a Reply */
	RPCRDMA_FAILED_SEND,		/* Requester: send a Call, which its task keeps */
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
 * Return what to do after @failed with @status, 0 or a negative errno. A lack of
 * memory, of space in a queue or of a connection passes, so that an ERROR would end
 * an RPC that could succeed. At a Responder -EOPNOTSUPP is the lack of a service.
 */
struct rpcrdma_remedy rpcrdma_remedy_for(enum rpcrdma_failed failed, int status);

/* The ERROR's code, RDMA2_ERR_*, and what to say of it in a log */
u32 rpcrdma_refusal_code(enum rpcrdma_refusal refusal);
const char *rpcrdma_refusal_text(enum rpcrdma_refusal refusal);

/*
 * The Read chunks of a Call have been read: is it one (6.2.2.1, 7.2)?
 * @first: its first 8 octets.
 */
enum rpcrdma_refusal rpcrdma_call_refusal(const struct rpcrdma_rx *rx,
				      const void *first);

/*
 * A plan with a read_length (WP 8, DR 4.1.1), in three steps.
 *
 * 1. Reserve what it takes. @exposure: the connection's from then on, until
 * rpcrdma_conn_unexpose(); nothing need be in it. Returns 0, or -EMSGSIZE with
 * @plan->error set: as much is exposed as may be, or another Reply to that xid still is.
 */
int rpcrdma_conn_expose(struct rpcrdma_conn *conn,
			struct rpcrdma_exposure *exposure, u32 xid,
			struct rpcrdma_reply_plan *plan);

/*
 * 2. Put the chunk into @plan->lists. @chunk has nothing but that, a Read
 * chunk with the handles of the memory, or of a part of it: @status is 0, or the
 * negative errno that putting it together ended with, -EAGAIN for want of regions of
 * @pool. Returns 0; -EAGAIN: some are being made, try again; or another negative errno,
 * with @plan->error set where the peer can help: it does not take a message with so
 * many segments, or it has all regions with other Replies that it has not read.
 */
int rpcrdma_plan_expose(const struct rpcrdma_conn *conn,
			const struct rpcrdma_region_pool *pool, int status,
			const struct rpcrdma_lists *chunk,
			struct rpcrdma_reply_plan *plan);

/*
 * 3. The Reply was sent: from now on the peer may pull it, and its time runs.
 * @inv_handle: @plan->lists.inv_handle. @now: any clock of milliseconds.
 */
void rpcrdma_conn_exposed(struct rpcrdma_conn *conn,
			  struct rpcrdma_exposure *exposure, u32 inv_handle,
			  u32 now);

/* A Reply whose DONE did not come in time, if there is one */
struct rpcrdma_overdue {
	struct rpcrdma_exposure *exposure; /* DONE does not find it any more */
	u32	wait;		/* if NULL: milliseconds until it is worth asking
				 * again, 0: nothing waits
				 */
};
struct rpcrdma_overdue rpcrdma_conn_overdue(struct rpcrdma_conn *conn, u32 now);

/* The memory of @exposure is out of the peer's reach, or was never in it. */
void rpcrdma_conn_unexpose(struct rpcrdma_conn *conn,
			   struct rpcrdma_exposure *exposure);

/*
 * Does a Reply, by being sent, let the peer send another Call? Then the
 * Receive of the Call that it answers has to be posted again before it goes:
 * version 1 has nothing else to hold the peer back with.
 */
static inline bool rpcrdma_reply_is_credit(const struct rpcrdma_conn *conn)
{
	return conn->version == RPCRDMA_VERS_1;
}

/*
 * Count a whole Call or Reply by its format, once, when nothing but window and
 * Send Queue delays it any more, or later. Receiving does this by itself.
 */
void rpcrdma_conn_count(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
			enum rpcrdma_format format,
			const struct rpcrdma_lists *lists);

/* ------------------------------------------------------------------ */
/* Memory held for peers                                               */

/*
 * A server's connections make it hold memory. A connection is promised what it takes
 * while it is idle: itself, and the buffers of its first window. Everything else is
 * charged when it is used, and all connections share it:
 *
 * - A connection may have as much beyond its promise as it leaves free. A single
 *   connection that wants everything gets half; two get a third each.
 * - The last part of the limit is a reserve. No promise and no window is made of it. A
 *   connection that needs it for one message, for which it has nothing yet, may use it.
 *   Connections that find the reserve used up wait in a queue.
 * - While one of these waits, connections that hold messages for a peer that does not
 *   move are to be closed, see rpcrdma_memory_stuck().
 *
 * A Reply to a Call that is at work is held in any case, so the limit may be exceeded
 * by as many Replies as there are service threads. While it is, no Call is begun.
 *
 * A connection keeps the quota that it has had once, unless memory is tight. A charge
 * within the quota concerns that connection alone.
 *
 * Functions with an @all and an account need a lock for all accounts and, within it or
 * around it, one of the account. Functions with an account need its lock.
 */
enum rpcrdma_memory_use {
	RPCRDMA_MEMORY_BUFFERS,	/* Receives, and what answers are sent from */
	RPCRDMA_MEMORY_PARTS,	/* a message that is being put together */
	RPCRDMA_MEMORY_CALLS,	/* messages received, until they are done with */
	RPCRDMA_MEMORY_REPLIES,	/* Replies, until the peer has them */
	RPCRDMA_MEMORY_USES,
};

enum {
	/* Milliseconds from one rpcrdma_memory_stuck() of an account to the next */
	RPCRDMA_MEMORY_TICK_MS = 250,
	/* Ticks without any progress after which a connection is closed */
	RPCRDMA_MEMORY_STUCK_TICKS = 8,
};

struct rpcrdma_memory_account;

/* All connections; bytes. All zero at first. */
struct rpcrdma_memory {
	u64 limit;
	u64 reserve;		/* the last part of it */
	/* Read without a lock; they change seldom. */
	u8 tight;		/* more than a quarter is used, or an account waits */
	u8 full;		/* more than the limit is used */
	/* Nothing: what changes often is in a cache line of its own. */
	u8 apart[46];
	u64 used;		/* promises and quotas */
	u32 waiting;		/* accounts in the queue */
	struct rpcrdma_memory_account *first, *last;
};

/* One connection; bytes. All zero, but for what is promised, at first. */
struct rpcrdma_memory_account {
	u64 fixed;		/* held as long as it lasts */
	/*
	 * Of BUFFERS: promised. Of other uses: what one message takes at most, and
	 * what the reserve may be used for.
	 */
	u64 share[RPCRDMA_MEMORY_USES];
	u64 held[RPCRDMA_MEMORY_USES];
	u64 quota;		/* of what is shared */
	u32 released;		/* how often it released some, modulo 2^32 */
	u32 seen;		/* ... when rpcrdma_memory_stuck() looked */
	u8 ticks;		/* since then */
	u8 member;		/* of the connections that share a limit */
	u8 wanted;		/* it was refused some, and was not woken since */
	u8 replies;		/* some are held */
	/* Under the lock for all */
	u8 queued;		/* it waits for what others release */
	u8 turn;		/* it has waited long enough */
	struct rpcrdma_memory_account *next, *prev;
};

/* Set the limit, of which the reserve is part. @message: bytes of the largest one */
void rpcrdma_memory_set_limit(struct rpcrdma_memory *all, u64 limit,
			      u64 message);

/*
 * Return true if new connections should have small buffers, and few of them, so that
 * there is a promise for each of very many.
 */
static inline bool rpcrdma_memory_is_tight(const struct rpcrdma_memory *all)
{
	return __atomic_load_n(&all->tight, __ATOMIC_RELAXED);
}

/*
 * Set what a connection is promised, and what a message may take. @fixed: bytes that it
 * takes in any case. @buffers: of those that it has before its window grows. @message:
 * of the largest Call or Reply there is, as its memory is allocated; @parts: of what is
 * reassembled from continued messages. @spare: more that one message may take.
 */
void rpcrdma_memory_promise(struct rpcrdma_memory_account *account, u64 fixed,
			    u64 buffers, u64 message, u64 parts, u64 spare);

/* Add a connection. Returns 0, or -1 if there is no memory for its promise. */
int rpcrdma_memory_join(struct rpcrdma_memory *all,
			struct rpcrdma_memory_account *account);
/*
 * Remove a connection from the account of all, whatever it still holds for a moment.
 * Any number of times, joined or not.
 */
void rpcrdma_memory_leave(struct rpcrdma_memory *all,
			  struct rpcrdma_memory_account *account);

/*
 * Return true if so much more may be held for it. Of a connection that has not joined,
 * everything is counted and nothing is bounded.
 */
bool rpcrdma_memory_room(const struct rpcrdma_memory *all,
			 const struct rpcrdma_memory_account *account,
			 enum rpcrdma_memory_use use, u64 octets);
/* Return true if that is so because of the account's quota, whatever the others do. */
bool rpcrdma_memory_room_own(const struct rpcrdma_memory_account *account,
			     enum rpcrdma_memory_use use, u64 octets);
/*
 * Of @count pieces of @octets each, how many may be held? All that are wanted, or
 * half of them, a quarter and so on.
 */
u32 rpcrdma_memory_fits(const struct rpcrdma_memory *all,
			const struct rpcrdma_memory_account *account,
			enum rpcrdma_memory_use use, u64 octets, u32 count);
/*
 * As rpcrdma_memory_room(), for a caller that waits if there is none: until
 * rpcrdma_memory_give() returns true for its account, or rpcrdma_memory_next() returns it.
 */
bool rpcrdma_memory_ask(struct rpcrdma_memory *all,
			struct rpcrdma_memory_account *account,
			enum rpcrdma_memory_use use, u64 octets);
/*
 * Return true if a Call is to be begun only with rpcrdma_memory_may_begin(), because
 * Replies wait for the peer, or too much is used by all. Any context, where it is a
 * guess. False in the fast path.
 */
static inline bool
rpcrdma_memory_must_ask(const struct rpcrdma_memory *all,
			const struct rpcrdma_memory_account *account)
{
	return __atomic_load_n(&account->replies, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&all->full, __ATOMIC_RELAXED);
}
/*
 * Return true if a Call may be begun that with others at work may need @octets for
 * Replies. That is always so while no Reply waits for its peer and no more than the
 * limit is used: what is worked on is this end's. Otherwise as rpcrdma_memory_ask().
 */
bool rpcrdma_memory_may_begin(struct rpcrdma_memory *all,
			      struct rpcrdma_memory_account *account,
			      u64 octets);
/* Charge @octets, whether or not there is room. */
void rpcrdma_memory_hold(struct rpcrdma_memory *all,
			 struct rpcrdma_memory_account *account,
			 enum rpcrdma_memory_use use, u64 octets);
/* The same within the account's quota. False: nothing was done. */
bool rpcrdma_memory_hold_own(struct rpcrdma_memory_account *account,
			     enum rpcrdma_memory_use use, u64 octets);
/*
 * A message of @octets was put together: charge it as one of CALLS in place of PARTS.
 * Returns false if that cannot be, because of the other Calls that are held.
 */
bool rpcrdma_memory_assembled(const struct rpcrdma_memory *all,
			      struct rpcrdma_memory_account *account,
			      u64 octets);
/*
 * Release @octets. Returns true if a caller of rpcrdma_memory_ask() waits, which is to
 * ask again.
 */
bool rpcrdma_memory_give(struct rpcrdma_memory *all,
			 struct rpcrdma_memory_account *account,
			 enum rpcrdma_memory_use use, u64 octets);
/*
 * The same if the account may keep its quota, without the lock for all; *@tell is what
 * rpcrdma_memory_give() returns. False: nothing was done.
 */
bool rpcrdma_memory_give_own(const struct rpcrdma_memory *all,
			     struct rpcrdma_memory_account *account,
			     enum rpcrdma_memory_use use, u64 octets,
			     bool *tell);
/* Release the part of the account's quota that is not used. */
void rpcrdma_memory_trim(struct rpcrdma_memory *all,
			 struct rpcrdma_memory_account *account);
/*
 * Take the account that has waited for longest from the queue: it is to ask again. Needs
 * the lock for all only. Returns NULL if there is none, or nothing to be had.
 */
struct rpcrdma_memory_account *rpcrdma_memory_next(struct rpcrdma_memory *all);
/*
 * Called once in a tick while accounts wait. Returns true if the connection is to be
 * closed: it holds parts of a message, Replies, or with @reads Calls that are being
 * read, and has released nothing for RPCRDMA_MEMORY_STUCK_TICKS.
 */
bool rpcrdma_memory_stuck(struct rpcrdma_memory_account *account, bool reads);

/* ------------------------------------------------------------------ */
/* Connections that come in                                            */

/*
 * From when a peer asks for a connection until a service has it, and whose it is
 * meanwhile. Until a service thread takes it, it is its listener's and ends with its
 * endpoint; from then on it is the service's, which is told of its end. A listener
 * bounds how many it has; when there are more, or no memory for another, who has
 * been opening for longest makes way, if that is long enough: a client takes moments
 * to open, and who says nothing must not keep the others out until his time is over.
 * But hundreds of clients may come at the same moment, as when their server was away,
 * and these must not make each other begin anew.
 */

/* Bounds of a listener */
enum {
	RPCRDMA_MAX_GUESTS = 1024,		/* opening, or not taken yet */
	/* ... with those that made way and are not gone yet */
	RPCRDMA_MAX_GUESTS_ALL = 2 * RPCRDMA_MAX_GUESTS,
	/* Milliseconds of opening before one makes way */
	RPCRDMA_GUEST_GRACE_MS = 1000,
};

/* A listener; all zero at first, and under a lock of the user's */
struct rpcrdma_admission {
	u32 opening;			/* properties are not exchanged yet */
	u32 opened;			/* wait to be taken */
	u32 all;			/* these, and those that made way */
	u8 stopped;			/* nobody comes in any more */
};

/* In this order: users compare */
enum rpcrdma_guest_stage {
	RPCRDMA_GUEST_ASKING,
	RPCRDMA_GUEST_OPENING,
	RPCRDMA_GUEST_OPENED,
	RPCRDMA_GUEST_LEAVING,		/* made way, or was refused */
	RPCRDMA_GUEST_TAKEN,		/* by a thread; the service has yet to get it */
	RPCRDMA_GUEST_LOST,		/* ... and it has ended meanwhile */
	RPCRDMA_GUEST_SERVED,		/* the service has it */
	RPCRDMA_GUEST_GONE,		/* ... and it has ended */
};

/*
 * One connection; all zero at first. Its lock may be another one, which is taken
 * within the listener's where both are needed: wherever an admission is given.
 */
struct rpcrdma_guest {
	u8 stage;			/* enum rpcrdma_guest_stage */
	u8 displaced;			/* another one made way for it */
	u32 since_ms;			/* it is opening */
};

/* What becomes of who asks */
enum rpcrdma_admit {
	RPCRDMA_ADMIT,			/* it is opening now */
	/* the oldest that is opening leaves: _leave() it, then ask again */
	RPCRDMA_ADMIT_DISPLACE,
	RPCRDMA_ADMIT_STOPPED,		/* refused: nobody listens any more */
	RPCRDMA_ADMIT_NO_MEMORY,	/* ... others may hold all there is */
	RPCRDMA_ADMIT_TOO_MANY,		/* ... the backlog is full */
};

/*
 * A peer asks. @oldest: who has been opening for longest, NULL if nobody is.
 * @memory: it has joined those that share a limit (rpcrdma_memory_join()), which is
 * tried again after another one has left. @now_ms: milliseconds of any clock, modulo
 * 2^32.
 */
enum rpcrdma_admit rpcrdma_admission_ask(struct rpcrdma_admission *all,
					 struct rpcrdma_guest *guest,
					 const struct rpcrdma_guest *oldest,
					 bool memory, u32 now_ms);

/* What is to be done about an event */
enum {
	RPCRDMA_GUEST_LISTED = 1,	/* it joins those that wait to be taken */
	RPCRDMA_GUEST_FREE = 2,		/* nobody knows it: it is freed */
	RPCRDMA_GUEST_DATA = 4,		/* the service has Calls to take */
	RPCRDMA_GUEST_CLOSE = 8,	/* the service is to close it */
	RPCRDMA_GUEST_LAST = 16,	/* the listener has none: who waits wakes */
};

/* It makes way, for whoever asks: it is closed, and its memory counts no more. */
void rpcrdma_admission_leave(struct rpcrdma_admission *all,
			     struct rpcrdma_guest *guest);

/* RPC traffic may begin. Returns LISTED, or 0 when it is too late for that. */
u32 rpcrdma_admission_opened(struct rpcrdma_admission *all,
			     struct rpcrdma_guest *guest);

/*
 * A service thread takes one that is listed; it has no listener from here on.
 * Returns LAST or 0.
 */
u32 rpcrdma_admission_take(struct rpcrdma_admission *all,
			   struct rpcrdma_guest *guest);

/*
 * The service has it. @calls: some have arrived. Returns DATA and CLOSE as they
 * apply.
 */
u32 rpcrdma_guest_served(struct rpcrdma_guest *guest, bool calls);

/* Does the service have it? Then what arrives is told at once. */
static inline bool rpcrdma_guest_known(const struct rpcrdma_guest *guest)
{
	return guest->stage >= RPCRDMA_GUEST_SERVED;
}

/*
 * It has ended, and nothing is left on the device. @all: NULL once it was taken.
 * Returns FREE, and LAST perhaps; or CLOSE; or 0: rpcrdma_guest_served() will say.
 */
u32 rpcrdma_admission_gone(struct rpcrdma_admission *all,
			   struct rpcrdma_guest *guest);

/* Nobody comes in or is taken any more. The user closes all that are left. */
void rpcrdma_admission_stop(struct rpcrdma_admission *all);

/* ---- RFC 8797 private message ---- */

void rpcrdma_encode_private(const struct rpcrdma_private *priv,
			    u8 buf[RPCRDMA_PRIVATE_OCTETS]);
/* @buf may be NULL, @length 0. Bytes after the eighth are ignored. */
void rpcrdma_decode_private(const void *buf, u32 length,
			    struct rpcrdma_private *priv);

/* A code's name as in 8.4, for logs; never NULL */
const char *rpcrdma_error_name(u32 code);

/* ------------------------------------------------------------------ */
/* The life of a connection                                            */

/*
 * From the first question to the connection manager until nothing is left on the
 * device: what an event means, what is done next, and in which order everything
 * is taken down. Embed it. All calls for one connection are serialised; events may
 * be told in any stage, as often as they happen: those that mean nothing (any
 * more) bring nothing to do.
 *
 * Three drive it. Who makes the connection calls rpcrdma_life_make() in turn with
 * doing what it returns. Who hears of an event tells it, and carries out the step.
 * Who was told to close calls rpcrdma_life_release() in turn with doing that, after
 * the maker has come to its end.
 */

/* In this order: users compare */
enum rpcrdma_stage {
	RPCRDMA_STAGE_IDLE,		/* nothing was asked for yet */
	RPCRDMA_STAGE_RESOLVING,	/* client: the address */
	RPCRDMA_STAGE_ROUTING,		/* client: the route */
	RPCRDMA_STAGE_PREPARING,	/* the device's objects are made */
	RPCRDMA_STAGE_CONNECTING,	/* a request, or an accept, is out */
	RPCRDMA_STAGE_OPENING,		/* connected, properties under way */
	RPCRDMA_STAGE_OPEN,		/* RPC traffic may pass */
	RPCRDMA_STAGE_CLOSING,		/* nothing is posted any more */
	RPCRDMA_STAGE_GONE,		/* nothing is left on the device */
};

/* Zero it but for @client. */
struct rpcrdma_life {
	u8 client;
	u8 stage;		/* enum rpcrdma_stage, the engine's to change */
	u8 may_send;		/* messages may be posted */
	u8 settled;		/* the maker's wait is over */
	u8 met;			/* the connection manager has said: connected */
	u8 handed;		/* client: the maker has given it away */
	u8 released;		/* steps of the release that are through */
	u8 odd;			/* client: rpcrdma_life_odd() was called */
	u8 end;			/* enum rpcrdma_end */
	u8 stops;		/* how often STOP was refused */
	/* STOP was refused for good: the device may complete and place data */
	u8 unstopped;
	int status;		/* the errno that it closed with */
	u32 limit_ms;		/* of each step before the opening, 0: the default */
};

/* What is to be done about an event, in this order */
enum {
	/*
	 * rpcrdma_conn_established(), before any other event is told; then what
	 * that asks for
	 */
	RPCRDMA_LIFE_BEGIN = 1,
	/* tell the transport that RPC traffic may begin; no time limit any more */
	RPCRDMA_LIFE_OPENED = 2,
	/* wake the maker, who looks at life->settled */
	RPCRDMA_LIFE_WAKE = 4,
	/* have it released; tell @reason, if there is one */
	RPCRDMA_LIFE_CLOSE = 8,
	/* server: report to the connection manager that the client is connected */
	RPCRDMA_LIFE_CONFIRM = 16,
};

struct rpcrdma_life_step {
	u32 todo;			/* RPCRDMA_LIFE_* */
	const char *reason;		/* a static string, NULL: an ordinary end */
};

/* What the connection manager says */
enum rpcrdma_news {
	RPCRDMA_NEWS_RESOLVED,		/* the address, or the route */
	RPCRDMA_NEWS_UNRESOLVED,
	RPCRDMA_NEWS_ESTABLISHED,
	RPCRDMA_NEWS_UNREACHABLE,	/* nobody answers */
	RPCRDMA_NEWS_REJECTED,		/* with a reason */
	RPCRDMA_NEWS_FAILED,		/* it could not be connected */
	RPCRDMA_NEWS_DISCONNECTED,
	RPCRDMA_NEWS_ADDRESS_CHANGED,	/* of this end */
	RPCRDMA_NEWS_REMOVED,		/* the device */
	RPCRDMA_NR_NEWS,
};

/* @rejection: REJECTED: the number of IBTA's reject reasons, or a negative errno */
struct rpcrdma_life_step rpcrdma_life_news(struct rpcrdma_life *life,
					   enum rpcrdma_news news,
					   int rejection);

/* RPCRDMA_EV_OPENED: both ends' properties are there. */
struct rpcrdma_life_step rpcrdma_life_opened(struct rpcrdma_life *life);

/*
 * A server's time for opening is over: the step ACCEPT said how long that is. Also for a
 * connection that is open by then.
 */
struct rpcrdma_life_step rpcrdma_life_overdue(struct rpcrdma_life *life);

/*
 * RPCRDMA_EV_ODD: a client's peer has answered with something that is no opening of
 * version 2. An opening may still follow, but not for long.
 */
struct rpcrdma_life_step rpcrdma_life_odd(struct rpcrdma_life *life);

/* Why a Work Request has failed */
enum rpcrdma_failure {
	RPCRDMA_FAILURE_FLUSHED,	/* the queue pair had stopped */
	RPCRDMA_FAILURE_PEER,		/* the peer does not answer, or objects */
	RPCRDMA_FAILURE_HERE,
};

/*
 * A Work Request failed. @why: a static string, logged if that was the first sign of
 * trouble.
 */
struct rpcrdma_life_step rpcrdma_life_failed(struct rpcrdma_life *life,
					     enum rpcrdma_failure failure,
					     const char *why);

/*
 * Close it for any other reason. @reason: a static string; NULL: an ordinary end, of
 * a connection that is not needed or not waited for any more.
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

/* What the maker does next */
enum rpcrdma_make {
	RPCRDMA_MAKE_ADDRESS,		/* ask to resolve it, within @ms */
	RPCRDMA_MAKE_ROUTE,		/* ... the route, within @ms */
	RPCRDMA_MAKE_OBJECTS,		/* of the device, Receives posted */
	RPCRDMA_MAKE_CONNECT,		/* ask the peer */
	RPCRDMA_MAKE_ACCEPT,		/* answer it; it is overdue in @ms */
	RPCRDMA_MAKE_WAIT,		/* until life->settled, for @ms */
	/*
	 * Nothing: it is through, with @status. A client has a connection that is
	 * open, whose end will be told; or, with an errno, none, and waits for the
	 * release. A server only learns whether something went wrong here.
	 */
	RPCRDMA_MAKE_END,
};

struct rpcrdma_make_step {
	enum rpcrdma_make what;
	u32 ms;				/* milliseconds */
	int status;			/* 0 or a negative errno */
	enum rpcrdma_answer answer;	/* END, client, @status: for rpcrdma_version_learn() */
	struct rpcrdma_life_step step;	/* END: to be carried out, too */
};

/*
 * The next thing to be done to make a connection. @result: of the last one, 0 or a
 * negative errno; -ETIMEDOUT of a wait that was over before life->settled; 0 at first.
 * @conn: read only, for what the peer has said; zeroed or set up. Errnos of END:
 * -EPROTONOSUPPORT: the peer has taken the connection, and did not open it with the
 * version that was tried; another may do. Or why there is no connection.
 */
struct rpcrdma_make_step rpcrdma_life_make(struct rpcrdma_life *life,
					   const struct rpcrdma_conn *conn,
					   int result);

/* What is taken down next; what is not there (yet) needs nothing to be done */
enum rpcrdma_release {
	RPCRDMA_RELEASE_MAKER,		/* wait for the maker's end */
	RPCRDMA_RELEASE_TIMERS,		/* stop the connection's time limits */
	RPCRDMA_RELEASE_DISCONNECT,	/* tell the peer */
	RPCRDMA_RELEASE_STOP,		/* move the queue pair to ERR */
	RPCRDMA_RELEASE_PAUSE,		/* wait RPCRDMA_STOP_PAUSE_MS */
	RPCRDMA_RELEASE_DRAIN,		/* wait for what is posted */
	RPCRDMA_RELEASE_MESSAGES,	/* process those that have arrived */
	RPCRDMA_RELEASE_RESET,		/* wait until the device is through */
	RPCRDMA_RELEASE_POSTED,		/* end what was posted */
	RPCRDMA_RELEASE_WAITING,	/* end what waits to be posted */
	RPCRDMA_RELEASE_USERS,		/* wait for those who prepare work */
	RPCRDMA_RELEASE_QUEUE_PAIR,	/* no peer reaches any memory after this */
	RPCRDMA_RELEASE_COMPLETIONS,	/* the queues; nothing comes after that */
	RPCRDMA_RELEASE_REGIONS,
	RPCRDMA_RELEASE_EXPOSED,	/* Replies that were to be pulled */
	RPCRDMA_RELEASE_BUFFERS,	/* unmapped */
	RPCRDMA_RELEASE_DOMAIN,
	RPCRDMA_RELEASE_ID,		/* of the connection manager */
	RPCRDMA_RELEASE_GONE,		/* wake those who wait for that */
	RPCRDMA_RELEASE_TELL,		/* tell the transport: closed */
	RPCRDMA_RELEASE_END,
};

enum {
	/* Milliseconds between two attempts of STOP, and how many there are */
	RPCRDMA_STOP_PAUSE_MS = 100,
	RPCRDMA_STOP_TRIES = 50,
};

/*
 * Return the next thing to be taken down, after the one before was.
 * @qp: there is a queue pair; @posted: something was posted to its Send Queue;
 * @result: of STOP, 0 or a negative errno; 0 for any other step
 */
enum rpcrdma_release rpcrdma_life_release(struct rpcrdma_life *life, bool qp,
					  bool posted, int result);

/*
 * A listener that is bound to one address. Its endpoint in the connection manager goes
 * with the device, and stays where the address is not any more. Embed it, zeroed. All
 * calls for one listener are serialised.
 */
struct rpcrdma_listening {
	u8 listening;
	u8 begun;		/* it has been listening */
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
	RPCRDMA_LISTEN_SAY_FAILS,	/* the pace is slower from now on */
	RPCRDMA_LISTEN_SAY_AGAIN,
};

struct rpcrdma_listen_step {
	bool retry;		/* listen anew in @ms milliseconds, and report the result */
	u32 ms;
	enum rpcrdma_listen_say say;
	const char *cause;	/* a static string */
};

/* Return what is to be done about an event. */
struct rpcrdma_listen_step rpcrdma_listen_news(struct rpcrdma_listening *l,
						enum rpcrdma_listen_event event);
/* Report an attempt, the first one too; @result: 0 or a negative errno. */
struct rpcrdma_listen_step rpcrdma_listen_tried(struct rpcrdma_listening *l,
						int result);

/*
 * What a client does with its connection, of which it has one at a time, and in which
 * order. sunrpc lets nobody send meanwhile.
 */
enum rpcrdma_link {
	/* Take the one there is, if any, away from those who send; close it, wait for
	 * its end, and learn what it says of the server.
	 */
	RPCRDMA_LINK_FORGET,
	/* Make one, with rpcrdma_version_first(); learn from a failed attempt. */
	RPCRDMA_LINK_TRY,
	/* The peer did not open it with that version. If rpcrdma_version_first() is
	 * another one now, try that; else the attempt has failed.
	 */
	RPCRDMA_LINK_TRY_OTHER,
	RPCRDMA_LINK_KEEP,		/* it is who sends that has it now */
	RPCRDMA_LINK_SETTLED,		/* an attempt is no longer under way */
	RPCRDMA_LINK_UP,		/* another connection than before: connected */
	RPCRDMA_LINK_DROP,		/* have it closed: it has ended */
	RPCRDMA_LINK_WAKE,		/* those who wait for one are told @status */
	RPCRDMA_LINK_UNLOCK,		/* others may send */
	RPCRDMA_LINK_DOWN,		/* another connection than before: none */
	RPCRDMA_LINK_END,		/* that is all */
};

/* How far it has come. Zero it to begin, but for @close. */
struct rpcrdma_link_walk {
	u8 close;		/* none is to be made */
	u8 next;		/* the engine's */
	int status;		/* of the attempt */
};

struct rpcrdma_link_step {
	enum rpcrdma_link what;
	int status;		/* WAKE: a negative errno */
};

/*
 * The next thing to be done. @result: of what was tried last, 0 or a negative errno. @open: is the
 * connection that was made still open? Looked at when it is told to be UP.
 */
struct rpcrdma_link_step rpcrdma_link_next(struct rpcrdma_link_walk *walk,
					   int result, bool open);

/*
 * What tasks that wait for a connection are told, when an attempt at one ended with
 * @status, a negative errno. sunrpc ends an RPC with those it does not know, even on a
 * hard mount. Of the others there are two kinds: some end an RPC that wants to know
 * whether there is a connection, a mount's first one, while others try again: these
 * are for what will be the same the next time. After the rest all try again.
 */
int rpcrdma_connect_status(int status);

#ifdef __cplusplus
}
#endif
#endif /* RPCRDMA_ENGINE_H */
