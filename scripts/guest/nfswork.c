// SPDX-License-Identifier: GPL-2.0
/*
 * File operations in a folder, each kind between two marks for the plugin
 * scripts/cost/insns.c. For "make cost".
 *
 *   nfswork DIR short|long
 *
 * Prints a line "WORK NAME COUNT" for each kind, in the order of the marks. NAME is
 * OPERATION, or OPERATION.OCTETS.DEPTH, where DEPTH operations are outstanding at a time.
 */
#define _GNU_SOURCE
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
#include <unistd.h>

#include "mark.h"

enum { FILE_OCTETS = 4 << 20, MAX_DEPTH = 16, MAX_NAMES = 400, SMALL = 2048 };

static int fd;
static unsigned char *buffer;
static aio_context_t aio;

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "nfswork: %s: %s\n", what, strerror(errno));
	exit(1);
}

static off_t offset_of(size_t octets, int i)
{
	return (off_t)octets * i % FILE_OCTETS;
}

/* One at a time: only a system call per operation is added. */
static void in_turn(int write, size_t octets, int count)
{
	ssize_t n;
	int i;

	for (i = 0; i < count; i++) {
		off_t off = offset_of(octets, i);

		n = write ? pwrite(fd, buffer, octets, off) : pread(fd, buffer, octets, off);
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
			.aio_buf = (uintptr_t)(buffer + octets * begun),
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

static void measure(int write, size_t octets, int depth, int count)
{
	/* Allocate slots, MRs, caches and pages before counting. */
	transfer(write, octets, depth, 4 * depth + count / 8);
	MARK_BEGIN;
	transfer(write, octets, depth, count);
	MARK_END;
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
			fail("stat of what is not there");
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

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	int i, many, few;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3) {
		fprintf(stderr, "usage: nfswork DIR short|long\n");
		return 2;
	}
	many = strcmp(argv[2], "short") ? 1600 : 400;
	few = strcmp(argv[2], "short") ? 200 : 60;
	snprintf(path, sizeof(path), "%s/work", argv[1]);
	fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0644);
	if (fd < 0)
		fail(path);
	errno = posix_memalign((void **)&buffer, 4096, FILE_OCTETS);
	if (errno)
		fail("no memory");
	memset(buffer, 'w', FILE_OCTETS);
	if (syscall(SYS_io_setup, MAX_DEPTH, &aio))
		fail("io_setup");
	for (i = 0; i < MAX_NAMES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%.200s/work-%d", argv[1], i);
		snprintf(others[i], sizeof(others[i]), "%.200s/moved-%d", argv[1], i);
	}
	transfer(1, 1 << 20, 1, FILE_OCTETS >> 20);

	measure(0, 4096, 1, many);
	measure(1, 4096, 1, many);
	measure(0, 4096, 16, many);
	measure(1, 4096, 16, many);
	measure(0, 8192, 1, many);
	measure(1, 8192, 1, many);
	measure(0, 8192, 16, many);
	measure(1, 8192, 16, many);
	measure(0, 262144, 4, few);
	measure(1, 262144, 4, few);
	names("lookup", LOOKUP, few + few / 4);
	names("create", CREATE, few + few / 4);
	names("open+read", OPEN_READ, few + few / 4);
	names("rename", RENAME, few + few / 4);
	names("remove", REMOVE, few + few / 4);
	close(fd);
	unlink(path);
	return 0;
}
