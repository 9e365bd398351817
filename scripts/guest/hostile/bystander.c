// SPDX-License-Identifier: GPL-2.0
/*
 * A bystander of other clients: performs small operations in a mount, one after another,
 * and measures their latency.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/peer.h"

enum { OCTETS = 4096, MIN_SAMPLES = 30, MAX_SAMPLES = 1 << 20 };

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Perform one of three operations, each of which sends a request to the server. */
static bool operate(const char *path, int fd, void *buf, uint32_t nr)
{
	int other;

	switch (nr % 3) {
	case 0:
		return pwrite(fd, buf, OCTETS, 0) == OCTETS;
	case 1:
		return pread(fd, buf, OCTETS, 0) == OCTETS;
	}
	/* The client does not cache the name, which does not exist. */
	other = open(path, O_RDONLY);
	if (other >= 0)
		close(other);
	return other < 0;
}

/*
 * bystander DIR SECONDS: print the number of operations, and the median and the 95th
 * percentile of their latency in microseconds. On a slow machine it runs for longer,
 * until it has enough operations.
 */
int bystander_main(int argc, char **argv)
{
	static uint32_t took[MAX_SAMPLES];
	char path[512], missing[512];
	double end, begun;
	uint32_t n = 0;
	void *buf;
	int fd;

	if (argc < 2)
		return 2;
	snprintf(path, sizeof(path), "%s/bystander", argv[0]);
	fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0644);
	buf = aligned_alloc(OCTETS, OCTETS);
	if (fd < 0 || !buf) {
		perror(path);
		return 1;
	}
	memset(buf, 'b', OCTETS);
	end = now() + atof(argv[1]);
	for (begun = now(); (begun < end || n < MIN_SAMPLES) && n < MAX_SAMPLES; begun = now()) {
		snprintf(missing, sizeof(missing), "%s/no-%u", argv[0], n);
		if (!operate(missing, fd, buf, n)) {
			perror(path);
			return 1;
		}
		took[n++] = (now() - begun) * 1e6;
	}
	close(fd);
	qsort(took, n, sizeof(*took), compare);
	printf("operations %u median %u most %u\n", n, took[n / 2], took[n * 95 / 100]);
	return 0;
}
