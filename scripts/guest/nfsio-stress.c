// SPDX-License-Identifier: GPL-2.0
/* nfsio's random operations, and operations that run until they are killed */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "nfsio.h"

/*
 * The model that stress compares a folder with: names refer to nodes; a file may have
 * several names.
 */
enum { NAMES = 24, FILE_MAX = 150000, XATTRS = 6 };

struct node {
	mode_t type;
	mode_t mode;
	int flags; /* O_DIRECT or 0: each file is accessed in one way only */
	int links;
	size_t len;
	unsigned char *data; /* FILE_MAX bytes of a file, or the target of a link */
	size_t xlen[XATTRS];
	unsigned char *xattr[XATTRS];
};

static struct node *names[NAMES];
static const char *stress_dir;

static const char *name_path(const char *dir, int i)
{
	static char path[4][PATH_MAX];
	static int at;

	at = (at + 1) % 4;
	snprintf(path[at], PATH_MAX, "%s/n%d", dir, i);
	return path[at];
}

/* Fail unless a system call returned the expected result: 0, or -1 with @error. */
static void expect(int ret, int error, const char *what, const char *path)
{
	if (ret < 0 && !error)
		fail("%s %s: %m", what, path);
	if (ret >= 0 && error)
		fail("%s %s succeeded, but should have failed with %s", what, path, strerror(error));
	if (ret < 0 && errno != error)
		fail("%s %s: %m, but should have failed with %s", what, path, strerror(error));
}

static void node_put(int i)
{
	struct node *n = names[i];
	int x;

	names[i] = NULL;
	if (--n->links)
		return;
	for (x = 0; x < XATTRS; x++)
		free(n->xattr[x]);
	free(n->data);
	free(n);
}

static void node_new(int i, mode_t type)
{
	struct node *n = need(calloc(1, sizeof(*n)));

	n->type = type;
	n->mode = type == S_IFDIR ? 0755 : 0644;
	n->flags = i % 2 ? O_DIRECT : 0;
	n->links = 1;
	n->data = need(calloc(1, FILE_MAX));
	names[i] = n;
}

/* Check the file, with its attributes, after a fresh open through @dir. */
static void node_check(const char *dir, int i, int xattrs)
{
	const char *path = name_path(dir, i);
	struct node *n = names[i];
	unsigned char value[4096];
	char target[PATH_MAX];
	struct stat st;
	ssize_t len;
	int x;

	if (!n) {
		expect(lstat(path, &st), ENOENT, "lstat", path);
		return;
	}
	expect(lstat(path, &st), 0, "lstat", path);
	if ((st.st_mode & S_IFMT) != n->type)
		fail("%s is of the wrong type", path);
	if (n->type == S_IFLNK) {
		len = readlink(path, target, sizeof(target));
		expect(len, 0, "readlink", path);
		if (len != (ssize_t)n->len || memcmp(target, n->data, len))
			fail("%s has another target", path);
		return;
	}
	if ((st.st_mode & 07777) != n->mode)
		fail("%s has mode %o, not %o", path, st.st_mode & 07777, n->mode);
	if (n->type == S_IFREG) {
		if ((int)st.st_nlink != n->links)
			fail("%s has %d links, not %d", path, (int)st.st_nlink, n->links);
		whole(path, dir == stress_dir ? n->flags : 0, n->data, n->len);
	}
	for (x = 0; xattrs && x < XATTRS; x++) {
		char name[16];

		snprintf(name, sizeof(name), "user.x%d", x);
		len = getxattr(path, name, value, sizeof(value));
		expect(len, n->xattr[x] ? 0 : ENODATA, "getxattr", path);
		if (n->xattr[x] && (len != (ssize_t)n->xlen[x] || memcmp(value, n->xattr[x], len)))
			fail("%s of %s has another value", name, path);
	}
}

static void stress_xattr(uint64_t *state, int i)
{
	const char *path = name_path(stress_dir, i);
	struct node *n = names[i];
	char name[16], list[4096];
	int x = rnd(state) % XATTRS, count = 0;
	ssize_t len;
	size_t at;

	if (!n || n->type == S_IFLNK)
		return;
	snprintf(name, sizeof(name), "user.x%d", x);
	switch (rnd(state) % 4) {
	case 0:
		expect(removexattr(path, name), n->xattr[x] ? 0 : ENODATA, "removexattr", path);
		free(n->xattr[x]);
		n->xattr[x] = NULL;
		break;
	case 1:
		len = listxattr(path, list, sizeof(list));
		expect(len, 0, "listxattr", path);
		for (at = 0; at < (size_t)len; at += strlen(list + at) + 1)
			count += !strncmp(list + at, "user.x", 6);
		for (x = 0; x < XATTRS; x++)
			count -= !!n->xattr[x];
		if (count)
			fail("listxattr of %s shows %d attributes more than there are", path, count);
		break;
	default:
		/* All of them fit one block of ext4. */
		at = rnd(state) % 500 + 1;
		if (!n->xattr[x])
			n->xattr[x] = need(malloc(500));
		n->xlen[x] = at;
		fill(n->xattr[x], rnd(state), 0, at);
		expect(setxattr(path, name, n->xattr[x], at, 0), 0, "setxattr", path);
	}
}

/* Perform Reads, Writes and changes of size and mode on the file with name @i. */
static void stress_data(uint64_t *state, int i)
{
	const char *path = name_path(stress_dir, i);
	struct node *n = names[i];
	size_t len = rnd(state) % (rnd(state) % 4 ? 5000 : FILE_MAX), off = rnd(state) % FILE_MAX;
	int fd;

	if (!n || n->type != S_IFREG)
		return;
	if (len > FILE_MAX - off)
		len = FILE_MAX - off;
	switch (rnd(state) % 4) {
	case 0:
		expect(truncate(path, off), 0, "truncate", path);
		if (off > n->len)
			memset(n->data + n->len, 0, off - n->len);
		n->len = off;
		break;
	case 1:
		n->mode = 0600 | rnd(state) % 0100;
		expect(chmod(path, n->mode), 0, "chmod", path);
		break;
	default:
		/* nfsd of 6.1 returns wrong data if tmpfs has several holes. */
		if (off > n->len) {
			off = n->len;
			if (len > FILE_MAX - off)
				len = FILE_MAX - off;
		}
		fill(n->data + off, rnd(state), 0, len);
		fd = xopen(path, O_WRONLY | n->flags);
		put(fd, n->data + off, len, off, path);
		xclose(fd, path);
		if (off + len > n->len)
			n->len = off + len;
	}
}

/* Perform an operation that must not be executed twice. */
static void stress_name(uint64_t *state, int i)
{
	const char *path = name_path(stress_dir, i), *to;
	char target[1001];
	int j = rnd(state) % NAMES, error;
	size_t len;

	to = name_path(stress_dir, j);
	switch (rnd(state) % 7) {
	case 0:
		error = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		expect(error, names[i] ? EEXIST : 0, "create", path);
		if (error >= 0)
			xclose(error, path);
		if (!names[i])
			node_new(i, S_IFREG);
		break;
	case 1:
		expect(mkdir(path, 0755), names[i] ? EEXIST : 0, "mkdir", path);
		if (!names[i])
			node_new(i, S_IFDIR);
		break;
	case 2:
		len = rnd(state) % 1000 + 1;
		memset(target, 'a' + rnd(state) % 26, len);
		target[len] = 0;
		expect(symlink(target, path), names[i] ? EEXIST : 0, "symlink", path);
		if (!names[i]) {
			node_new(i, S_IFLNK);
			names[i]->len = len;
			memcpy(names[i]->data, target, len);
		}
		break;
	case 3:
		if (!names[i] || names[i]->type != S_IFREG)
			break;
		expect(link(path, to), names[j] ? EEXIST : 0, "link", to);
		if (!names[j]) {
			names[j] = names[i];
			names[j]->links++;
		}
		break;
	case 4:
		if (names[i] == names[j] || (names[i] && names[j] &&
		    (names[i]->type == S_IFDIR || names[j]->type == S_IFDIR)))
			break;
		expect(rename(path, to), names[i] ? 0 : ENOENT, "rename", path);
		if (names[i]) {
			if (names[j])
				node_put(j);
			names[j] = names[i];
			names[i] = NULL;
		}
		break;
	default:
		if (names[i] && names[i]->type == S_IFDIR)
			expect(rmdir(path), 0, "rmdir", path);
		else
			expect(unlink(path), names[i] ? 0 : ENOENT, "unlink", path);
		if (names[i])
			node_put(i);
	}
}

/* Check that the folder, seen through @dir, has each name once and no other. */
static void stress_list(const char *dir)
{
	int seen[NAMES] = { 0 }, i;
	struct dirent *e;
	DIR *d = opendir(dir);

	if (!d)
		fail("opendir %s: %m", dir);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (sscanf(e->d_name, "n%d", &i) != 1 || i < 0 || i >= NAMES || !names[i])
			fail("%s lists %s, which should not be there", dir, e->d_name);
		if (seen[i]++)
			fail("%s lists %s twice", dir, e->d_name);
	}
	for (i = 0; i < NAMES; i++)
		if (names[i] && !seen[i])
			fail("%s does not list n%d", dir, i);
	closedir(d);
}

int stress(const char *dir, const char *expdir, int seconds, uint64_t seed, int xattrs)
{
	double start = now(), longest = 0;
	uint64_t state = mix(seed);
	unsigned long done = 0;
	int i;

	signal(SIGTERM, on_term);
	stress_dir = dir;
	expect(mkdir(dir, 0755), 0, "mkdir", dir);
	while (!enough && now() - start < seconds) {
		double t = now();

		i = rnd(&state) % NAMES;
		switch (rnd(&state) % 16) {
		case 0:
			stress_list(dir);
			break;
		case 1:
		case 2:
			node_check(dir, i, xattrs);
			break;
		case 3:
		case 4:
		case 5:
			stress_data(&state, i);
			break;
		case 6:
		case 7:
		case 8:
			if (xattrs)
				stress_xattr(&state, i);
			break;
		default:
			stress_name(&state, i);
		}
		done++;
		t = now() - t;
		if (t > longest)
			longest = t;
	}
	stress_list(dir);
	stress_list(expdir);
	for (i = 0; i < NAMES; i++) {
		node_check(dir, i, xattrs);
		node_check(expdir, i, xattrs);
	}
	for (i = 0; i < NAMES; i++) {
		if (!names[i])
			continue;
		if (names[i]->type == S_IFDIR)
			expect(rmdir(name_path(dir, i)), 0, "rmdir", dir);
		else
			expect(unlink(name_path(dir, i)), 0, "unlink", dir);
	}
	expect(rmdir(dir), 0, "rmdir", dir);
	printf("%lu operations; the longest took %.1f s\n", done, longest);
	return 0;
}

void __attribute__((noreturn)) burn(const char *path)
{
	size_t len = 1 << 20;
	unsigned char *p = need(malloc(len));
	int fd = xopen(path, O_RDWR | O_CREAT | O_DIRECT);
	uint64_t state = getpid();

	fill(p, state, 0, len);
	for (;;) {
		size_t n = rnd(&state) % len;

		put(fd, p, n, rnd(&state) % 10000, path);
		get(fd, p, n, 0, path);
	}
}
