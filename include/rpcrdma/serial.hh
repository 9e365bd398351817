/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Serial numbers, for C++; to C they are plain counts. Part of base.h.
 */
#ifndef RPCRDMA_SERIAL_HH
#define RPCRDMA_SERIAL_HH

/*
 * A count, or a time, that continues with 0 after 2^32 - 1, as the counts on the wire
 * do. An expression that compares two of them by size does not compile. Use distance().
 */
class rpcrdma_serial
{
public:
	rpcrdma_serial() = default;
	/* Conversion to and from the word on the wire, and for arithmetic */
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
