// SPDX-License-Identifier: GPL-2.0
/* The codec of the library: fields, faults and their offsets, encoding */
#include <set>

#include <gtest/gtest.h>

#include "support.hh"

using namespace library_test;

namespace
{

/* The prefix of version 2 */
bytes prefix(uint32_t type, uint32_t flags = 0, uint32_t xid = 7)
{
	return words({ xid, 2, 16, type, flags, 3 });
}

bytes operator+(bytes a, const bytes &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

struct verdict {
	int error;
	uint32_t offset;

	bool operator==(const verdict &) const = default;
};

void PrintTo(const verdict &v, std::ostream *out)
{
	*out << rpcrdma2_strerror(v.error) << " (" << v.error << ") at "
	     << v.offset;
}

verdict decoded(const bytes &m)
{
	rpcrdma2_msg msg;
	rpcrdma2_fault fault;

	rpcrdma2_msg_decode(&msg, m.data(), m.size(), &fault);
	return { fault.error, fault.offset };
}

verdict checked(const bytes &m)
{
	rpcrdma2_msg msg;
	rpcrdma2_fault fault;

	EXPECT_EQ(rpcrdma2_msg_decode(&msg, m.data(), m.size(), nullptr), 0);
	rpcrdma2_msg_check(&msg, m.data(), m.size(), &fault);
	return { fault.error, fault.offset };
}

constexpr verdict GOOD = { 0, 0 };

/* inv_handle, a Read segment, a Write chunk of two, an empty one, a Reply chunk */
const bytes lists =
	words({ 9, 1,	40, 1, 100, 0, 0x1000, 0, 1, 2, 2,   200, 1, 0,
		3, 300, 2,  0, 1,   0, 0,      1, 1, 4, 400, 3,	  0 });

TEST(Decode, AllFieldsOfMsg)
{
	const bytes m = prefix(RPCRDMA2_MSG) + lists + words({ 7, 0 });
	rpcrdma2_msg msg;

	ASSERT_EQ(rpcrdma2_msg_decode(&msg, m.data(), m.size(), nullptr), 0);
	EXPECT_EQ(msg.xid, 7u);
	EXPECT_EQ(msg.version, 2u);
	EXPECT_EQ(msg.credit, 16u);
	EXPECT_EQ(msg.received, 3u);
	EXPECT_EQ(msg.inv_handle, 9u);
	EXPECT_EQ(msg.nr_reads, 1u);
	EXPECT_EQ(msg.nr_writes, 2u);
	EXPECT_EQ(msg.has_reply, 1u);
	EXPECT_EQ(msg.nr_items, 7u);
	EXPECT_EQ(msg.payload_length, 8u);
	EXPECT_EQ(checked(m), GOOD);

	const auto items = items_of(msg, m);

	ASSERT_EQ(items.size(), 7u);
	EXPECT_EQ(items[0].kind, +RPCRDMA2_ITEM_READ);
	EXPECT_EQ(items[0].offset, 28u);
	EXPECT_EQ(items[0].position, 40u);
	EXPECT_EQ(items[0].address, 0x1000u);
	EXPECT_EQ(items[1].kind, +RPCRDMA2_ITEM_WRITE);
	EXPECT_EQ(items[1].count, 2u);
	EXPECT_EQ(items[2].handle, 2u);
	EXPECT_EQ(items[2].address, 1ull << 32);
	EXPECT_EQ(items[3].length, 300u);
	EXPECT_EQ(items[4].kind, +RPCRDMA2_ITEM_WRITE);
	EXPECT_EQ(items[4].count, 0u);
	EXPECT_EQ(items[5].kind, +RPCRDMA2_ITEM_REPLY);
	EXPECT_EQ(items[6].handle, 4u);
}

TEST(Decode, Properties)
{
	const bytes m = prefix(RPCRDMA2_CONNPROP, RPCRDMA2_TPMORE, 0) +
			words({ 3, RPCRDMA2_PROP_RBSIZ, 4, 8192, 77, 5,
				0x61626364, 0x65000000, RPCRDMA2_PROP_BRS, 0 });
	rpcrdma2_msg msg;

	ASSERT_EQ(rpcrdma2_msg_decode(&msg, m.data(), m.size(), nullptr), 0);
	EXPECT_EQ(msg.nr_props, 3u);
	EXPECT_EQ(checked(m), GOOD);

	const auto items = items_of(msg, m);

	ASSERT_EQ(items.size(), 3u);
	EXPECT_EQ(items[0].id, RPCRDMA2_PROP_RBSIZ);
	EXPECT_EQ(items[1].length, 5u);
	EXPECT_EQ(memcmp(items[1].data, "abcde", 5), 0);
	EXPECT_EQ(items[1].octets, 16u);
	EXPECT_EQ(items[2].length, 0u);
}

TEST(Decode, Errors)
{
	rpcrdma2_msg msg;
	bytes m = prefix(RPCRDMA2_ERROR, RPCRDMA2_RESPONSE) +
		  words({ RPCRDMA2_CODE_WRITE_RESOURCE, 2, 5000 });

	ASSERT_EQ(rpcrdma2_msg_decode(&msg, m.data(), m.size(), nullptr), 0);
	EXPECT_EQ(msg.nr_args, 2u);
	EXPECT_EQ(msg.arg[1], 5000u);
	EXPECT_EQ(checked(m), GOOD);
	/*
	 * ERR_VERS of a server without version 2, and of a server with other
	 * versions
	 */
	for (uint32_t version : { 1u, 2u, 3u }) {
		m = words({ 7, version, 16, RPCRDMA2_ERROR, 1, 1, 1 });
		ASSERT_EQ(rpcrdma2_msg_decode(&msg, m.data(), m.size(),
					      nullptr),
			  0);
		EXPECT_EQ(msg.err_vers, 1u);
		EXPECT_EQ(msg.version, version);
		EXPECT_EQ(msg.arg[1], 1u);
		EXPECT_EQ(checked(m), GOOD);
	}
	/* A version 2 ERROR without data has the same length. */
	m = prefix(RPCRDMA2_ERROR, RPCRDMA2_RESPONSE) +
	    words({ RPCRDMA2_CODE_BAD_XDR });
	ASSERT_EQ(rpcrdma2_msg_decode(&msg, m.data(), m.size(), nullptr), 0);
	EXPECT_EQ(msg.err_vers, 0u);
	EXPECT_EQ(msg.code, +RPCRDMA2_CODE_BAD_XDR);
	/* An ERROR of version 1 */
	m = words({ 7, 1, 16, RPCRDMA2_ERROR, 2 });
	ASSERT_EQ(rpcrdma2_msg_decode(&msg, m.data(), m.size(), nullptr), 0);
	EXPECT_EQ(msg.code, 2u);
}

TEST(Decode, Version1)
{
	const bytes tail = words(
		{ 1, 40, 1, 100, 0, 0, 1, 0, 1, 50, 0, 0, 0, 0, 0, 7, 0 });
	rpcrdma2_msg msg;
	bytes m = words({ 7, 1, 16, RPCRDMA2_MSG }) + tail;

	/* Read chunks may be in any order. */
	ASSERT_EQ(rpcrdma2_msg_decode(&msg, m.data(), m.size(), nullptr), 0);
	EXPECT_EQ(msg.nr_reads, 2u);
	EXPECT_EQ(msg.payload_length, 8u);
	EXPECT_EQ(checked(m), GOOD);
	m = words({ 7, 1, 16, RPCRDMA2_MSGP, 4096, 8192 }) + tail;
	ASSERT_EQ(rpcrdma2_msg_decode(&msg, m.data(), m.size(), nullptr), 0);
	EXPECT_EQ(msg.align, 4096u);
	EXPECT_EQ(msg.thresh, 8192u);
}

TEST(Decode, FaultAndItsPlace)
{
	const bytes read = words({ 1, 40, 1, 100, 0, 0 });

	EXPECT_EQ(decoded({}), (verdict{ RPCRDMA2_ERR_SHORT, 0 }));
	EXPECT_EQ(decoded(words({ 7, 2 })), (verdict{ RPCRDMA2_ERR_SHORT, 8 }));
	EXPECT_EQ(decoded(words({ 7, 3, 1, 0 })),
		  (verdict{ RPCRDMA2_ERR_VERSION, 4 }));
	EXPECT_EQ(decoded(words({ 7, 1, 1, 5, 0 })),
		  (verdict{ RPCRDMA2_ERR_TYPE, 12 }));
	EXPECT_EQ(decoded(prefix(2)), (verdict{ RPCRDMA2_ERR_TYPE, 12 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_MSG)),
		  (verdict{ RPCRDMA2_ERR_SHORT, 24 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_MSG) + words({ 0, 2, 0, 0 })),
		  (verdict{ RPCRDMA2_ERR_BOOL, 28 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_MSG) + words({ 0, 0, 1, 1, 4, 5 })),
		  (verdict{ RPCRDMA2_ERR_COUNT, 36 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_MSG) +
			  words({ 0, 0, 0, 1, 0x10000001 })),
		  (verdict{ RPCRDMA2_ERR_COUNT, 40 }));
	EXPECT_EQ(
		decoded(prefix(RPCRDMA2_MSG) + words({ 0, 1, 41, 1, 1, 0, 0 })),
		(verdict{ RPCRDMA2_ERR_ALIGNMENT, 32 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_MSG) + words({ 0 }) + read +
			  words({ 1, 36, 1, 100, 0, 0 })),
		  (verdict{ RPCRDMA2_ERR_ORDER, 56 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_MSG) + words({ 0, 1, 40, 1 })),
		  (verdict{ RPCRDMA2_ERR_SHORT, 40 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_CONNPROP) + words({ 1, 2, 4 })),
		  (verdict{ RPCRDMA2_ERR_PROP_LENGTH, 32 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_CONNPROP) + words({ 1, 2, 8, 1, 1 })),
		  (verdict{ RPCRDMA2_ERR_PROP_LENGTH, 32 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_CONNPROP) + words({ 1, 2, 4, 1023 })),
		  (verdict{ RPCRDMA2_ERR_PROP_VALUE, 36 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_CONNPROP) +
			  words({ 1, RPCRDMA2_PROP_BRS, 4, 4 })),
		  (verdict{ RPCRDMA2_ERR_PROP_VALUE, 36 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_CONNPROP) + words({ 1, 2 })),
		  (verdict{ RPCRDMA2_ERR_SHORT, 32 }));
	EXPECT_EQ(decoded(prefix(RPCRDMA2_ERROR, 1) +
			  words({ RPCRDMA2_CODE_SEGMENTS })),
		  (verdict{ RPCRDMA2_ERR_SHORT, 28 }));
}

/* A message truncated at any length has a fault, which lies within it. */
TEST(Decode, Truncated)
{
	const bytes whole = prefix(RPCRDMA2_MSG) + lists;

	for (size_t n = 0; n < whole.size(); n++) {
		const verdict v = decoded({ whole.begin(), whole.begin() + n });

		EXPECT_TRUE(v.error == RPCRDMA2_ERR_SHORT ||
			    v.error == RPCRDMA2_ERR_COUNT)
			<< n;
		EXPECT_LE(v.offset, n);
	}
	EXPECT_EQ(decoded(whole), GOOD);
}

TEST(Check, Rules)
{
	const bytes none = words({ 0, 0, 0, 0 });
	const bytes zero = words({ 0, 1, 0, 1, 100, 0, 0, 0, 0, 0 });
	const bytes reply = words({ 0, 0, 0, 1, 1, 1, 100, 0, 0 });
	const bytes rpc = words({ 7, 0 });

	EXPECT_EQ(checked(prefix(RPCRDMA2_NOMSG, 0, 0) + none), GOOD);
	EXPECT_EQ(checked(prefix(RPCRDMA2_NOMSG) + none),
		  (verdict{ RPCRDMA2_ERR_NO_POSITION_ZERO, 28 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_NOMSG, 1, 0) + none),
		  (verdict{ RPCRDMA2_ERR_FLAGS, 16 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_NOMSG) + zero), GOOD);
	EXPECT_EQ(checked(prefix(RPCRDMA2_NOMSG) + reply),
		  (verdict{ RPCRDMA2_ERR_NO_POSITION_ZERO, 28 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_NOMSG, 1) + reply), GOOD);
	EXPECT_EQ(checked(prefix(RPCRDMA2_NOMSG, 1) + zero), GOOD);
	EXPECT_EQ(checked(prefix(RPCRDMA2_NOMSG, 2) + zero),
		  (verdict{ RPCRDMA2_ERR_FLAGS, 16 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_MSG) + zero + rpc),
		  (verdict{ RPCRDMA2_ERR_POSITION_ZERO, 32 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_MSG, 1) + zero + rpc),
		  (verdict{ RPCRDMA2_ERR_REPLY_READS, 28 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_MSG, 2) + lists + rpc),
		  (verdict{ RPCRDMA2_ERR_MORE_CHUNKS, 28 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_MSG) + none),
		  (verdict{ RPCRDMA2_ERR_PAYLOAD, 40 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_MSG, 2) + none + rpc + bytes(1)),
		  (verdict{ RPCRDMA2_ERR_PAYLOAD, 40 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_MSG, 4) + none + rpc),
		  (verdict{ RPCRDMA2_ERR_FLAGS, 16 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_CONNPROP) + words({ 0 })),
		  (verdict{ RPCRDMA2_ERR_XID, 0 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_CONNPROP, 1, 0) + words({ 0 })),
		  (verdict{ RPCRDMA2_ERR_FLAGS, 16 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_DONE)), GOOD);
	EXPECT_EQ(checked(prefix(RPCRDMA2_DONE, 1)),
		  (verdict{ RPCRDMA2_ERR_FLAGS, 16 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_ERROR, 0) + words({ 2 })),
		  (verdict{ RPCRDMA2_ERR_FLAGS, 16 }));
	EXPECT_EQ(checked(prefix(RPCRDMA2_ERROR, 1) + words({ 50 })),
		  (verdict{ RPCRDMA2_ERR_CODE, 24 }));

	const bytes v1 = words({ 7, 1, 16, RPCRDMA2_MSG, 0, 0, 0 });

	EXPECT_EQ(checked(v1 + rpc), GOOD);
	EXPECT_EQ(checked(v1 + words({ 8, 0 })),
		  (verdict{ RPCRDMA2_ERR_XID, 28 }));
	EXPECT_EQ(checked(v1 + words({ 7, 2 })),
		  (verdict{ RPCRDMA2_ERR_DIRECTION, 32 }));
	EXPECT_EQ(checked(v1 + words({ 7 })),
		  (verdict{ RPCRDMA2_ERR_PAYLOAD, 28 }));
	EXPECT_EQ(checked(words({ 7, 1, 16, RPCRDMA2_NOMSG, 0, 0, 0 })),
		  (verdict{ RPCRDMA2_ERR_NO_POSITION_ZERO, 16 }));
}

TEST(Encode, RefusesUndefinedValues)
{
	rpcrdma2_msg msg = {};
	bytes out(200);
	rpcrdma2_item item = {};
	auto encode = [&](std::vector<rpcrdma2_item> items) {
		return rpcrdma2_msg_encode(out.data(), out.size(), &msg,
					   items.data(), items.size());
	};
	rpcrdma2_item write = {}, segment = {}, reply = {};

	write.kind = RPCRDMA2_ITEM_WRITE;
	reply.kind = RPCRDMA2_ITEM_REPLY;
	segment.kind = RPCRDMA2_ITEM_SEGMENT;
	msg.version = 2;
	EXPECT_EQ(encode({}), 40);
	EXPECT_EQ(encode({ reply }), 44);
	EXPECT_EQ(encode({ reply, reply }), RPCRDMA2_ERR_INVALID);
	EXPECT_EQ(encode({ reply, write }), RPCRDMA2_ERR_INVALID);
	EXPECT_EQ(encode({ write, item }), RPCRDMA2_ERR_INVALID);
	EXPECT_EQ(encode({ segment }), RPCRDMA2_ERR_INVALID);
	write.count = 1;
	EXPECT_EQ(encode({ write }), RPCRDMA2_ERR_INVALID);
	EXPECT_EQ(encode({ write, segment }), 40 + 8 + 16);
	item.position = 3;
	EXPECT_EQ(encode({ item }), RPCRDMA2_ERR_INVALID);
	msg.type = 2;
	EXPECT_EQ(encode({}), RPCRDMA2_ERR_INVALID);
	msg.type = RPCRDMA2_DONE;
	EXPECT_EQ(encode({}), 24);
	EXPECT_EQ(encode({ reply }), RPCRDMA2_ERR_INVALID);
	msg.version = 3;
	EXPECT_EQ(encode({}), RPCRDMA2_ERR_INVALID);
}

TEST(Errors, EachHasAText)
{
	std::set<std::string> texts;

	for (int e = RPCRDMA2_ERR_FIRST; e >= RPCRDMA2_ERR_LAST; e--) {
		EXPECT_STRNE(rpcrdma2_strerror(e), rpcrdma2_strerror(1)) << e;
		EXPECT_TRUE(texts.insert(rpcrdma2_strerror(e)).second) << e;
	}
	EXPECT_STREQ(rpcrdma2_strerror(0), "no error");
	EXPECT_STREQ(rpcrdma2_strerror(RPCRDMA2_ERR_LAST - 1),
		     "an unknown error");
	EXPECT_EQ(rpcrdma2_wire_code(RPCRDMA2_ERR_SHORT),
		  +RPCRDMA2_CODE_BAD_XDR);
	EXPECT_EQ(rpcrdma2_wire_code(0), 0u);
	EXPECT_EQ(rpcrdma2_wire_code(RPCRDMA2_ERR_CLOSED), 0u);
}

TEST(Names, AreThere)
{
	EXPECT_STREQ(rpcrdma2_type_name(2, RPCRDMA2_CONNPROP),
		     "RDMA2_CONNPROP");
	EXPECT_STREQ(rpcrdma2_type_name(1, RPCRDMA2_MSGP), "RDMA_MSGP");
	EXPECT_EQ(rpcrdma2_type_name(2, 2), nullptr);
	EXPECT_EQ(rpcrdma2_type_name(1, 5), nullptr);
	EXPECT_STREQ(rpcrdma2_code_name(RPCRDMA2_CODE_SYSTEM), "SYSTEM");
	EXPECT_EQ(rpcrdma2_code_name(11), nullptr);
	EXPECT_STREQ(rpcrdma2_prop_name(RPCRDMA2_PROP_REASSEMBLY),
		     "Reassembly");
	EXPECT_EQ(rpcrdma2_prop_name(7), nullptr);
	EXPECT_NE(rpcrdma2_version(0), nullptr);
	EXPECT_NE(rpcrdma2_version(RPCRDMA2_VERSION_NUM), nullptr);
	EXPECT_EQ(rpcrdma2_version(RPCRDMA2_VERSION_NUM + 1), nullptr);
}

TEST(Private, RoundTrip)
{
	rpcrdma2_private priv = { 1, 1, 4096, 65536 }, again;
	uint8_t buf[RPCRDMA2_PRIVATE_OCTETS];

	rpcrdma2_private_encode(&priv, buf);
	rpcrdma2_private_decode(&again, buf, sizeof(buf));
	EXPECT_EQ(again.valid, 1u);
	EXPECT_EQ(again.remote_invalidation, 1u);
	EXPECT_EQ(again.send_size, 4096u);
	EXPECT_EQ(again.recv_size, 65536u);
	rpcrdma2_private_decode(&again, nullptr, 0);
	EXPECT_EQ(again.valid, 0u);
	EXPECT_EQ(again.recv_size, 1024u);
}

} // namespace
