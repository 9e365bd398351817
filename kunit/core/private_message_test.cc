// SPDX-License-Identifier: GPL-2.0
/* Private messages of the connection manager (RFC 8797) */
#include "opening.hh"

using namespace engine_test;
using namespace engine_test::opening;

namespace
{

/* Only the lowest bit of the flags byte has a meaning (RFC 8797, 4). */
TEST(Private, ReservedFlagsAreIgnored)
{
	const rpcrdma_private out = {
		.valid = 1, .inv_ok = 0, .send_size = 4096, .recv_size = 8192
	};
	u8 buf[8];

	rpcrdma_encode_private(&out, buf);
	for (u32 flags = 0; flags < 256; flags++) {
		rpcrdma_private in;

		buf[5] = static_cast<u8>(flags);
		rpcrdma_decode_private(buf, 8, &in);
		EXPECT_EQ(in.valid, 1);
		EXPECT_EQ(in.inv_ok, flags & 1) << flags;
		EXPECT_EQ(in.send_size, 4096u);
		EXPECT_EQ(in.recv_size, 8192u);
	}
}

TEST(Private, RoundTrip)
{
	for (u32 size = 0; size < 300000; size += 511) {
		for (u8 inv : { 0, 1 }) {
			const rpcrdma_private out = { .valid = 1,
						      .inv_ok = inv,
						      .send_size = size,
						      .recv_size =
							      size + 1024 };
			rpcrdma_private in;
			u8 buf[8];

			rpcrdma_encode_private(&out, buf);
			rpcrdma_decode_private(buf, 8, &in);
			EXPECT_EQ(in.valid, 1);
			EXPECT_EQ(in.inv_ok, inv);
			EXPECT_EQ(in.send_size,
				  std::clamp(size, 1024u, 262144u) / 1024 *
					  1024);
			EXPECT_EQ(in.recv_size,
				  std::clamp(size + 1024, 1024u, 262144u) /
					  1024 * 1024);
		}
	}
}

TEST(Private, ByteForByte)
{
	const rpcrdma_private priv = { 1, 1, 4096, 262144 };
	u8 buf[8];
	const u8 expected[8] = { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 255 };

	rpcrdma_encode_private(&priv, buf);
	EXPECT_EQ(memcmp(buf, expected, 8), 0);
}

TEST(Private, OtherFormats)
{
	u8 good[56] = { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 255 };
	rpcrdma_private priv;

	rpcrdma_decode_private(good, 56, &priv);
	EXPECT_EQ(priv.valid, 1);
	for (u32 length = 0; length < 8; length++) {
		auto copy = std::make_unique<u8[]>(length);

		memcpy(copy.get(), good, length);
		rpcrdma_decode_private(copy.get(), length, &priv);
		EXPECT_EQ(priv.valid, 0);
		EXPECT_EQ(priv.send_size, 1024u);
	}
	rpcrdma_decode_private(nullptr, 0, &priv);
	EXPECT_EQ(priv.valid, 0);
	EXPECT_EQ(priv.inv_ok, 0);
	for (u32 i = 0; i < 5; i++) {
		u8 bad[8];

		memcpy(bad, good, 8);
		bad[i] ^= 4;
		rpcrdma_decode_private(bad, 8, &priv);
		EXPECT_EQ(priv.valid, 0);
	}
	/* Other flags are ignored. */
	good[5] = 0xfe;
	rpcrdma_decode_private(good, 8, &priv);
	EXPECT_EQ(priv.valid, 1);
	EXPECT_EQ(priv.inv_ok, 0);
}

} // namespace
