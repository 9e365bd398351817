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

/**
 * struct rpcrdma_private - the private message of connection requests and accepts
 *	(RFC 8797)
 * @valid: decoded: 1 if a message was present
 * @inv_ok: 1: Remote Invalidation is supported
 * @send_size: bytes of its Sends, 1024..262144
 * @recv_size: bytes of its Receives, 1024..262144
 */
struct rpcrdma_private {
	u8 valid;
	u8 inv_ok;
	u32 send_size;
	u32 recv_size;
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
