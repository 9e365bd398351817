/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stand-ins for HMACs and for Diffie-Hellman in tests of the handshake. The result of an
 * HMAC depends on each byte of secret and input. The group of a Diffie-Hellman exchange
 * has 61 bits. They provide no protection.
 */
#ifndef ENGINE_TEST_STAND_IN_HH
#define ENGINE_TEST_STAND_IN_HH

#include <cstring>
#include <string>
#include <vector>

#include <rpcrdma/engine.h>

namespace engine_test
{

inline void stand_in(const std::string &secret,
		     const rpcrdma_auth_range (&input)[RPCRDMA_AUTH_RANGES],
		     u32 octets, u8 *result, const std::string &more = "")
{
	u64 sum = 14695981039346656037ull;
	const auto add = [&sum](u8 octet) {
		sum = (sum ^ octet) * 1099511628211ull;
	};

	for (char c : secret)
		add(static_cast<u8>(c));
	for (const auto &range : input) {
		const auto *data = static_cast<const u8 *>(range.data);

		for (u32 i = 0; i < range.octets; i++)
			add(data[i]);
	}
	for (char c : more)
		add(static_cast<u8>(c));
	for (u32 i = 0; i < octets; i++) {
		add(static_cast<u8>(i));
		result[i] = static_cast<u8>(sum >> 56);
	}
}

/* One end of an exchange, with a private value */
struct stand_in_dh {
	static constexpr u64 PRIME = (u64{ 1 } << 61) - 1;

	static u64 power(u64 base, u64 exponent)
	{
		u64 result = 1;

		for (; exponent; exponent >>= 1) {
			if (exponent & 1)
				result = times(result, base);
			base = times(base, base);
		}
		return result;
	}
	static u64 times(u64 a, u64 b)
	{
		return static_cast<u64>(static_cast<unsigned __int128>(a) * b %
					PRIME);
	}
	static void store(u64 value, u8 *to, u32 octets)
	{
		memset(to, 0, octets);
		for (u32 i = 0; i < 8; i++)
			to[octets - 1 - i] = static_cast<u8>(value >> 8 * i);
	}
	static u64 load(const u8 *from, u32 octets)
	{
		u64 value = 0;

		for (u32 i = octets - 8; i < octets; i++)
			value = value << 8 | from[i];
		return value;
	}

	void keys(const rpcrdma_auth_dh &dh, rpcrdma_auth_answer &answer) const
	{
		store(power(3, secret), answer.public_value, dh.octets);
	}

	/* Compute the shared secret @z. */
	void share(const rpcrdma_auth_dh &dh, u8 *z) const
	{
		store(power(load(dh.peer_public, dh.octets), secret), z,
		      dh.octets);
	}

	/* Return what follows the input of the HMACs: nothing without a group. */
	static std::string more(const rpcrdma_auth_dh &dh, const u8 *z)
	{
		std::string more;

		if (!dh.group)
			return more;
		more.assign(reinterpret_cast<const char *>(dh.client_public),
			    dh.octets);
		more.append(z, z + dh.octets);
		return more;
	}

	/* Compute the shared secret, and return what follows the input of the HMACs. */
	std::string shared(const rpcrdma_auth_dh &dh) const
	{
		std::vector<u8> z(dh.octets);

		if (dh.group)
			share(dh, z.data());
		return more(dh, z.data());
	}

	u64 secret;
};

} // namespace engine_test

#endif /* ENGINE_TEST_STAND_IN_HH */
