// SPDX-License-Identifier: GPL-2.0
/* Differences between NFSv3 and sessions */
#include "server.h"

SCASE(stateless, callback_nobody_serves, READ, "read", OK | STAYS, .code = ERR_SYSTEM)
{
	callback_null(p, 0x77);
	send_good(c);
}

SCASE(stateless, callback_of_version_1, READ, "read", OK | STAYS, .version1 = true)
{
	callback_null(p, 0x77);
	send_good(c);
}

/* A soft mount of NFSv4 fails an RPC only if it cannot connect any more. */
SCASE(stateless, silence_for_ever, READ, "read", FAILS, true) { }

/* The client tries once more: the second ERROR ends the RPC. */
SCASE(stateless, reply_resource_for_ever, READ, "read", FAILS | STAYS, true, .times = 2)
{
	send_error(c, REPLY_RESOURCE, IO_SIZE, 0, 32);
}

SCASE(sessions, callback, READ, "read", OK | STAYS, .answered = true)
{
	callback_null(p, 0x77);
	send_good(c);
}

SCASE(sessions, silence_thrice, READ, "read", OK | CLOSES, true)
{
	if (hits > 3)
		send_good(c);
}

/*
 * The Call was executed. The session reports that it has not cached the Reply, and the NFS
 * client sends a new RPC, any number of times.
 */
SCASE(sessions, reply_resource_often, READ, "read", OK | STAYS, true, .times = 4)
{
	if (hits < 4)
		send_error(c, REPLY_RESOURCE, IO_SIZE, 0, 32);
	else
		send_good(c);
}
