/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Errors of the library.
 */
#ifndef RPCRDMA2_ERROR_H
#define RPCRDMA2_ERROR_H

#include <stdint.h>

#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum rpcrdma2_error - Errors that functions return
 * @RPCRDMA2_ERR_FIRST: the first of them
 * @RPCRDMA2_ERR_INVALID: an argument is not valid
 * @RPCRDMA2_ERR_BUFFER_SHORT: the buffer is too short
 * @RPCRDMA2_ERR_NOT_OPEN: the connection is not open
 * @RPCRDMA2_ERR_TOO_LONG: the peer accepts no message of that length
 * @RPCRDMA2_ERR_CHUNKS: the peer does not accept these chunks
 * @RPCRDMA2_ERR_NO_REVERSE: the peer does not accept Calls
 * @RPCRDMA2_ERR_CALLBACK: a callback has failed
 * @RPCRDMA2_ERR_CLOSED: the connection has ended
 * @RPCRDMA2_ERR_OPENING_TIMEOUT: the peer did not open the connection in time
 * @RPCRDMA2_ERR_STALLED: the peer does not grant credits
 * @RPCRDMA2_ERR_INVALIDATED: the peer has invalidated a handle that it must not
 * @RPCRDMA2_ERR_SHORT: the message ends before this field
 * @RPCRDMA2_ERR_VERSION: the version is neither 1 nor 2
 * @RPCRDMA2_ERR_TYPE: the header type is not defined
 * @RPCRDMA2_ERR_BOOL: a boolean is neither 0 nor 1
 * @RPCRDMA2_ERR_COUNT: the message is too short for that many segments
 * @RPCRDMA2_ERR_ALIGNMENT: the position is not a multiple of 4
 * @RPCRDMA2_ERR_ORDER: the Read chunks are not in ascending order
 * @RPCRDMA2_ERR_PROP_LENGTH: the property has a wrong length
 * @RPCRDMA2_ERR_PROP_VALUE: the property has a value out of range
 * @RPCRDMA2_ERR_FLAGS: a flag must not be set in this header type
 * @RPCRDMA2_ERR_XID: the xid is not that of such a message
 * @RPCRDMA2_ERR_CODE: the error code is not defined
 * @RPCRDMA2_ERR_MORE_CHUNKS: chunks are not in the last message
 * @RPCRDMA2_ERR_POSITION_ZERO: a Read chunk is at the beginning of an inline message
 * @RPCRDMA2_ERR_NO_POSITION_ZERO: the RPC message is in no chunk
 * @RPCRDMA2_ERR_REPLY_READS: a Reply must not have these Read chunks
 * @RPCRDMA2_ERR_PAYLOAD: the payload has a wrong length
 * @RPCRDMA2_ERR_DIRECTION: the payload does not have the direction of the header
 * @RPCRDMA2_ERR_AUTH: host authentication has failed
 * @RPCRDMA2_ERR_LAST: the last of them
 *
 * They are negative, and have no gaps from RPCRDMA2_ERR_FIRST down to
 * RPCRDMA2_ERR_LAST. rpcrdma2_strerror() has their texts.
 */
enum rpcrdma2_error {
	RPCRDMA2_ERR_FIRST = -201,

	/* Calls of the library */
	RPCRDMA2_ERR_INVALID = -201,
	RPCRDMA2_ERR_BUFFER_SHORT = -202,
	RPCRDMA2_ERR_NOT_OPEN = -203,
	RPCRDMA2_ERR_TOO_LONG = -204,
	RPCRDMA2_ERR_CHUNKS = -205,
	RPCRDMA2_ERR_NO_REVERSE = -206,
	RPCRDMA2_ERR_CALLBACK = -207,

	/* The end of a connection */
	RPCRDMA2_ERR_CLOSED = -208,
	RPCRDMA2_ERR_OPENING_TIMEOUT = -209,
	RPCRDMA2_ERR_STALLED = -210,
	RPCRDMA2_ERR_INVALIDATED = -211,

	/* A message that is malformed */
	RPCRDMA2_ERR_SHORT = -212,
	RPCRDMA2_ERR_VERSION = -213,
	RPCRDMA2_ERR_TYPE = -214,
	RPCRDMA2_ERR_BOOL = -215,
	RPCRDMA2_ERR_COUNT = -216,
	RPCRDMA2_ERR_ALIGNMENT = -217,
	RPCRDMA2_ERR_ORDER = -218,
	RPCRDMA2_ERR_PROP_LENGTH = -219,
	RPCRDMA2_ERR_PROP_VALUE = -220,

	/* A message that is well-formed and breaks a rule */
	RPCRDMA2_ERR_FLAGS = -221,
	RPCRDMA2_ERR_XID = -222,
	RPCRDMA2_ERR_CODE = -223,
	RPCRDMA2_ERR_MORE_CHUNKS = -224,
	RPCRDMA2_ERR_POSITION_ZERO = -225,
	RPCRDMA2_ERR_NO_POSITION_ZERO = -226,
	RPCRDMA2_ERR_REPLY_READS = -227,
	RPCRDMA2_ERR_PAYLOAD = -228,
	RPCRDMA2_ERR_DIRECTION = -229,

	/* The end of a connection */
	RPCRDMA2_ERR_AUTH = -230,

	RPCRDMA2_ERR_LAST = -230,
};

/**
 * rpcrdma2_strerror() - Return the text of an error
 * @error: enum rpcrdma2_error, or 0
 *
 * Return: a static string, one sentence without a full stop; never NULL.
 */
RPCRDMA2_EXPORT const char *rpcrdma2_strerror(int error);

/**
 * rpcrdma2_wire_code() - Return the code with which a receiver refuses a message
 * @error: what rpcrdma2_msg_decode() or rpcrdma2_msg_check() returned
 *
 * Return: RPCRDMA2_CODE_*; 0 for an error after which the message is dropped.
 */
RPCRDMA2_EXPORT uint32_t rpcrdma2_wire_code(int error);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA2_ERROR_H */
