// SPDX-License-Identifier: GPL-2.0
/*
 * File operations in a folder, each kind between two marks for the plugin
 * scripts/cost/insns.c. For "make cost".
 *
 *   nfswork DIR short|long
 *   nfswork DIR NAME...
 *   nfswork DIR reconnect TRANSPORT ADDRESS NAME COUNT
 *
 * Prints a line "WORK NAME COUNT" for each kind, in the order of the marks. NAME is
 * OPERATION, or OPERATION.BYTES.DEPTH, where DEPTH operations are outstanding at a time.
 * The second form performs the named kinds (scripts/cost.sh lists them). A variant may
 * follow BYTES.DEPTH. The variant "unaligned" begins 100 bytes after the start of a page in
 * memory and in the file. All other variants are prepared by the caller.
 * The third form ends the connection of a transport to ADDRESS, and connects it again for
 * an RPC, COUNT times. TRANSPORT is the transport's folder in sysfs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mark.h"

enum {
	FILE_OCTETS = 4 << 20,
	MAX_DEPTH = 64,
	MAX_NAMES = 400,
	SMALL = 2048,
	LISTED = 10000,
	ASKEW = 100,
};

static int fd;
static unsigned char *buffer;
/* Offset from the start of a page, in memory and in the file */
static size_t askew;
static aio_context_t aio;

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "nfswork: %s: %s\n", what, strerror(errno));
	exit(1);
}

static off_t offset_of(size_t octets, int i)
{
	return (off_t)askew + (off_t)octets * i % (FILE_OCTETS / octets * octets);
}

/*
 * Return the memory of the operation @i. Concurrent operations do not share memory
 * unless they are too large for that.
 */
static unsigned char *memory_of(size_t octets, int i)
{
	return buffer + askew + octets * i % (FILE_OCTETS / octets * octets);
}

/* One at a time: only a system call per operation is added. */
static void in_turn(int write, size_t octets, int count)
{
	ssize_t n;
	int i;

	for (i = 0; i < count; i++) {
		off_t off = offset_of(octets, i);

		n = write ? pwrite(fd, buffer + askew, octets, off) :
			    pread(fd, buffer + askew, octets, off);
		if (n != (ssize_t)octets)
			fail(write ? "write" : "read");
	}
}

static void submit(struct iocb *cb)
{
	if (syscall(SYS_io_submit, aio, 1, &cb) != 1)
		fail("io_submit");
}

static void at_once(int write, size_t octets, int depth, int count)
{
	struct io_event events[MAX_DEPTH];
	struct iocb cbs[MAX_DEPTH];
	int i, n, begun, done = 0;

	for (begun = 0; begun < depth; begun++) {
		cbs[begun] = (struct iocb){
			.aio_fildes = fd,
			.aio_lio_opcode = write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
			.aio_buf = (uintptr_t)memory_of(octets, begun),
			.aio_nbytes = octets,
			.aio_offset = offset_of(octets, begun),
		};
		submit(&cbs[begun]);
	}
	while (done < count) {
		n = syscall(SYS_io_getevents, aio, 1, MAX_DEPTH, events, NULL);
		if (n < 1)
			fail("io_getevents");
		for (i = 0; i < n; i++) {
			struct iocb *cb = (struct iocb *)(uintptr_t)events[i].obj;

			if (events[i].res != (int64_t)octets)
				fail(write ? "write" : "read");
			done++;
			if (begun == count)
				continue;
			cb->aio_offset = offset_of(octets, begun++);
			submit(cb);
		}
	}
}

static void transfer(int write, size_t octets, int depth, int count)
{
	if (depth == 1)
		in_turn(write, octets, count);
	else
		at_once(write, octets, depth, count);
}

static void measure(int write, size_t octets, int depth, int count, const char *name)
{
	/* Allocate slots, MRs, caches and pages before counting. */
	transfer(write, octets, depth, 4 * depth + count / 8);
	MARK_BEGIN;
	transfer(write, octets, depth, count);
	MARK_END;
	if (name)
		printf("WORK %s %d\n", name, count);
	else
		printf("WORK %s.%zu.%d %d\n", write ? "write" : "read", octets, depth, count);
}

/* Operations on names: each for the files 0, 1, 2 and so on */
enum op { LOOKUP, CREATE, OPEN_READ, RENAME, REMOVE };

static char paths[MAX_NAMES][256], others[MAX_NAMES][256];

static void on_name(enum op op, int i)
{
	struct stat st;
	int f;

	switch (op) {
	case LOOKUP:
		if (!stat(others[i], &st))
			fail("stat of a missing file");
		return;
	case CREATE:
		f = open(paths[i], O_CREAT | O_WRONLY, 0644);
		if (f < 0 || write(f, buffer, SMALL) != SMALL || close(f))
			fail("create");
		return;
	case OPEN_READ:
		f = open(paths[i], O_RDONLY | O_DIRECT);
		if (f < 0 || read(f, buffer, SMALL) != SMALL || close(f))
			fail("open and read");
		return;
	case RENAME:
		if (rename(paths[i], others[i]))
			fail("rename");
		return;
	case REMOVE:
		if (unlink(others[i]))
			fail("unlink");
		return;
	}
}

/* Use the first quarter of the files to warm up. */
static void names(const char *name, enum op op, int count)
{
	int i, first = count / 4;

	for (i = 0; i < first; i++)
		on_name(op, i);
	MARK_BEGIN;
	for (; i < count; i++)
		on_name(op, i);
	MARK_END;
	printf("WORK %s %d\n", name, count - first);
}

/* Print the path of the name @i in a folder of names for the row @name. */
static void name_in(char *path, const char *dir, const char *name, int i)
{
	snprintf(path, PATH_MAX, "%s/%s-names/%d", dir, name, i);
}

/* List a folder of 10,000 names, which the caller has created, after each of several changes. */
static void list_names(const char *dir, int count)
{
	char path[PATH_MAX], other[PATH_MAX];
	int i, n;

	for (i = -1; i < count; i++) {
		DIR *names;

		if (!i)
			MARK_BEGIN;
		name_in(path, dir, "readdir", i & 1 ? 0 : LISTED);
		name_in(other, dir, "readdir", i & 1 ? LISTED : 0);
		if (rename(path, other))
			fail("rename in a large folder");
		snprintf(path, sizeof(path), "%s/readdir-names", dir);
		names = opendir(path);
		if (!names)
			fail(path);
		for (n = 0; readdir(names); n++)
			;
		closedir(names);
		if (n != LISTED + 2)
			fail("names are missing");
	}
	MARK_END;
	printf("WORK readdir %d\n", count);
}

/* Get an attribute of each of several files, which the caller has created. */
static void get_attributes(const char *dir, int count)
{
	char path[PATH_MAX];
	int i, warm = count / 4;

	for (i = 0; i < count; i++) {
		if (i == warm)
			MARK_BEGIN;
		name_in(path, dir, "getxattr", i);
		if (getxattr(path, "user.work", buffer, SMALL) != SMALL)
			fail(path);
	}
	MARK_END;
	printf("WORK getxattr %d\n", count - warm);
}

/* Transfer the complete file from or to the server, buffered and sequentially. */
static void stream(const char *path, int write, int count)
{
	int i, f = open(path, O_RDWR);
	size_t at;

	if (f < 0)
		fail(path);
	for (i = -1; i < count; i++) {
		posix_fadvise(f, 0, 0, POSIX_FADV_DONTNEED);
		if (!i)
			MARK_BEGIN;
		for (at = 0; at < FILE_OCTETS; at += 1 << 16) {
			ssize_t n = write ? pwrite(f, buffer + at, 1 << 16, at) :
					    pread(f, buffer + at, 1 << 16, at);

			if (n != 1 << 16)
				fail(path);
		}
		if (write && fsync(f))
			fail("fsync");
	}
	MARK_END;
	close(f);
	printf("WORK stream-%s %d\n", write ? "write" : "read", count);
}

/* Perform the operations of a row of the grid. */
static void grid_row(const char *dir, const char *path, const char *name)
{
	char what[8], variant[24] = "";
	size_t octets;
	int depth, count;

	if (!strcmp(name, "readdir")) {
		list_names(dir, 4);
	} else if (!strcmp(name, "getxattr")) {
		get_attributes(dir, 200);
	} else if (!strcmp(name, "stream-read") || !strcmp(name, "stream-write")) {
		stream(path, name[7] == 'w', 4);
	} else if (sscanf(name, "%7[a-z].%zu.%d.%23s", what, &octets, &depth, variant) >= 3 &&
		   octets && octets <= FILE_OCTETS && depth > 0 && depth <= MAX_DEPTH) {
		/* Receives are posted in batches: enough operations for a correct mean of each. */
		count = octets > 1 << 16 ? 48 : 96;
		if (count < 4 * depth)
			count = 4 * depth;
		askew = strcmp(variant, "unaligned") ? 0 : ASKEW;
		measure(!strcmp(what, "write"), octets, depth, count, name);
		askew = 0;
	} else {
		errno = EINVAL;
		fail(name);
	}
}

/* Linux 6.1 wakes no waiter for a transport's lock. So wait until it is free. */
static void wait_unlocked(const char *transport)
{
	char path[PATH_MAX], state[256];
	ssize_t n;
	int f;

	snprintf(path, sizeof(path), "%s/xprt_state", transport);
	do {
		f = open(path, O_RDONLY);
		n = f < 0 ? -1 : read(f, state, sizeof(state) - 1);
		if (n < 0)
			fail(path);
		state[n] = 0;
		close(f);
	} while (strstr(state, "LOCKED"));
}

/* Writing an address, even the same, ends the connection. FSSTAT is never cached. */
static void reconnect(const char *dir, const char *transport, const char *address,
		      const char *name, int count)
{
	char path[PATH_MAX];
	struct statfs st;
	int i, f;

	snprintf(path, sizeof(path), "%s/dstaddr", transport);
	for (i = -4; i < count; i++) {
		if (!i)
			MARK_BEGIN;
		wait_unlocked(transport);
		f = open(path, O_WRONLY);
		if (f < 0 || write(f, address, strlen(address)) < 0)
			fail(path);
		close(f);
		if (statfs(dir, &st))
			fail(dir);
	}
	MARK_END;
	printf("WORK %s %d\n", name, count);
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	int i, many, few;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 7 && !strcmp(argv[2], "reconnect")) {
		reconnect(argv[1], argv[3], argv[4], argv[5], atoi(argv[6]));
		return 0;
	}
	if (argc < 3) {
		fprintf(stderr, "usage: nfswork DIR short|long|NAME...\n");
		return 2;
	}
	many = strcmp(argv[2], "short") ? 1600 : 400;
	few = strcmp(argv[2], "short") ? 200 : 60;
	snprintf(path, sizeof(path), "%s/work", argv[1]);
	fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0644);
	if (fd < 0)
		fail(path);
	errno = posix_memalign((void **)&buffer, 4096, FILE_OCTETS + 4096);
	if (errno)
		fail("no memory");
	memset(buffer, 'w', FILE_OCTETS);
	if (syscall(SYS_io_setup, MAX_DEPTH, &aio))
		fail("io_setup");
	for (i = 0; i < MAX_NAMES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%.200s/work-%d", argv[1], i);
		snprintf(others[i], sizeof(others[i]), "%.200s/moved-%d", argv[1], i);
	}
	/* One more page, for unaligned transfers */
	transfer(1, FILE_OCTETS / 4, 1, 4);
	if (ftruncate(fd, FILE_OCTETS + 4096))
		fail("ftruncate");

	if (strcmp(argv[2], "short") && strcmp(argv[2], "long")) {
		for (i = 2; i < argc; i++)
			grid_row(argv[1], path, argv[i]);
		close(fd);
		unlink(path);
		return 0;
	}

	measure(0, 4096, 1, many, NULL);
	measure(1, 4096, 1, many, NULL);
	measure(0, 4096, 16, many, NULL);
	measure(1, 4096, 16, many, NULL);
	measure(0, 8192, 1, many, NULL);
	measure(1, 8192, 1, many, NULL);
	measure(0, 8192, 16, many, NULL);
	measure(1, 8192, 16, many, NULL);
	measure(0, 262144, 4, few, NULL);
	measure(1, 262144, 4, few, NULL);
	names("lookup", LOOKUP, few + few / 4);
	names("create", CREATE, few + few / 4);
	names("open+read", OPEN_READ, few + few / 4);
	names("rename", RENAME, few + few / 4);
	names("remove", REMOVE, few + few / 4);
	close(fd);
	unlink(path);
	return 0;
}
