/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The private message of RFC 8797.
 */
#ifndef RPCRDMA_PRIVATE_MESSAGE_H
#define RPCRDMA_PRIVATE_MESSAGE_H

#include "base.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The private message of connection requests and accepts, RFC 8797 */
struct rpcrdma_private {
	u8 valid;		/* decoded: a message was present */
	u8 inv_ok;
	u32 send_size, recv_size;	/* bytes, 1024..262144 */
};

/**
 * rpcrdma_encode_private() - encode a private message
 * @priv: private message
 * @buf: returns the encoded message
 */
void rpcrdma_encode_private(const struct rpcrdma_private *priv,
			    u8 buf[RPCRDMA_PRIVATE_OCTETS]);

/**
 * rpcrdma_decode_private() - decode a private message
 * @buf: received message, NULL if there is none
 * @length: bytes at @buf
 * @priv: returns the private message
 *
 * Bytes after the eighth are ignored.
 */
void rpcrdma_decode_private(const void *buf, u32 length,
			    struct rpcrdma_private *priv);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_PRIVATE_MESSAGE_H */
