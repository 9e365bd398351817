// SPDX-License-Identifier: GPL-2.0
/* The operations of nfsio for the recipes of the field level */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nfsio.h"

/*
 * Cause one or a few Calls: request the attributes of a file or the entries of a folder, or
 * write to a file.
 */
static void call(const char *dir, int kind, int i)
{
	char path[PATH_MAX] = "";
	struct stat st;
	DIR *d;
	int fd;

	snprintf(path, sizeof(path), "%s/%c%d", dir, "fdw"[kind], i);
	switch (kind) {
	case 0:
		if (stat(path, &st))
			fail("stat %s: %m", path);
		break;
	case 1:
		d = opendir(path);
		if (!d)
			fail("opendir %s: %m", path);
		errno = 0;
		while (readdir(d))
			;
		if (errno)
			fail("readdir %s: %m", path);
		closedir(d);
		break;
	default:
		fd = xopen(path, O_WRONLY | O_CREAT | O_TRUNC);
		put(fd, path, sizeof(path), 0, path);
		xclose(fd, path);
	}
}

int calls(const char *dir, const char *expdir, int count)
{
	char path[PATH_MAX], want[PATH_MAX] = "";
	int i, bad = 0, status;

	for (i = 0; i < 3 * count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork: %m");
		if (pid)
			continue;
		call(dir, i % 3, i / 3);
		_exit(0);
	}
	for (i = 0; i < 3 * count; i++)
		if (wait(&status) < 0 || status)
			bad++;
	if (bad)
		fail("%d of %d processes failed", bad, 3 * count);
	for (i = 0; i < count; i++) {
		snprintf(want, sizeof(want), "%s/w%d", dir, i);
		snprintf(path, sizeof(path), "%s/w%d", expdir, i);
		whole(path, 0, (unsigned char *)want, sizeof(want));
	}
	return 0;
}
