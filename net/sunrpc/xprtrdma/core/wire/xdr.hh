/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Reading and writing XDR words.
 */
#ifndef RPCRDMA_CORE_XDR_HH
#define RPCRDMA_CORE_XDR_HH

#include "../internal.hh"

namespace rpcrdma
{

static constexpr u32 big_endian(u32 value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap32(value);
#else
	return value;
#endif
}

/*
 * Return the XDR word at byte @offset of @buf. If @offset is a constant, use a
 * span.
 */
static inline u32 load_word(const void *buf, u32 offset)
{
	u32 word;

	__builtin_memcpy(&word, static_cast<const u8 *>(buf) + offset,
			 sizeof(word));
	return big_endian(word);
}

static inline void store_word(void *buf, u32 offset, u32 value)
{
	const u32 word = big_endian(value);

	__builtin_memcpy(static_cast<u8 *>(buf) + offset, &word, sizeof(word));
}

/*
 * The first @N bytes of a message that is known to be at least that long.
 * Access beyond them is a compile-time error.
 * @OCTET: u8, or const u8 for read-only access
 */
template <u32 N, typename OCTET = const u8>
class span
{
public:
	template <typename ANY>
	[[gnu::always_inline]] explicit span(ANY *octets)
		: octets_{ static_cast<OCTET *>(octets) }
	{
	}

	/* Convert from a longer span: these are its first bytes. */
	template <u32 M>
	[[gnu::always_inline]] explicit span(span<M, OCTET> more)
		: octets_{ more.octets() }
	{
		static_assert(M >= N);
	}

	[[gnu::always_inline]] OCTET *octets() const
	{
		return octets_;
	}

	template <u32 OFFSET>
	[[gnu::always_inline]] u8 octet() const
	{
		static_assert(OFFSET < N);
		return octets_[OFFSET];
	}

	template <u32 OFFSET>
	[[gnu::always_inline]] u32 word() const
	{
		static_assert(OFFSET + sizeof(u32) <= N);
		return load_word(octets_, OFFSET);
	}

	template <u32 OFFSET>
	[[gnu::always_inline]] void octet(u8 value) const
	{
		static_assert(OFFSET < N);
		octets_[OFFSET] = value;
	}

	template <u32 OFFSET>
	[[gnu::always_inline]] void word(u32 value) const
	{
		static_assert(OFFSET + sizeof(u32) <= N);
		store_word(octets_, OFFSET, value);
	}

private:
	OCTET *octets_;
};

/*
 * Read words from a message, and never beyond its end.
 *
 * A function that reads many words copies the reader. Bytes may alias any object, so
 * that for a reader passed by reference the compiler would have to assume that each
 * access changes it.
 */
class xdr_reader
{
public:
	[[gnu::always_inline]] xdr_reader(const void *buf, u32 length,
					  u32 offset)
		: buf_{ static_cast<const u8 *>(buf) }, length_{ length },
		  offset_{ offset }
	{
	}

	/* Return the bytes read so far, and the bytes left. */
	[[gnu::always_inline]] u32 offset() const
	{
		return offset_;
	}

	[[gnu::always_inline]] u32 left() const
	{
		return length_ - offset_;
	}

	/* Return true if there are @octets more. */
	[[gnu::always_inline]] bool has(u32 octets) const
	{
		return left() >= octets;
	}

	/* Read a word. has() has returned true for it. */
	[[gnu::always_inline]] u32 word()
	{
		const u32 value = load_word(buf_, offset_);

		offset_ += sizeof(u32);
		return value;
	}

	[[gnu::always_inline]] u64 hyper()
	{
		const u64 high = word();

		return high << 32 | word();
	}

	/* Return what follows. */
	[[gnu::always_inline]] const u8 *next() const
	{
		return buf_ + offset_;
	}

	/* Skip bytes. has() has returned true for them. */
	[[gnu::always_inline]] void skip(u32 octets)
	{
		offset_ += octets;
	}

	/* Read a word if there is one. */
	[[gnu::always_inline]] bool get(u32 &value)
	{
		if (!has(sizeof(u32)))
			return false;
		value = word();
		return true;
	}

	/* Read an XDR boolean: only 0 and 1 are valid. */
	[[gnu::always_inline]] bool get_bool(bool &value)
	{
		u32 w;

		if (!get(w) || w > 1)
			return false;
		value = w;
		return true;
	}

private:
	const u8 *buf_;
	u32 length_;
	u32 offset_;
};

/*
 * Writes words; its user has checked that they fit. Functions take a writer by
 * value and return it, positioned after the words they wrote, because of the
 * aliasing explained above.
 */
class xdr_writer
{
public:
	[[gnu::always_inline]] explicit xdr_writer(void *buf)
		: buf_{ static_cast<u8 *>(buf) }
	{
	}

	[[gnu::always_inline]] u32 offset() const
	{
		return offset_;
	}

	[[gnu::always_inline]] void word(u32 value)
	{
		store_word(buf_, offset_, value);
		offset_ += sizeof(u32);
	}

	[[gnu::always_inline]] void hyper(u64 value)
	{
		word(static_cast<u32>(value >> 32));
		word(static_cast<u32>(value));
	}

	/* Write @count bytes, and zeros up to the end of the word. */
	[[gnu::always_inline]] void octets(const void *from, u32 count)
	{
		__builtin_memcpy(buf_ + offset_, from, count);
		for (offset_ += count; offset_ % sizeof(u32); offset_++)
			buf_[offset_] = 0;
	}

private:
	u8 *buf_;
	u32 offset_ = 0;
};

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_XDR_HH */
