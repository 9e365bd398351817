// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

struct testlist client_cases;

static jmp_buf failed;
static char reason[512];

static void client_failed(const char *why)
{
	snprintf(reason, sizeof(reason), "%s", why);
	longjmp(failed, 1);
}

static bool run_case(const struct client_case *c)
{
	if (setjmp(failed))
		return result(reason, "%s.%s", c->test.group, c->test.name);
	c->run();
	return result(NULL, "%s.%s", c->test.group, c->test.name);
}

static int run_walk(const char *seed, const char *steps)
{
	printf("seed %s, %s steps\n", seed, steps);
	if (setjmp(failed)) {
		printf("the walk ended: %s\n", reason);
		return 1;
	}
	printf("%u connections\n", walk_from(strtoull(seed, NULL, 0), strtoul(steps, NULL, 0)));
	return 0;
}

static int run_load(const char *name, bool takes, const char *rate)
{
	if (setjmp(failed)) {
		printf("%s\n", reason);
		return 1;
	}
	if (load_by_name(name, takes, rate ? atof(rate) : 0))
		return 0;
	printf("unknown load: %s\n", name);
	return 1;
}

/*
 * client ADDR PORT walk SEED STEPS: perform a random walk.
 *
 * client ADDR PORT load NAME takes|hoards: load the server until SIGTERM.
 *
 * client ADDR PORT GROUP[.CASE]...: run cases, and print a line with the result of each.
 */
int client_main(int argc, char **argv)
{
	int count = 0, bads = 0;
	struct testcase *c;

	if (argc < 3)
		return 2;
	addr = argv[0];
	port = argv[1];
	on_bad = client_failed;
	if (!strcmp(argv[2], "walk") && argc == 5)
		return run_walk(argv[3], argv[4]);
	if (!strcmp(argv[2], "load") && argc >= 5)
		return run_load(argv[3], !strcmp(argv[4], "takes"),
				argc > 5 ? argv[5] : NULL);
	for (c = client_cases.first; c; c = c->next) {
		if (!testcase_selected(c, argc - 2, argv + 2))
			continue;
		count++;
		/* The test is the first member: see CASE(). */
		bads += !run_case((const struct client_case *)c);
		peers_free();
	}
	if (!count)
		printf("no such case\n");
	return count && !bads ? 0 : 1;
}

/* step ADDR PORT N: reach step N, and wait to be killed. */
int step_main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	addr = argv[0];
	port = argv[1];
	on_bad = client_failed;
	if (!setjmp(failed)) {
		go(atoi(argv[2]));
		kill(getpid(), SIGKILL);
	}
	return 1;
}
