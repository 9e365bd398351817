/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The state machine of a connection.
 *
 * It covers the time from the first request to the connection manager until
 * nothing is left on the device: the meaning of an event, the next step, and
 * the order of the teardown. Embed it. All calls for one connection are
 * serialised; events may be reported in any stage, as often as they happen:
 * events without a meaning in the current stage return no action.
 *
 * Three contexts drive it. The setup context calls
 * rpcrdma_lifecycle_next_setup() in a loop and performs the step it returns. Event sources
 * report an event and run the actions returned for it. The teardown is run by
 * the context that was asked to close: it calls rpcrdma_lifecycle_next_teardown() in a
 * loop and performs the step it returns, after the setup context has finished.
 */
#ifndef RPCRDMA_LIFECYCLE_H
#define RPCRDMA_LIFECYCLE_H

#include "conn.h"
#include "receive.h"
#include "version_choice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Users compare these: keep the order. */
enum rpcrdma_stage {
	RPCRDMA_STAGE_IDLE,		/* nothing was requested yet */
	RPCRDMA_STAGE_RESOLVING,	/* client: the address */
	RPCRDMA_STAGE_ROUTING,		/* client: the route */
	RPCRDMA_STAGE_PREPARING,	/* the device's objects are allocated */
	RPCRDMA_STAGE_CONNECTING,	/* a request, or an accept, was sent */
	RPCRDMA_STAGE_OPENING,		/* connected, properties are being exchanged */
	RPCRDMA_STAGE_OPEN,		/* RPC traffic may pass */
	RPCRDMA_STAGE_CLOSING,		/* nothing is posted any more */
	RPCRDMA_STAGE_GONE,		/* nothing is left on the device */
};

/* Zero it except for @client. */
struct rpcrdma_lifecycle {
	u8 client;
	u8 stage;		/* enum rpcrdma_stage, modified only by the engine */
	u8 may_send;		/* messages may be posted */
	u8 step_done;		/* the setup context's wait is over */
	u8 established; /* the connection manager has reported: established */
	u8 owned_by_transport; /* client: the setup context has passed it to the transport */
	u8 released;		/* teardown steps that are complete */
	u8 opened;		/* it has been open */
	u8 odd;			/* client: rpcrdma_lifecycle_odd() was called */
	u8 end;			/* enum rpcrdma_end */
	u8 stops;		/* number of times that STOP has failed */
	/*
	 * STOP has failed permanently: the device may still complete work and place
	 * data
	 */
	u8 unstopped;
	int status;		/* the errno that it closed with */
	const char *reason;		/* static, or NULL: an ordinary end */
	u32 limit_ms;		/* of each step before opening, 0: the default */
};

/* Actions after an event, in this order */
enum {
	/*
	 * rpcrdma_conn_established(), before any other event is reported; then
	 * handle its events
	 */
	RPCRDMA_LIFECYCLE_BEGIN = 1,
	/*
	 * notify the transport that RPC traffic may begin; the time limit keeps running
	 */
	RPCRDMA_LIFECYCLE_OPENED = 2,
	/* wake the setup context, which checks life->step_done */
	RPCRDMA_LIFECYCLE_WAKE = 4,
	/* start the teardown; log @reason, if there is one */
	RPCRDMA_LIFECYCLE_CLOSE = 8,
	/*
	 * server: report to the connection manager that the connection is
	 * established
	 */
	RPCRDMA_LIFECYCLE_CONFIRM = 16,
};

/**
 * struct rpcrdma_lifecycle_actions - actions that follow an event
 * @todo: RPCRDMA_LIFECYCLE_*
 * @reason: static string; NULL: an ordinary close
 */
struct rpcrdma_lifecycle_actions {
	u32 todo;
	const char *reason;
};

/* Events of the connection manager */
enum rpcrdma_cm_event {
	RPCRDMA_CM_RESOLVED, /* the address, or the route */
	RPCRDMA_CM_UNRESOLVED,
	RPCRDMA_CM_ESTABLISHED,
	RPCRDMA_CM_UNREACHABLE, /* the peer does not respond */
	RPCRDMA_CM_REJECTED,	/* with a reason */
	RPCRDMA_CM_FAILED,	/* the connection could not be established */
	RPCRDMA_CM_DISCONNECTED,
	RPCRDMA_CM_ADDRESS_CHANGED, /* of this end */
	RPCRDMA_CM_REMOVED,	    /* the device */
	RPCRDMA_NR_CM_EVENTS,
};

/* IBTA's reasons for a rejection */
enum {
	RPCRDMA_REJECT_NO_SERVICE = 8,	/* the peer does not listen there */
	/* the peer has a connection with the same numbers */
	RPCRDMA_REJECT_STALE = 10,
	RPCRDMA_REJECT_CONSUMER = 28,	/* its transport rejects the connection */
};

/**
 * rpcrdma_lifecycle_cm_event() - report a connection manager event
 * @life: the connection's lifecycle
 * @event: event
 * @rejection: for REJECTED, the IBTA reject reason, or a negative errno
 *
 * Return: the actions to run.
 */
struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_cm_event(struct rpcrdma_lifecycle *life,
			   enum rpcrdma_cm_event event, int rejection);

/**
 * rpcrdma_lifecycle_opened() - report RPCRDMA_EV_OPENED: the properties of both ends were
 *	exchanged
 * @life: the connection's lifecycle
 *
 * Return: the actions to run.
 */
struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_opened(struct rpcrdma_lifecycle *life);

/**
 * rpcrdma_lifecycle_overdue() - report that a server's time limit for opening has expired;
 *	the step ACCEPT returned it
 * @life: the connection's lifecycle
 *
 * Call this even if the connection is open: CONFIRM follows if ESTABLISHED is missing.
 * Return: the actions to run.
 */
struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_overdue(struct rpcrdma_lifecycle *life);

/**
 * rpcrdma_lifecycle_odd() - report RPCRDMA_EV_ODD
 * @life: the connection's lifecycle
 *
 * A client's peer has answered with something other than an opening of version 2. An
 * opening may still follow, but the time for it is short.
 * Return: the actions to run.
 */
struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_odd(struct rpcrdma_lifecycle *life);

/* Causes of a failed Work Request */
enum rpcrdma_failure {
	RPCRDMA_FAILURE_FLUSHED,	/* the queue pair had stopped */
	/* the peer does not respond, or reports an error */
	RPCRDMA_FAILURE_PEER,
	RPCRDMA_FAILURE_HERE,
};

/**
 * rpcrdma_lifecycle_failed() - report a failed Work Request
 * @life: the connection's lifecycle
 * @failure: cause of the failure
 * @why: a static string, logged if this was the first sign of the failure
 *
 * Return: the actions to run.
 */
struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_failed(struct rpcrdma_lifecycle *life,
			 enum rpcrdma_failure failure, const char *why);

/**
 * rpcrdma_lifecycle_close() - close the connection for any other reason
 * @life: the connection's lifecycle
 * @reason: a static string; NULL: an ordinary close of a connection that is no longer
 *	needed or waited for
 *
 * Return: the actions to run.
 */
struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_close(struct rpcrdma_lifecycle *life, const char *reason);

/**
 * rpcrdma_lifecycle_drops_calls() - check if a Call that has arrived is dropped
 * @life: the connection's lifecycle
 *
 * Once the connection is closing its Reply cannot be sent; its sender sends it again on
 * another connection.
 * Return: true if so.
 */
static inline bool
rpcrdma_lifecycle_drops_calls(const struct rpcrdma_lifecycle *life)
{
	return __atomic_load_n(&life->stage, __ATOMIC_RELAXED) >=
	       RPCRDMA_STAGE_CLOSING;
}

/* The next setup step */
enum rpcrdma_setup {
	RPCRDMA_SETUP_ADDRESS, /* resolve the address, within @ms */
	RPCRDMA_SETUP_ROUTE,   /* resolve the route, within @ms */
	RPCRDMA_SETUP_OBJECTS, /* allocate the device's objects, post Receives */
	RPCRDMA_SETUP_CONNECT, /* send the connect request */
	RPCRDMA_SETUP_ACCEPT,  /* accept the request; it is overdue in @ms */
	RPCRDMA_SETUP_WAIT,    /* wait for life->step_done, for @ms */
	/*
	 * Setup is complete, with @status. With 0, a client has an open connection, and
	 * its close will be reported. With an errno, it has none, and must wait for the
	 * teardown. For a server, @status only reports whether the setup failed.
	 */
	RPCRDMA_SETUP_END,
};

/**
 * struct rpcrdma_setup_step - the next step of the setup
 * @what: the step
 * @ms: ADDRESS, ROUTE, ACCEPT, WAIT: time limit in milliseconds
 * @status: END: 0 or a negative errno
 * @answer: END of a client, with @status: for rpcrdma_version_learn()
 * @step: END: actions to run as well
 */
struct rpcrdma_setup_step {
	enum rpcrdma_setup what;
	u32 ms;
	int status;
	enum rpcrdma_answer answer;
	struct rpcrdma_lifecycle_actions step;
};

/**
 * rpcrdma_lifecycle_next_setup() - get the next step to set up a connection
 * @life: the connection's lifecycle
 * @conn: read only, for the peer's answer; zeroed or set up
 * @result: of the last step: 0 or a negative errno; -ETIMEDOUT if a wait ended before
 *	life->step_done; 0 at first
 *
 * The status of END is -EPROTONOSUPPORT if the peer has accepted the connection, but
 * did not open it with the version that was tried; another version may succeed.
 * Otherwise it is the reason why there is no connection.
 * Return: the next step.
 */
struct rpcrdma_setup_step
rpcrdma_lifecycle_next_setup(struct rpcrdma_lifecycle *life,
			     const struct rpcrdma_conn *conn, int result);

/* The next teardown step; skip it for objects that do not exist */
enum rpcrdma_teardown {
	RPCRDMA_TEARDOWN_SETUP,	     /* wait until setup has ended */
	RPCRDMA_TEARDOWN_TIMERS,     /* stop the connection's time limits */
	RPCRDMA_TEARDOWN_DISCONNECT, /* disconnect from the peer */
	RPCRDMA_TEARDOWN_STOP,	     /* move the queue pair to ERR */
	RPCRDMA_TEARDOWN_PAUSE,	     /* wait RPCRDMA_STOP_PAUSE_MS */
	RPCRDMA_TEARDOWN_DRAIN,	     /* wait for posted Work Requests */
	RPCRDMA_TEARDOWN_MESSAGES,   /* process the messages received */
	RPCRDMA_TEARDOWN_RESET,	     /* wait until the device has finished */
	RPCRDMA_TEARDOWN_POSTED,     /* end posted work */
	RPCRDMA_TEARDOWN_WAITING,    /* end queued work */
	RPCRDMA_TEARDOWN_USERS,	     /* wait for contexts that prepare work */
	/* destroy it: the peer can access no memory after this */
	RPCRDMA_TEARDOWN_QUEUE_PAIR,
	RPCRDMA_TEARDOWN_COMPLETIONS, /* destroy the CQs: no completions after this */
	RPCRDMA_TEARDOWN_MRS,
	RPCRDMA_TEARDOWN_EXPOSED, /* Replies that were exposed to be pulled */
	RPCRDMA_TEARDOWN_BUFFERS, /* unmap them */
	RPCRDMA_TEARDOWN_DOMAIN,
	RPCRDMA_TEARDOWN_ID,	 /* of the connection manager */
	RPCRDMA_TEARDOWN_GONE,	 /* wake the waiters for the teardown */
	RPCRDMA_TEARDOWN_NOTIFY, /* notify the transport: closed */
	RPCRDMA_TEARDOWN_END,
};

enum {
	/* Milliseconds between two attempts of STOP, and number of attempts */
	RPCRDMA_STOP_PAUSE_MS = 100,
	RPCRDMA_STOP_TRIES = 50,
};

/**
 * rpcrdma_lifecycle_next_teardown() - get the next teardown step
 * @life: the connection's lifecycle
 * @qp: there is a queue pair
 * @posted: something was posted to its Send Queue
 * @result: of STOP, 0 or a negative errno; 0 for any other step
 *
 * The preceding one must be complete.
 * Return: the next teardown step.
 */
enum rpcrdma_teardown
rpcrdma_lifecycle_next_teardown(struct rpcrdma_lifecycle *life, bool qp,
				bool posted, int result);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_LIFECYCLE_H */
