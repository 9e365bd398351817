/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Servers with only version 1, as far as clients can distinguish them: the
 * answer to a first message of version 2, the credits granted, and the forms of
 * Replies
 */
#ifndef SIMULATION_PERSONALITY_HH
#define SIMULATION_PERSONALITY_HH

#include <vector>

#include "world.hh"

namespace simulation
{

/* The form in which an unused chunk is returned */
enum class unused : u8 {
	any,	/* any form that RFC 8166 permits */
	absent, /* the chunk is omitted, and so are those after it */
	empty,	/* with its segments, of length 0 */
};

/*
 * An answer to version 2 in version 1: the number of bytes, and the words; the
 * rest is 0
 */
struct refusal_form {
	const char *name;
	u32 octets;
	u32 words[13];
};

constexpr u32 LARGEST_ANNOUNCED = 262144;

struct personality {
	const char *name;
	/*
	 * Credits granted. @free: those of @credits not in use; @fixed:
	 * @credits; neither: those of the run's parameters
	 */
	u32 credits;
	bool fixed, free;
	bool echoes;	 /* grants the credits that a Call requests */
	bool no_private; /* has no private message (RFC 8797) */
	/* announces the largest messages in its private message */
	bool largest;
	bool reply_chunk; /* uses a Reply chunk whenever there is one */
	bool whole;	  /* the data of a READ, too, is in the Reply chunk */
	/* invalidates a Write chunk's handle if there is no Reply chunk */
	bool first_write;
	unused write, reply;
	const refusal_form *refusal; /* the answer to version 2; null: none */
	/* disconnects after that answer, or instead of one */
	bool hangs_up;
	/* number of Calls after which it disconnects while idle; 0: never */
	u32 patience;

	/* Return true if the answer to version 2 is not a valid ERR_VERS. */
	bool is_odd() const;
};

/*
 * Choose a server: one that replies as the public sources of a server do, or one
 * that does everything that RFC 8166 permits and answers version 2 with one of
 * the forms of a refusal.
 */
personality choose_personality(choices &c);

/* Return the refusal of this form, as an answer to the message with @xid. */
std::vector<u8> refuse_version(const refusal_form &f, u32 xid, u32 credits);

} // namespace simulation

#endif /* SIMULATION_PERSONALITY_HH */
