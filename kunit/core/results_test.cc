// SPDX-License-Identifier: GPL-2.0
/*
 * Results that a Reply still contains, and the bytes that are left out of a
 * Call
 */
#include <vector>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

/* A Reply with items of variable length, each preceded by its length */
struct encoded {
	octets whole;
	std::vector<rpcrdma_item> results;

	explicit encoded(u32 before) : whole(before)
	{
	}
	void append(u32 length)
	{
		const u32 at = static_cast<u32>(whole.size());

		whole.resize(at + 4 + length + (-length & 3));
		for (u32 i = 0; i < 4; i++)
			whole[at + i] = static_cast<u8>(length >> (24 - 8 * i));
		results.push_back({ at + 4, length });
	}
	static void read(const void *user, u32 position, u32 length, void *to)
	{
		const auto *me = static_cast<const encoded *>(user);

		ASSERT_LE(u64{ position } + length, me->whole.size());
		memcpy(to, &me->whole[position], length);
	}
	std::vector<rpcrdma_item> items() const
	{
		rpcrdma_reply reply = {};

		reply.length = static_cast<u32>(whole.size());
		rpcrdma_reply_items(&reply, results.data(),
				    static_cast<u32>(results.size()), read,
				    this);
		return { reply.items, reply.items + reply.nr_items };
	}
	/* The fast path finds a single result where it was reported, or not. */
	void expect_alone(const std::vector<rpcrdma_item> &found) const
	{
		const rpcrdma_item &result = results[0];
		const bool same = found.size() == 1 && result.length &&
				  found[0].position == result.position;
		u8 word[4] = {};

		if (result.position >= 4 && result.position <= whole.size())
			memcpy(word, &whole[result.position - 4], 4);
		EXPECT_EQ(rpcrdma_result_is_item(
				  &result, static_cast<u32>(whole.size()),
				  u32{ word[0] } << 24 | u32{ word[1] } << 16 |
					  u32{ word[2] } << 8 | word[3]),
			  same);
	}
	void expect(const std::vector<rpcrdma_item> &expected) const
	{
		if (results.size() == 1)
			expect_alone(items());

		const auto found = items();

		ASSERT_EQ(found.size(), expected.size());
		for (size_t i = 0; i < found.size(); i++) {
			EXPECT_EQ(found[i].position, expected[i].position);
			EXPECT_EQ(found[i].length, expected[i].length);
		}
	}
};

/* A service reports results anew in each pass, and as many as it likes. */
TEST(Results, AreThoseOfOnePass)
{
	struct rpcrdma_results results = {};

	EXPECT_EQ(rpcrdma_results_of(&results, 1), 0u);
	for (u64 pass = 1; pass < 4; pass++) {
		for (u32 i = 0; i < RPCRDMA_MAX_WRITE_CHUNKS + 3; i++) {
			rpcrdma_results_add(&results, pass, 100 * i,
					    static_cast<u32>(pass));
			EXPECT_EQ(rpcrdma_results_of(&results, pass),
				  std::min(i + 1,
					   u32{ RPCRDMA_MAX_WRITE_CHUNKS }));
			EXPECT_EQ(rpcrdma_results_of(&results, pass + 1), 0u);
		}
		for (u32 i = 0; i < RPCRDMA_MAX_WRITE_CHUNKS; i++) {
			EXPECT_EQ(results.items[i].position, 100 * i);
			EXPECT_EQ(results.items[i].length, pass);
		}
	}
}

} // namespace

TEST(Results, ThoseOfTheReplyAreItems)
{
	encoded e(24);

	e.append(100);
	e.append(7);
	e.append(0);
	e.append(5);
	e.expect({ { 28, 100 }, { 132, 7 }, { 144, 0 }, { 148, 5 } });
}

/* The service has replaced encoded results by others. */
TEST(Results, ARevokedResultIsNoItem)
{
	encoded e(24);

	e.append(100);
	e.append(200);
	e.whole[24 + 3] = 99;
	e.expect({ { 132, 200 } });
	/* The complete Reply was replaced. */
	e.whole.resize(60);
	e.expect({});
	e.whole.resize(24);
	e.expect({});
}

/* The service reports the position of the length instead of the item's. */
TEST(Results, APositionMayBeThatOfTheLength)
{
	encoded e(24);

	e.append(9);
	e.results[0].position -= 4;
	e.expect({ { 28, 9 } });
	/* An empty result proves nothing about the words before it. */
	e.results[0] = { 24, 0 };
	e.whole[27] = 0;
	e.whole[23] = 1;
	e.expect({});
}

TEST(Results, ImpossibleResultsAreNoItems)
{
	encoded e(24);

	e.append(8);
	for (const rpcrdma_item &bad :
	     std::vector<rpcrdma_item>{ { 0, 8 },
					{ 3, 8 },
					{ 29, 8 },
					{ 40, 8 },
					{ 28, 9 },
					{ 28, ~0u },
					{ ~3u, 8 } }) {
		e.results = { bad };
		e.expect({});
	}
	/* A result that is reported twice */
	e.results = { { 28, 8 }, { 28, 8 } };
	e.expect({ { 28, 8 } });
	/* A result at the end without its roundup */
	e = encoded(24);
	e.append(5);
	e.whole.resize(33);
	e.expect({});
}

/* A Call is sent without its argument and the argument's roundup. */
TEST(Results, BytesBeforeAnArgument)
{
	rpcrdma_call_plan plan = {};

	plan.inline_length = 500;
	EXPECT_EQ(rpcrdma_plan_before(&plan, 500, 100), 500u);
	EXPECT_EQ(rpcrdma_plan_before(&plan, 500, 500), 500u);
	EXPECT_EQ(rpcrdma_plan_before(&plan, 1500, 100), 100u);
	EXPECT_EQ(rpcrdma_plan_before(&plan, 1500, 500), 500u);
	/* Nothing follows the argument. */
	plan.inline_length = 100;
	EXPECT_EQ(rpcrdma_plan_before(&plan, 1100, 100), 100u);
	EXPECT_EQ(rpcrdma_plan_before(&plan, 1100, 104), 100u);
}
