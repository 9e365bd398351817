// SPDX-License-Identifier: GPL-2.0
/*
 * The answers of version 1 servers to the first message of version 2. Each case has a
 * separate mount, which uses version 1 on the second connection at the latest.
 */
#include "server.h"

#define REFUSAL(name, octets, n, ...)					\
	static void answer_##name(struct peer *p)			\
	{								\
		raw(p);							\
		ww(p, n, __VA_ARGS__);					\
		while (p->len < (octets))				\
			w(p, 0);					\
		p->len = (octets);					\
		send_at_once(p);					\
	}								\
	SCASE(refusals, name, MOUNT, "read", OK) { answer_##name(p); }	\
	SCASE(refusals, name##_and_closes, MOUNT, "read", OK)		\
	{								\
		answer_##name(p);					\
		sends_done(p);						\
		peer_disconnect(p);					\
	}

REFUSAL(err_vers, 28, 7, 0, 2, CREDIT, ERROR, ERR_VERS, 1, 1)
REFUSAL(err_vers_of_fixed_size, 64, 7, 0, 2, CREDIT, ERROR, ERR_VERS, 1, 1)
REFUSAL(err_vers_as_version_1, 28, 7, 0, 1, CREDIT, ERROR, ERR_VERS, 1, 1)
REFUSAL(err_chunk, 20, 5, 0, 2, CREDIT, ERROR, 2)
REFUSAL(err_chunk_of_fixed_size, 28, 5, 0, 2, CREDIT, ERROR, 2)
REFUSAL(err_chunk_as_version_1, 20, 5, 0, 1, CREDIT, ERROR, 2)
REFUSAL(msg_denied, 52, 13, 0, 2, CREDIT, MSG, 0, 0, 0, 0, 1, 1, 0, 2, 2)
REFUSAL(msg_denied_as_version_1, 52, 13, 0, 1, CREDIT, MSG, 0, 0, 0, 0, 1, 1, 0, 2, 2)
REFUSAL(four_octets, 4, 1, 0)
SCASE(refusals, only_closes, MOUNT, "read", OK) { peer_disconnect(p); }
REFUSAL(garbage, 64, 4, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5)
