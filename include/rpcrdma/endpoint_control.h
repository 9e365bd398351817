/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The control side of an endpoint: its configuration, its setup, the events of its life,
 * control messages that its user asks for, and its teardown. lifecycle.h has the state
 * machine, endpoint_send.h defines "host" and "the lock".
 *
 * Lengths and sizes are in bytes.
 */
#ifndef RPCRDMA_ENDPOINT_CONTROL_H
#define RPCRDMA_ENDPOINT_CONTROL_H

#include "errors.h"
#include "lifecycle.h"
#include "plan_reply.h"
#include "private_message.h"
#include "queues.h"
#include "quota.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_ep_core;

/* ---- Configuration ---- */

/* Parameters of the transport. The setup reduces them to the limits of the device. */
struct rpcrdma_ep_params {
	u32	window;			/* Receives for RPC traffic, at most */
	u32	first_window;		/* initially; 0: all of them */
	u32	reverse;		/* of window, for reverse direction */
	u32	sends;			/* Send contexts for RPC traffic */
	u32 connect_ms;			/* client: rpcrdma_lifecycle.limit_ms */
	u32	send_size, recv_size;	/* bytes, 1024..65536 */
	u32	reassembly;		/* bytes of continued messages; 0: none */
	u32	max_mrs;		/* MRs at most */
	u32	reads;			/* concurrent RDMA Reads; 0: nor Writes */
	u32	ord;			/* outstanding Reads; 0: device's limit */
	u32	brs;			/* RDMA2_RVRSDIR_* to announce */
	/* Replies by Read chunk (WP 8) */
	u32	expose_octets;		/* bytes exposed at a time; 0: none */
	u32	done_ms;		/* milliseconds to wait for their DONE */
	u32	stall_ms;		/* ms to wait for window; 0: the default */
	bool	pull;			/* the peer may provide them */
	u8	version_low, version_high;
	bool fallback_v1; /* version_high is 1: version 2 got no answer */
	u8	auth;			/* enum rpcrdma_auth_mode */
	u8	auth_dh;		/* the same for Diffie-Hellman in it */
};

/* Limits and features of a device, as far as the host uses them */
struct rpcrdma_device_limits {
	struct rpcrdma_queue_limits queues;
	u32	reads_in, reads_out;	/* outstanding Reads: of peers, of this end */
	u32	max_segs;		/* segments accepted in a message */
	u32	max_segment;		/* bytes accepted in a segment */
	u32	page_shift;		/* the host's pages have 1 << page_shift bytes */
	u32	read_pages;		/* pages of an MR that this end reads into */
	bool	registers;		/* it registers MRs by Work Request */
	bool	invalidates;		/* the peer's Sends can invalidate them */
	bool	reads_into_mrs;		/* it can read into MRs only */
	bool	refers;			/* see rpcrdma_send.signal_threshold */
};

/* A queue pair that was created */
struct rpcrdma_queue_pair {
	u32	wrs;			/* of the Send Queue, without those of Reads */
	u32	read_sges, write_sges;	/* elements of a Read and of a Write */
};

/* Content of the peer's connect request or accept, from this end's view */
struct rpcrdma_cm_peer {
	struct rpcrdma_private	priv;
	u32			reads_in, reads_out;
};

/* A part of struct rpcrdma_ep_core */
struct rpcrdma_ep_control {
	/* The host sets the first three before rpcrdma_core_configure(). */
	struct rpcrdma_ep_params *params;
	u32			number;		/* unique, not 0 */
	struct rpcrdma_cm_peer	peer;		/* of a server */
	struct rpcrdma_hostauth	*auth;		/* NULL: no host authentication */
	const char		*expected;	/* identity of the peer; NULL: any */
	/* Outstanding Reads, negotiated; for the connection managers */
	u32			reads_in, reads_out;
	enum rpcrdma_answer	answer;		/* client: of a failed attempt */
	bool			queue_pair;	/* the queue pair exists */
};

/* Bytes of the host's structures, for the quota */
struct rpcrdma_ep_sizes {
	u32	ep, send, recv;
	u32	stream;			/* of one message, without its payload */
	u32	page;			/* of the host */
};

/**
 * rpcrdma_core_reserve() - set the reservation of a connection
 * @all: quota of all connections
 * @account: the connection's account
 * @p: parameters of the connection
 * @sizes: sizes of the host's structures
 * @message: bytes of the largest Call or Reply
 *
 * If memory is tight, @p is lowered to few, small buffers. No other context uses
 * @account.
 */
void rpcrdma_core_reserve(const struct rpcrdma_quota *all,
			  struct rpcrdma_quota_account *account,
			  struct rpcrdma_ep_params *p,
			  const struct rpcrdma_ep_sizes *sizes, u32 message);

/**
 * rpcrdma_core_configure() - configure a connection for its device, and initialise
 *	core->conn
 * @core: connection
 * @dev: limits of the device
 * @queues: returns the lengths of the queues
 *
 * The host calls this in rpcrdma_port_objects().
 * Context: no lock held.
 * Return: 0; -EOPNOTSUPP if the device cannot be used.
 */
int rpcrdma_core_configure(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_device_limits *dev,
			   struct rpcrdma_queues *queues);

/**
 * rpcrdma_core_queue_pair() - create the queue pair, and set the sizes of the parts of
 *	transfers
 * @core: connection
 * @dev: limits of the device
 * @queues: as rpcrdma_core_configure() returned them; returns what was created
 *
 * The capacity of a device cannot be known beforehand: it depends on the size of an entry,
 * which only its driver knows. If the device has no memory for the queue pair, this
 * retries with a shorter Send Queue. The host calls this in rpcrdma_port_objects().
 * Context: no lock held; may sleep.
 * Return: 0 or a negative errno.
 */
int rpcrdma_core_queue_pair(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_device_limits *dev,
			    struct rpcrdma_queues *queues);

/* ---- Events ---- */

enum rpcrdma_happened {
	RPCRDMA_HAPPENED_CM_EVENT,		/* of the connection manager */
	RPCRDMA_HAPPENED_OPENED,	/* RPCRDMA_EV_OPENED */
	RPCRDMA_HAPPENED_OVERDUE,	/* the time limit of ACCEPT has expired */
	RPCRDMA_HAPPENED_ODD,		/* RPCRDMA_EV_ODD */
	RPCRDMA_HAPPENED_FAILED,	/* a Work Request failed */
	RPCRDMA_HAPPENED_CLOSE,		/* a context wants the connection to end */
};

/* An event of a connection; lifecycle.h describes the members. */
struct rpcrdma_lifecycle_event {
	enum rpcrdma_happened	what;
	enum rpcrdma_cm_event event;
	int			rejection;	/* of RPCRDMA_CM_REJECTED */
	/* RPCRDMA_CM_ESTABLISHED of a client: the server's answer, or NULL */
	const struct rpcrdma_cm_peer *peer;
	enum rpcrdma_failure	failure;
	const char		*reason;	/* of FAILED and CLOSE */
};

/**
 * rpcrdma_core_happened() - handle an event
 * @core: connection
 * @event: event
 *
 * Context: process context, no lock held.
 */
void rpcrdma_core_happened(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_lifecycle_event *event);

/**
 * rpcrdma_core_close() - begin to close a connection
 * @core: connection
 * @reason: static string, or NULL for an ordinary end
 *
 * Context: process context, no lock held.
 */
void rpcrdma_core_close(struct rpcrdma_ep_core *core, const char *reason);

/**
 * rpcrdma_core_failed() - close a connection after a failed Work Request
 * @core: connection
 * @failure: kind of failure
 * @reason: static string, reported unless the Work Request was only flushed
 *
 * Context: process context, no lock held.
 */
void rpcrdma_core_failed(struct rpcrdma_ep_core *core,
			 enum rpcrdma_failure failure, const char *reason);

/**
 * rpcrdma_core_open_later() - do the work that rpcrdma_port_open_later() deferred
 * @core: connection
 *
 * Context: no lock held, may sleep.
 */
void rpcrdma_core_open_later(struct rpcrdma_ep_core *core);

/* ---- Setup ---- */

/**
 * rpcrdma_core_setup() - execute the next steps to set up a connection
 * @core: connection
 * @result: 0 at first, or the errno for which there is no id of the connection manager;
 *	then of the wait: 0, or -ETIMEDOUT if it ended before life->step_done
 *
 * The setup context calls this until it returns END.
 * Context: no lock held, may sleep.
 * Return: WAIT, to wait for life->step_done for @ms; or END with @status.
 */
struct rpcrdma_setup_step rpcrdma_core_setup(struct rpcrdma_ep_core *core,
					     int result);

/* ---- Control messages for the transport; no lock held ---- */

/**
 * rpcrdma_core_send_error() - queue the ERROR that refuses a Call (7)
 * @core: connection
 * @xid: XID of the RPC
 * @code: error code
 * @arg0: first word of error data
 * @arg1: second word of error data
 *
 * A connection that is not open drops it.
 */
void rpcrdma_core_send_error(struct rpcrdma_ep_core *core, u32 xid, u32 code,
			     u32 arg0, u32 arg1);

/**
 * rpcrdma_core_remedy() - remedy the failure of a Responder (7.4)
 * @core: connection
 * @xid: XID of the Call
 * @failed: the action
 * @status: its result, a negative errno
 * @plan: plan of the Reply, which may contain the ERROR to send; NULL if there is none
 * @reason: for the log if the connection is closed, a static string
 *
 * Send an ERROR, close the connection, or leave the Reply to its task, which retries.
 * The Receive of the Call should be released before: to the peer, an ERROR may mean that
 * it is available again.
 * Context: no lock held, may sleep.
 * Return: the remedy that was applied.
 */
struct rpcrdma_remedy
rpcrdma_core_remedy(struct rpcrdma_ep_core *core, u32 xid,
		    enum rpcrdma_failed failed, int status,
		    const struct rpcrdma_reply_plan *plan, const char *reason);

/**
 * rpcrdma_core_send_done() - queue the DONE for a Reply (DR 4.1.3)
 * @core: connection
 * @xid: XID of the RPC
 * @inv_handle: handle to invalidate at the peer, or 0
 *
 * A connection that is not open drops it.
 */
void rpcrdma_core_send_done(struct rpcrdma_ep_core *core, u32 xid,
			    u32 inv_handle);

/* ---- Teardown ---- */

/**
 * rpcrdma_core_teardown() - execute the next steps of the teardown, up to the next one
 *	that the caller must wait for
 * @core: connection
 *
 * The teardown calls this, waits as the result says, and calls it again, until it
 * returns END.
 * Context: no lock held, may sleep.
 * Return: SETUP, PAUSE, DRAIN or USERS: lifecycle.h says what to wait for; or END.
 */
enum rpcrdma_teardown rpcrdma_core_teardown(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_destroy() - release the share of the quota and the Receives, after the
 *	last reference to the endpoint was dropped
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_core_destroy(struct rpcrdma_ep_core *core);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_CONTROL_H */
