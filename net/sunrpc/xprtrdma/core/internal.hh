/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Declarations shared by the parts of the protocol engine.
 *
 * In the kernel all parts are one translation unit (endpoint.cc). Functions
 * defined in headers are therefore static or always inlined: an inline function
 * that the compiler emits out of line would become a COMDAT group, which
 * neither the linker's ftrace sections nor objtool can handle there.
 */
#ifndef RPCRDMA_CORE_INTERNAL_HH
#define RPCRDMA_CORE_INTERNAL_HH

/*
 * A local variable that is not cleared, for large ones on hot paths. Kernels are usually built
 * with -ftrivial-auto-var-init=zero. Compilers without that option lack the attribute.
 */
#if defined(__has_attribute) && __has_attribute(uninitialized)
#define RPCRDMA_UNINITIALIZED __attribute__((uninitialized))
#else
#define RPCRDMA_UNINITIALIZED
#endif

#include <rpcrdma/engine.h>

namespace rpcrdma
{

using s32 = int;

static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4 &&
	      sizeof(u64) == 8);

/* Linux's errnos; a kernel test compares them with the kernel's headers. */
enum {
	E_PERM = 1,
	E_IO = 5,
	E_2BIG = 7,
	E_AGAIN = 11,
	E_NOMEM = 12,
	E_ACCES = 13,
	E_NODEV = 19,
	E_INVAL = 22,
	E_PIPE = 32,
	E_RANGE = 34,
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
	E_NOKEY = 126,
};

/* Messages of the window that a Call leaves to Replies (WP 3) */
constexpr s32 CALL_RESERVE = RPCRDMA_CALL_RESERVE;

/* Limit of all CONNPROPs of one end together (WP 4) */
constexpr u32 MAX_PROP_OCTETS = 64 * 1024;

/* Smallest part of an RPC message: xid and direction */
constexpr u32 RPC_MIN_OCTETS = 8;

/*
 * Payload that must fit, in addition to the chunks, in the last message of a
 * continued one, so that splitting at a multiple of four is always possible.
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
 * Return the number of bytes that a message of @length loses with its item of
 * @octets at @position. The roundup is removed, too, unless the message ends
 * without one.
 */
static constexpr u32 reduced_by(u32 length, u32 position, u32 octets)
{
	const u64 whole = roundup4(octets);
	const u32 rest = length - min_u32(length, position);

	return octets <= rest && rest < whole ? rest : static_cast<u32>(whole);
}

/* Return the distance from @from to @to: negative if @to precedes @from. */
static constexpr s32 distance(rpcrdma_serial from, rpcrdma_serial to)
{
	return static_cast<s32>(to - from);
}

/*
 * Close the connection. The first reason is the one that is reported.
 * @why: a static string.
 */
void close_connection(struct rpcrdma_conn *conn, const char *why);

/*
 * Return the handle to invalidate remotely, 0 if there is none. A Send can
 * invalidate one: the largest, so that most of the memory becomes inaccessible
 * at once (6.2.4).
 */
u32 largest_segment(const struct rpcrdma_lists *lists);

/* Count a complete Call or Reply that was received. */
void count_received(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
		    enum rpcrdma_format format,
		    const struct rpcrdma_lists *lists);

/* Return the events that are due in the connection's current state. */
u32 due_events(struct rpcrdma_conn *conn);

/*
 * Queue a control message (WP 3); closes the connection if there are too many.
 */
void push_pending(struct rpcrdma_conn *conn, u32 xid, u32 htype, u32 code,
		  u32 arg0, u32 arg1);

/*
 * Return true if this end's Replies may be continued. @reverse: those to
 * reverse Calls, for which a client is bound by the level that it announced
 * (5.2.5).
 */
bool may_continue_replies(const struct rpcrdma_conn *conn, bool reverse);

/*
 * The fault of a message from the peer: the error to answer it with, and its
 * data word, if that has one. False if there is none.
 */
struct fault {
	u32 code = 0; /* RDMA2_ERR_* */
	u32 arg = 0;

	explicit constexpr operator bool() const
	{
		return code;
	}
};

/* Properties of an error code (7, 8.4, WP 7) */
struct error_info {
	u32 code;
	u32 words;  /* of data after the code */
	int status; /* the errno with which it ends an RPC */
	const char *name;
};

/* Return the properties of a code; null for an undefined one. */
const error_info *find_error(u32 code);

/*
 * The errno with which a bad Reply ends its RPC (WP 7). It must not be one for
 * which sunrpc retransmits the Call, since the same Reply would answer that.
 */
constexpr int BAD_REPLY_STATUS = -E_IO;

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_INTERNAL_HH */
