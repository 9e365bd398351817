// SPDX-License-Identifier: GPL-2.0
/* How memory is split into MRs */
#include <vector>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

u32 page_shift = 12, page = 4096;

/* Another page size, from here to the end of the block */
class page_size
{
public:
	explicit page_size(u32 shift)
	{
		page_shift = shift;
		page = 1u << shift;
	}
	~page_size()
	{
		page_shift = 12;
		page = 4096;
	}
};

/* Return 4, 16 or 64 KiB, as a power of two. */
u32 any_shift(generator &random)
{
	return 12 + 2 * random.below(3);
}

rpcrdma_mr_limits limits_of(u32 pages, u32 octets = ~0u, bool gaps = false)
{
	return { page_shift, pages, octets, gaps, false };
}

/* Return the limits of a device that drops offsets within pages. */
rpcrdma_mr_limits limits_apart(u32 pages, u32 octets = ~0u)
{
	return { page_shift, pages, octets, false, true };
}

/* Return random limits, in the same order for the same seed. */
rpcrdma_mr_limits any_limits(generator &random, u32 pages)
{
	rpcrdma_mr_limits limits =
		limits_of(1 + random.below(pages),
			  random.chance(50) ? 1 + random.below(10 * page) : ~0u,
			  random.chance(30));

	limits.apart = random.chance(30);
	return limits;
}

/*
 * Memory that starts @offset bytes into a page, added page by page or all at
 * once
 */
struct vec {
	u32 offset, length;
};

std::vector<vec> run(u32 offset, u32 length)
{
	std::vector<vec> v;

	while (length) {
		const u32 n = std::min(length, page - offset);

		v.push_back({ offset, n });
		length -= n;
		offset = 0;
	}
	return v;
}

struct filled {
	u32 octets, pages;
};

/* Register ranges one after the other, and check the invariants of each MR. */
std::vector<filled> map(const rpcrdma_mr_limits &limits,
			const std::vector<vec> &memory)
{
	std::vector<filled> all;
	u32 skip = 0;

	for (size_t i = 0; i < memory.size();) {
		rpcrdma_mr_range r{};
		u32 before = ~0u, first = ~0u;

		for (; i < memory.size(); i++, skip = 0) {
			const vec &v = memory[i];
			const u32 at = (v.offset + skip) % page;
			const u32 n = rpcrdma_mr_add(&limits, &r, at,
						     v.length - skip);

			if (!n)
				break;
			if (before != ~0u && !limits.gaps) {
				EXPECT_EQ(before % page, 0u);
				EXPECT_EQ(at, 0u);
			}
			if (limits.apart && !limits.gaps) {
				if (first != ~0u) {
					EXPECT_EQ(first % page, 0u);
					EXPECT_GE(n, page);
				}
				/* One partial page, or complete pages */
				if (at % page)
					EXPECT_LE(at % page + n, page);
				else if (n > page)
					EXPECT_EQ(n % page, 0u);
			}
			if (first == ~0u)
				first = at;
			before = at + n;
			if (n < v.length - skip) {
				skip += n;
				break;
			}
		}
		EXPECT_GT(r.octets, 0u);
		EXPECT_LE(r.octets, limits.octets);
		EXPECT_LE(r.pages, limits.pages);
		if (!r.octets)
			break;
		all.push_back({ r.octets, r.pages });
	}
	return all;
}

u32 octets_of(const std::vector<filled> &all)
{
	u32 n = 0;

	for (const filled &f : all)
		n += f.octets;
	return n;
}

TEST(MrSplit, Counted)
{
	struct {
		u32 octets, pages, offset, length, count;
	} const cases[] = {
		{ 1 << 20, 256, 0, 0, 0 },
		{ 1 << 20, 256, 100, 0, 0 },
		{ 1 << 20, 256, 0, 100, 1 },
		{ 1 << 20, 256, 0, 20480, 1 },
		{ 1 << 20, 256, 100, 10000, 1 },
		/* 257 pages */
		{ 1 << 20, 256, 1, 1 << 20, 2 },
		{ 1 << 20, 256, 0, 1 << 20, 1 },
		{ 1 << 20, 2, 0, 20480, 3 },
		{ 1 << 20, 2, 4095, 8192, 2 },
		/* The peer's bound, in complete pages as far as possible */
		{ 8192, 256, 0, 20480, 3 },
		{ 8192, 256, 100, 10000, 2 },
		{ 8192, 256, 100, 8092, 1 },
		{ 5000, 256, 0, 8192, 2 },
		{ 1000, 256, 0, 20480, 25 },
		{ 1000, 256, 0, 1000, 1 },
		{ 1000, 256, 4095, 1001, 2 },
		{ ~0u, 1, 0, 3 * page, 3 },
	};

	for (const auto &c : cases) {
		const rpcrdma_mr_limits limits = limits_of(c.pages, c.octets);

		EXPECT_EQ(rpcrdma_mr_count(&limits, c.offset, c.length), c.count)
			<< c.octets << " " << c.offset << " " << c.length;
	}
}

/* A peer that accepts single bytes costs no more than one that accepts 64. */
TEST(MrSplit, CountingIsBounded)
{
	for (const u32 octets : { 1u, 3u, 100u }) {
		const rpcrdma_mr_limits limits = limits_of(256, octets);

		EXPECT_EQ(rpcrdma_mr_count(&limits, 7, 1 << 30),
			  RPCRDMA_MAX_SEGS + 1u);
	}
}

/*
 * Within an MR, only the first range may begin, and only the last may end,
 * inside a page.
 */
TEST(MrSplit, WholePagesOrGaps)
{
	const std::vector<vec> odd = { { 100, 200 }, { 0, 4096 }, { 0, 10 },
				       { 0, 4096 },  { 5, 4091 }, { 0, 1 } };
	const std::vector<filled> plain = map(limits_of(16), odd);
	const std::vector<filled> gaps = map(limits_of(16, ~0u, true), odd);

	ASSERT_EQ(plain.size(), 4u);
	EXPECT_EQ(plain[1].octets, 4106u);
	EXPECT_EQ(octets_of(plain), octets_of(gaps));
	ASSERT_EQ(gaps.size(), 1u);
	EXPECT_EQ(gaps[0].pages, 6u);
	EXPECT_EQ(map(limits_of(4, ~0u, true), odd).size(), 2u);
}

/* If a device drops offsets, a partial page has a separate MR. */
TEST(MrSplit, PartialPagesApart)
{
	const std::vector<filled> all = map(limits_apart(16), run(100, 20000));
	const std::vector<filled> gaps =
		map({ 12, 16, ~0u, true, true }, run(100, 20000));

	ASSERT_EQ(all.size(), 3u);
	EXPECT_EQ(all[0].octets, page - 100);
	EXPECT_EQ(all[1].octets, 3 * page);
	EXPECT_EQ(all[2].octets, 20100 - 4 * page);
	EXPECT_EQ(map(limits_apart(16), run(0, 3 * page)).size(), 1u);
	EXPECT_EQ(map(limits_apart(16), run(100, 200)).size(), 1u);
	/* The partial page may be the end of a page, or the beginning. */
	EXPECT_EQ(map(limits_apart(16), run(4000, 96 + page)).size(), 2u);
	EXPECT_EQ(map(limits_apart(16), run(0, page + 1)).size(), 2u);
	EXPECT_EQ(gaps.size(), 1u);
}

/*
 * However little a device maps, registration succeeds as long as it maps a
 * page.
 */
TEST(MrSplit, SplitFiner)
{
	rpcrdma_mr_limits now = limits_of(8), used = now,
			  gaps = limits_of(2, ~0u, true);

	EXPECT_TRUE(rpcrdma_mr_limits_reduce(&now, &used));
	EXPECT_TRUE(now.apart);
	EXPECT_EQ(now.pages, 8u);
	/* A mapping with the former limits yields no new limit. */
	EXPECT_TRUE(rpcrdma_mr_limits_reduce(&now, &used));
	EXPECT_EQ(now.pages, 8u);
	for (const u32 pages : { 4u, 2u, 1u }) {
		used = now;
		used.octets = 1000;
		EXPECT_TRUE(rpcrdma_mr_limits_reduce(&now, &used));
		EXPECT_EQ(now.pages, pages);
		EXPECT_TRUE(rpcrdma_mr_limits_reduce(&now, &used));
		EXPECT_EQ(now.pages, pages);
	}
	used = now;
	EXPECT_FALSE(rpcrdma_mr_limits_reduce(&now, &used));
	EXPECT_EQ(now.pages, 1u);

	used = gaps;
	EXPECT_TRUE(rpcrdma_mr_limits_reduce(&gaps, &used));
	EXPECT_FALSE(gaps.apart);
	EXPECT_EQ(gaps.pages, 1u);
}

/* Counting and registering give the same MRs, however the memory is split. */
TEST(MrSplit, CountedAsTheyAreFilled)
{
	generator random{ 11 };

	for (u32 i = 0; i < 20000; i++) {
		const page_size size{ any_shift(random) };
		const rpcrdma_mr_limits limits = any_limits(random, 20);
		const u32 offset = random.below(page);
		const u32 length = random.below(15 * page);
		const std::vector<filled> all =
			map(limits, run(offset, length));

		ASSERT_EQ(octets_of(all), length);
		ASSERT_EQ(rpcrdma_mr_count(&limits, offset, length),
			  std::min<u32>(static_cast<u32>(all.size()),
					RPCRDMA_MAX_SEGS + 1));
	}
}

/*
 * The MRs are the same for single pages and for ranges as long as possible,
 * alone or after other memory.
 */
TEST(MrSplit, PageByPageOrAtOnce)
{
	generator random{ 13 };

	for (u32 i = 0; i < 20000; i++) {
		const page_size size{ any_shift(random) };
		const rpcrdma_mr_limits limits = any_limits(random, 20);
		std::vector<vec> pages, runs;

		for (u32 n = 1 + random.below(3); n; n--) {
			const u32 offset =
				random.chance(50) ? 0 : random.below(page);
			const u32 length = 1 + random.below(15 * page);
			const std::vector<vec> more = run(offset, length);

			pages.insert(pages.end(), more.begin(), more.end());
			runs.push_back({ offset, length });
		}

		const std::vector<filled> one = map(limits, pages);
		const std::vector<filled> all = map(limits, runs);

		ASSERT_EQ(one.size(), all.size());
		for (size_t k = 0; k < one.size(); k++) {
			ASSERT_EQ(one[k].octets, all[k].octets);
			ASSERT_EQ(one[k].pages, all[k].pages);
		}
	}
}

/* After other memory, no range needs more MRs than it does alone. */
TEST(MrSplit, AddAtMostTheirMaximum)
{
	generator random{ 12 };

	for (u32 i = 0; i < 20000; i++) {
		const page_size size{ any_shift(random) };
		rpcrdma_mr_limits limits = limits_of(
			1 + random.below(6),
			random.chance(50) ? page / 8 + random.below(5 * page) :
					    ~0u,
			random.chance(50));
		std::vector<vec> memory;
		u32 most = 0;

		limits.apart = random.chance(30);
		for (u32 n = 1 + random.below(3); n; n--) {
			const u32 offset =
				random.chance(50) ? 0 : random.below(page);
			const u32 length = random.chance(50) ?
						   page * random.below(4) :
						   random.below(5 * page);
			const std::vector<vec> more = run(offset, length);

			memory.insert(memory.end(), more.begin(), more.end());
			most += rpcrdma_mr_count(&limits, offset, length);
		}
		ASSERT_LE(map(limits, memory).size(), most);
	}
}

} // namespace
