/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The protocol engine of RPC-over-RDMA: its interface for C and C++.
 *
 * The engine converts between messages and plain values, and makes the
 * protocol's decisions. It does no I/O, allocates nothing, takes no lock and
 * keeps no pointer beyond the call, unless the function says so. All state of a
 * connection is in struct rpcrdma_conn, which the user embeds and protects:
 * calls with a non-const struct rpcrdma_conn must be serialised per connection.
 * Once the connection is open, const functions may run concurrently with them
 * if they read only what is then fixed: version, properties, limits, plans and
 * the codec. Two of those fields still change, each in a single store: the
 * peer's RCSIZ (rpcrdma_call_refused()) and the state (to CLOSING). Functions
 * that report credits or queued work must be serialised like the non-const
 * ones. No function sleeps; all can be called in any context.
 *
 * Each header has one subject, includes what it needs, and can be included
 * alone; this one includes all of them.
 *
 * A function named by a past participle reports an event (_posted, _opened,
 * _sent). One named by a verb decides or performs something.
 *
 * Section numbers: "4.2" alone is the version 2 draft, "DR 4.1" the
 * reliable-reply draft, "WP 3" the wire profile in
 * Documentation/wire-profile.rst.
 *
 * Lengths and sizes are in bytes unless the name says otherwise. Integers are
 * in host order everywhere but in the message buffers themselves.
 */
#ifndef RPCRDMA_ENGINE_H
#define RPCRDMA_ENGINE_H

#include "base.h"
#include "wire.h"
#include "chunk.h"
#include "mr.h"
#include "extent.h"
#include "properties.h"
#include "private_message.h"
#include "hostauth.h"
#include "conn.h"
#include "limits.h"
#include "version_choice.h"
#include "receive_pool.h"
#include "credit.h"
#include "queues.h"
#include "send_queue.h"
#include "schedule.h"
#include "mr_pool.h"
#include "read_mr_pool.h"
#include "receive.h"
#include "encode.h"
#include "peer_limits.h"
#include "plan_call.h"
#include "plan_reply.h"
#include "errors.h"
#include "msg_iter.h"
#include "xact.h"
#include "pull.h"
#include "work.h"
#include "endpoint_send.h"
#include "endpoint_rpc.h"
#include "endpoint_call.h"
#include "endpoint_reply.h"
#include "endpoint_continued.h"
#include "endpoint_buffers.h"
#include "endpoint_control.h"
#include "endpoint_auth.h"
#include "endpoint_receive.h"
#include "endpoint_answer.h"
#include "endpoint_arrivals.h"
#include "endpoint_mrs.h"
#include "endpoint_transfer.h"
#include "quota.h"
#include "quota_change.h"
#include "quota_run.h"
#include "admission.h"
#include "call_queue.h"
#include "spare_pages.h"
#include "lifecycle.h"
#include "listening.h"
#include "reconnect.h"
#include "settings.h"
#include "callbacks.h"
#include "figures.h"
#include "counters.h"

#endif /* RPCRDMA_ENGINE_H */
