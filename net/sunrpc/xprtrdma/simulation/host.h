/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of one machine above the endpoint: sunrpc's tasks and what
 * transport/requester.c does for them, a service and what transport/server.c
 * does for it. Both machines are both: callbacks go the other way.
 */
#ifndef SIMULATION_HOST_H
#define SIMULATION_HOST_H

#include <unordered_map>

#include "endpoint.h"

namespace simulation
{

/* An item that may be reduced begins here in its message. */
constexpr u32 ITEM_POSITION = 64;
constexpr u32 MIN_MESSAGE = 24;
/* As long as sunrpc waits for a Reply */
constexpr u64 RPC_TIME = 60 * SECOND;

/* What an RPC asks for, known to both ends */
struct spec {
	u32 call_length = MIN_MESSAGE, call_item = 0;
	u32 reply_length = MIN_MESSAGE, reply_item = 0;
	u32 reply_max = MIN_MESSAGE;
	bool ddp = true; /* no GSS integrity or privacy */
	bool bulk = false;
	bool session = false;	/* a second execution is refused */
	bool sequenced = false; /* GSS: a second copy is not answered */
	u8 chain = 0; /* RPCs the other way, one in another, to wait for */
};

class host;

/* An RPC and its task */
struct rpc final : actor {
	/* Its task's; what becomes of the Call, the engine knows. */
	enum life {
		QUEUED,	 /* to be sent */
		WAITING, /* for the Reply */
		DYING,	 /* killed: its memory is being taken back */
		OVER,
	};

	void act(u32 what, u64 arg) override;

	host *owner;
	u32 id, xid;
	spec what;
	life state = QUEUED;
	endpoint *bound = nullptr; /* a callback's connection */
	endpoint *sent_on = nullptr;
	endpoint *regions_of = nullptr;
	bool pinned = false; /* an answer is being worked on */
	u32 sequence = 0; /* of GSS: one for each time it is encoded */
	u32 timer = 0;
	u32 refusals = 0, replays = 0;
	rpcrdma_exchange x{};
	std::vector<region *> regions;
	std::vector<u8> stream; /* of a Reply, inline */
	memory call, reply, item; /* item: room for a Write chunk */
	received *rv = nullptr; /* the Reply's, until it is read */
	int status = 0;
	bool unanswered = false; /* by right */
	std::function<void()> ended;
};

/* A Call that is being served */
struct served final : actor {
	void act(u32 what, u64 arg) override;

	host *owner;
	endpoint *ep;
	received *rv;
	memory call;
	u32 rpc_id = 0;
	bool uncached = false;
	/* The Reply waits for a Send context or for regions. */
	bool ready = false;
	u64 since = 0;
};

class network;

class host : public upcalls, public actor
{
public:
	host(world &w, network &net, bool client);

	/* Begin an RPC; @bound: on this connection or not at all. */
	rpc *begin(const spec &what, endpoint *bound,
		   std::function<void()> ended);
	void kill(rpc *task);
	void transmit();

	/* The network's */
	void connected(endpoint *ep);
	void disconnected(endpoint *ep);

	void call(endpoint &ep, received *rv) override;
	void reply(endpoint &ep, received *rv) override;
	void error(endpoint &ep, received *rv) override;
	void write_space(endpoint &ep) override;
	void opened(endpoint &ep) override;
	void closed(endpoint &ep) override;
	void act(u32 what, u64 arg) override;

	/* Callers' */
	void timed_out(rpc *task);
	void serve(served *s);
	rpc *any_task();

	u32 outstanding() const
	{
		return static_cast<u32>(tasks_.size());
	}
	u32 serving() const
	{
		return serving_;
	}
	bool is_client() const
	{
		return client_;
	}

	endpoint *ep = nullptr; /* for new Calls */

private:
	/* Requester */
	endpoint *connection_of(const rpc *task) const
	{
		return task->bound ? task->bound : ep;
	}
	int try_send(rpc *task, endpoint *on);
	int post(rpc *task, endpoint *on, const rpcrdma_call_plan &plan);
	int map(rpc *task, endpoint *on, const rpcrdma_call_plan &plan);
	void geometry(rpc *task, const endpoint *on, rpcrdma_call *call);
	void encode(rpc *task);
	void take_back(rpc *task);
	rpc *claim(endpoint &from, u32 xid);
	void unpin(rpc *task);
	void carry_out(rpc *task, endpoint &from, rpcrdma_step s);
	bool invalidate(rpc *task, endpoint &from, rpcrdma_step *s);
	void pull(rpc *task, endpoint &from);
	std::vector<u8> assemble(rpc *task) const;
	void deliver(rpc *task, const std::vector<u8> &whole);
	void complete(rpc *task, int status);
	void release(rpc *task);
	void requeue(rpc *task);
	void transmit_soon();

	/* Responder */
	void pulled(served *s, bool ok);
	void execute(served *s);
	void answer(served *s);
	int answer_one(served *s, const std::vector<u8> &whole,
		       const rpcrdma_reply &reply, rpcrdma_reply_plan *plan,
		       send_context *send);
	void refuse(served *s, u32 code, u32 arg0, u32 arg1);
	void end(served *s);
	void poll(u64 delay);

	world &w_;
	network &net_;
	bool client_;
	std::deque<rpc *> xmit_;
	std::unordered_map<u32, rpc *> tasks_; /* by xid */
	std::vector<std::unique_ptr<served>> all_served_;
	std::vector<served *> waiting_; /* with a Reply */
	u32 serving_ = 0;
	bool transmitting_ = false;
	u64 poll_ = 0, poll_at_ = 0; /* the next look at waiting_ */
	u32 next_xid_;
	u32 next_sequence_ = 0;
	/* Replies that large need a Reply chunk: octets */
	u32 learnt_ = ~0u;
};

} // namespace simulation

#endif /* SIMULATION_HOST_H */
