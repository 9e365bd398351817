/* SPDX-License-Identifier: GPL-2.0 */
/* Definitions that the sources of nfsio share */
#ifndef NFSIO_H
#define NFSIO_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *fmt, ...);
uint64_t mix(uint64_t x);
uint64_t rnd(uint64_t *state);
void fill(unsigned char *p, uint64_t seed, uint64_t off, size_t len);
void *need(void *p);
int xopen(const char *path, int flags);
void xclose(int fd, const char *path);
void put(int fd, const void *p, size_t len, off_t off, const char *path);
size_t get(int fd, void *p, size_t len, off_t off, const char *path);
void same(const unsigned char *got, const unsigned char *want, size_t len,
	  off_t off, const char *path);
void whole(const char *path, int flags, const unsigned char *want, size_t len);
double now(void);
void on_term(int sig);

/* Set when SIGTERM has arrived */
extern volatile sig_atomic_t enough;

void __attribute__((noreturn)) burn(const char *path);
int stress(const char *dir, const char *expdir, int seconds, uint64_t seed, int xattrs);
int calls(const char *dir, const char *expdir, int count);

#endif
