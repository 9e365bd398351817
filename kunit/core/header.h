/* SPDX-License-Identifier: GPL-2.0 */
/* Interface between header.c and header_test.cc */
#ifndef ENGINE_TEST_HEADER_H
#define ENGINE_TEST_HEADER_H

/* Sizes of the structures that C and C++ share */
struct header_sizes {
	u32 serial, conn, pend, rx, lists, more, call, call_plan, reply,
		reply_plan, xact, exposure, sq, life;
};

#define HEADER_SIZES                                                 \
	{                                                            \
		sizeof(rpcrdma_serial), sizeof(struct rpcrdma_conn), \
			offsetof(struct rpcrdma_conn, pend),         \
			sizeof(struct rpcrdma_rx),                   \
			sizeof(struct rpcrdma_lists),                \
			offsetof(struct rpcrdma_lists, extra_segs),  \
			sizeof(struct rpcrdma_call),                 \
			sizeof(struct rpcrdma_call_plan),            \
			sizeof(struct rpcrdma_reply),                \
			sizeof(struct rpcrdma_reply_plan),           \
			sizeof(struct rpcrdma_xact),             \
			sizeof(struct rpcrdma_pull_entry),           \
			sizeof(struct rpcrdma_sq),                   \
			sizeof(struct rpcrdma_lifecycle),            \
	}

#ifdef __cplusplus
extern "C" {
#endif

extern const struct header_sizes header_sizes_in_c;

/*
 * Open with the given version, and exchange a Call and its Reply. Return true on success.
 */
bool header_exchange_in_c(u32 version);

#ifdef __cplusplus
}
#endif

#endif /* ENGINE_TEST_HEADER_H */
