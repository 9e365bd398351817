// SPDX-License-Identifier: GPL-2.0
/*
 * Run the library on the messages of the core's fuzzers. LIBRARY_CORPUS is their folder.
 * The codec is compared with the core's decoder, and every message is passed to
 * connections.
 */
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "wire/codec.hh"
#include "support.hh"

using namespace library_test;

namespace
{

struct sample {
	std::string name;
	bytes message;
};

/* The corpora, with the header type that the fuzzer sets; -1: none */
const struct {
	const char *folder;
	int version, type;
} corpora[] = {
	{ "msg", 2, RPCRDMA2_MSG },
	{ "nomsg", 2, RPCRDMA2_NOMSG },
	{ "done", 2, RPCRDMA2_DONE },
	{ "error", 2, RPCRDMA2_ERROR },
	{ "connprop", 2, RPCRDMA2_CONNPROP },
	{ "v1", 1, -1 },
	{ "connection", -1, -1 },
	{ "private", -1, -1 },
};

std::vector<sample> all_samples()
{
	const char *folder = getenv("LIBRARY_CORPUS");
	const std::filesystem::path root = folder ? folder :
						    "../core/fuzz/corpus";
	std::vector<sample> all;

	for (const auto &corpus : corpora) {
		std::error_code error;

		for (const auto &entry : std::filesystem::directory_iterator(
			     root / corpus.folder, error)) {
			std::ifstream in(entry.path(), std::ios::binary);
			const bytes data{ std::istreambuf_iterator<char>(in),
					  {} };

			if (data.empty())
				continue;

			const std::string name =
				std::string(corpus.folder) + "_" +
				entry.path().filename().string();
			/*
			 * The first byte selects the state of the fuzzed end.
			 */
			sample raw{ name + "_raw",
				    { data.begin() + 1, data.end() } };

			all.push_back(raw);
			raw.name = name;
			if (corpus.version >= 0 && raw.message.size() >= 8)
				set(raw.message, 4, corpus.version);
			if (corpus.type >= 0 && raw.message.size() >= 16)
				set(raw.message, 12, corpus.type);
			all.push_back(raw);
		}
	}
	for (sample &s : all) {
		for (char &c : s.name) {
			if (!isalnum(static_cast<unsigned char>(c)))
				c = '_';
		}
	}
	std::sort(all.begin(), all.end(), [](const sample &a, const sample &b) {
		return a.name < b.name;
	});
	return all;
}

/* Return a copy of the message in memory that ends where the message ends. */
std::unique_ptr<uint8_t[]> exactly(const bytes &m)
{
	std::unique_ptr<uint8_t[]> copy{ new uint8_t[m.size()] };

	if (!m.empty())
		memcpy(copy.get(), m.data(), m.size());
	return copy;
}

struct walk {
	uint32_t end = 0;
	bool in_order = true;
	unsigned count = 0;
};

void visit(void *user, const rpcrdma2_field *field)
{
	auto *w = static_cast<walk *>(user);

	w->in_order = w->in_order && field->offset >= w->end && field->name &&
		      field->octets;
	w->end = field->offset + field->octets;
	w->count++;
}

/* Check the codec's result for one message alone. */
void check_codec(const bytes &m)
{
	const auto pkt = exactly(m);
	rpcrdma2_msg msg;
	rpcrdma2_fault fault, again;
	walk fields;
	const int rc = rpcrdma2_msg_decode(&msg, pkt.get(), m.size(), &fault);

	EXPECT_EQ(rc, fault.error);
	EXPECT_LE(fault.offset, m.size());
	EXPECT_EQ(rpcrdma2_msg_fields(pkt.get(), m.size(), visit, &fields,
				      &again),
		  rc);
	EXPECT_EQ(again.offset, fault.offset);
	EXPECT_TRUE(fields.in_order);
	EXPECT_LE(fields.end, m.size());
	EXPECT_GE(fields.count, std::min<size_t>(m.size() / 4, 4));
	if (rc) {
		EXPECT_LE(rc, RPCRDMA2_ERR_SHORT);
		EXPECT_STRNE(rpcrdma2_strerror(rc), rpcrdma2_strerror(1));
		return;
	}
	EXPECT_EQ(msg.payload_offset + msg.payload_length, m.size());
	EXPECT_LE(fields.end, msg.payload_offset);
	rpcrdma2_msg_check(&msg, pkt.get(), m.size(), &again);
	EXPECT_LE(again.offset, m.size());

	/* A decoded message encodes to the same header. */
	const auto items = items_of(msg, m);
	bytes out(m.size() + 4);

	ASSERT_EQ(items.size(), msg.nr_items);
	for (const auto &item : items)
		EXPECT_LE(item.offset + item.octets, m.size());
	ASSERT_EQ(rpcrdma2_msg_encode(out.data(), out.size(), &msg,
				      items.data(), items.size()),
		  msg.payload_offset);
	out.resize(msg.payload_offset);
	EXPECT_TRUE(std::equal(out.begin(), out.end(), m.begin()));
	EXPECT_EQ(rpcrdma2_msg_encode(out.data(), msg.payload_offset - 1, &msg,
				      items.data(), items.size()),
		  RPCRDMA2_ERR_BUFFER_SHORT);
}

/* The core's decoder finds lists malformed if, and only if, the codec does. */
void check_against_core(const bytes &m)
{
	if (m.size() < 28)
		return;

	const uint32_t version = get(m, 4), type = get(m, 12);
	const bool v1 = version == 1;
	const uint32_t begin = v1 ? 16 : 28;

	if ((version != 1 && version != 2) || type > RPCRDMA2_NOMSG)
		return;

	const auto pkt = exactly(m);
	auto lists = std::make_unique<rpcrdma_lists>();
	const rpcrdma::list_limits limits = {
		.reads = RPCRDMA_MAX_READ_CHUNKS,
		.writes = RPCRDMA_MAX_WRITE_CHUNKS,
		.segs = RPCRDMA_MAX_SEGS,
		.segment = ~0u,
		.any_order = v1,
	};
	rpcrdma::xdr_reader in{ pkt.get(), static_cast<u32>(m.size()), begin };
	rpcrdma2_msg msg;

	rpcrdma_lists_init(lists.get());

	const rpcrdma::fault wrong =
		rpcrdma::decode_chunks(in, limits, lists.get());
	const int rc = rpcrdma2_msg_decode(&msg, pkt.get(), m.size(), nullptr);

	EXPECT_EQ(rc != 0, wrong.code == RDMA2_ERR_BAD_XDR) << rc;
	if (rc || wrong.code)
		return;
	EXPECT_EQ(msg.nr_writes, lists->nr_writes);
	EXPECT_EQ(msg.has_reply, lists->has_reply);
	EXPECT_EQ(msg.payload_offset, in.offset());
	u32 segs = 0;

	for (const auto &item : items_of(msg, m))
		segs += item.kind == RPCRDMA2_ITEM_READ ||
			item.kind == RPCRDMA2_ITEM_SEGMENT;
	EXPECT_EQ(segs, lists->nr_segs);
}

/* Pass the message to connections at each end, before and after the opening. */
void check_connection(const bytes &m, bool client)
{
	std::vector<max_align_t> storage(
		rpcrdma2_conn_size() / sizeof(max_align_t) + 1);
	const auto pkt = exactly(m);
	rpcrdma2_config config;
	rpcrdma2_conn *conn;
	bytes out(4096);

	rpcrdma2_config_default(&config);
	config.client = client;
	ASSERT_EQ(rpcrdma2_conn_init(&conn, storage.data(),
				     storage.size() * sizeof(storage[0]),
				     &config),
		  0);
	rpcrdma2_conn_posted(conn, rpcrdma2_conn_get_receives(conn, 0), 0);
	ASSERT_EQ(rpcrdma2_conn_established(conn, 0), 0);
	for (int i = 0; i < 3; i++) {
		const int rc =
			rpcrdma2_conn_read_pkt(conn, pkt.get(), m.size(), 0, i);
		ptrdiff_t length;

		if (rc)
			EXPECT_NE(rpcrdma2_conn_reason(conn), nullptr);
		while ((length = rpcrdma2_conn_write_pkt(
				conn, out.data(), out.size(), nullptr, i)) > 0)
			EXPECT_LE(length, 4096);
		EXPECT_EQ(length, rc);
	}
}

class Corpus : public testing::TestWithParam<sample>
{
};

TEST_P(Corpus, Decodes)
{
	const bytes &m = GetParam().message;

	check_codec(m);
	check_against_core(m);
	check_connection(m, true);
	check_connection(m, false);
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::ValuesIn(all_samples()),
			 [](const auto &info) { return info.param.name; });

/* Test similar messages, too: with one word changed, or truncated. */
TEST(CorpusMutated, Decodes)
{
	static const uint32_t values[] = { 0,	 1, 2,	  3,   4,	  5,
					   0xff, 7, 1000, ~0u, 0x10000000 };
	std::mt19937 random{ 1 };

	for (const sample &s : all_samples()) {
		for (int i = 0; i < 20 && s.message.size() >= 16; i++) {
			bytes m = s.message;

			set(m, random() % (m.size() / 4) * 4,
			    values[random() % std::size(values)]);
			if (random() % 4 == 0)
				m.resize(random() % m.size());
			check_codec(m);
			check_against_core(m);
			if (testing::Test::HasFailure())
				FAIL() << s.name << " " << i;
		}
	}
}

TEST(CorpusFiles, AreThere)
{
	EXPECT_GT(all_samples().size(), 2u * 150);
}

} // namespace
