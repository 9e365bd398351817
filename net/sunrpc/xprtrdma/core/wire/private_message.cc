// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The private message of connection requests and accepts (RFC 8797, WP 4).
 */
#include "xdr.hh"

using namespace rpcrdma;

namespace
{

constexpr u32 PRIVATE_MAGIC = 0xf6ab0e18;
constexpr u8 PRIVATE_VERSION = 1;
constexpr u8 PRIVATE_F_REMOTE_INV = 1;
constexpr u32 PRIVATE_MIN_SIZE = 1024;
constexpr u32 PRIVATE_MAX_SIZE = 262144;

/* Byte offsets */
enum {
	PRIVATE_OFF_MAGIC = 0,
	PRIVATE_OFF_VERSION = 4,
	PRIVATE_OFF_FLAGS = 5,
	PRIVATE_OFF_SEND = 6,
	PRIVATE_OFF_RECV = 7,
};

u8 encode_size(u32 octets)
{
	return static_cast<u8>(
		clamp_u32(octets, PRIVATE_MIN_SIZE, PRIVATE_MAX_SIZE) / 1024 -
		1);
}

u32 decode_size(u8 code)
{
	return (u32{ code } + 1) * 1024;
}

} // namespace

/*
 * Encode the private message of this end. Sizes are rounded down to units of
 * 1024.
 */
void rpcrdma_encode_private(const struct rpcrdma_private *priv,
			    u8 buf[RPCRDMA_PRIVATE_OCTETS])
{
	const span<RPCRDMA_PRIVATE_OCTETS, u8> out{ buf };

	out.word<PRIVATE_OFF_MAGIC>(PRIVATE_MAGIC);
	out.octet<PRIVATE_OFF_VERSION>(PRIVATE_VERSION);
	out.octet<PRIVATE_OFF_FLAGS>(priv->inv_ok ? PRIVATE_F_REMOTE_INV : 0);
	out.octet<PRIVATE_OFF_SEND>(encode_size(priv->send_size));
	out.octet<PRIVATE_OFF_RECV>(encode_size(priv->recv_size));
}

/*
 * Decode the peer's private message. If it is missing or not valid, @priv is
 * set to the values of a peer without one: version 1's threshold, no remote
 * invalidation.
 */
void rpcrdma_decode_private(const void *buf, u32 length,
			    struct rpcrdma_private *priv)
{
	const span<RPCRDMA_PRIVATE_OCTETS> in{ buf };

	*priv = {
		.valid = 0,
		.inv_ok = 0,
		.send_size = PRIVATE_MIN_SIZE,
		.recv_size = PRIVATE_MIN_SIZE,
	};
	if (!buf || length < RPCRDMA_PRIVATE_OCTETS ||
	    in.word<PRIVATE_OFF_MAGIC>() != PRIVATE_MAGIC ||
	    in.octet<PRIVATE_OFF_VERSION>() != PRIVATE_VERSION)
		return;

	priv->valid = 1;
	priv->inv_ok = in.octet<PRIVATE_OFF_FLAGS>() & PRIVATE_F_REMOTE_INV;
	priv->send_size = decode_size(in.octet<PRIVATE_OFF_SEND>());
	priv->recv_size = decode_size(in.octet<PRIVATE_OFF_RECV>());
}
