// SPDX-License-Identifier: GPL-2.0
/* A connection's lifecycle, and the events that it has */
#ifndef ENGINE_TEST_LIFE_HH
#define ENGINE_TEST_LIFE_HH

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support.hh"

namespace engine_test::lifecycle
{

/* Linux's errno values, named after what they stand for here */
constexpr int REFUSED = -111, UNREACHABLE = -113, LATE = -110, NO_DEVICE = -19,
	      NO_CONNECTION = -107, SILENT = -93, NO_MEMORY = -12,
	      NO_REGIONS = -95;

inline const char *const stages[] = {
	"idle",	   "resolving", "routing", "preparing", "connecting",
	"opening", "open",	"closing", "gone",
};

struct life {
	explicit life(bool client)
	{
		l.client = client;
	}

	rpcrdma_setup_step make(int result = 0)
	{
		return rpcrdma_lifecycle_next_setup(&l, &conn, result);
	}
	rpcrdma_lifecycle_actions cm_event(rpcrdma_cm_event what,
					   int rejection = 0)
	{
		return rpcrdma_lifecycle_cm_event(&l, what, rejection);
	}
	rpcrdma_teardown release(bool qp = true, bool posted = true,
				 int result = 0)
	{
		return rpcrdma_lifecycle_next_teardown(&l, qp, posted, result);
	}
	std::string stage() const
	{
		return stages[l.stage];
	}

	rpcrdma_lifecycle l{};
	rpcrdma_conn conn{};
};

inline std::string name_of(const rpcrdma_lifecycle_actions &s)
{
	static const char *const names[] = { "begin", "opened", "wake",
					     "close" };
	std::string text;

	for (u32 i = 0; i < std::size(names); i++) {
		if (s.todo >> i & 1)
			text += (text.empty() ? "" : " ") +
				std::string(names[i]);
	}
	if (s.reason)
		text += std::string(": ") + s.reason;
	return text;
}

using event = std::function<std::string(life &)>;
/* The actions, and the resulting stage */
using result = std::pair<std::string, std::string>;

inline event cm_event(rpcrdma_cm_event what, int rejection = 0)
{
	return [=](life &e) {
		return name_of(e.cm_event(what, rejection));
	};
}

inline void expect_make(const rpcrdma_setup_step &m, rpcrdma_setup what, u32 ms,
			int status = 0)
{
	EXPECT_EQ(m.what, what);
	EXPECT_EQ(m.ms, ms);
	EXPECT_EQ(m.status, status);
	EXPECT_EQ(m.step.todo, 0u);
}

} // namespace engine_test::lifecycle

#endif
