/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Other drafts of version 2, which have the same version number and another wire
 * format. The first message of a peer shows its draft. Section 9.7 of
 * Documentation/notes-to-the-working-group.rst has the table.
 */
#ifndef RPCRDMA_CORE_OTHER_DRAFTS_HH
#define RPCRDMA_CORE_OTHER_DRAFTS_HH

#include "../wire/codec_v2.hh"

namespace rpcrdma
{

/* Header types 6 and 7 of drafts -03 to -07: a CONNPROP with more to follow, or the last */
enum : u32 {
	DRAFT_CONNPROP_MIDDLE = 6,
	DRAFT_CONNPROP_FINAL = 7,
};

/* Return true for the number of a property, 1 to 6 in all drafts. */
static inline bool is_property(u32 number)
{
	return number >= 1 && number <= RDMA2_PROPID_HOSTAUTH;
}

/*
 * Return the reason to close if @msg, the first message of version 2 that this end
 * receives, is of another draft; otherwise nullptr.
 */
static inline const char *other_draft(const struct rpcrdma_conn *conn,
				      const void *msg, u32 length)
{
	constexpr const char *EARLY =
		"the peer implements draft -01 or -02 of version 2";
	constexpr const char *LATE =
		"the peer implements draft -03 to -07 of version 2";
	/*
	 * The prefix of -01 and -02, or that of -03 and later with the number of
	 * properties; and the shortest message with a property, up to its number
	 * (-01, -02) or its length
	 */
	constexpr u32 prefix = 5 * sizeof(u32);
	constexpr u32 property = 7 * sizeof(u32);

	if (length < prefix)
		return nullptr;

	const span<prefix> start{ msg };
	const u32 type = start.word<v2::OFF_HTYPE>();
	/* From -03 on, the number of properties */
	const u32 flags = start.word<v2::OFF_FLAGS>();

	if (type == DRAFT_CONNPROP_FINAL && length == prefix && !flags)
		return LATE;
	if (length < property)
		return nullptr;

	const span<property> m{ msg };
	const u32 sixth = m.word<prefix>();
	const u32 seventh = m.word<prefix + sizeof(u32)>();

	if ((type == DRAFT_CONNPROP_MIDDLE || type == DRAFT_CONNPROP_FINAL) &&
	    flags && is_property(sixth))
		return LATE;
	/*
	 * In this profile, the sixth word counts the messages received, which are never
	 * more than were sent. Before draft -03, it was the number of properties.
	 */
	if (type == RDMA2_CONNPROP && distance(conn->sent, sixth) > 0 &&
	    is_property(seventh))
		return EARLY;
	return nullptr;
}

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_OTHER_DRAFTS_HH */
