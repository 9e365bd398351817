/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All random decisions of a run. A seed yields the same choices each time. So
 * does a recorded list of choices, or a copy of it in which some choices were
 * replaced by 0. The choice 0 is always the simplest one: the shortest delay,
 * no fault, the smallest message.
 */
#ifndef SIMULATION_CHOICES_HH
#define SIMULATION_CHOICES_HH

#include <vector>

#include <rpcrdma/engine.h>

namespace simulation
{

class choices
{
public:
	explicit choices(u64 seed) : state_{ seed * 0x9e3779b97f4a7c15ull + 1 }
	{
	}
	/* Choices beyond the end of @script are 0. */
	explicit choices(std::vector<u32> script)
		: script_{ std::move(script) }, replay_{ true }
	{
	}

	/* Return a number from 0 to @bound - 1. */
	u32 below(u32 bound)
	{
		u32 value;

		if (bound < 2)
			return 0;
		if (replay_)
			value = scripted() % bound;
		else
			value = random() % bound;
		made_.push_back(value);
		return value;
	}
	/* Return true with a probability of @parts in 10000. */
	bool chance(u32 parts)
	{
		bool value;

		if (!parts)
			return false;
		if (replay_)
			value = scripted();
		else
			value = random() % 10000 < parts;
		made_.push_back(value);
		return value;
	}

	const std::vector<u32> &made() const
	{
		return made_;
	}

private:
	u32 scripted()
	{
		return next_ < script_.size() ? script_[next_++] : 0;
	}
	/* xorshift64* */
	u32 random()
	{
		state_ ^= state_ >> 12;
		state_ ^= state_ << 25;
		state_ ^= state_ >> 27;
		return static_cast<u32>((state_ * 0x2545f4914f6cdd1dull) >> 32);
	}

	u64 state_ = 1;
	std::vector<u32> script_;
	std::vector<u32> made_;
	size_t next_ = 0;
	bool replay_ = false;
};

} // namespace simulation

#endif /* SIMULATION_CHOICES_HH */
