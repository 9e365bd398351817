// SPDX-License-Identifier: GPL-2.0
#include "properties.h"

namespace rpcrdma
{

/* What a CONNPROP of ours is made of: every known property but HOSTAUTH */
enum {
	NR_OWN_PROPS = 6,
	/* A server's BRS would be ignored (WP 3.5). */
	NR_CLIENT_PROPS = 1,
	/* id, length, uint32 */
	PROP_OCTETS = 12,
};

void clamp_props(struct rpcrdma_props *props)
{
	/* Sizes beyond this could not be told in a private message either. */
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

/* The member of @props that property @id sets, null for one not known here */
static u32 *find_prop(struct rpcrdma_props *props, u32 id)
{
	switch (id) {
	case RDMA2_PROPID_SBSIZ:
		return &props->sbsiz;
	case RDMA2_PROPID_RBSIZ:
		return &props->rbsiz;
	case RDMA2_PROPID_RSSIZ:
		return &props->rssiz;
	case RDMA2_PROPID_RCSIZ:
		return &props->rcsiz;
	case RDMA2_PROPID_BRS:
		return &props->brs;
	case RDMA2_PROPID_REPLY_READ:
		return &props->reply_read;
	case RDMA2_PROPID_REASSEMBLY:
		return &props->reassembly;
	default:
		/* HOSTAUTH is among these until it is built (WP 3.5). */
		return nullptr;
	}
}

/* Is this a value that property @id can have (WP 3.5)? */
static bool prop_valid(u32 id, u32 value)
{
	switch (id) {
	case RDMA2_PROPID_SBSIZ:
	case RDMA2_PROPID_RBSIZ:
		return value >= RPCRDMA_MIN_INLINE_OCTETS;
	case RDMA2_PROPID_BRS:
		return value <= RDMA2_RVRSDIR_GENL;
	default:
		return true;
	}
}

u32 decode_props(xdr_reader &in, struct rpcrdma_props *props)
{
	struct rpcrdma_props defaults = DEFAULT_PROPS;
	struct rpcrdma_props result = *props;
	u32 count;

	if (!in.get(count))
		return RDMA2_ERR_BAD_XDR;

	while (count--) {
		u32 id, length;
		u32 *value;

		if (!in.get(id) || !in.get(length))
			return RDMA2_ERR_BAD_XDR;
		/* 5.1 has a code of its own for data beyond the message. */
		if (roundup4(length) > in.left())
			return RDMA2_ERR_BAD_PROPVAL;

		value = find_prop(&result, id);
		if (!value) {
			in.skip(static_cast<u32>(roundup4(length)));
		} else if (!length) {
			*value = *find_prop(&defaults, id);
		} else if (length == sizeof(u32)) {
			*value = in.word();
			if (!prop_valid(id, *value))
				return RDMA2_ERR_BAD_PROPVAL;
		} else {
			return RDMA2_ERR_BAD_PROPVAL;
		}
	}

	*props = result;
	return 0;
}

u32 props_octets(bool client)
{
	const u32 nr = NR_OWN_PROPS + (client ? NR_CLIENT_PROPS : 0);

	return u32{ sizeof(u32) } + PROP_OCTETS * nr;
}

static void encode_prop(xdr_writer &out, u32 id, u32 value)
{
	out.word(id);
	out.word(sizeof(u32));
	out.word(value);
}

void encode_props(xdr_writer &out, const struct rpcrdma_props *props,
		  bool client)
{
	out.word(NR_OWN_PROPS + (client ? NR_CLIENT_PROPS : 0));
	encode_prop(out, RDMA2_PROPID_SBSIZ, props->sbsiz);
	encode_prop(out, RDMA2_PROPID_RBSIZ, props->rbsiz);
	encode_prop(out, RDMA2_PROPID_RSSIZ, props->rssiz);
	encode_prop(out, RDMA2_PROPID_RCSIZ, props->rcsiz);
	if (client)
		encode_prop(out, RDMA2_PROPID_BRS, props->brs);
	encode_prop(out, RDMA2_PROPID_REPLY_READ, props->reply_read);
	encode_prop(out, RDMA2_PROPID_REASSEMBLY, props->reassembly);
}

} // namespace rpcrdma
