/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stand-in for HMACs in tests of the handshake. Its result depends on each
 * byte of secret and input. It provides no protection.
 */
#ifndef ENGINE_TEST_STAND_IN_HH
#define ENGINE_TEST_STAND_IN_HH

#include <string>

#include <rpcrdma/engine.h>

namespace engine_test
{

inline void stand_in(const std::string &secret,
		     const rpcrdma_auth_piece (&input)[RPCRDMA_AUTH_PIECES],
		     u32 octets, u8 *result)
{
	u64 sum = 14695981039346656037ull;
	const auto add = [&sum](u8 octet) {
		sum = (sum ^ octet) * 1099511628211ull;
	};

	for (char c : secret)
		add(static_cast<u8>(c));
	for (const auto &piece : input) {
		const auto *data = static_cast<const u8 *>(piece.data);

		for (u32 i = 0; i < piece.octets; i++)
			add(data[i]);
	}
	for (u32 i = 0; i < octets; i++) {
		add(static_cast<u8>(i));
		result[i] = static_cast<u8>(sum >> 56);
	}
}

} // namespace engine_test

#endif /* ENGINE_TEST_STAND_IN_HH */
