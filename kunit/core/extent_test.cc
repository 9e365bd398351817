// SPDX-License-Identifier: GPL-2.0
/* Positions in extents, the pages of memory, and how much of it an MR holds */
#include <vector>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

/* Memory in one to a few extents; each byte knows the page that it is in. */
class memory
{
public:
	memory(generator &random, u32 page_shift) : page_shift_{ page_shift }
	{
		const u32 page = 1u << page_shift, nr = 1 + random.below(4);
		u32 number = 0;

		for (u32 i = 0; i < nr; i++) {
			const bool aligned = random.chance(40);
			const u32 offset = aligned ? 0 : random.below(page);
			const u32 length =
				random.chance(40) ?
					page * (1 + random.below(4)) - offset :
					1 + random.below(3 * page);

			ext_.push_back({ this, nullptr, offset, length });
			for (u32 at = offset; at < offset + length; at++)
				page_of_.push_back(number + at / page);
			number += (offset + length - 1) / page + 1;
		}
	}

	rpcrdma_extent_pos begin() const
	{
		return { ext_.data(), static_cast<u32>(ext_.size()), 0 };
	}
	u32 size() const
	{
		return static_cast<u32>(page_of_.size());
	}
	/* Return the number of pages of bytes @from to @to. */
	u32 pages(u32 from, u32 to) const
	{
		return page_of_[to - 1] - page_of_[from] + 1;
	}
	/* Return the most bytes from @from on that an MR accepts, range by range. */
	u32 fits(const rpcrdma_mr_limits &limits, u32 from, u32 octets) const
	{
		rpcrdma_mr_range r{};
		u32 begin = 0;

		for (const rpcrdma_extent &e : ext_) {
			const u32 skip = from > begin ? from - begin : 0;

			begin += e.length;
			if (skip >= e.length)
				continue;

			const u32 n =
				std::min(e.length - skip, octets - r.octets);
			const u32 at = (e.offset + skip) &
				       ((1u << page_shift_) - 1);

			if (!n || rpcrdma_mr_add(&limits, &r, at, n) < n)
				break;
		}
		return r.octets;
	}

private:
	u32 page_shift_;
	std::vector<rpcrdma_extent> ext_;
	std::vector<u32> page_of_;
};

TEST(Extents, PagesAreThoseOfEachByte)
{
	generator random{ 1 };

	for (u32 i = 0; i < 3000; i++) {
		const u32 shift = 3 + random.below(4);
		const memory mem{ random, shift };
		const u32 from = random.below(mem.size());
		rpcrdma_extent_pos pos = mem.begin();

		rpcrdma_extent_skip(&pos, from);
		EXPECT_EQ(rpcrdma_extent_pages(&pos, 0, shift), 0u);
		EXPECT_EQ(rpcrdma_extent_pages(&pos, mem.size() - from + 1,
					       shift),
			  0u);
		for (u32 to = from + 1; to <= mem.size(); to++)
			ASSERT_EQ(rpcrdma_extent_pages(&pos, to - from, shift),
				  mem.pages(from, to));
	}
}

TEST(Extents, APositionAdvancesByteForByte)
{
	generator random{ 2 };

	for (u32 i = 0; i < 1000; i++) {
		const memory mem{ random, 4 };
		rpcrdma_extent_pos pos = mem.begin(), at;
		rpcrdma_extent part;
		u32 done = 0, n;

		while ((n = rpcrdma_extent_next(&pos, 1 + random.below(40),
						&part))) {
			EXPECT_EQ(part.length, n);
			EXPECT_EQ(part.pages, mem.begin().ext->pages);
			/* It is where single steps lead to. */
			at = mem.begin();
			for (u32 j = 0; j < done; j++)
				rpcrdma_extent_skip(&at, 1);
			ASSERT_LE(n, rpcrdma_extent_left(&at));
			EXPECT_EQ(part.offset, at.ext->offset + at.done);
			EXPECT_EQ(rpcrdma_extent_in_page(&at, 4),
				  part.offset % 16);
			done += n;
		}
		EXPECT_EQ(done, mem.size());
		EXPECT_EQ(pos.nr, 0u);
		EXPECT_EQ(rpcrdma_extent_next(&pos, 1, &part), 0u);
	}
}

TEST(Extents, TheEndIsNotPassed)
{
	generator random{ 3 };
	const memory mem{ random, 4 };
	const rpcrdma_mr_limits limits{ 4, 8, ~0u, true, false };
	rpcrdma_extent_pos pos = mem.begin();

	EXPECT_EQ(rpcrdma_extent_mr_len(&pos, &limits, 0), 0u);
	rpcrdma_extent_skip(&pos, mem.size() + 5);
	EXPECT_EQ(pos.nr, 0u);
	EXPECT_EQ(rpcrdma_extent_pages(&pos, 1, 4), 0u);
	EXPECT_EQ(rpcrdma_extent_mr_len(&pos, &limits, ~0u), 0u);
}

TEST(Extents, AnMrHoldsWhatItsLimitsPermit)
{
	generator random{ 4 };

	for (u32 i = 0; i < 5000; i++) {
		const u32 shift = 3 + random.below(3);
		const memory mem{ random, shift };
		const u32 from = random.below(mem.size());
		const u32 octets =
			random.chance(50) ? ~0u : 1 + random.below(mem.size());
		rpcrdma_mr_limits limits{ shift, 1 + random.below(6), ~0u,
					  random.chance(30),
					  random.chance(30) };
		rpcrdma_extent_pos pos = mem.begin();

		if (random.chance(30))
			limits.octets = 1 + random.below(mem.size());
		rpcrdma_extent_skip(&pos, from);

		const u32 n = rpcrdma_extent_mr_len(&pos, &limits, octets);

		EXPECT_EQ(n, mem.fits(limits, from,
				      std::min(octets, mem.size() - from)));
		ASSERT_GT(n, 0u);
		EXPECT_LE(n, limits.octets);
		EXPECT_LE(mem.pages(from, from + n), limits.pages);
	}
}

} // namespace
