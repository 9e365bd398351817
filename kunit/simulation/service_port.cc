// SPDX-License-Identifier: GPL-2.0
/* The Responder's part of the port for Calls */
#include "host.hh"

#include <cstring>

using namespace simulation;

static host &host_of(rpcrdma_ep_core *core)
{
	return static_cast<host &>(of(core).ops());
}

static service_queue &queue_of(rpcrdma_ep_core *core)
{
	return host_of(core).queue_of(of(core));
}

static received *own(rpcrdma_recv *rv)
{
	return static_cast<received *>(rv);
}

struct rpcrdma_recv *rpcrdma_port_message(struct rpcrdma_poll *poll)
{
	return poll->ep->next_message(poll);
}

void rpcrdma_port_response(struct rpcrdma_ep_core *core,
			   struct rpcrdma_recv *rv)
{
	rpcrdma_core_answer(&host_of(core), rv);
}

struct rpcrdma_call_queue *rpcrdma_port_lock_calls(struct rpcrdma_ep_core *core)
{
	return &queue_of(core).calls;
}

void rpcrdma_port_unlock_calls(struct rpcrdma_ep_core *)
{
}

void rpcrdma_port_calls_queued(struct rpcrdma_ep_core *core)
{
	host_of(core).queued(queue_of(core));
}

void rpcrdma_port_calls_due(struct rpcrdma_ep_core *core)
{
	queue_of(core).data = true;
}

void rpcrdma_port_calls_starve(struct rpcrdma_ep_core *core)
{
	host_of(core).starve(queue_of(core));
}

bool rpcrdma_port_calls_idle(struct rpcrdma_ep_core *core)
{
	queue_of(core).data = false;
	return of(core).has_messages();
}

bool rpcrdma_port_has_messages(struct rpcrdma_ep_core *core)
{
	return of(core).has_messages();
}

bool rpcrdma_port_must_ask(struct rpcrdma_ep_core *core)
{
	const endpoint &on = of(core);

	return on.params.memory &&
	       rpcrdma_quota_must_ask(on.params.memory, &on.account);
}

u64 rpcrdma_port_reserved(struct rpcrdma_ep_core *core)
{
	return u64{ host_of(core).largest } * queue_of(core).busy;
}

bool rpcrdma_port_room(struct rpcrdma_ep_core *core, enum rpcrdma_quota_use use,
		       u64 octets)
{
	return of(core).room(use, octets);
}

bool rpcrdma_port_call_in_place(const struct rpcrdma_recv *)
{
	return true;
}

int rpcrdma_port_call_pages(struct rpcrdma_recv *rv,
			    struct rpcrdma_thread *thread)
{
	return host_of(rv->core).call_pages(own(rv), !thread);
}

struct rpcrdma_transfer *
rpcrdma_port_call_read_one(struct rpcrdma_recv *rv,
			   const struct rpcrdma_segment *segment)
{
	transfer *t = of(rv->core).new_transfer(op::read);

	return t ? of(rv->core).only_part(t, *segment,
					  static_cast<served *>(rv->priv)->call,
					  0) :
		   nullptr;
}

struct rpcrdma_transfer *rpcrdma_port_call_reads(struct rpcrdma_recv *rv)
{
	return host_of(rv->core).new_reads(own(rv));
}

int rpcrdma_port_call_read(struct rpcrdma_recv *rv, struct rpcrdma_transfer *t,
			   const struct rpcrdma_msg_range *range)
{
	return of(rv->core).add_transfer(static_cast<transfer *>(t),
					 rv->rx.lists, *range->chunk,
					 range->from,
					 static_cast<served *>(rv->priv)->call,
					 range->to, range->length);
}

void rpcrdma_port_call_fill(struct rpcrdma_recv *rv, u32 to, const void *from,
			    u32 length)
{
	u8 *at = &static_cast<served *>(rv->priv)->call.octets[to];

	if (from)
		memcpy(at, from, length);
	else
		memset(at, 0, length);
}

const void *rpcrdma_port_call_start(const struct rpcrdma_recv *rv)
{
	return static_cast<served *>(rv->priv)->call.octets.data();
}

int rpcrdma_port_call_deliver(struct rpcrdma_recv *rv, struct rpcrdma_thread *)
{
	return host_of(rv->core).deliver_call(own(rv));
}

void rpcrdma_port_call_free(struct rpcrdma_recv *rv)
{
	host_of(rv->core).free_call(own(rv));
}

void rpcrdma_port_call_refused(struct rpcrdma_ep_core *core, u32,
			       enum rpcrdma_refusal)
{
	host_of(core).call_refused();
}

int rpcrdma_port_callback_begin(struct rpcrdma_recv *rv)
{
	return host_of(rv->core).begin_callback(own(rv));
}

int rpcrdma_port_callback_deliver(struct rpcrdma_ep_core *core, void *call, u32)
{
	host_of(core).callback(static_cast<served *>(call));
	return 0;
}
