// SPDX-License-Identifier: GPL-2.0
/* The process that performs the operations in the mount */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"

enum {
	SMALL_SIZE = 8192,	/* one fits a message, except with version 1 */
	MANY_SIZE = 8 * IO_SIZE,	/* done in many RPCs at once */
	NAMES = 300,		/* listed in Replies as long as a READ's */
};

static int op_open(struct op_result *r, const char *path, int flags)
{
	int fd = open(path, flags, 0644);

	if (fd < 0)
		*r = (struct op_result){ 1, errno, "open" };
	return fd;
}

/* Return true if the system call named @what moved all of @size bytes. */
static bool op_io(struct op_result *r, ssize_t n, ssize_t size, const char *what)
{
	if (n == size)
		return true;
	r->status = 1;
	r->error = n < 0 ? errno : 0;
	strcpy(r->what, what);
	return false;
}

static void do_io(bool writes, int size, const char *path, const char *refpath,
		  struct op_result *r)
{
	static uint8_t buf[MANY_SIZE] __attribute__((aligned(4096)));
	static uint8_t ref[MANY_SIZE] __attribute__((aligned(4096)));
	static unsigned int salt;
	bool done;
	int fd, i;

	fd = op_open(r, path, O_DIRECT | (writes ? O_WRONLY | O_CREAT : O_RDONLY));
	if (fd < 0)
		return;
	if (writes) {
		for (i = 0, salt++; i < size; i++)
			buf[i] = i * 7 + i / IO_SIZE + salt;
		done = op_io(r, pwrite(fd, buf, size, 0), size, "pwrite");
	} else {
		memset(buf, 0, size);
		done = op_io(r, pread(fd, buf, size, 0), size, "pread");
	}
	close(fd);
	if (!done)
		return;
	fd = op_open(r, refpath, O_RDONLY);
	if (fd < 0)
		return;
	if (op_io(r, pread(fd, ref, size, 0), size, "pread of the exported file") &&
	    memcmp(buf, ref, size))
		r->status = 3;
	close(fd);
}

/* Create the folder that do_list() lists, in the exported folder. */
static void make_names(struct op_result *r, const char *refpath)
{
	char name[640];
	int i, fd;

	if (mkdir(refpath, 0755) && errno != EEXIST) {
		*r = (struct op_result){ 1, errno, "mkdir" };
		return;
	}
	for (i = 0; i < NAMES && !r->status; i++) {
		snprintf(name, sizeof(name), "%s/name-%d-of-some-length", refpath, i);
		fd = op_open(r, name, O_WRONLY | O_CREAT);
		if (fd >= 0)
			close(fd);
	}
}

/* Add up the names in @path, regardless of their order. */
static uint64_t sum_names(struct op_result *r, const char *path)
{
	DIR *folder = opendir(path);
	uint64_t sum = 0, hash;
	struct dirent *entry;
	const char *c;

	errno = 0;
	while (folder && (entry = readdir(folder))) {
		for (hash = 1, c = entry->d_name; *c; c++)
			hash = hash * 31 + (uint8_t)*c;
		sum += hash;
		errno = 0;
	}
	if (errno || !folder)
		*r = (struct op_result){ 1, errno, "readdir" };
	if (folder)
		closedir(folder);
	return sum;
}

static void do_list(const char *path, const char *refpath, struct op_result *r)
{
	make_names(r, refpath);
	if (!r->status && sum_names(r, path) != sum_names(r, refpath) && !r->status)
		r->status = 3;
}

/*
 * op DIR REFDIR: run in a separate process, because an operation may hang. Each byte on the
 * standard input is a request: 'r' a READ, 'w' a WRITE, 's' a small READ and WRITE, 'm' many
 * concurrent WRITEs, then many READs, 'l' a listing.
 */
int op_main(int argc, char **argv)
{
	struct op_result r;
	char path[512], refpath[512], op;
	const char *name, *tail;
	int size;

	if (argc < 2)
		return 2;
	while (read(0, &op, 1) == 1) {
		/* Several mounts write at the same time. */
		name = op != 'r' ? strrchr(argv[0], '/') + 1 : "hostile";
		tail = op == 'l' ? "-names" : "";
		snprintf(path, sizeof(path), "%s/%s%s", argv[0], name, tail);
		snprintf(refpath, sizeof(refpath), "%s/%s%s", argv[1], name, tail);
		size = op == 'm' ? MANY_SIZE : op == 's' ? SMALL_SIZE : IO_SIZE;
		memset(&r, 0, sizeof(r));
		if (op == 'l')
			do_list(path, refpath, &r);
		else
			do_io(op != 'r', size, path, refpath, &r);
		if (size != IO_SIZE && !r.status)
			do_io(false, size, path, refpath, &r);
		if (write(0, &r, sizeof(r)) != sizeof(r))
			return 2;
	}
	return 0;
}
