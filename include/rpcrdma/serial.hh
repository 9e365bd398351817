/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Serial numbers, for C++; to C they are plain counts. Part of base.h.
 */
#ifndef RPCRDMA_SERIAL_HH
#define RPCRDMA_SERIAL_HH

/*
 * A count that goes on from 0 behind 2^32 - 1, as those on the wire do, or a time that
 * does. Which of two is larger makes no sense, and is no expression that compiles: how
 * far one is from the other does, see distance().
 */
class rpcrdma_serial
{
public:
	rpcrdma_serial() = default;
	/* To and from what is on the wire, and in arithmetic, it is as it was. */
	/* NOLINTBEGIN(google-explicit-constructor) */
	constexpr rpcrdma_serial(u32 count) : count_{ count }
	{
	}
	constexpr operator u32() const
	{
		return count_;
	}
	/* NOLINTEND(google-explicit-constructor) */
	constexpr rpcrdma_serial &operator+=(u32 more)
	{
		count_ += more;
		return *this;
	}
	constexpr void operator++(int)
	{
		count_++;
	}
	friend bool operator<(rpcrdma_serial, rpcrdma_serial) = delete;
	friend bool operator>(rpcrdma_serial, rpcrdma_serial) = delete;
	friend bool operator<=(rpcrdma_serial, rpcrdma_serial) = delete;
	friend bool operator>=(rpcrdma_serial, rpcrdma_serial) = delete;

private:
	u32 count_;
};

static_assert(sizeof(rpcrdma_serial) == sizeof(u32));

#endif /* RPCRDMA_SERIAL_HH */
