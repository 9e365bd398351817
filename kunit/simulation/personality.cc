// SPDX-License-Identifier: GPL-2.0
#include "personality.hh"

#include <iterator>

namespace simulation
{

namespace
{

/* In a refusal, these words stand for the XID, and for the credits. */
constexpr u32 XID = 0xfffffffe, CREDITS = 0xffffffff;

constexpr refusal_form FORMS[] = {
	{ "ERR_VERS", 28, { XID, 2, CREDITS, 4, 1, 1, 1 } },
	{ "ERR_VERS of fixed size", 64, { XID, 2, CREDITS, 4, 1, 1, 1 } },
	{ "ERR_VERS as version 1", 28, { XID, 1, CREDITS, 4, 1, 1, 1 } },
	{ "ERR_CHUNK", 20, { XID, 2, CREDITS, 4, 2 } },
	{ "ERR_CHUNK of fixed size", 28, { XID, 2, CREDITS, 4, 2 } },
	{ "ERR_CHUNK as version 1", 20, { XID, 1, CREDITS, 4, 2 } },
	{ "MSG_DENIED",
	  52,
	  { XID, 2, CREDITS, 0, 0, 0, 0, XID, 1, 1, 0, 2, 2 } },
	{ "MSG_DENIED as version 1",
	  52,
	  { XID, 1, CREDITS, 0, 0, 0, 0, XID, 1, 1, 0, 2, 2 } },
	{ "four bytes", 4, { XID } },
	{ "garbage", 64, { 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5 } },
	/* Two properties: 1 and 2, of four bytes each */
	{ "CONNPROP of draft -02",
	  48,
	  { XID, 2, CREDITS, 5, 0, 2, 1, 4, 4096, 2, 4, 4096 } },
	{ "CONNPROP of draft -07",
	  44,
	  { XID, 2, CREDITS, 7, 2, 1, 4, 4096, 2, 4, 4096 } },
};

constexpr const refusal_form *ERR_VERS = &FORMS[0], *ERR_VERS_AS_1 = &FORMS[2];

personality known(const char *name, u32 credits, const refusal_form *refusal)
{
	personality p{};

	p.name = name;
	p.credits = credits;
	p.fixed = true;
	p.refusal = refusal;
	return p;
}

/*
 * ntirpc (NFS-Ganesha): a Reply chunk is used for every Reply, and gets the
 * data of a READ as well. The Write list of such a Reply is absent.
 */
personality ntirpc(u32 credits)
{
	personality p = known("ntirpc", credits, ERR_VERS);

	p.no_private = true;
	p.reply_chunk = true;
	p.whole = true;
	p.write = unused::absent;
	p.reply = unused::absent;
	return p;
}

/*
 * libevpl (chimera): every chunk is returned. Since May 2026 it grants the
 * credits that are requested. Before, it granted none, and a message of version
 * 2 ended its process.
 */
personality libevpl(bool late)
{
	personality p = known("libevpl", 0, late ? ERR_VERS_AS_1 : nullptr);

	p.no_private = true;
	p.echoes = late;
	p.write = unused::empty;
	p.reply = unused::empty;
	p.hangs_up = !late;
	return p;
}

/*
 * vitastor: ignores version 2, and grants the credits that are free, possibly
 * none. It returns an unused Write chunk unchanged, which only NFS can
 * distinguish from a used one. Here the segments of such a chunk are empty.
 */
personality vitastor()
{
	personality p = known("vitastor", 16, nullptr);

	p.free = true;
	p.largest = true;
	p.reply_chunk = true;
	p.first_write = true;
	p.write = unused::empty;
	p.reply = unused::absent;
	return p;
}

/* Any behaviour that RFC 8166 permits, and any refusal */
personality any(choices &c)
{
	personality p{};

	p.name = "any";
	p.hangs_up = c.below(2);
	p.reply_chunk = c.below(2);

	/*
	 * Half of these servers use the defined form, which is the first one.
	 */
	const u32 any = c.below(2);
	const u32 sort = any * c.below(std::size(FORMS) + 1);

	p.refusal = sort < std::size(FORMS) ? &FORMS[sort] : nullptr;
	return p;
}

personality choose(choices &c)
{
	switch (c.below(16)) {
	case 11:
		return ntirpc(30);
	case 12:
		/* Use the credits of a small configuration. */
		return ntirpc(3);
	case 13:
		return libevpl(true);
	case 14:
		return libevpl(false);
	case 15:
		return vitastor();
	default:
		return any(c);
	}
}

} // namespace

bool personality::is_odd() const
{
	return refusal != ERR_VERS;
}

personality choose_personality(choices &c)
{
	personality p = choose(c);

	p.patience = c.below(3) * 20;
	return p;
}

std::vector<u8> refuse_version(const refusal_form &f, u32 xid, u32 credits)
{
	std::vector<u8> m(f.octets);

	for (u32 i = 0; i < std::size(f.words) && 4 * i < f.octets; i++) {
		const u32 word = f.words[i];

		store(&m[4 * i], word == XID	 ? xid :
				 word == CREDITS ? credits :
						   word);
	}
	return m;
}

} // namespace simulation
