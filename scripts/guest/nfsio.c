// SPDX-License-Identifier: GPL-2.0
/*
 * File I/O that verifies its data, for the end-to-end tests: the content of files is
 * compared with the expected content, through the mount and, if EXPDIR or EXPFILE is
 * given, in the server's export, directly or through a mount of another kind.
 *
 *   nfsio tree DIR SEED SMALL [BIG...]	create a tree: SMALL small files and
 *					files of BIG bytes, all from SEED
 *   nfsio sizes DIR EXPDIR MAX		Reads and Writes around every size that
 *					matters on the wire, at odd offsets
 *   nfsio load FILE EXPFILE SECONDS SEED
 *					random Writes and Reads against a copy
 *					in memory, for SECONDS
 *   nfsio many DIR EXPDIR PROCS FILES SEED
 *					many processes, each with its files
 *   nfsio dir DIR EXPDIR COUNT		long listings
 *   nfsio links DIR EXPDIR COUNT SECONDS SEED
 *					long symbolic links, created in EXPDIR and
 *					read through DIR without a cache:
 *					all once, then for SECONDS
 *   nfsio lock FILE EXPFILE		record locks against a local holder
 *   nfsio burn FILE			Write and Read until it is killed
 *   nfsio stress DIR EXPDIR SECONDS SEED NAMES|XATTRS
 *					random operations on names, files and
 *					attributes, each result compared with a
 *					model; XATTRS with extended attributes
 *   nfsio calls DIR EXPDIR COUNT	concurrently, COUNT times each: stat f0.., list
 *					d0.., write w0.. of DIR
 *   nfsio drop FILE ADDRESS SECONDS	write ADDRESS to FILE, a client
 *					transport's dstaddr in sysfs, which
 *					makes it reconnect; try for SECONDS
 *
 * Exit status: 0 if all checks passed; otherwise stderr has a line with the first
 * failure.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nfsio.h"

void fail(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "nfsio: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* A sequence of random numbers, the same for the same seed */
uint64_t rnd(uint64_t *state)
{
	return mix(++*state);
}

/* The content of a file is a function of its seed and the offset. */
void fill(unsigned char *p, uint64_t seed, uint64_t off, size_t len)
{
	uint64_t word = 0, at = UINT64_MAX;
	size_t i;

	for (i = 0; i < len; i++, off++) {
		if (off >> 3 != at) {
			at = off >> 3;
			word = mix(seed * 0x100000001b3ull + at);
			while (!(off & 7) && len - i >= 8) {
				memcpy(p + i, &word, 8);
				i += 8;
				off += 8;
				at = off >> 3;
				word = mix(seed * 0x100000001b3ull + at);
			}
			if (i == len)
				break;
		}
		p[i] = word >> (8 * (off & 7));
	}
}

void *need(void *p)
{
	if (!p)
		fail("out of memory");
	return p;
}

int xopen(const char *path, int flags)
{
	int fd = open(path, flags, 0644);

	if (fd < 0)
		fail("open %s: %m", path);
	return fd;
}

/* Open the server's file. If @path is in a mount, bypass the mount's page cache. */
static int open_export(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECT);

	return fd < 0 ? xopen(path, O_RDONLY) : fd;
}

void xclose(int fd, const char *path)
{
	if (close(fd))
		fail("close %s: %m", path);
}

void put(int fd, const void *p, size_t len, off_t off, const char *path)
{
	while (len) {
		ssize_t n = pwrite(fd, p, len, off);

		if (n <= 0)
			fail("write of %zu at %lld in %s: %s", len, (long long)off, path,
			     n ? strerror(errno) : "wrote nothing");
		p = (const char *)p + n;
		len -= n;
		off += n;
	}
}

size_t get(int fd, void *p, size_t len, off_t off, const char *path)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)p + done, len - done, off + done);

		if (n < 0)
			fail("read of %zu at %lld in %s: %m", len - done,
			     (long long)off + (long long)done, path);
		if (!n)
			break;
		done += n;
	}
	return done;
}

void same(const unsigned char *got, const unsigned char *want, size_t len,
		 off_t off, const char *path)
{
	size_t i, bad = 0;

	if (!memcmp(got, want, len))
		return;
	for (i = len; i-- > 0;)
		if (got[i] != want[i])
			bad = i;
	for (i = bad; i < len && got[i] != want[i]; i++)
		;
	fail("wrong data in %s: %zu bytes from offset %lld on (of %zu compared from %lld), the first is %#x, not %#x",
	     path, i - bad, (long long)off + (long long)bad, len, (long long)off,
	     got[bad], want[bad]);
}

/* Check the complete file after a fresh open. */
void whole(const char *path, int flags, const unsigned char *want, size_t len)
{
	unsigned char *got = need(malloc(len + 1));
	int fd = xopen(path, O_RDONLY | flags);
	size_t n = get(fd, got, len + 1, 0, path);

	if (n != len)
		fail("%s has %zu%s bytes, not %zu", path, n,
		     n > len ? " or more" : "", len);
	same(got, want, len, 0, path);
	xclose(fd, path);
	free(got);
}

static void write_file(const char *path, uint64_t seed, size_t len)
{
	size_t piece = 1 << 20, off;
	unsigned char *p = need(malloc(piece));
	int fd = xopen(path, O_WRONLY | O_CREAT | O_TRUNC);

	for (off = 0; off < len; off += piece) {
		size_t n = len - off < piece ? len - off : piece;

		fill(p, seed, off, n);
		put(fd, p, n, off, path);
	}
	xclose(fd, path);
	free(p);
}

static int tree(const char *dir, uint64_t seed, int small, char **big)
{
	uint64_t state = seed;
	char path[PATH_MAX];
	int i;

	if (mkdir(dir, 0755) && errno != EEXIST)
		fail("mkdir %s: %m", dir);
	for (i = 0; i < small; i++) {
		/* Return one of some dozens of folders, two levels deep. */
		unsigned int d = rnd(&state) % 8, e = rnd(&state) % 8;
		uint64_t r = rnd(&state);
		size_t len;

		snprintf(path, sizeof(path), "%s/folder%u", dir, d);
		mkdir(path, 0755);
		snprintf(path, sizeof(path), "%s/folder%u/sub%u", dir, d, e);
		mkdir(path, 0755);
		switch (r % 16) {
		case 0:
			len = 0;
			break;
		case 1:
			len = r / 16 % 262144;
			break;
		case 2:
		case 3:
			len = r / 16 % 32768;
			break;
		default:
			len = r / 16 % 6000;
		}
		snprintf(path, sizeof(path), "%s/folder%u/sub%u/file%05d-%0*d", dir, d, e, i,
			 (int)(r >> 40) % 60 + 1, 0);
		write_file(path, rnd(&state), len);
	}
	for (i = 0; big[i]; i++) {
		snprintf(path, sizeof(path), "%s/big%d", dir, i);
		write_file(path, rnd(&state), strtoull(big[i], NULL, 0));
	}
	return 0;
}

/* Test one size at one offset, in a file that ends there. */
static void one_size(int direct, int buffered, const char *path, int exp, const char *exppath,
		     size_t len, off_t off, uint64_t seed)
{
	static unsigned char *want, *got;
	static size_t room;
	size_t n;

	if (room < len + 16) {
		room = len + 16;
		want = need(realloc(want, room));
		got = need(realloc(got, room));
	}
	fill(want, seed, off, len);

	/* Write just this range, and compare it with the server's file. */
	if (ftruncate(direct, 0))
		fail("truncate %s: %m", path);
	put(direct, want, len, off, path);
	n = get(exp, got, len + 16, off, exppath);
	if (n != len)
		fail("after a Write of %zu at %lld, %zu bytes are in %s", len, (long long)off, n, exppath);
	same(got, want, len, off, exppath);

	/* Read just this range, and then one that extends past the end of the file. */
	memset(got, 0x5a, len + 16);
	n = get(direct, got, len, off, path);
	if (n != len)
		fail("a Read of %zu at %lld returned %zu", len, (long long)off, n);
	same(got, want, len, off, path);
	if (got[len] != 0x5a)
		fail("a Read of %zu at %lld wrote past the end of its buffer", len, (long long)off);
	n = get(direct, got, len + 11, off, path);
	if (n != len)
		fail("a Read of %zu, 11 past the end, at %lld returned %zu", len, (long long)off, n);
	same(got, want, len, off, path);

	/* Do the same through the page cache. */
	fill(want, seed + 1, off, len);
	put(buffered, want, len, off, path);
	if (fsync(buffered))
		fail("fsync %s: %m", path);
	n = get(exp, got, len + 16, off, exppath);
	if (n != len)
		fail("after a buffered write of %zu at %lld, %zu bytes are in %s", len, (long long)off, n, exppath);
	same(got, want, len, off, exppath);
	posix_fadvise(buffered, 0, 0, POSIX_FADV_DONTNEED);
	n = get(buffered, got, len, off, path);
	if (n != len)
		fail("a buffered read of %zu at %lld returned %zu", len, (long long)off, n);
	same(got, want, len, off, path);
}

static int sizes(const char *dir, const char *expdir, size_t max)
{
	/* XDR padding, pages, the inline limits, the limit of a Read or Write */
	static const size_t about[] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 127, 128, 129, 1000, 1023, 1024, 1025, 2047, 2048, 2049,
		4091, 4092, 4093, 4095, 4096, 4097, 4099, 4100, 4101, 8191, 8192, 8193, 12287, 12289,
		16383, 16384, 16385, 20000, 20479, 20480, 20481, 32767, 32768, 32769, 65535, 65536,
		65537, 131071, 131073, 262143, 262144, 262145, 262148, 524287, 524289, 1048575, 1048576, 1048577, 1048580,
	};
	static const off_t offsets[] = { 0, 1, 3, 4, 2047, 4095, 4097, 65537 };
	char path[PATH_MAX], exppath[PATH_MAX];
	int direct, buffered, exp;
	size_t i, len, count = 0;

	snprintf(path, sizeof(path), "%s/sizes", dir);
	snprintf(exppath, sizeof(exppath), "%s/sizes", expdir);
	buffered = xopen(path, O_RDWR | O_CREAT | O_TRUNC);
	direct = xopen(path, O_RDWR | O_DIRECT);
	exp = open_export(exppath);
	for (i = 0; i < sizeof(about) / sizeof(about[0]); i++) {
		if (about[i] > max)
			break;
		one_size(direct, buffered, path, exp, exppath, about[i], 0, ++count);
		one_size(direct, buffered, path, exp, exppath, about[i],
			 offsets[i % (sizeof(offsets) / sizeof(offsets[0]))], ++count);
	}
	/*
	 * A message of 4096 bytes has 3600 to 4060 bytes of data, depending on the
	 * version of NFS and of RPC-over-RDMA: test all sizes in that range.
	 */
	for (len = 3600; len < 4100; len += len % 8 ? 1 : 7)
		one_size(direct, buffered, path, exp, exppath, len, len % 5, ++count);
	xclose(exp, exppath);
	xclose(direct, path);
	xclose(buffered, path);
	if (unlink(path))
		fail("unlink %s: %m", path);
	printf("%zu sizes\n", count);
	return 0;
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

volatile sig_atomic_t enough;

void on_term(int sig)
{
	(void)sig;
	enough = 1;
}

/*
 * Two files, one with O_DIRECT and one through the page cache. With any transport, the
 * client does not keep both ways of access to one file coherent.
 */
static int load(const char *base, const char *expbase, int seconds, uint64_t seed)
{
	const size_t size = 1 << 20;
	unsigned char *shadow[2], *buf = need(malloc(size));
	char path[2][PATH_MAX], exppath[2][PATH_MAX];
	unsigned long writes = 0, reads = 0, syncs = 0;
	double start = now(), longest = 0;
	uint64_t state = seed;
	int fd[2], i;

	signal(SIGTERM, on_term);
	for (i = 0; i < 2; i++) {
		snprintf(path[i], PATH_MAX, "%s%s", base, i ? "-direct" : "-buffered");
		snprintf(exppath[i], PATH_MAX, "%s%s", expbase, i ? "-direct" : "-buffered");
		shadow[i] = need(malloc(size));
		fd[i] = xopen(path[i], O_RDWR | O_CREAT | O_TRUNC | (i ? O_DIRECT : 0));
		/*
		 * Write everything, to leave no holes. If tmpfs has several holes in a row,
		 * nfsd of 6.1 treats them as one page and sends wrong data, over any transport.
		 */
		fill(shadow[i], rnd(&state), 0, size);
		put(fd[i], shadow[i], size, 0, path[i]);
	}
	while (!enough && now() - start < seconds) {
		uint64_t r = rnd(&state);
		size_t limit = r % 4 == 0 ? 400000 : r % 4 == 1 ? 65536 : 6000;
		size_t len = rnd(&state) % limit + 1;
		off_t off = rnd(&state) % (size - len);
		double t = now();

		i = r / 4 % 2;
		switch (r / 8 % 8) {
		case 0:
		case 1:
		case 2:
		case 3:
			fill(shadow[i] + off, rnd(&state), 0, len);
			put(fd[i], shadow[i] + off, len, off, path[i]);
			writes++;
			break;
		case 4:
			if (fsync(fd[i]))
				fail("fsync %s: %m", path[i]);
			/* Drop the cache, so that the next Read comes from the server. */
			posix_fadvise(fd[i], 0, 0, POSIX_FADV_DONTNEED);
			syncs++;
			break;
		default:
			if (get(fd[i], buf, len, off, path[i]) != len)
				fail("a short read of %zu at %lld in %s", len, (long long)off, path[i]);
			same(buf, shadow[i] + off, len, off, path[i]);
			reads++;
		}
		t = now() - t;
		if (t > longest)
			longest = t;
	}
	for (i = 0; i < 2; i++) {
		if (fsync(fd[i]))
			fail("fsync %s: %m", path[i]);
		xclose(fd[i], path[i]);
		whole(path[i], 0, shadow[i], size);
		whole(path[i], O_DIRECT, shadow[i], size);
		whole(exppath[i], 0, shadow[i], size);
		/*
		 * A server that restarts loses its cache of Replies. If it has removed the
		 * file and its Reply was lost, REMOVE is executed again and finds no file.
		 */
		if (unlink(path[i]) && errno != ENOENT)
			fail("unlink %s: %m", path[i]);
		if (!access(exppath[i], F_OK))
			fail("%s still exists", exppath[i]);
	}
	printf("%lu writes, %lu reads, %lu syncs; the longest took %.1f s\n",
	       writes, reads, syncs, longest);
	return 0;
}

static int reap(int count)
{
	int status, bad = 0;

	while (count--) {
		if (wait(&status) < 0)
			fail("wait: %m");
		if (status)
			bad++;
	}
	return bad;
}

static int many(const char *dir, const char *expdir, int procs, int files, uint64_t seed)
{
	int i, f, bad;

	for (i = 0; i < procs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork: %m");
		if (pid)
			continue;
		for (f = 0; f < files; f++) {
			uint64_t state = seed + i * 1000003ull + f * 7919ull;
			size_t len = rnd(&state) % (f % 4 ? 9000 : 300000);
			uint64_t content = rnd(&state);
			unsigned char *want = need(malloc(len + 1));
			char path[PATH_MAX], to[PATH_MAX], exppath[PATH_MAX];
			struct stat st;

			snprintf(path, sizeof(path), "%s/p%d-%d.new", dir, i, f);
			snprintf(to, sizeof(to), "%s/p%d-%d", dir, i, f);
			snprintf(exppath, sizeof(exppath), "%s/p%d-%d", expdir, i, f);
			fill(want, content, 0, len);
			write_file(path, content, len);
			if (rename(path, to))
				fail("rename %s: %m", path);
			if (stat(to, &st) || (size_t)st.st_size != len)
				fail("stat %s: %lld bytes, not %zu", to, (long long)st.st_size, len);
			whole(to, f % 2 ? O_DIRECT : 0, want, len);
			whole(exppath, 0, want, len);
			if (f % 3 == 0 && unlink(to))
				fail("unlink %s: %m", to);
			free(want);
		}
		exit(0);
	}
	bad = reap(procs);
	if (bad)
		fail("%d of %d processes failed", bad, procs);
	return 0;
}

/* Check that a listing has each name once. The client has not cached it. */
static void listing(const char *dir, int count)
{
	char *seen = need(calloc(1, count));
	struct dirent *e;
	int n = 0, id;
	DIR *d = opendir(dir);

	if (!d)
		fail("opendir %s: %m", dir);
	for (;;) {
		errno = 0;
		e = readdir(d);
		if (!e)
			break;
		if (e->d_name[0] == '.')
			continue;
		if (sscanf(e->d_name, "entry-%d-", &id) != 1 || id < 0 || id >= count)
			fail("%s lists %s, which was not created", dir, e->d_name);
		if (seen[id]++)
			fail("%s lists %s twice", dir, e->d_name);
		n++;
	}
	if (errno)
		fail("readdir %s: %m", dir);
	if (n != count)
		fail("%s lists %d entries, not %d", dir, n, count);
	closedir(d);
	free(seen);
}

static int dirs(const char *dir, const char *expdir, int count)
{
	char path[PATH_MAX], text[PATH_MAX], link[PATH_MAX];
	ssize_t n;
	int i;

	/* Create the entries at the server: this is faster, and leaves the client's cache empty. */
	for (i = 0; i < count; i++) {
		int len = mix(i) % 200 + 1;

		snprintf(path, sizeof(path), "%s/entry-%d-%0*d", expdir, i, len, 0);
		if (i % 16) {
			int fd = xopen(path, O_WRONLY | O_CREAT | O_EXCL);

			xclose(fd, path);
		} else if (mkdir(path, 0755)) {
			fail("mkdir %s: %m", path);
		}
	}
	listing(dir, count);
	/* List again, with all attributes that the client can request. */
	for (i = 0; i < count; i += 7) {
		struct stat st;
		int len = mix(i) % 200 + 1;

		snprintf(path, sizeof(path), "%s/entry-%d-%0*d", dir, i, len, 0);
		if (stat(path, &st))
			fail("stat %s: %m", path);
		if (S_ISDIR(st.st_mode) != !(i % 16))
			fail("%s is of the wrong type", path);
	}
	listing(dir, count);

	/* Symbolic links of every length: READLINK's Reply may need a chunk. */
	for (i = 1; i < PATH_MAX; i = i < 8 ? i + 1 : i < 4000 ? i * 2 - 3 : i + 19) {
		memset(text, 'x', i);
		text[i] = 0;
		snprintf(path, sizeof(path), "%s/.link%d", dir, i);
		if (symlink(text, path))
			fail("symlink of %d bytes: %m", i);
		/* a link that the client did not create */
		snprintf(path, sizeof(path), "%s/.slink%d", expdir, i);
		if (symlink(text, path))
			fail("symlink of %d bytes in %s: %m", i, expdir);
		snprintf(path, sizeof(path), "%s/.slink%d", dir, i);
		n = readlink(path, link, sizeof(link));
		if (n != i || memcmp(link, text, i))
			fail("readlink of %d bytes returned %zd%s", i, n, n == i ? ", not the same" : "");
		snprintf(path, sizeof(path), "%s/.link%d", expdir, i);
		n = readlink(path, link, sizeof(link));
		if (n != i || memcmp(link, text, i))
			fail("the link of %d bytes created in the mount has %zd", i, n);
	}
	return 0;
}

/* The target of a link: 1100 to 4000 bytes without NUL */
static size_t link_target(char *target, uint64_t seed, int i)
{
	uint64_t state = mix(seed) + i;
	size_t k, len = 1100 + rnd(&state) % 2900;

	for (k = 0; k < len; k++)
		target[k] = 'a' + rnd(&state) % 26;
	target[len] = 0;
	return len;
}

/* Drop the client's caches, because it does not request links that it has cached. */
static void uncache(void)
{
	int i, fd = xopen("/proc/sys/vm/drop_caches", O_WRONLY);

	/* The first time does not drop recently used entries. */
	for (i = 0; i < 2; i++)
		if (pwrite(fd, "2", 1, 0) != 1)
			fail("drop_caches: %m");
	xclose(fd, "drop_caches");
}

static int links(const char *dir, const char *expdir, int count, int seconds, uint64_t seed)
{
	char path[PATH_MAX], want[4096], got[4096];
	unsigned int done = 0;
	double end = now() + seconds;
	int i;

	signal(SIGTERM, on_term);
	if (mkdir(expdir, 0755) && errno != EEXIST)
		fail("mkdir %s: %m", expdir);
	for (i = 0; i < count; i++) {
		link_target(want, seed, i);
		snprintf(path, sizeof(path), "%s/l%d", expdir, i);
		if (symlink(want, path) && errno != EEXIST)
			fail("symlink %s: %m", path);
	}
	do {
		uncache();
		for (i = 0; i < count; i++) {
			ssize_t n, len = link_target(want, seed, i);

			snprintf(path, sizeof(path), "%s/l%d", dir, i);
			n = readlink(path, got, sizeof(got));
			if (n < 0)
				fail("readlink %s: %m", path);
			if (n != len || memcmp(got, want, len))
				fail("%s: %zd bytes, not the target of %zd", path, n, len);
			done++;
		}
	} while (!enough && now() < end);
	printf("%u links were read\n", done);
	return 0;
}

static int lock(int fd, int cmd, int type, off_t start, off_t len, struct flock *out)
{
	struct flock fl = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len };
	int ret = fcntl(fd, cmd, &fl);

	if (out)
		*out = fl;
	return ret;
}

static int locks(const char *path, const char *exppath)
{
	int fd = xopen(path, O_RDWR | O_CREAT), toholder[2], fromholder[2];
	struct flock fl;
	char c;
	pid_t pid;
	double t;

	if (pipe(toholder) || pipe(fromholder))
		fail("pipe: %m");
	pid = fork();
	if (!pid) {
		/* The other holder of locks: a process on the server's machine */
		int exp = xopen(exppath, O_RDWR);

		if (lock(exp, F_SETLK, F_WRLCK, 0, 100, NULL))
			fail("lock in the export: %m");
		if (write(fromholder[1], "1", 1) != 1 || read(toholder[0], &c, 1) != 1)
			fail("pipe: %m");
		/* The client has locked the range from 200 on by now. */
		if (lock(exp, F_GETLK, F_WRLCK, 200, 10, &fl))
			fail("F_GETLK in the export: %m");
		if (fl.l_type != F_WRLCK || fl.l_start != 200 || fl.l_len != 100)
			fail("the server does not have the client's lock");
		if (write(fromholder[1], "2", 1) != 1)
			fail("pipe: %m");
		sleep(2);
		exit(lock(exp, F_SETLK, F_UNLCK, 0, 100, NULL) ? 1 : 0);
	}
	if (read(fromholder[0], &c, 1) != 1)
		fail("the local holder failed");
	if (!lock(fd, F_SETLK, F_WRLCK, 50, 10, NULL) || (errno != EAGAIN && errno != EACCES))
		fail("a conflicting lock was not refused: %m");
	if (lock(fd, F_GETLK, F_WRLCK, 50, 10, &fl) || fl.l_type != F_WRLCK)
		fail("F_GETLK does not show the conflicting lock");
	if (lock(fd, F_SETLK, F_WRLCK, 200, 100, NULL))
		fail("a free lock was refused: %m");
	t = now();
	if (write(toholder[1], "1", 1) != 1 || read(fromholder[0], &c, 1) != 1)
		fail("the local holder failed");
	/* Blocks until the holder releases the lock. */
	if (lock(fd, F_SETLKW, F_WRLCK, 0, 100, NULL))
		fail("waiting for a lock: %m");
	t = now() - t;
	if (t < 1)
		fail("a blocking lock was granted after %.1f s, while held", t);
	if (reap(1))
		fail("the local holder failed");
	if (lock(fd, F_SETLK, F_UNLCK, 0, 0, NULL))
		fail("unlock: %m");
	xclose(fd, path);
	printf("waited %.1f s for the lock\n", t);
	return 0;
}

/* Return true if @pid, a child, has ended within @ms. In that case set *@status. */
static int ended_within(pid_t pid, int ms, int *status)
{
	static const struct timespec tick = { .tv_nsec = 1000000 };
	double until = now() + ms / 1e3;

	do {
		if (waitpid(pid, status, WNOHANG) == pid)
			return 1;
		nanosleep(&tick, NULL);
	} while (now() < until);
	return 0;
}

/*
 * A write to dstaddr waits for the transport's lock, and 6.1 wakes no waiter when it is
 * released: the process waits until it is killed. So start one process after the other,
 * each for longer.
 */
static int drop(const char *path, const char *address, int seconds)
{
	double until = now() + seconds;
	int status, ms = 50;
	pid_t pid;

	do {
		pid = fork();
		if (pid < 0)
			fail("fork: %m");
		if (!pid) {
			int fd = open(path, O_WRONLY);

			_exit(fd < 0 || write(fd, address, strlen(address)) < 0);
		}
		if (ended_within(pid, ms, &status))
			return !WIFEXITED(status) || WEXITSTATUS(status);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		/* The write may have succeeded just before the process was killed. */
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (ms < 1000)
			ms *= 2;
	} while (now() < until);
	fail("%s: its lock was never seen free", path);
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(cmd, "tree") && argc >= 5)
		return tree(argv[2], strtoull(argv[3], NULL, 0), atoi(argv[4]), argv + 5);
	if (!strcmp(cmd, "sizes") && argc == 5)
		return sizes(argv[2], argv[3], strtoull(argv[4], NULL, 0));
	if (!strcmp(cmd, "load") && argc == 6)
		return load(argv[2], argv[3], atoi(argv[4]), strtoull(argv[5], NULL, 0));
	if (!strcmp(cmd, "many") && argc == 7)
		return many(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]), strtoull(argv[6], NULL, 0));
	if (!strcmp(cmd, "dir") && argc == 5)
		return dirs(argv[2], argv[3], atoi(argv[4]));
	if (!strcmp(cmd, "links") && argc == 7)
		return links(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]),
			     strtoull(argv[6], NULL, 0));
	if (!strcmp(cmd, "lock") && argc == 4)
		return locks(argv[2], argv[3]);
	if (!strcmp(cmd, "burn") && argc == 3)
		burn(argv[2]);
	if (!strcmp(cmd, "stress") && argc == 7)
		return stress(argv[2], argv[3], atoi(argv[4]), strtoull(argv[5], NULL, 0),
			      !strcmp(argv[6], "XATTRS"));
	if (!strcmp(cmd, "calls") && argc == 5)
		return calls(argv[2], argv[3], atoi(argv[4]));
	if (!strcmp(cmd, "drop") && argc == 5)
		return drop(argv[2], argv[3], atoi(argv[4]));
	fprintf(stderr, "nfsio: bad usage, see the head of nfsio.c\n");
	return 2;
}
