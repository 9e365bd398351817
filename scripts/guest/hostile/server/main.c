// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

struct testlist server_cases;

static jmp_buf failed;

static const char *judge(const struct scase *c, int rc)
{
	static char text[128];

	if (wrong)
		return wrong;
	if (rc < 0)
		return "it hangs";
	if (!hits)
		return "the client sent no message that the case applies to";
	if (rc == 3)
		return "the operation returned wrong data";
	if (!(c->expect & (rc ? FAILS : OK)))
		return rc ? "the operation should have succeeded" : "the operation should have failed";
	if ((c->expect & CLOSES) && !closings)
		return "the client should have closed the connection";
	if (c->code && !errors[c->code]) {
		snprintf(text, sizeof(text), "the client should have sent ERROR %u", c->code);
		return text;
	}
	if (c->answered && !replies)
		return "the client should have sent a Reply";
	if ((c->expect & STAYS) && closings) {
		snprintf(text, sizeof(text),
			 "the connection should have stayed open, but was closed %u times",
			 closings);
		return text;
	}
	if (c->times && c->times != hits) {
		snprintf(text, sizeof(text), "the case should have happened %u times", c->times);
		return text;
	}
	return NULL;
}

/* Return true if the client has sent what the case expects. */
static bool has_come(void)
{
	return (!armed->code || errors[armed->code]) && (!armed->answered || replies);
}

/* Print the result of a case. If it failed, show the trail. */
static bool result_of(const struct scase *c, const char *why)
{
	return trail_unless(result(why, "%s.%s", c->test.group, c->test.name));
}

static bool run_mount(struct scase *c)
{
	trail_begin();
	return result_of(c, mount_anew(c));
}

static bool run_case(struct scase *c)
{
	char text[256];
	const char *why;
	double end;
	int rc;

	if (c->when == MOUNT)
		return run_mount(c);
	trail_begin();
	/* Get a connection on which the case can be applied. */
	if (want_version1 != c->version1 || c->when <= PROPS) {
		want_version1 = c->version1;
		fresh_connection();
		/*
		 * If the client connects again by itself, it has RPCs left: end these
		 * first.
		 */
		for (end = now() + 30 * scale; current && now() < end;) {
			recovers();
			settle();
			fresh_connection();
		}
	}
	if (c->when > PROPS && !recovers())
		return result_of(c, "the mount did not work before the case");
	memset(errors, 0, sizeof(errors));
	replies = 0;
	wrong = NULL;
	hits = 0;
	hit_serial = 0;
	closings = 0;
	armed = c;
	rc = do_op(c->op);
	serve_until(has_come, 1000);
	why = judge(c, rc);
	armed = NULL;
	/*
	 * Close the connection if the case has changed its state. Close no other
	 * connection: each that ends without a Reply makes the client wait longer before
	 * the next one.
	 */
	if (current && current->serial == hit_serial &&
	    (c->when == PROPS || (c->expect & NEW) || current->credit != CREDIT))
		fresh_connection();
	/*
	 * A new connection shows that the client has recovered. An existing one shows its
	 * state only when it is used again.
	 */
	if (c->when > PROPS)
		works = false;
	if ((c->when > PROPS || rc) && !recovers() && !why)
		why = "the mount does not work after the case";
	if (!why)
		return result_of(c, NULL);
	snprintf(text, sizeof(text), "%s (status %d, %s%s%s, %u times, %u closed)", why, rc,
		 last_op.what, rc > 0 ? ": " : "", rc > 0 ? strerror(last_op.error) : "",
		 hits, closings);
	return result_of(c, text);
}

/*
 * Run the cases of the groups in @argv. "N/M" before groups selects, of their cases up to
 * the next "N/M", the N-th of each M.
 */
static int run_all(int argc, char **argv)
{
	unsigned int nth = 0, of = 1, index = 0, count = 0, bads = 0;
	struct testcase *c;
	int i, end;

	for (i = 0; i < argc; i = end) {
		if (sscanf(argv[i], "%u/%u", &nth, &of) == 2 && of)
			i++;
		for (end = i; end < argc && !strchr(argv[end], '/'); end++)
			;
		if (end == i)
			return 2;
		for (c = server_cases.first, index = 0; c && !hangs; c = c->next) {
			if (!testcase_selected(c, end - i, argv + i) || index++ % of != nth % of)
				continue;
			count++;
			/* The test is the first member: see SCASE(). */
			bads += !run_case((struct scase *)c);
		}
		if (c) {
			result("the mount hangs: the remaining cases are not run", "share_%u", nth);
			return 1;
		}
	}
	if (!count)
		result("no case of that name", "share_%u", nth);
	return count && !bads ? 0 : 1;
}

static void server_failed(const char *reason)
{
	trail_unless(result(reason, "%s.%s", armed ? armed->test.group : "server",
			    armed ? armed->test.name : "none"));
	longjmp(failed, 1);
}

/*
 * server ADDR PORT NFSPORT DIR REFDIR MOUNT UMOUNT {[N/M] GROUP[.CASE]...}...
 *
 * server ADDR PORT NFSPORT DIR REFDIR MOUNT UMOUNT walk SEED STEPS
 *
 * MOUNT and UMOUNT are the commands that mount DIR from here, and unmount it. REFDIR is
 * the folder that nfsd exports. Of the cases after N/M, the N-th of each M is run.
 */
int server_main(int argc, char **argv)
{
	char why[512];
	int status;

	if (argc < 8)
		return 2;
	addr = argv[0];
	port = argv[1];
	nfs_port = atoi(argv[2]);
	dir = argv[3];
	refdir = argv[4];
	mount_line = argv[5];
	umount_line = argv[6];
	on_bad = server_failed;
	signal(SIGPIPE, SIG_IGN);
	listen_at(port);
	if (setjmp(failed))
		return 1;
	mounted = !do_command(mount_line);
	if (!mounted) {
		snprintf(why, sizeof(why), "the mount at %s failed", dir);
		trail_unless(result(why, "server.mount"));
		return 1;
	}
	if (!strcmp(argv[7], "walk") && argc == 10)
		status = walk(argv[8], argv[9]);
	else
		status = run_all(argc - 7, argv + 7);
	armed = NULL;
	op_end();
	if (mounted && do_command(umount_line)) {
		snprintf(why, sizeof(why), "%s cannot be unmounted", dir);
		trail_unless(result(why, "server.umount"));
		return 1;
	}
	return status;
}
