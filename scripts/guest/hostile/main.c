// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that violates the protocol: the hostile client or the hostile server of the
 * kernel module under test. See scripts/guest/hostile.sh.
 *
 *   hostile client ADDR PORT GROUP[.CASE]...
 *
 *   hostile client ADDR PORT walk SEED STEPS
 *
 *   hostile client ADDR PORT load NAME takes|hoards [CALLS-IN-A-SECOND]
 *
 *   hostile bystander DIR SECONDS
 *
 *   hostile crowd ADDR PORT VERSION COUNT
 *
 *   hostile server ADDR PORT NFSPORT DIR REFDIR MOUNT UMOUNT {[N/M] GROUP[.CASE]...}...
 *
 *   hostile server ADDR PORT NFSPORT DIR REFDIR MOUNT UMOUNT walk SEED STEPS
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "lib/peer.h"

/*
 * Run at real-time priority. rxe processes the peer's part of a message in this process.
 * In 6.1 it writes to the peer's queue pair after it has released its reference to it. If
 * the other end destroys the queue pair at that moment, that is a use after free. With
 * one processor and no preemption the other end cannot run in between.
 */
static void do_not_disturb(void)
{
	struct sched_param param = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		perror("hostile: sched_setscheduler");
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 1 ? argv[1] : "", *s = getenv("TIMEOUT_SCALE");

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (s && atoi(s) > 0)
		scale = atoi(s);
	if (!strcmp(cmd, "op"))
		return op_main(argc - 2, argv + 2);
	if (!strcmp(cmd, "bystander"))
		return bystander_main(argc - 2, argv + 2);
	if (!strcmp(cmd, "crowd"))
		return crowd_main(argc - 2, argv + 2);
	do_not_disturb();
	if (!strcmp(cmd, "client"))
		return client_main(argc - 2, argv + 2);
	if (!strcmp(cmd, "server"))
		return server_main(argc - 2, argv + 2);
	if (!strcmp(cmd, "step"))
		return step_main(argc - 2, argv + 2);
	fprintf(stderr, "hostile: bad usage, see the head of main.c\n");
	return 2;
}
