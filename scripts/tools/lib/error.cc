// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Errors of the library, and its version. */
#include "internal.hh"

namespace
{

struct entry {
	int error;
	uint32_t code; /* the code with which a receiver refuses the message, or 0 */
	const char *text;
};

/* In the order of the errors, from RPCRDMA2_ERR_FIRST on */
constexpr entry ERRORS[] = {
	{ RPCRDMA2_ERR_INVALID, 0, "an argument is not valid" },
	{ RPCRDMA2_ERR_BUFFER_SHORT, 0, "the buffer is too short" },
	{ RPCRDMA2_ERR_NOT_OPEN, 0, "the connection is not open" },
	{ RPCRDMA2_ERR_TOO_LONG, 0,
	  "the peer accepts no message of that length" },
	{ RPCRDMA2_ERR_CHUNKS, 0, "the peer does not accept these chunks" },
	{ RPCRDMA2_ERR_NO_REVERSE, 0, "the peer does not accept Calls" },
	{ RPCRDMA2_ERR_CALLBACK, 0, "a callback has failed" },
	{ RPCRDMA2_ERR_CLOSED, 0, "the connection has ended" },
	{ RPCRDMA2_ERR_OPENING_TIMEOUT, 0,
	  "the peer did not open the connection in time" },
	{ RPCRDMA2_ERR_STALLED, 0, "the peer does not grant credits" },
	{ RPCRDMA2_ERR_INVALIDATED, 0,
	  "the peer has invalidated a handle that it must not" },
	{ RPCRDMA2_ERR_SHORT, RPCRDMA2_CODE_BAD_XDR,
	  "the message ends before this field" },
	{ RPCRDMA2_ERR_VERSION, RPCRDMA2_CODE_VERS,
	  "the version is neither 1 nor 2" },
	{ RPCRDMA2_ERR_TYPE, RPCRDMA2_CODE_INVAL_HTYPE,
	  "the header type is not defined" },
	{ RPCRDMA2_ERR_BOOL, RPCRDMA2_CODE_BAD_XDR,
	  "a boolean is neither 0 nor 1" },
	{ RPCRDMA2_ERR_COUNT, RPCRDMA2_CODE_BAD_XDR,
	  "the message is too short for that many segments" },
	{ RPCRDMA2_ERR_ALIGNMENT, RPCRDMA2_CODE_BAD_XDR,
	  "the position is not a multiple of 4" },
	{ RPCRDMA2_ERR_ORDER, RPCRDMA2_CODE_BAD_XDR,
	  "the Read chunks are not in ascending order" },
	{ RPCRDMA2_ERR_PROP_LENGTH, RPCRDMA2_CODE_BAD_PROPVAL,
	  "the property has a wrong length" },
	{ RPCRDMA2_ERR_PROP_VALUE, RPCRDMA2_CODE_BAD_PROPVAL,
	  "the property has a value out of range" },
	{ RPCRDMA2_ERR_FLAGS, RPCRDMA2_CODE_INVAL_CONT,
	  "a flag must not be set in this header type" },
	{ RPCRDMA2_ERR_XID, RPCRDMA2_CODE_BAD_XDR,
	  "the xid is not that of such a message" },
	{ RPCRDMA2_ERR_CODE, 0, "the error code is not defined" },
	{ RPCRDMA2_ERR_MORE_CHUNKS, RPCRDMA2_CODE_INVAL_CONT,
	  "chunks are not in the last message" },
	{ RPCRDMA2_ERR_POSITION_ZERO, RPCRDMA2_CODE_BAD_XDR,
	  "a Read chunk is at the beginning of an inline message" },
	{ RPCRDMA2_ERR_NO_POSITION_ZERO, RPCRDMA2_CODE_BAD_XDR,
	  "the RPC message is in no chunk" },
	{ RPCRDMA2_ERR_REPLY_READS, RPCRDMA2_CODE_BAD_XDR,
	  "a Reply must not have these Read chunks" },
	{ RPCRDMA2_ERR_PAYLOAD, RPCRDMA2_CODE_BAD_XDR,
	  "the payload has a wrong length" },
	{ RPCRDMA2_ERR_DIRECTION, RPCRDMA2_CODE_BAD_XDR,
	  "the payload does not have the direction of the header" },
	{ RPCRDMA2_ERR_AUTH, 0, "host authentication has failed" },
};

constexpr size_t COUNT = sizeof(ERRORS) / sizeof(ERRORS[0]);

constexpr bool in_order()
{
	for (size_t i = 0; i < COUNT; i++) {
		if (ERRORS[i].error != RPCRDMA2_ERR_FIRST - static_cast<int>(i))
			return false;
	}
	return true;
}

static_assert(in_order());
static_assert(ERRORS[COUNT - 1].error == RPCRDMA2_ERR_LAST);

const entry *find(int error)
{
	if (error > RPCRDMA2_ERR_FIRST || error < RPCRDMA2_ERR_LAST)
		return nullptr;
	return &ERRORS[RPCRDMA2_ERR_FIRST - error];
}

} // namespace

const char *rpcrdma2_strerror(int error)
{
	const entry *e = find(error);

	if (!error)
		return "no error";
	return e ? e->text : "an unknown error";
}

uint32_t rpcrdma2_wire_code(int error)
{
	const entry *e = find(error);

	return e ? e->code : 0;
}

const struct rpcrdma2_info *rpcrdma2_version(int least)
{
	static constexpr struct rpcrdma2_info info = {
		.number = RPCRDMA2_VERSION_NUM,
		.text = RPCRDMA2_VERSION,
	};

	return least <= info.number ? &info : nullptr;
}
