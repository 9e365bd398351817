/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The administrator's settings: their values, their ranges, and the parameters of a
 * connection that follow from them
 */
#ifndef RPCRDMA_CORE_SETTINGS_H
#define RPCRDMA_CORE_SETTINGS_H

#include "endpoint_control.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/* Reverse-direction Calls that a client accepts at a time */
	RPCRDMA_CALLBACK_SLOTS = 16,
};

/* Lengths are in bytes. Documentation/settings.rst describes each for its users. */
struct rpcrdma_settings {
	/* Of a client */
	u32 slot_table_entries;		/* outstanding RPCs of a connection */
	u32 max_inline_read;		/* of a Receive */
	u32 max_inline_write;		/* of a Send */
	u32 reverse_level;		/* RDMA2_RVRSDIR_* to announce */
	u32 pull_replies;		/* 1: read Replies that a server exposes */
	u32 min_version, max_version;
	/* Of a server */
	u32 svc_max_requests;		/* outstanding RPCs of a connection */
	u32 svc_max_bc_requests;	/* callbacks among these */
	u32 svc_max_req_size;		/* of a Receive, and of a Send */
	u32 svc_ord;			/* outstanding Reads of a connection */
	u32 svc_expose;			/* of exposed Replies of a connection; 0: none */
	u32 svc_done_timeout;		/* seconds until their DONE */
	/* MiB that all connections may hold; 0: a quarter of the memory */
	u32 svc_max_memory;
	u32 svc_min_version, svc_max_version;
	/* Of both */
	u32 max_reassembly;		/* of a continued message; 0: none */
	u32 host_auth, svc_host_auth;	/* enum rpcrdma_auth_mode */
	u32 auth_dh;			/* the same, of both: Diffie-Hellman */
};

/*
 * Return the default size of a Send and of a Receive, if a page has @page_size bytes. A
 * message of 20 KiB holds 16 KiB of data and the rest of the RPC. For so few bytes,
 * registering memory would cost more than copying. A buffer has whole pages: with pages of 16
 * KiB a message of 20 KiB would occupy 32 KiB. A client reads whole pages of a file, even if
 * the file is small. With pages of 64 KiB, the Reply that it has to expect would exceed the
 * largest size.
 */
#define RPCRDMA_DEFAULT_INLINE(page_size)				\
	((page_size) == 4096 ? 20480 : (page_size) == 16384 ? 32768 : 16384)

/* The settings that an administrator has not changed. A page has @page_size bytes. */
#define RPCRDMA_DEFAULT_SETTINGS(page_size) {				\
	.slot_table_entries	= 128,					\
	.max_inline_read	= RPCRDMA_DEFAULT_INLINE(page_size),	\
	.max_inline_write	= RPCRDMA_DEFAULT_INLINE(page_size),	\
	.reverse_level		= RDMA2_RVRSDIR_GENL,			\
	.pull_replies		= 1,					\
	.min_version		= RPCRDMA_VERS_1,			\
	.max_version		= RPCRDMA_VERS_2,			\
	.svc_max_requests	= 64,					\
	.svc_max_bc_requests	= 2,					\
	.svc_max_req_size	= RPCRDMA_DEFAULT_INLINE(page_size),	\
	.svc_ord		= 16,					\
	.svc_expose		= 16 << 20,				\
	.svc_done_timeout	= 30,					\
	.svc_max_memory		= 0,					\
	.svc_min_version	= RPCRDMA_VERS_1,			\
	.svc_max_version	= RPCRDMA_VERS_2,			\
	.max_reassembly		= 262144,				\
	.host_auth		= RPCRDMA_AUTH_OFFER,			\
	.svc_host_auth		= RPCRDMA_AUTH_OFFER,			\
	.auth_dh		= RPCRDMA_AUTH_OFFER,			\
}

struct rpcrdma_range {
	u32 low, high;
};

/**
 * rpcrdma_setting_range() - get the range of a setting
 * @s: settings
 * @value: a member of @s
 *
 * The range may depend on other settings: the lowest and the highest version do not
 * cross.
 * Return: the lowest and the highest value.
 */
struct rpcrdma_range rpcrdma_setting_range(const struct rpcrdma_settings *s,
					   const u32 *value);

/**
 * rpcrdma_client_params() - set the parameters of a client's connection
 * @s: settings, each in its range
 * @calls: outstanding RPCs of the client
 * @p: gets the parameters
 */
void rpcrdma_client_params(const struct rpcrdma_settings *s, u32 calls,
			   struct rpcrdma_ep_params *p);

/**
 * rpcrdma_client_begin_with() - set the version that a client's connection begins with
 * @p: parameters of the connection
 * @first: that of rpcrdma_server_first()
 * @high: highest version that the settings permit
 * @identified: the server's address must prove an identity, which excludes version 1
 */
void rpcrdma_client_begin_with(struct rpcrdma_ep_params *p, u8 first, u8 high,
			       bool identified);

/**
 * rpcrdma_server_params() - set the parameters of a server's connection
 * @s: settings, each in its range
 * @p: gets the parameters
 */
void rpcrdma_server_params(const struct rpcrdma_settings *s,
			   struct rpcrdma_ep_params *p);

/**
 * rpcrdma_server_memory() - get the memory that all connections of a server may hold
 * @s: settings
 * @memory: of the machine, in bytes
 *
 * Return: number of bytes.
 */
u64 rpcrdma_server_memory(const struct rpcrdma_settings *s, u64 memory);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_SETTINGS_H */
