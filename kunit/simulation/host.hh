/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of one machine above the endpoint: the tasks of sunrpc with their
 * counterpart of sunrpc/requester.c, and a service with its counterpart of
 * sunrpc/server.c. Both machines have both, because callbacks are sent in the
 * reverse direction.
 */
#ifndef SIMULATION_HOST_HH
#define SIMULATION_HOST_HH

#include <unordered_map>

#include <rpcrdma/endpoint_answer.h>
#include <rpcrdma/endpoint_call.h>
#include <rpcrdma/endpoint_reply.h>

#include "endpoint.hh"

/* Base of the host, which has the RPCs */
struct rpcrdma_requester {
};

namespace simulation
{

/* Offset in a message of the item that may be reduced */
constexpr u32 ITEM_POSITION = 64;
constexpr u32 MIN_MESSAGE = 24;
/* Maximum length of an RPC message */
constexpr u32 MAX_MESSAGE = 65536;
constexpr u32 MAX_SMALLER = 4000; /* maximum length of an item, in some runs */
/*
 * Maximum number of Read chunks of a message: those of its items, and the
 * Position Zero Read chunk
 */
constexpr u32 MAX_READ_CHUNKS = 5;
/* Timeout of sunrpc for a Reply */
constexpr u64 RPC_TIME = 60 * SECOND;

/* The parameters of an RPC, known to both ends */
struct spec {
	u32 call_length = MIN_MESSAGE, call_item = 0;
	u32 reply_length = MIN_MESSAGE, reply_item = 0;
	u32 reply_max = MIN_MESSAGE;
	bool ddp = true; /* without GSS integrity or privacy */
	bool bulk = false;
	bool session = false;	/* a session: a second execution is rejected */
	bool sequenced = false; /* GSS: a second copy is not answered */
	/* number of nested RPCs in the other direction to wait for */
	u8 chain = 0;
	/*
	 * Number of consecutive items at that position, each reduced separately
	 */
	u8 call_pieces = 1, reply_pieces = 1;
	/* Bit masks of the items with Write chunks that are empty, or too short */
	u8 empty = 0, too_short = 0;
	bool bad = false; /* each Reply to it violates the protocol */

	/*
	 * Return the offset of piece @i of an item, or the item's end for the
	 * last @i.
	 */
	static u32 piece(u32 item, u32 pieces, u32 i)
	{
		return i == pieces ? item : item / pieces * i & ~3u;
	}
};

/* Words of an RPC message: the direction, and the fourth word of a Reply */
constexpr u32 CALL = 0;
constexpr u32 REPLY = 1;
constexpr u32 STATUS_OK = 0;
constexpr u32 STATUS_UNCACHED = 1;

/*
 * Fill in a complete RPC message: xid, direction, the RPC's id, one word more,
 * and bytes that are unique to this RPC. The roundup of an item is 0.
 */
void fill(std::vector<u8> &m, u32 xid, u32 direction, u32 id, u32 word,
	  u32 length, u32 item);

/* Call @f(index, offset, length) for each item of @length bytes in all. */
template <typename F>
void each_item(u32 pieces, u32 item, F f)
{
	for (u32 i = 0; i < pieces; i++) {
		const u32 from = spec::piece(item, pieces, i);

		f(i, from, spec::piece(item, pieces, i + 1) - from);
	}
}

class host;

/* An RPC and its task */
struct rpc final : actor, rpcrdma_rpc {
	/* State of the task. The engine has the state of the Call. */
	enum life {
		QUEUED,	 /* waits to be sent */
		WAITING, /* waits for the Reply */
		DYING,	 /* killed; its memory is being invalidated */
		OVER,
	};

	enum {
		TIMEOUT,
		WAIT_FOR_END,
	};

	rpc() : rpcrdma_rpc{}
	{
		list_init(&mrs);
		inv.work.chain = &requests;
		requests.of = &inv.work;
	}
	void act(u32 what, u64 arg) override;

	host *owner;
	u32 id, xid;
	spec what;
	life state = QUEUED;
	endpoint *bound = nullptr; /* connection of a callback */
	endpoint *sent_on = nullptr;
	endpoint *mrs_of = nullptr;
	bool pinned = false; /* an answer is being processed */
	u32 sequence = 0;    /* GSS sequence number, new for each encoding */
	u32 timer = 0;
	u32 refusals = 0, replays = 0;
	rpcrdma_chain requests; /* of the invalidation */
	memory call, reply;	/* reply: head, pages and tail */
	/* Bytes of head and pages that belong to the Reply, at most */
	u32 head = ~0u, pages = ~0u;
	int status = 0;
	bool unanswered = false; /* may remain without a Reply */
	int refused = 0;	 /* errno if it cannot be sent */
	bool waits = false;	 /* registered for write space */
	u32 written[4]{};	 /* bytes of the result in each Write chunk */
	std::function<void()> ended;
};

/* A Call that the service processes, and its Reply */
struct served final : actor, rpcrdma_reply_out {
	served() : rpcrdma_reply_out{}
	{
	}
	void act(u32 what, u64 arg) override;

	host *owner;
	endpoint *ep;
	received *rv;	     /* until it is released */
	rpcrdma_lists lists; /* of a callback */
	memory call;	     /* what is pulled of it */
	std::vector<u8> whole;
	u32 rpc_id = 0;
	u64 held = 0; /* bytes of its pages charged to the quota */
	bool over = false;
	bool uncached = false;
	std::vector<u8> reply; /* the complete message */
	rpcrdma_item item;     /* the result of a Reply that has only one */
	u32 spoilt = 0;	       /* changes a handle that the Reply names */
	u64 since = 0;
	rpcrdma_mr_wait wait{}; /* for MRs */
	bool exposes = false;	/* has an exposure, and is not built yet */
	bool refused = false;	/* an ERROR is sent in its place */
	bool stays = false;	/* is to be sent again, and holds its thread */
};

/* The service's part of a connection */
struct service_queue {
	endpoint *ep = nullptr;
	rpcrdma_call_queue calls{};
	bool data = false;  /* XPT_DATA: a thread is needed */
	bool taken = false; /* XPT_BUSY: a thread receives a Call */
	bool ready = false; /* the queue is in ready_ */
	u32 busy = 0;	    /* threads that process a Call of this connection */
};

class surroundings;

class host : public upcalls, public actor, public rpcrdma_requester
{
public:
	host(world &w, surroundings &net, bool client);

	/* Begin an RPC. If @bound is set, it may use only this connection. */
	rpc *begin(const spec &what, endpoint *bound,
		   std::function<void()> ended);
	void kill(rpc *task);
	void transmit();
	void transmit_soon();

	/*
	 * Use a new connection of a server, or drop the lost connection of
	 * either end.
	 */
	void use(endpoint *ep);
	void disconnected(endpoint *ep);
	/* Wake the tasks that wait for a connection or for Replies. */
	void wake(int status);

	bool messages(endpoint &ep) override;
	void poll(endpoint &ep) override;
	void write_space(endpoint &ep) override;
	void memory_freed(endpoint &ep) override;
	void run_quota(endpoint &ep, enum rpcrdma_quota_visit when) override;
	void opened(endpoint &ep) override;
	void closed(endpoint &ep) override;
	void connected(endpoint &ep) override;
	void failed(endpoint &ep, int status) override;
	void request(endpoint &ep) override;
	void act(u32 what, u64 arg) override;

	/* Called for the core, in replies.cc and requester.cc */
	bool answer(rpcrdma_recv *rv);
	void lock();
	void unlock();
	rpc *answer_for(u32 xid);
	void hold(rpc *task);
	void answered(rpc *task, u32 octets);
	rpcrdma_buf_layout layout(const rpc *task) const;
	void copy_in(rpc *task, u32 to, const void *from, u32 length);
	void *tail(rpc *task);
	void report(rpc *task, const rpcrdma_actions &s);
	int add_read(rpc *task, transfer *t, const rpcrdma_msg_range &range);
	void built(rpc *task, endpoint &from, transfer *t, int status);
	void lost(const rpc *task);
	void reclaim_mrs(rpc *task);
	void check_counts(const rpc &task,
			  const rpcrdma_requester_stats &before, int rc);
	void learn(const rpc *task, const rpcrdma_rx &rx,
		   const rpcrdma_call &call);
	void refused(rpc *task, const rpcrdma_rx &rx, int status);
	void processed(rpc *task, int result);
	void requeue(rpc *task);
	void unpin(rpc *task);
	void call_data(rpc *task, const endpoint *on, rpcrdma_call *call);
	bool call_item(const rpc *task, const endpoint *on,
		       rpcrdma_call_item *item) const;
	int map(rpc *task, endpoint *on, const rpcrdma_call_plan &plan);
	int map_item(rpc *task, endpoint *on, bool result);
	void copy_call(const rpc *task, const endpoint *on,
		       const rpcrdma_call_plan &plan, u8 *to);

	/* Called for the core, in service_port.cc */
	service_queue &queue_of(endpoint &from);
	void queued(service_queue &q);
	void starve(service_queue &q);
	int call_pages(received *rv, bool early);
	void free_call(received *rv);
	int deliver_call(received *rv);
	void call_refused();
	int begin_callback(received *rv);
	void callback(served *s);
	transfer *new_reads(received *rv);

	/* Called for the core, in service_reply.cc */
	const rpcrdma_item *only_item(served *s) const;
	void items(const served *s, rpcrdma_reply *reply) const;
	void copy_reply(const served *s, u32 from, u32 length, u8 *to);
	int add_write(served *s, transfer *t, const rpcrdma_lists &lists,
		      const rpcrdma_chunk &chunk, u32 to, u32 from, u32 length);
	transfer *new_writes(served *s);
	transfer *write_item(served *s, rpcrdma_segment segment);
	void hold(served *s, transfer *t);
	int expose(served *s, const rpcrdma_reply &reply,
		   rpcrdma_reply_plan *plan, rpcrdma_pull_entry **x);
	void built(served *s);

	/* Called by tasks and Calls */
	void timed_out(rpc *task);
	void execute(served *s);
	void serve(served *s);
	rpc *any_task();
	void check_gone();

	u32 outstanding() const
	{
		return static_cast<u32>(tasks_.size());
	}
	bool serving() const;
	bool is_client() const
	{
		return client_;
	}

	endpoint *ep = nullptr;	   /* the connection for new Calls */
	rpcrdma_quota memory{};	   /* the quota shared by all peers */
	u32 threads = ~0u;	   /* threads of the service */
	u32 largest = MAX_MESSAGE; /* bytes of an RPC message, at most */
	u32 number = 0;		   /* number among several clients */

private:
	/* Events other than those of its RPCs */
	enum {
		TRANSMIT_AGAIN = rpc::WAIT_FOR_END + 1,
		POLL,
	};

	/* Requester, in requester.cc and replies.cc */
	template <typename F>
	std::vector<rpc *> tasks_that(F which) const;
	endpoint *connection_of(const rpc *task) const
	{
		return task->bound ? task->bound : ep;
	}
	int try_send(rpc *task, endpoint *on);
	int map_data(rpc *task, endpoint *on, bool result);
	void encode(rpc *task);
	void take_back(rpc *task);
	rpc *find(u32 xid) const;
	void fail(rpc *task, int status);
	void over(rpc *task);
	bool pieces_fit(const rpc *task, const endpoint *on,
			const rpcrdma_call_plan &plan) const;
	void place(rpc *task, u32 to, u32 length);
	std::vector<u8> assemble(const rpc *task, u32 octets) const;
	std::vector<u8> with_items(const rpc *task,
				   const std::vector<u8> &stream) const;
	void deliver(rpc *task, const std::vector<u8> &whole);
	void complete(rpc *task, int status);
	void release(rpc *task);

	/* Responder, in service.cc and service_reply.cc */
	void enqueue(service_queue &q);
	served *new_served(received *rv);
	void give_pages(served *s);
	void forget(served *s);
	void take();
	void take_from(service_queue &q);
	int call_fails(received *rv, int status);
	void check_failure(const endpoint &on, bool was_open, int result);
	void drop_calls(endpoint &gone);
	void thread_is_free(served *s);
	void answer(served *s);
	void encode(served *s);
	void check_plan(const served *s, const rpcrdma_reply &reply,
			const rpcrdma_reply_plan &plan);
	rpcrdma_segment *spoil(served *s, const rpcrdma_reply_plan &plan);
	void refuse(served *s, u32 code, u32 arg0, u32 arg1);
	void end(served *s);
	void poll(u64 delay);

	world &w_;
	surroundings &net_;
	bool client_;
	std::deque<rpc *> xmit_;
	std::unordered_map<u32, rpc *> tasks_; /* by xid */
	std::vector<std::unique_ptr<served>> all_served_;
	std::unordered_map<endpoint *, service_queue> queues_;
	/* connections that wait for a thread */
	std::deque<service_queue *> ready_;
	std::vector<served *> waiting_; /* tasks with a Reply to
					       * process */
	u32 serving_ = 0, busy_ = 0;
	int failure_ = 0; /* of the Call that a thread has taken */
	received *failed_ = nullptr;
	bool refused_ = false;
	bool transmitting_ = false;
	bool asleep_ = false;	     /* the tasks wait for a connection */
	u64 poll_ = 0, poll_at_ = 0; /* the next poll of waiting_ */
	u32 next_xid_;
	u32 next_sequence_ = 0;
	rpcrdma_peer_limits peer_limits_{};
	rpcrdma_requester_stats stats_{};
	bool remembered_ = false; /* a loss, in the last try_send() */
	bool locked_ = false;	  /* the RPCs */
	const rpcrdma_recv *answering_ = nullptr;
};

} // namespace simulation

#endif /* SIMULATION_HOST_HH */
