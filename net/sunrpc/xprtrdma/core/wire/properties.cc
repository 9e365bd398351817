// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transport properties (5, WP 5): their ranges, and their encoding in RDMA2_CONNPROP.
 *
 * The decoder skips unknown properties. If the encoding or a value is not valid, it returns
 * the fault, and no property of the message is applied. HOSTAUTH is passed to the caller.
 */
#include "properties.hh"

namespace rpcrdma
{

namespace
{

/*
 * A property with uint32 data (WP 5). hostauth_codec.cc decodes the data of HOSTAUTH,
 * which is opaque here.
 */
struct property {
	u32 rpcrdma_props::*value;
	u32 id;
	u32 least, most; /* range accepted from a peer */
	bool server;	 /* a server announces it, too */
};

/* In the order in which they are sent. A server does not send BRS: it would be ignored. */
constexpr property PROPERTIES[] = {
	{ &rpcrdma_props::sbsiz, RDMA2_PROPID_SBSIZ, RPCRDMA_MIN_INLINE_OCTETS,
	  ~0u, true },
	{ &rpcrdma_props::rbsiz, RDMA2_PROPID_RBSIZ, RPCRDMA_MIN_INLINE_OCTETS,
	  ~0u, true },
	{ &rpcrdma_props::rssiz, RDMA2_PROPID_RSSIZ, 0, ~0u, true },
	{ &rpcrdma_props::rcsiz, RDMA2_PROPID_RCSIZ, 0, ~0u, true },
	{ &rpcrdma_props::brs, RDMA2_PROPID_BRS, 0, RDMA2_RVRSDIR_GENL, false },
	{ &rpcrdma_props::reply_read, RDMA2_PROPID_REPLY_READ, 0, ~0u, true },
	{ &rpcrdma_props::reassembly, RDMA2_PROPID_REASSEMBLY, 0, ~0u, true },
};

constexpr u32 count_own(bool client)
{
	u32 count = 0;

	for (const property &p : PROPERTIES)
		count += client || p.server;
	return count;
}

/* Return a property; null for an unknown one. */
const property *find_prop(u32 id)
{
	for (const property &p : PROPERTIES) {
		if (p.id == id)
			return &p;
	}
	return nullptr;
}

} // namespace

void clamp_props(struct rpcrdma_props *props)
{
	/* Larger sizes could not be announced in a private message either. */
	constexpr u32 max_inline = 262144;

	props->sbsiz =
		clamp_u32(props->sbsiz, RPCRDMA_MIN_INLINE_OCTETS, max_inline);
	props->rbsiz =
		clamp_u32(props->rbsiz, RPCRDMA_MIN_INLINE_OCTETS, max_inline);
	props->rssiz = min_u32(props->rssiz, RPCRDMA_MAX_CHUNK_OCTETS);
	props->rcsiz = min_u32(props->rcsiz, RPCRDMA_MAX_SEGS);
	if (!props->rssiz || !props->rcsiz)
		props->rssiz = props->rcsiz = 0;
	props->brs = min_u32(props->brs, RDMA2_RVRSDIR_GENL);
	props->reply_read &= RDMA2_REPLY_READ_PULL | RDMA2_REPLY_READ_PROVIDE;
	props->reassembly =
		min_u32(props->reassembly, RPCRDMA_MAX_CHUNK_OCTETS);
}

fault decode_props(xdr_reader &in, struct rpcrdma_props *props,
		   struct prop_others *others)
{
	struct rpcrdma_props result = *props;
	struct prop_others rest = {};
	u32 count;

	if (!in.get(count))
		return { RDMA2_ERR_BAD_XDR };
	rest.count = count;

	while (count--) {
		const property *prop;
		u32 id, length;

		if (!in.get(id) || !in.get(length))
			return { RDMA2_ERR_BAD_XDR };
		/* Data beyond the message has a separate error code (5.1). */
		if (roundup4(length) > in.left())
			return { RDMA2_ERR_BAD_PROPVAL };

		prop = find_prop(id);
		if (!prop) {
			if (id == RDMA2_PROPID_HOSTAUTH && length) {
				rest.nr_auth++;
				rest.auth = in.next();
				rest.auth_octets = length;
			}
			in.skip(static_cast<u32>(roundup4(length)));
		} else if (!length) {
			result.*prop->value = DEFAULT_PROPS.*prop->value;
		} else if (length == sizeof(u32)) {
			const u32 value = in.word();

			if (value < prop->least || value > prop->most)
				return { RDMA2_ERR_BAD_PROPVAL };
			result.*prop->value = value;
		} else {
			return { RDMA2_ERR_BAD_PROPVAL };
		}
	}

	*props = result;
	if (others)
		*others = rest;
	return {};
}

void encode_props(xdr_writer &out, const struct rpcrdma_props *props,
		  bool client, u32 more)
{
	out.word(count_own(client) + more);
	for (const property &p : PROPERTIES) {
		if (!client && !p.server)
			continue;
		out.word(p.id);
		out.word(sizeof(u32));
		out.word(props->*p.value);
	}
}

} // namespace rpcrdma
