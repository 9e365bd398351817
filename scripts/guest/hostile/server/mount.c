// SPDX-License-Identifier: GPL-2.0
/* Operations in the mount */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

enum {
	/*
	 * A soft mount gives an RPC up after 24 s. An operation performs several RPCs,
	 * one after the other, even if the first fails: opening a file has up to three,
	 * if the client's attributes of the folder have expired.
	 */
	OP_MS = 4 * 25000,
	COMMAND_MS = 60000,
	/* First port for separate mounts; each gateway has this number of ports. */
	ANEW_PORTS = 21000,
	ANEW_CASES = 100,
};

const char *dir, *refdir, *mount_line, *umount_line;
bool mounted, works, hangs;
struct op_result last_op;

/* @in becomes the standard input of the command, if it is not negative. */
static pid_t start(char *const argv[], int in)
{
	const char *path = argv[0][0] == '/' ? argv[0] : "/proc/self/exe";
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int rc;

	posix_spawn_file_actions_init(&actions);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&actions, in, 0);
	rc = posix_spawn(&pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		bad("posix_spawn: %s", strerror(rc));
	return pid;
}

static pid_t command;
static int command_status;

static bool command_done(void)
{
	return waitpid(command, &command_status, WNOHANG) == command;
}

int do_command(const char *line)
{
	char *argv[] = { "/bin/sh", "-c", (char *)line, NULL };

	command = start(argv, -1);
	if (!serve_until(command_done, COMMAND_MS)) {
		kill(command, SIGKILL);
		return -1;
	}
	return WIFEXITED(command_status) ? WEXITSTATUS(command_status) : 2;
}

static pid_t op_pid;
static int op_fd = -1;

static void op_start(void)
{
	char *argv[] = { "hostile", "op", (char *)dir, (char *)refdir, NULL };
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		bad("socketpair: %s", strerror(errno));
	op_pid = start(argv, fds[1]);
	close(fds[1]);
	op_fd = fds[0];
}

void op_end(void)
{
	if (op_fd < 0)
		return;
	close(op_fd);
	op_fd = -1;
	if (hangs)
		kill(op_pid, SIGKILL);
	else
		waitpid(op_pid, NULL, 0);
}

static bool op_done(void)
{
	struct pollfd fd = { .fd = op_fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

int do_op(const char *name)
{
	if (hangs)
		return -1;
	works = false;
	if (op_fd < 0)
		op_start();
	if (write(op_fd, name, 1) != 1)
		bad("no process accepts the request to %s", name);
	wake_fd = op_fd;
	hangs = !serve_until(op_done, OP_MS);
	wake_fd = -1;
	if (!hangs && read(op_fd, &last_op, sizeof(last_op)) != sizeof(last_op))
		bad("%s failed", name);
	if (hangs)
		last_op = (struct op_result){ .status = -1 };
	trail_add("%s: %d %s %s", name, last_op.status, last_op.what,
		  last_op.error ? strerror(last_op.error) : "");
	works = !last_op.status;
	return last_op.status;
}

bool recovers(void)
{
	int i;

	for (i = 0; i < 8 && !works && !hangs; i++)
		do_op("read");
	return works;
}

/*
 * Return true if the mount of a case works. A personality has several forms of Replies.
 */
static bool mount_works(const struct scase *c)
{
	return !do_op(c->op) && (!c->as || (!do_op("write") && !do_op("small") &&
					    !do_op("many") && !do_op("list")));
}

const char *mount_anew(struct scase *c)
{
	static unsigned int cases_before;
	static char text[128], line[1024], number[16];
	const char *rest = strstr(mount_line, ",port=");

	op_end();
	if (mounted && do_command(umount_line))
		return "the mount of the previous case cannot be unmounted";
	mounted = false;
	snprintf(number, sizeof(number), "%u",
		 ANEW_PORTS + atoi(port) % 100 * ANEW_CASES + cases_before++);
	listen_at(number);
	snprintf(line, sizeof(line), "%.*s,port=%s%s", (int)(rest - mount_line), mount_line,
		 number, strchr(rest + 1, ','));
	wrong = NULL;
	hits = 0;
	requests = 0;
	armed = c;
	if (do_command(line))
		return "the mount failed";
	mounted = true;
	if (!mount_works(c))
		return "the mount does not work";
	if (wrong)
		return wrong;
	if (hits != 1 || requests > 2) {
		snprintf(text, sizeof(text), "version 2 was tried %u times on %u connections",
			 hits, requests);
		return text;
	}
	return NULL;
}
