/* SPDX-License-Identifier: GPL-2.0 */
/* Messages for the tests of the library, built word by word */
#ifndef LIBRARY_TEST_SUPPORT_HH
#define LIBRARY_TEST_SUPPORT_HH

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <rpcrdma2/rpcrdma2.h>

namespace library_test
{

using bytes = std::vector<uint8_t>;

inline void put(bytes &to, uint32_t word)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		to.push_back(static_cast<uint8_t>(word >> shift));
}

inline bytes words(std::initializer_list<uint32_t> list)
{
	bytes all;

	for (uint32_t w : list)
		put(all, w);
	return all;
}

inline void set(bytes &m, size_t offset, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		m.at(offset + i) = static_cast<uint8_t>(word >> (24 - 8 * i));
}

inline uint32_t get(const bytes &m, size_t offset)
{
	return static_cast<uint32_t>(m.at(offset)) << 24 |
	       static_cast<uint32_t>(m.at(offset + 1)) << 16 |
	       static_cast<uint32_t>(m.at(offset + 2)) << 8 | m.at(offset + 3);
}

/* Return all items of a decoded message. */
inline std::vector<rpcrdma2_item> items_of(const rpcrdma2_msg &msg,
					   const bytes &m)
{
	std::vector<rpcrdma2_item> all;
	rpcrdma2_items at;
	rpcrdma2_item item;

	rpcrdma2_items_begin(&at, &msg, m.data(), m.size());
	while (rpcrdma2_items_next(&at, &item) > 0)
		all.push_back(item);
	return all;
}

} // namespace library_test

#endif /* LIBRARY_TEST_SUPPORT_HH */
