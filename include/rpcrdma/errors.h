/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Errors: the consequences of an ERROR about a Call, and of a failure at this end */
#ifndef RPCRDMA_ERRORS_H
#define RPCRDMA_ERRORS_H

#include "plan_call.h"
#include "receive.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_call_refused() - decide how to continue after an ERROR for a Call
 * @conn: connection
 * @rx: the ERROR
 * @call: the Call's geometry, with segments counted; @call->retry_limits is the result of
 *	earlier errors
 * @call_lists: the lists it was sent with
 * @retry_limits: plan and send it with this. The earlier attempt's memory must be
 *	invalidated before
 *
 * Often the Call can be sent again in a form that this error permits (7.3, WP 7); a
 * plan for it is then known to exist. Each kind of error permits one retry, so that
 * retries end. This lowers the peer's RCSIZ, if that is the meaning of the error.
 * Return: 0: send it again, with the same xid; or the negative errno that ends the RPC.
 */
int rpcrdma_call_refused(struct rpcrdma_conn *conn, const struct rpcrdma_rx *rx,
			 const struct rpcrdma_call *call,
			 const struct rpcrdma_lists *call_lists,
			 struct rpcrdma_retry_limits *retry_limits);

/*
 * Reasons for a Responder to give up a Call or its Reply permanently. If another
 * attempt might succeed, it closes the connection instead (7.4).
 */
enum rpcrdma_refusal {
	RPCRDMA_REFUSE_NONE,
	RPCRDMA_REFUSE_TOO_LARGE,	/* a Call, for the service */
	/* the Read chunks contain another message */
	RPCRDMA_REFUSE_MISMATCH,
	RPCRDMA_REFUSE_NO_SERVICE,	/* for a Call */
	/* a Reply cannot be conveyed in any form */
	RPCRDMA_REFUSE_NO_REPLY,
};

/*
 * Operations on a Call or a Reply that may fail with a negative errno. After the
 * failure, the message is given up, or the operation is retried.
 */
enum rpcrdma_failed {
	RPCRDMA_FAILED_CALL,		/* Responder: deliver a Call to its service */
	RPCRDMA_FAILED_REPLY,		/* Responder: send a Reply, which is lost */
	RPCRDMA_FAILED_KEPT_REPLY,	/* Responder: send a Reply, kept by its task */
	RPCRDMA_FAILED_PULL,		/* Requester: pull a Reply */
	RPCRDMA_FAILED_SEND,		/* Requester: send a Call, kept by its task */
};

enum rpcrdma_remedy_kind {
	RPCRDMA_REMEDY_NONE,		/* nothing has failed */
	/* The task retries on this connection, if that is still open. */
	RPCRDMA_REMEDY_RETRY,
	/* Close the connection: the Requester sends the Call again on the next. */
	RPCRDMA_REMEDY_CLOSE,
	/* Every attempt would fail: end the RPC, at a Responder with an ERROR. */
	RPCRDMA_REMEDY_GIVE_UP,
};

/**
 * struct rpcrdma_remedy - the remedy for a failure
 * @kind: the action to take
 * @refusal: GIVE_UP at a Responder: the reason that the ERROR conveys
 * @status: errno for the task, if there is one: -EAGAIN, it is woken; -ENOBUFS,
 *	it tries again after a delay; -ENOTCONN, it needs another connection; otherwise
 *	the RPC ends with it
 * @code: set by rpcrdma_core_remedy(): GIVE_UP: the code of the ERROR
 */
struct rpcrdma_remedy {
	enum rpcrdma_remedy_kind kind;
	enum rpcrdma_refusal refusal;
	int status;
	u32 code;
};

/**
 * rpcrdma_remedy_for() - get the remedy for the result of an operation
 * @failed: the action
 * @status: a negative errno, or 0
 *
 * A lack of memory, of queue space or of a connection is temporary: an ERROR for it
 * would end an RPC that could succeed. At a Responder -EOPNOTSUPP is the lack of a
 * service.
 * Return: the remedy.
 */
struct rpcrdma_remedy rpcrdma_remedy_for(enum rpcrdma_failed failed, int status);

/**
 * rpcrdma_refusal_code() - get the code of the ERROR for a refusal
 * @refusal: refusal
 *
 * Return: RDMA2_ERR_*.
 */
u32 rpcrdma_refusal_code(enum rpcrdma_refusal refusal);

/**
 * rpcrdma_refusal_text() - get the text of a refusal, for a log
 * @refusal: refusal
 *
 * Return: a static string.
 */
const char *rpcrdma_refusal_text(enum rpcrdma_refusal refusal);

/**
 * rpcrdma_call_refusal() - check a Call with Read chunks that have been read (6.2.2.1,
 *	7.2)
 * @rx: received message, decoded
 * @first: its first 8 bytes
 *
 * Return: the refusal.
 */
enum rpcrdma_refusal rpcrdma_call_refusal(const struct rpcrdma_rx *rx,
				      const void *first);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ERRORS_H */
