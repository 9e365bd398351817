/* SPDX-License-Identifier: GPL-2.0 */
/* The simulated time, the order of events, and the first fault found */
#ifndef SIMULATION_WORLD_HH
#define SIMULATION_WORLD_HH

#include <algorithm>
#include <string>
#include <vector>

#include "choices.hh"

namespace simulation
{

using s32 = int;

constexpr u64 MILLISECOND = 1000; /* in microseconds */
constexpr u64 SECOND = 1000 * MILLISECOND;

static inline u32 roundup4(u32 n)
{
	return (n + 3) & ~3u;
}

/* Access to words of messages */
static inline void store(u8 *to, u32 value)
{
	to[0] = static_cast<u8>(value >> 24);
	to[1] = static_cast<u8>(value >> 16);
	to[2] = static_cast<u8>(value >> 8);
	to[3] = static_cast<u8>(value);
}

static inline u32 load(const u8 *from)
{
	return u32{ from[0] } << 24 | u32{ from[1] } << 16 |
	       u32{ from[2] } << 8 | from[3];
}

/* An object to which events are delivered */
class actor
{
public:
	virtual ~actor() = default;
	virtual void act(u32 what, u64 arg) = 0;
};

struct totals {
	u64 runs, rpcs, steps, connections, losses;
	u64 killed, timed_out, refused, failed, pulled, callbacks, version1,
		fallbacks;
	u64 models, peers1, removals, bad, in_pieces, short_chunks, waited;
	u64 reads_waited, mrs_waited, mrs_given_up, mrs_short;
	u64 ended_early;
	u64 no_room, attempts_failed;
	u64 receives_given_back, receive_posts, receives_freed;
	u64 windows_bounded;
	u64 turns, behind, unstopped, more_segs, batched, split_finer;
	u64 authenticated;
};

class world
{
public:
	explicit world(choices &choose) : choose{ choose }
	{
	}

	/* Call @whom->act(@what, @arg) after @delay microseconds. */
	void after(u64 delay, actor *whom, u32 what, u64 arg = 0)
	{
		events_.push_back({ now + delay, order_++, whom, what, arg });
		std::push_heap(events_.begin(), events_.end(), later);
	}
	/* Run the next event. Return false if there is none. */
	bool step()
	{
		if (events_.empty())
			return false;
		std::pop_heap(events_.begin(), events_.end(), later);

		const event e = events_.back();

		events_.pop_back();
		now = e.at;
		steps++;
		e.whom->act(e.what, e.arg);
		return true;
	}

	void complain(const std::string &what)
	{
		if (complaint.empty())
			complaint = what;
	}
	/* Write a line of the log of the run. */
	__attribute__((format(printf, 2, 3))) void log(const char *format, ...);

	u32 now_ms() const
	{
		return static_cast<u32>(now / MILLISECOND);
	}
	/*
	 * Return true if a fault is to be injected now. There are none after
	 * the run's maximum number.
	 */
	bool fault(u32 parts)
	{
		if (!faults_left || !parts || !choose.chance(parts))
			return false;
		faults_left--;
		trouble = true;
		return true;
	}
	/*
	 * Return a random duration: usually short, occasionally far longer than
	 * @usual.
	 */
	u64 delay(u64 usual)
	{
		const u32 sort = choose.below(slowness ? 64 : 1);

		if (sort < 2)
			return 1;
		if (sort < 60)
			return 1 + choose.below(static_cast<u32>(usual));
		return usual * (1 + choose.below(slowness));
	}

	choices &choose;
	totals sum{};
	u64 now = 0, steps = 0;
	u32 faults_left = 0;
	u32 slowness = 0;
	/* A permitted fault was injected. */
	bool trouble = false;
	/* Calls refused because of an injected lack of memory for segments */
	u32 segs_missing = 0;
	bool verbose = false;
	std::string complaint;

private:
	struct event {
		u64 at, order;
		actor *whom;
		u32 what;
		u64 arg;
	};
	static bool later(const event &a, const event &b)
	{
		return a.at != b.at ? a.at > b.at : a.order > b.order;
	}

	std::vector<event> events_;
	u64 order_ = 0;
};

} // namespace simulation

#endif /* SIMULATION_WORLD_HH */
