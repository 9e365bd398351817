// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the fields that the core's codecs read in messages, for a comparison with
 * another decoder. Input: messages, each after its length as a word. Output: a JSON
 * object for each.
 */
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <vector>

#include "../../net/sunrpc/xprtrdma/core/wire/codec.hh"
#include "../../net/sunrpc/xprtrdma/core/wire/properties.hh"

using namespace rpcrdma;

namespace
{

/* The maximum of chunks and segments of the lists, of any length */
constexpr list_limits ANY = { RPCRDMA_MAX_READ_CHUNKS, RPCRDMA_MAX_WRITE_CHUNKS,
			      RPCRDMA_MAX_SEGS + RPCRDMA_MAX_EXTRA_SEGS, ~0u,
			      false };

void print_chunk(const rpcrdma_lists &lists, const rpcrdma_chunk &chunk)
{
	for (u32 i = 0; i < chunk.count; i++) {
		const rpcrdma_segment &seg =
			*rpcrdma_lists_seg(&lists, chunk.first + i);

		printf("%s[%u,%u,%u,%llu]", i ? "," : "", chunk.position,
		       seg.handle, seg.length, seg.offset);
	}
}

void print_lists(const rpcrdma_lists &lists)
{
	printf(",\"reads\":[");
	for (u32 i = 0; i < lists.nr_reads; i++) {
		printf(i ? "," : "");
		print_chunk(lists, lists.reads[i]);
	}
	printf("],\"writes\":[");
	for (u32 i = 0; i < lists.nr_writes; i++) {
		printf(i ? ",[" : "[");
		print_chunk(lists, lists.writes[i]);
		printf("]");
	}
	printf("]");
	if (lists.has_reply) {
		printf(",\"reply\":[");
		print_chunk(lists, lists.reply);
		printf("]");
	}
}

/* Print the chunk lists at @in and where they end, or their fault. */
void print_payload(xdr_reader in, u32 version)
{
	auto lists = std::make_unique<rpcrdma_lists>();
	const auto more =
		std::make_unique<rpcrdma_segment[]>(RPCRDMA_MAX_EXTRA_SEGS);
	list_limits max = ANY;
	fault wrong;

	rpcrdma_lists_init(lists.get());
	lists->extra_segs = more.get();
	max.any_order = version == RPCRDMA_VERS_1;
	wrong = version == RPCRDMA_VERS_2 ?
			v2::decode_lists(in, max, lists.get()) :
			decode_chunks(in, max, lists.get());
	if (wrong.code) {
		printf(",\"fault\":%u", wrong.code);
		return;
	}
	if (version == RPCRDMA_VERS_2)
		printf(",\"inv_handle\":%u", lists->inv_handle);
	print_lists(*lists);
	printf(",\"payload\":%u", in.offset());
}

void print_props(xdr_reader in)
{
	rpcrdma_props props = DEFAULT_PROPS;
	const fault wrong = decode_props(in, &props);

	if (wrong.code)
		printf(",\"fault\":%u", wrong.code);
	else
		printf(",\"props\":{\"send_size\":%u,\"receive_size\":%u,"
		       "\"segment_size\":%u,\"segment_count\":%u,\"reverse\":%u,"
		       "\"reply_read\":%u,\"reassembly\":%u}",
		       props.sbsiz, props.rbsiz, props.rssiz, props.rcsiz,
		       props.brs, props.reply_read, props.reassembly);
}

void print_error(xdr_reader in)
{
	u32 code;

	if (in.get(code))
		printf(",\"error\":%u,\"error_name\":\"%s\"", code,
		       rpcrdma_error_name(code));
	else
		printf(",\"fault\":%u", RDMA2_ERR_BAD_XDR);
}

void print_v1(const std::vector<u8> &msg, u32 length)
{
	const u32 proc = load_word(msg.data(), v1::OFF_PROC);

	printf(",\"proc\":%u", proc);
	if (proc == v1::RDMA_MSG || proc == v1::RDMA_NOMSG)
		print_payload({ msg.data(), length, v1::OFF_LISTS },
			      RPCRDMA_VERS_1);
}

void print_v2(const std::vector<u8> &msg, u32 length)
{
	if (length < RPCRDMA_V2_PREFIX)
		return;

	const v2::prefix prefix =
		v2::decode_prefix(span<RPCRDMA_V2_PREFIX>(msg.data()));
	const xdr_reader in{ msg.data(), length, RPCRDMA_V2_PREFIX };

	printf(",\"proc\":%u,\"flags\":%u,\"received\":%u", prefix.htype,
	       prefix.flags, prefix.received);
	switch (prefix.htype) {
	case RDMA2_MSG:
	case RDMA2_NOMSG:
		print_payload(in, RPCRDMA_VERS_2);
		break;
	case RDMA2_CONNPROP:
		print_props(in);
		break;
	case RDMA2_ERROR:
		print_error(in);
		break;
	}
}

void print(const std::vector<u8> &msg, u32 length)
{
	printf("{\"length\":%u", length);
	if (length >= v2::COMMON_OCTETS) {
		const u32 version = load_word(msg.data(), v2::OFF_VERS);

		printf(",\"xid\":%u,\"version\":%u,\"credit\":%u",
		       load_word(msg.data(), v2::OFF_XID), version,
		       load_word(msg.data(), v2::OFF_CREDIT));
		if (version == RPCRDMA_VERS_1)
			print_v1(msg, length);
		else if (version == RPCRDMA_VERS_2)
			print_v2(msg, length);
	}
	printf("}\n");
}

} // namespace

int main()
{
	u32 word;

	while (fread(&word, sizeof(word), 1, stdin) == 1) {
		const u32 length = big_endian(word);
		std::vector<u8> msg(length + 4);

		if (length > 1 << 20 ||
		    fread(msg.data(), 1, length, stdin) != length)
			return 1;
		print(msg, length);
	}
	return 0;
}
