/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the protocol engine share.
 *
 * In the kernel all parts are one translation unit (engine.cc). Functions
 * defined in headers are therefore static or always inlined: an inline
 * function that the compiler puts out of line would become a COMDAT group,
 * which neither the linker's ftrace sections nor objtool can handle there.
 */
#ifndef RPCRDMA_ENGINE_INTERNAL_HH
#define RPCRDMA_ENGINE_INTERNAL_HH

#include <rpcrdma/engine.h>

namespace rpcrdma
{

using s32 = int;

static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4 &&
	      sizeof(u64) == 8);

/* Linux's numbers; a kernel test compares them with the kernel's headers. */
enum {
	E_PERM = 1,
	E_IO = 5,
	E_AGAIN = 11,
	E_NOMEM = 12,
	E_ACCES = 13,
	E_NODEV = 19,
	E_INVAL = 22,
	E_PIPE = 32,
	E_PROTO = 71,
	E_MSGSIZE = 90,
	E_PROTONOSUPPORT = 93,
	E_OPNOTSUPP = 95,
	E_AFNOSUPPORT = 97,
	E_ADDRINUSE = 98,
	E_ADDRNOTAVAIL = 99,
	E_NETDOWN = 100,
	E_NETUNREACH = 101,
	E_CONNABORTED = 103,
	E_CONNRESET = 104,
	E_NOBUFS = 105,
	E_NOTCONN = 107,
	E_TIMEDOUT = 110,
	E_CONNREFUSED = 111,
	E_HOSTUNREACH = 113,
	E_REMOTEIO = 121,
};

/* A Call leaves that much of the window to Replies (WP 3). */
constexpr s32 CALL_RESERVE = RPCRDMA_CALL_RESERVE;

/* All CONNPROP parts of one end together (WP 4) */
constexpr u32 MAX_PROP_OCTETS = 64 * 1024;

/* Smallest part of an RPC message: xid and direction */
constexpr u32 RPC_MIN_OCTETS = 8;

/*
 * Payload that must have room beside the chunks in the last part of a
 * continued message, so that a cut at a multiple of four is always possible.
 */
constexpr u32 MIN_LAST_PART = 8;

static constexpr u32 min_u32(u32 a, u32 b)
{
	return a < b ? a : b;
}

static constexpr u32 max_u32(u32 a, u32 b)
{
	return a > b ? a : b;
}

static constexpr u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static constexpr u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

static constexpr u32 clamp_u32(u32 value, u32 low, u32 high)
{
	return value < low ? low : value > high ? high : value;
}

/* XDR roundup, 3.1.4.2. In 64 bits, so that no length wraps. */
static constexpr u64 roundup4(u64 octets)
{
	return (octets + 3) & ~u64{ 3 };
}

/*
 * Octets that a message of @length is shorter by without its item of @octets at
 * @position. The roundup goes, too, unless the message ends without one.
 */
static constexpr u32 reduced_by(u32 length, u32 position, u32 octets)
{
	const u64 whole = roundup4(octets);
	const u32 rest = length - min_u32(length, position);

	return octets <= rest && rest < whole ? rest : static_cast<u32>(whole);
}

/* The distance from @from to @to: negative when @to lies behind. */
static constexpr s32 distance(rpcrdma_serial from, rpcrdma_serial to)
{
	return static_cast<s32>(to - from);
}

/*
 * The engine closes the connection. The first reason is the one to tell.
 * @why: a static string.
 */
void close_connection(struct rpcrdma_conn *conn, const char *why);

/*
 * The handle to invalidate remotely, 0: there is none. A Send can invalidate one:
 * with the largest, the most memory is out of reach at once (6.2.4).
 */
u32 largest_segment(const struct rpcrdma_lists *lists);

/*
 * Count a message as sent that is whole, or the last part of one, and finish its header.
 */
void stamp_whole(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
		 void *header);

/* The events that the connection's state calls for now. */
u32 due_events(struct rpcrdma_conn *conn);

/*
 * Append a control message to those that wait (WP 3); closes the connection
 * when there are too many.
 */
void push_pending(struct rpcrdma_conn *conn, u32 xid, u32 htype, u32 code,
		  u32 arg0, u32 arg1);

/*
 * May this end's Replies be continued? @reverse: those to reverse Calls, for
 * which a client is bound by the level that it announced (5.2.5).
 */
bool may_continue_replies(const struct rpcrdma_conn *conn, bool reverse);

/*
 * What is wrong with a message of the peer's: the error that it deserves, and
 * its data word, where that has one. Nothing is false.
 */
struct fault {
	u32 code = 0; /* RDMA2_ERR_* */
	u32 arg = 0;

	explicit constexpr operator bool() const
	{
		return code;
	}
};

/* What there is to know about an error (7, 8.4, WP 7) */
struct error_info {
	u32 code;
	u32 words;  /* of data behind the code */
	int status; /* the errno of an RPC that it ends */
	const char *name;
};

/* Null for a code that nobody defined */
const error_info *find_error(u32 code);

/*
 * The errno of an RPC that a bad Reply ends (WP 7): not one that sunrpc
 * answers by sending the Call again, which the same Reply would answer.
 */
constexpr int BAD_REPLY_STATUS = -E_IO;

} // namespace rpcrdma

#endif /* RPCRDMA_ENGINE_INTERNAL_HH */
