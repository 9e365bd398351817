/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The codec converts between the bytes of a message and its fields, in versions 1
 * and 2. It keeps no state, and the length of the message is its only limit.
 *
 * Lengths and offsets are in bytes. Integers are in host byte order, except in the
 * message buffers. A buffer needs no alignment.
 */
#ifndef RPCRDMA2_CODEC_H
#define RPCRDMA2_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Header types; those of version 1 are its procedures. */
enum {
	RPCRDMA2_MSG = 0,
	RPCRDMA2_NOMSG = 1,
	RPCRDMA2_MSGP = 2,		/* version 1, obsolete */
	RPCRDMA2_DONE = 3,
	RPCRDMA2_ERROR = 4,
	RPCRDMA2_CONNPROP = 5,		/* version 2 */
};

/* Flags of version 2 */
enum {
	RPCRDMA2_RESPONSE = 1,
	RPCRDMA2_MORE = 2,
	RPCRDMA2_TPMORE = 4,
};

/* Codes of RPCRDMA2_ERROR in version 2; version 1 has only the first two */
enum {
	RPCRDMA2_CODE_VERS = 1,
	RPCRDMA2_CODE_BAD_XDR = 2,	/* version 1: ERR_CHUNK */
	RPCRDMA2_CODE_BAD_PROPVAL = 3,
	RPCRDMA2_CODE_INVAL_HTYPE = 4,
	RPCRDMA2_CODE_INVAL_CONT = 5,
	RPCRDMA2_CODE_READ_CHUNKS = 6,
	RPCRDMA2_CODE_WRITE_CHUNKS = 7,
	RPCRDMA2_CODE_SEGMENTS = 8,
	RPCRDMA2_CODE_WRITE_RESOURCE = 9,
	RPCRDMA2_CODE_REPLY_RESOURCE = 10,
	RPCRDMA2_CODE_SYSTEM = 100,
};

/* Transport properties */
#define RPCRDMA2_PROP_SBSIZ 1u
#define RPCRDMA2_PROP_RBSIZ 2u
#define RPCRDMA2_PROP_RSSIZ 3u
#define RPCRDMA2_PROP_RCSIZ 4u
#define RPCRDMA2_PROP_BRS 5u
#define RPCRDMA2_PROP_HOSTAUTH 6u
#define RPCRDMA2_PROP_REPLY_READ 0xF0000001u
#define RPCRDMA2_PROP_REASSEMBLY 0xF0000002u

/**
 * struct rpcrdma2_msg - The fields of a message, except the items of its lists
 * @xid: rdma_xid
 * @version: rdma_vers
 * @credit: rdma_credit
 * @type: rdma_htype, or version 1's rdma_proc
 * @flags: rdma_flags, including reserved ones; version 2
 * @received: rdma_received; version 2
 * @inv_handle: rdma_inv_handle; MSG and NOMSG of version 2
 * @align: rdma_align; MSGP
 * @thresh: rdma_thresh; MSGP
 * @code: RPCRDMA2_CODE_*; ERROR
 * @arg: the code's data; ERROR
 * @nr_args: number of words in @arg
 * @err_vers: not 0: an ERROR in the form that all versions share, without @flags
 *	and @received, which answers a version that the sender does not support
 * @nr_items: items of the lists, see struct rpcrdma2_item
 * @nr_reads: Read segments
 * @nr_writes: Write chunks
 * @has_reply: not 0: a Reply chunk is present
 * @nr_props: transport properties
 * @items_offset: where the lists begin
 * @payload_offset: where the header ends
 * @payload_length: bytes after the header. In MSG and MSGP they are an RPC message
 *	or a fragment of one; in other types they are ignored.
 */
struct rpcrdma2_msg {
	uint32_t xid;
	uint32_t version;
	uint32_t credit;
	uint32_t type;
	uint32_t flags;
	uint32_t received;
	uint32_t inv_handle;
	uint32_t align;
	uint32_t thresh;
	uint32_t code;
	uint32_t arg[2];
	uint32_t nr_args;
	uint32_t err_vers;
	uint32_t nr_items;
	uint32_t nr_reads;
	uint32_t nr_writes;
	uint32_t has_reply;
	uint32_t nr_props;
	uint32_t items_offset;
	uint32_t payload_offset;
	uint32_t payload_length;
};

/**
 * struct rpcrdma2_fault - The fault of a message
 * @error: enum rpcrdma2_error; 0: nothing
 * @offset: of the field that is wrong or missing
 */
struct rpcrdma2_fault {
	int error;
	uint32_t offset;
};

/**
 * rpcrdma2_msg_decode() - Decode a message
 * @msg: filled with the fields before the fault, if there is one; others are 0
 * @pkt: the message
 * @length: of the message
 * @fault: filled with the fault, if not NULL
 *
 * Checks the encoding of the complete header, including lists and properties, and
 * stops at the first fault. The numbers of chunks and segments, and their lengths,
 * are not limited.
 *
 * In ERR_VERS, the error code and the lowest version are where version 2 has flags
 * and @received. A message is decoded as ERR_VERS if it is 28 bytes long, its
 * fourth and fifth words are type ERROR and code VERS, and its version is neither 1
 * nor 2, or is 2 with 1 in the seventh word. In version 1 this is the only form of
 * that error.
 *
 * Return: 0, or the error in @fault.
 */
RPCRDMA2_EXPORT int rpcrdma2_msg_decode(struct rpcrdma2_msg *msg,
					const void *pkt, size_t length,
					struct rpcrdma2_fault *fault);

/**
 * rpcrdma2_msg_check() - Check the rules that do not depend on other messages
 * @msg: as decoded without a fault
 * @pkt: the message
 * @length: of the message
 * @fault: filled with the fault, if not NULL
 *
 * Checks flags, xids of control messages, error codes, the positions of Read
 * chunks, and the length and direction of the payload. Rules that depend on other
 * messages, or on limits that the ends agreed on, are checked by the connection.
 *
 * Return: 0, or the error in @fault.
 */
RPCRDMA2_EXPORT int rpcrdma2_msg_check(const struct rpcrdma2_msg *msg,
				       const void *pkt, size_t length,
				       struct rpcrdma2_fault *fault);

/**
 * enum rpcrdma2_item_kind - Kinds of items
 * @RPCRDMA2_ITEM_READ: a segment of a Read chunk. Consecutive segments of the same
 *	position form one chunk.
 * @RPCRDMA2_ITEM_WRITE: begins a Write chunk of @count segments
 * @RPCRDMA2_ITEM_REPLY: begins the Reply chunk, of @count segments
 * @RPCRDMA2_ITEM_SEGMENT: a segment of the preceding Write or Reply chunk
 * @RPCRDMA2_ITEM_PROPERTY: a transport property
 */
enum rpcrdma2_item_kind {
	RPCRDMA2_ITEM_READ,
	RPCRDMA2_ITEM_WRITE,
	RPCRDMA2_ITEM_REPLY,
	RPCRDMA2_ITEM_SEGMENT,
	RPCRDMA2_ITEM_PROPERTY,
};

/**
 * struct rpcrdma2_item - One item of chunk lists, or of a list of properties
 * @kind: enum rpcrdma2_item_kind
 * @offset: offset in the message, including the word "one more follows" if the
 *	item has one
 * @octets: its length in the message
 * @position: READ: of the chunk in the unreduced RPC message
 * @count: WRITE, REPLY: segments
 * @handle: READ, SEGMENT
 * @length: READ, SEGMENT: of the memory; PROPERTY: of @data
 * @address: READ, SEGMENT: the segment's offset
 * @id: PROPERTY: RPCRDMA2_PROP_*
 * @data: PROPERTY: its data, in the message
 */
struct rpcrdma2_item {
	uint32_t kind;
	uint32_t offset;
	uint32_t octets;
	uint32_t position;
	uint32_t count;
	uint32_t handle;
	uint32_t length;
	uint64_t address;
	uint32_t id;
	const void *data;
};

/**
 * struct rpcrdma2_items - An iterator over the items of a message
 * @offset: after an error, the field that is wrong
 */
struct rpcrdma2_items {
	uint32_t offset;
	/* private: */
	const unsigned char *pkt;
	uint32_t length;
	uint32_t state;
	uint32_t left;
	uint32_t position;
	uint32_t any_order;
};

/**
 * rpcrdma2_items_begin() - Begin with the first item
 * @at: the iterator
 * @msg: as decoded
 * @pkt: the message, which must remain valid until the last item
 * @length: of the message
 */
RPCRDMA2_EXPORT void rpcrdma2_items_begin(struct rpcrdma2_items *at,
					  const struct rpcrdma2_msg *msg,
					  const void *pkt, size_t length);

/**
 * rpcrdma2_items_next() - Return the next item, in the order of the message
 * @at: the iterator
 * @item: the item; fields that its kind lacks are 0
 *
 * Return: 1 with an item; 0 at the end; or an error, after which the iterator must
 * not be used. If the message was decoded without a fault, no error is returned.
 */
RPCRDMA2_EXPORT int rpcrdma2_items_next(struct rpcrdma2_items *at,
					struct rpcrdma2_item *item);

/**
 * rpcrdma2_msg_encode() - Encode a header
 * @buf: written
 * @size: of @buf
 * @msg: its fields. The numbers of items, and the offsets, are not read.
 * @items: in the order of the message: Read segments by ascending position,
 *	Write chunks, Reply chunk; or properties. Their @offset and @octets are
 *	not read.
 * @nr_items: number of @items
 *
 * The caller appends the payload to the header. A message that was decoded without
 * a fault is encoded to the same header, except that the roundup of properties is
 * zeroed.
 *
 * Return: length of the header; RPCRDMA2_ERR_BUFFER_SHORT;
 * RPCRDMA2_ERR_INVALID if such a message does not exist.
 */
RPCRDMA2_EXPORT ptrdiff_t rpcrdma2_msg_encode(void *buf, size_t size,
					      const struct rpcrdma2_msg *msg,
					      const struct rpcrdma2_item *items,
					      size_t nr_items);

/**
 * struct rpcrdma2_field - One field of a message, to be printed
 * @name: as in the XDR of the specifications
 * @offset: offset in the message
 * @octets: its length
 * @value: of a field of at most 8 bytes
 * @text: the name of the value, or NULL
 */
struct rpcrdma2_field {
	const char *name;
	uint32_t offset;
	uint32_t octets;
	uint64_t value;
	const char *text;
};

/**
 * rpcrdma2_msg_fields() - Call a function for each field of a message
 * @pkt: the message
 * @length: of the message
 * @each: the function, called in the order of the message. The words "one more
 *	follows" of lists and the roundup of properties are not fields.
 * @user: passed to @each
 * @fault: as in rpcrdma2_msg_decode(); fields before it were reported
 *
 * Return: 0, or the error in @fault.
 */
RPCRDMA2_EXPORT int
rpcrdma2_msg_fields(const void *pkt, size_t length,
		    void (*each)(void *user, const struct rpcrdma2_field *field),
		    void *user, struct rpcrdma2_fault *fault);

/**
 * rpcrdma2_type_name() - Return the name of a header type
 * @version: 1 or 2
 * @type: rdma_htype or rdma_proc
 *
 * Return: a static string, such as "RDMA2_MSG"; NULL for an unknown type.
 */
RPCRDMA2_EXPORT const char *rpcrdma2_type_name(uint32_t version, uint32_t type);

/**
 * rpcrdma2_code_name() - Return the name of a version 2 error code
 * @code: RPCRDMA2_CODE_*
 *
 * Return: a static string, such as "BAD_XDR"; NULL for an unknown code.
 */
RPCRDMA2_EXPORT const char *rpcrdma2_code_name(uint32_t code);

/**
 * rpcrdma2_prop_name() - Return the name of a transport property
 * @id: RPCRDMA2_PROP_*
 *
 * Return: a static string, such as "Receive Buffer Size"; NULL if it is unknown.
 */
RPCRDMA2_EXPORT const char *rpcrdma2_prop_name(uint32_t id);

/* Length of the private message of RFC 8797 */
#define RPCRDMA2_PRIVATE_OCTETS 8

/**
 * struct rpcrdma2_private - The private message (RFC 8797) of a request or accept
 * @valid: decoded: not 0 if a message was present
 * @remote_invalidation: not 0 if the sender can invalidate remotely
 * @send_size: the largest message that the sender sends, 1024 to 262144
 * @recv_size: the size of its Receives, 1024 to 262144
 */
struct rpcrdma2_private {
	uint32_t valid;
	uint32_t remote_invalidation;
	uint32_t send_size;
	uint32_t recv_size;
};

/**
 * rpcrdma2_private_encode() - Encode a private message
 * @priv: sizes out of range are clamped, and rounded down to multiples of 1024
 * @buf: RPCRDMA2_PRIVATE_OCTETS bytes
 */
RPCRDMA2_EXPORT void
rpcrdma2_private_encode(const struct rpcrdma2_private *priv, void *buf);

/**
 * rpcrdma2_private_decode() - Decode the private data of a connect request
 * @priv: filled; without a valid message, with version 1's values
 * @buf: the private data; NULL for none. Bytes after the eighth are ignored.
 * @length: of the private data
 */
RPCRDMA2_EXPORT void rpcrdma2_private_decode(struct rpcrdma2_private *priv,
					     const void *buf, size_t length);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA2_CODEC_H */
