// SPDX-License-Identifier: GPL-2.0
/*
 * How long file operations take in a folder: one line for each, its name and
 * the median in nanoseconds. For "make bench-kernel".
 *
 *   nfsbench DIR
 *
 * Names are of the form OPERATION.OCTETS.DEPTH: DEPTH threads do it at the same
 * time, and what counts is the time of all divided by their number.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_OCTETS = 4 << 20, SERIES = 400, MAX_DEPTH = 16 };

static int fd;

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "nfsbench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void report(const char *name, int64_t *times, int count)
{
	qsort(times, count, sizeof(*times), by_size);
	printf("%s %lld\n", name, (long long)times[count / 2]);
}

static void *buffer(void)
{
	void *p;

	errno = posix_memalign(&p, 4096, 1 << 20);
	if (errno)
		fail("no memory");
	memset(p, 'b', 1 << 20);
	return p;
}

static void transfer(int write, void *p, size_t octets, int i)
{
	off_t off = (off_t)octets * i % FILE_OCTETS;
	ssize_t n = write ? pwrite(fd, p, octets, off) : pread(fd, p, octets, off);

	if (n != (ssize_t)octets)
		fail(write ? "write" : "read");
}

static void one_at_a_time(int write, size_t octets)
{
	static int64_t times[SERIES];
	int i, count = octets > 16384 ? 60 : SERIES;
	void *p = buffer();
	char name[64];

	for (i = 0; i < count; i++) {
		int64_t begun = now();

		transfer(write, p, octets, i);
		times[i] = now() - begun;
	}
	snprintf(name, sizeof(name), "%s.%zu.1", write ? "write" : "read", octets);
	report(name, times, count);
	free(p);
}

struct worker {
	pthread_t thread;
	int write, first, count;
	size_t octets;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	void *p = buffer();
	int i;

	for (i = 0; i < w->count; i++)
		transfer(w->write, p, w->octets, w->first + i);
	free(p);
	return NULL;
}

static void many_at_a_time(int write, size_t octets, int depth, int count)
{
	struct worker workers[MAX_DEPTH];
	int64_t begun = now();
	int i;

	for (i = 0; i < depth; i++) {
		workers[i] = (struct worker){
			.write = write, .first = i * count, .count = count, .octets = octets,
		};
		errno = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
		if (errno)
			fail("pthread_create");
	}
	for (i = 0; i < depth; i++)
		pthread_join(workers[i].thread, NULL);
	printf("%s.%zu.%d %lld\n", write ? "write" : "read", octets, depth,
	       (long long)(now() - begun) / (depth * count));
}

/* Operations on names: each of them for files 0, 1, 2 ... */
enum op { LOOKUP, CREATE, OPEN_READ, RENAME, REMOVE };

static void names(const char *dir, const char *name, enum op op)
{
	static int64_t times[SERIES];
	char path[PATH_MAX], to[PATH_MAX], data[2048];
	int i, count = 200, f;

	memset(data, 'n', sizeof(data));
	for (i = 0; i < count; i++) {
		struct stat st;
		int64_t begun;

		snprintf(path, sizeof(path), "%s/bench-%d", dir, i);
		snprintf(to, sizeof(to), "%s/bench-to-%d", dir, i);
		begun = now();
		switch (op) {
		case LOOKUP:
			if (!stat(path, &st))
				fail("stat of what is not there");
			break;
		case CREATE:
			f = open(path, O_CREAT | O_WRONLY, 0644);
			if (f < 0 || write(f, data, sizeof(data)) != sizeof(data) || close(f))
				fail("create");
			break;
		case OPEN_READ:
			f = open(path, O_RDONLY | O_DIRECT);
			if (f < 0 || read(f, data, sizeof(data)) != sizeof(data) || close(f))
				fail("open and read");
			break;
		case RENAME:
			if (rename(path, to))
				fail("rename");
			break;
		case REMOVE:
			if (unlink(to))
				fail("unlink");
			break;
		}
		times[i] = now() - begun;
	}
	report(name, times, count);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 1024, 2048, 4096, 8192, 65536, 262144, 1048576 };
	char path[PATH_MAX];
	size_t i;
	void *p;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 2) {
		fprintf(stderr, "usage: nfsbench DIR\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/bench", argv[1]);
	fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0644);
	if (fd < 0)
		fail(path);
	p = buffer();
	for (i = 0; i < FILE_OCTETS >> 20; i++)
		transfer(1, p, 1 << 20, i);
	free(p);

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		one_at_a_time(0, sizes[i]);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		one_at_a_time(1, sizes[i]);
	many_at_a_time(0, 4096, 16, 100);
	many_at_a_time(1, 4096, 16, 100);
	many_at_a_time(0, 262144, 4, 25);
	many_at_a_time(1, 262144, 4, 25);
	names(argv[1], "lookup", LOOKUP);
	names(argv[1], "create+write.2048", CREATE);
	names(argv[1], "open+read.2048", OPEN_READ);
	names(argv[1], "rename", RENAME);
	names(argv[1], "remove", REMOVE);
	close(fd);
	unlink(path);
	return 0;
}
