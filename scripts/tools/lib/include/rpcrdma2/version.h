/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Versions of the library.
 */
#ifndef RPCRDMA2_VERSION_H
#define RPCRDMA2_VERSION_H

#define RPCRDMA2_VERSION_MAJOR 0
#define RPCRDMA2_VERSION_MINOR 2
#define RPCRDMA2_VERSION_PATCH 0

/* The version of these headers: as text, and as a number that grows */
#define RPCRDMA2_VERSION "0.2.0"
#define RPCRDMA2_VERSION_NUM                                             \
	(RPCRDMA2_VERSION_MAJOR << 16 | RPCRDMA2_VERSION_MINOR << 8 |    \
	 RPCRDMA2_VERSION_PATCH)

#if defined(__GNUC__)
#define RPCRDMA2_EXPORT __attribute__((visibility("default")))
#else
#define RPCRDMA2_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma2_info - The version of the library that is linked
 * @number: its RPCRDMA2_VERSION_NUM
 * @text: its RPCRDMA2_VERSION
 */
struct rpcrdma2_info {
	int number;
	const char *text;
};

/**
 * rpcrdma2_version() - Return the version of the library that is linked
 * @least: the lowest RPCRDMA2_VERSION_NUM that the caller can use, or 0
 *
 * Return: the version; NULL if the library is older than @least.
 */
RPCRDMA2_EXPORT const struct rpcrdma2_info *rpcrdma2_version(int least);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA2_VERSION_H */
