/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The RPC messages of ping: a Call of the procedure NULL, and its Reply. */
#ifndef PING_RPC_HH
#define PING_RPC_HH

#include <cstdint>
#include <vector>

namespace ping
{

using bytes = std::vector<unsigned char>;

/* RFC 5531 */
enum {
	RPC_CALL = 0,
	RPC_REPLY = 1,
	RPC_VERSION = 2,
	MSG_ACCEPTED = 0,
	PROG_UNAVAIL = 1,
	PROG_MISMATCH = 2,
	PROC_UNAVAIL = 3,
	CALL_OCTETS = 40,
};

inline void put(bytes &to, uint32_t word)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		to.push_back(static_cast<unsigned char>(word >> shift));
}

inline uint32_t get(const bytes &from, size_t offset)
{
	return offset + 4 > from.size() ?
		       ~0u :
		       static_cast<uint32_t>(from[offset]) << 24 |
			       static_cast<uint32_t>(from[offset + 1]) << 16 |
			       static_cast<uint32_t>(from[offset + 2]) << 8 |
			       from[offset + 3];
}

/* @size: bytes of the Call, with what is appended as arguments */
inline bytes null_call(uint32_t xid, uint32_t program, uint32_t version,
		       uint32_t size)
{
	bytes call;

	for (uint32_t word :
	     { xid, uint32_t{ RPC_CALL }, uint32_t{ RPC_VERSION }, program,
	       version, 0u, 0u, 0u, 0u, 0u })
		put(call, word);
	if (size > call.size())
		call.resize(size);
	return call;
}

/* The status of a Reply */
struct null_reply {
	bool accepted;	    /* executed */
	uint32_t status;    /* accept_stat, if it was not denied */
	uint32_t low, high; /* PROG_MISMATCH */
};

inline null_reply read_reply(const bytes &reply)
{
	/* The verifier has a separate length. */
	const uint32_t verifier = get(reply, 16);
	const size_t at = 20 + (verifier < reply.size() ? (verifier + 3) & ~3u :
							  reply.size());
	const uint32_t status = get(reply, 8) == MSG_ACCEPTED ? get(reply, at) :
								~0u;

	return { status == 0, status, get(reply, at + 4), get(reply, at + 8) };
}

} // namespace ping

#endif /* PING_RPC_HH */
