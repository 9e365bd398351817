/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Servers of version 1 only, as far as clients can distinguish them: the
 * answer to a first message of version 2, the credits granted, and the forms of Replies.
 */
#ifndef SIMULATION_PERSONALITY_HH
#define SIMULATION_PERSONALITY_HH

#include <vector>

#include "world.hh"

namespace simulation
{

/* The form in which a chunk comes back that the Reply does not use */
enum class unused : u8 {
	any,	/* each of those that RFC 8166 permits */
	absent, /* it is left out, and so are the chunks after it */
	empty,	/* with its segments, of no length */
};

/* An answer to version 2 of version 1: so many bytes, of which the rest is 0 */
struct refusal_form {
	const char *name;
	u32 octets;
	u32 words[13];
};

constexpr u32 LARGEST_ANNOUNCED = 262144;

struct personality {
	const char *name;
	/* Credits granted, if @fixed, less the Calls in progress with @free */
	u32 credits;
	bool fixed, free;
	bool echoes;	  /* grants the credits that a Call asks for */
	bool no_private;  /* has no private message (RFC 8797) */
	bool largest;	  /* announces the largest messages in it */
	bool reply_chunk; /* uses a Reply chunk whenever there is one */
	bool whole;	  /* the data of a READ, too, is in the Reply chunk */
	bool first_write; /* invalidates the Write chunk if there is no Reply chunk */
	unused write, reply;
	const refusal_form *refusal; /* the answer to version 2, or null: none */
	bool hangs_up;		     /* disconnects after it, or without one */
	/* Calls after which it disconnects while it is idle, 0: never */
	u32 patience;

	/* Return true if version 2 ends with something else than its ERR_VERS. */
	bool is_odd() const;
};

/*
 * Choose a server: one of those whose public sources show how they reply, or one with
 * all that RFC 8166 permits, which answers version 2 in one of the forms of a refusal.
 */
personality choose_personality(choices &c);

/* Return the message of this form, as an answer to the one with @xid. */
std::vector<u8> refuse_version(const refusal_form &f, u32 xid, u32 credits);

} // namespace simulation

#endif /* SIMULATION_PERSONALITY_HH */
