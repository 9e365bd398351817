/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One end of one connection: the core with its host, on the model of a device.
 * While the module would hold a lock, no other event happens here. Where the
 * module sleeps or queues work, other events happen.
 */
#ifndef SIMULATION_ENDPOINT_HH
#define SIMULATION_ENDPOINT_HH

#include <functional>
#include <memory>

#include <credit_model.hh>
#include <list.hh>
#include <port.h>
#include <stand_in.hh>

#include "device.hh"

/* The Work Requests of a work item of the core */
struct rpcrdma_chain final : simulation::work {
	rpcrdma_work *of = nullptr;

	void done(bool) override
	{
	}
};

/* A batch of messages; made with its connection */
struct rpcrdma_poll {
	simulation::endpoint *ep;
	bool began = false, late = false;
	u32 nr = 0;
};

namespace simulation
{

using rpcrdma::list_first;
using rpcrdma::list_init;
using rpcrdma::list_is_empty;
using rpcrdma::list_push_back;
using rpcrdma::list_push_front;
using rpcrdma::list_remove;

/*
 * Page sizes of a server's and of a client's memory, which begins at a page
 * boundary. Messages are small here, so that pages of 1 KiB are usual: many
 * messages span several of them.
 */
extern u32 page_shifts[2];

/* Describe @length bytes of @mem from byte @at on. */
static inline rpcrdma_extent extent_of(memory &mem, u32 at, u32 length)
{
	return { &mem, nullptr, at, length };
}

/* Outstanding Reads of a device that is not limited */
constexpr u32 ENOUGH_READS = 16;

struct endpoint_params {
	rpcrdma_conn_config cfg;
	u32 page_shift; /* a page has 1 << page_shift bytes */
	u32 sends;	/* Send contexts for RPC traffic */
	u32 sq_depth;	/* Send Queue depth of the device */
	u32 sq_wanted;	/* depth requested first; 0: sq_depth */
	u32 max_mrs;	/* number of MRs */
	u32 mr_size;	/* maximum length of an MR in bytes, whole pages */
	u32 read_into;	/* MRs for Reads; 0: Reads need no MR */
	/* Pages of such an MR: as the device reports them, and as it holds */
	u32 read_pages = 1, read_holds = 1;
	u32 sges = 64; /* pages of a Read or Write Work Request */
	bool splits;   /* a part of a page needs a separate MR */
	/* bytes that the device maps to an MR; 0: mr_size */
	u32 mr_room;
	bool reorders; /* the device completes Sends before earlier Reads */
	bool silent;   /* ignores messages and sends none */
	/*
	 * Use the reference credit model of the wire profile, not the engine's
	 * credits.
	 */
	bool model;
	bool refuses_props; /* refuses the peer's properties */
	/*
	 * The quota shared with other connections; NULL: memory is not limited
	 */
	rpcrdma_quota *memory;
	u64 most_memory; /* upper bound of its use of the quota, in bytes */
	/* Host authentication: enum rpcrdma_auth_mode, and a secret, 0: none */
	u32 auth, secret;
	u32 dh;		     /* enum rpcrdma_auth_mode */
	bool secrets_differ; /* between client and server */

	u32 page_octets() const
	{
		return 1u << page_shift;
	}
};

/* RDMA Reads, or the Writes posted before a Reply or ahead of it */
struct transfer final : rpcrdma_transfer {
	endpoint *ep;
	rpcrdma_chain chain; /* the batch being posted */
	u64 waited = 0;	     /* order among the transfers that waited for MRs */
	memory source;	     /* of Writes */
	/* Callback of the holder of the memory, called once, at the end */
	std::function<void(bool ok)> ended;
};

/* A part of a transfer. The device determines its number of Work Requests. */
struct transfer_part final : rpcrdma_transfer_part {
	request whole;
	bool holds = false; /* an MR for a Read */
	bool posted = false;
};

/* Local invalidation of MRs */
struct invalidation final : rpcrdma_inv {
	endpoint *ep;
	rpcrdma_chain requests;
	std::function<void(bool ok)> ended;

	static void over(rpcrdma_inv *inv, bool ok);
};

/* A Reply that the peer pulls */
struct exposure final : rpcrdma_pull_entry {
	rpcrdma_chain requests;
	memory data;
	u64 held = 0; /* bytes charged to the quota */

	static void over(rpcrdma_pull_entry *x);
};

struct send_context final : rpcrdma_send {
	rpcrdma_chain chain;
};

/* A continued message */
struct stream final : rpcrdma_stream {
	endpoint *ep;
	std::vector<u8> octets;
};

class endpoint;

/* An account of the shared quota, and the connection to wake */
struct owned_account : rpcrdma_quota_account {
	endpoint *owner;
};

/* Upcalls to the transports */
class listener;

/* A pending connection, with its endpoint and its listener */
struct pending_conn : rpcrdma_pending_conn {
	endpoint *ep;
	listener *at;
};

class upcalls
{
public:
	virtual ~upcalls() = default;
	/* Messages have arrived. Return true if a thread of the service processes them. */
	virtual bool messages(endpoint &ep) = 0;
	/* Process a batch of messages with next_message(). */
	virtual void poll(endpoint &ep) = 0;
	virtual void write_space(endpoint &ep) = 0;
	/* Work that waits for memory may retry. */
	virtual void memory_freed(endpoint &ep) = 0;
	/* Run the quota of the server. */
	virtual void run_quota(endpoint &ep, enum rpcrdma_quota_visit when) = 0;
	virtual void opened(endpoint &ep) = 0;
	virtual void closed(endpoint &ep) = 0;
	/*
	 * A client's setup has ended, with a connection, or with an errno and
	 * without one.
	 */
	virtual void connected(endpoint &ep) = 0;
	virtual void failed(endpoint &ep, int status) = 0;
	/* A client sends its connection request. */
	virtual void request(endpoint &ep) = 0;
};

class endpoint : public actor, public queue_owner, public rpcrdma_ep_core
{
public:
	endpoint(world &w, const endpoint_params &params, upcalls &ops,
		 const char *name);
	~endpoint() override;

	/* Opening and closing */
	void make(int result);
	void cm_event(rpcrdma_cm_event what, int rejection = 0);
	void happened(enum rpcrdma_happened what);
	/* Process the private data of the peer's request, or of its answer. */
	void record_peer(const rpcrdma_cm_peer &peer);
	void close(const char *reason);
	void lost() override;
	bool is_open() const
	{
		return life.stage == RPCRDMA_STAGE_OPEN;
	}
	bool is_closing() const
	{
		return life.stage >= RPCRDMA_STAGE_CLOSING;
	}
	bool is_gone() const
	{
		return life.stage == RPCRDMA_STAGE_GONE;
	}
	/* Hold off the teardown. Return false if it has begun. */
	bool enter();
	void leave();

	/* Sending */
	void send_error(u32 xid, u32 code, u32 arg0, u32 arg1);
	stream *new_stream(enum rpcrdma_kind kind, u32 xid,
			   const rpcrdma_lists *lists, std::vector<u8> octets);

	/* Memory */
	/* Limit @call to the MRs of this connection. */
	void limit_mrs(rpcrdma_call *call) const
	{
		rpcrdma_call_limit_mrs(call, &mrs.pool);
	}
	/* Return the offset of byte @at of memory into its page. */
	u32 in_page(u32 at) const
	{
		return at & (params.page_octets() - 1);
	}
	u32 count_mrs(u32 at, u32 length) const
	{
		const rpcrdma_mr_limits limits = rpcrdma_core_mrs_limits(this);

		return rpcrdma_mr_count(&limits, in_page(at), length);
	}
	/* Like the module's rpcrdma_mrs_map() */
	int map(list_head *list, memory &mem, u32 at, u32 length, bool writable,
		rpcrdma_lists &lists);
	/* Like its rpcrdma_mrs_map_item() */
	int map_item(list_head *list, memory &mem, u32 at, u32 length,
		     bool writable);
	void put_mrs(list_head *list);
	/* Return true if an MR of @list has some of these bytes. */
	static bool maps(const list_head *list, const memory &mem, u32 at,
			 u32 length);
	/*
	 * From now on, the peer's access to @list may fail without being a
	 * fault.
	 */
	void excuse(const list_head *list);
	void pull_overdue(const rpcrdma_pull_entry *x);
	void check_invalidated(u32 handle);
	void invalidate(list_head *list, std::function<void(bool)> ended);
	/* Allocate a transfer. @what: read or write */
	transfer *new_transfer(op what);
	/*
	 * Transfer between a chunk and @mem from @at on.
	 * Return: 0; -ENOMEM: end the transfer.
	 */
	int add_transfer(transfer *t, const rpcrdma_lists &lists,
			 const rpcrdma_chunk &chunk, u32 chunk_offset,
			 memory &mem, u32 at, u32 length);
	/*
	 * Add one part to @t, between @segment and @mem from @at on. Return @t; NULL, with
	 * @t ended, if out of memory.
	 */
	transfer *only_part(transfer *t, const rpcrdma_segment &segment,
			    memory &mem, u32 at);
	/* Post Reads. */
	void read(transfer *t);
	/* End a transfer that was not posted; t->ended() is called. */
	void drop_transfer(transfer *t);
	int expose(exposure *x, u32 xid, rpcrdma_reply_plan *plan,
		   rpcrdma_mr_wait *wait);

	/* Receiving */
	received *next_message(rpcrdma_poll *poll);
	bool has_messages() const
	{
		return holds_messages() && !polling_ && !is_closing();
	}
	void put(received *rv);
	upcalls &ops() const
	{
		return ops_;
	}

	/*
	 * Charge memory held for the peer to the shared quota. If that fails,
	 * memory_freed() follows.
	 */
	bool room(rpcrdma_quota_use use, u64 octets);
	void hold(rpcrdma_quota_use use, u64 octets);
	void give(rpcrdma_quota_use use, u64 octets);
	bool join();
	void wake_waiting();

	/* Upcalls of the device */
	void completed(work *w) override;
	void arrived(received *rv) override;

	void act(u32 what, u64 arg) override;
	void check();
	/* Print the state, for the log of a run that failed. */
	void describe() const;
	/* Complain if anything is left after closed(). */
	void check_gone();

	/* The port: what the core calls */
	void lock();
	void unlock();
	void needs_lock();
	void lock_mrs();
	void unlock_mrs();
	void queued(const rpcrdma_work *w);
	bool post(rpcrdma_work *w);
	bool post_send(rpcrdma_send *s);
	device_mr *new_mr();
	void make_mrs_in(u32 ms);
	void mrs_notified();
	int map_mr(device_mr *reg, rpcrdma_extent_pos &pos, u32 octets,
		   bool writable);
	void unmap_mrs(list_head *list, bool open);
	void *new_buffer(u32 size, u64 *addr);
	void free_buffer(u64 addr);
	rpcrdma_send *first_use(u32 number);
	void free_stream(stream *st);
	void arm_stall(u32 ms);
	void arm_overdue(u32 ms);
	void do_write_space();
	bool post_receives(received *first);
	int new_part(transfer *t, const rpcrdma_extent_pos &pos, u32 pages,
		     const rpcrdma_segment &segment, bool now,
		     transfer_part **part);
	int prepare(transfer *t, transfer_part *part);
	void unprepare(transfer_part *part);
	bool post_batch(transfer *t);
	void chain(const transfer *t, list_head *from, const list_head *to,
		   std::vector<request> *requests);
	void end_parts(transfer *t, bool ok);
	void free_transfer(transfer *t);
	void wake_reads();
	received *new_receive(const rpcrdma_receives &want);
	void free_receive(received *rv);
	void release_receive(received *rv);
	void shrink(received *rv);
	bool holds_messages() const;
	void drain_poll();
	void *new_assembly(u32 size);
	void free_assembly(void *assembly);
	bool assembled(u64 octets);
	rpcrdma_segment *more_segs();
	u32 hold_some(rpcrdma_quota_use use, u64 octets, u32 count);
	u32 coarse_ms() const
	{
		/*
		 * Runs are short: because microseconds pass for milliseconds,
		 * windows shrink a thousand times sooner.
		 */
		return static_cast<u32>(w_.now);
	}
	int create();
	int take(const rpcrdma_setup_step &m);
	int make_sends(u32 nr);
	void open_later();
	int identity(enum rpcrdma_auth_source source, char *identity);
	rpcrdma_hostauth *new_auth(bool dh, rpcrdma_auth_host *host);
	void auth_asked();
	int secret(const rpcrdma_auth_request &ask);
	int keys(const rpcrdma_auth_dh &dh, u8 *public_value);
	int share(const rpcrdma_auth_dh &dh, u8 *shared);
	int answer(const rpcrdma_auth_request &ask,
		   rpcrdma_auth_answer *answer);
	void auth_answered(int status);
	void opened();
	void version_refused();
	void wake();
	void closing(const char *reason);
	void count(enum rpcrdma_counter counter);
	void check_counts();
	int release_one(rpcrdma_teardown what);
	bool registers() const
	{
		return life.client || params.cfg.inv_ok || params.read_into;
	}
	void reap();
	void leave_quota();
	u32 now_ms() const
	{
		return w_.now_ms();
	}

	owned_account account{ {}, this };
	pending_conn pending{}; /* of a server */
	endpoint_params params;
	queue_pair qp;
	const char *name;
	bool excused = false; /* the peer need not follow the protocol */
	rpcrdma_hostauth handshake{};
	std::string expected; /* the identity of the peer */
	engine_test::stand_in_dh exchange{};

private:
	enum {
		NOTICE,
		ANSWER,
		MAKE,
		MAKE_LATE,
		RELEASE,
		STALL,
		OVERDUE,
		MAKE_REGIONS,
		REGIONS_MADE,
		READS,
		POLL,
		OPEN_OVERDUE,
		OPEN_LATER,
		AUTH,
	};

	bool forgets(u32 kind) const;

	void change(rpcrdma_quota_change *c);
	rpcrdma_quota_change change(rpcrdma_quota_action what,
				    rpcrdma_quota_use use, u64 octets,
				    u32 count);
	static rpcrdma_ep_params settings_of(const endpoint_params &p);
	void free_sends_of();
	void check_sends();
	void check_charges();
	u32 own_buffers() const;
	bool submit(rpcrdma_chain *chain, const rpcrdma_work &w);
	void check_device(const rpcrdma_chain &chain);
	static u32 count(const list_head &list);
	void post_model_grants();
	void make_mrs();
	void check_mrs();
	u32 free_mrs() const;
	void wait_in_queue();
	void mr_missing(u32 count);
	void refused(u32 count);
	void disturb();
	bool is_over(enum rpcrdma_teardown what) const;
	void release();
	void drop(bool now);
	void model_release(received *rv);
	void post_free(u32 count);
	void lend(received *rv);
	bool is_model() const
	{
		return model_ && conn.version != RPCRDMA_VERS_1;
	}
	void as_model_says();
	void model_stamp(u8 *header);
	void model_received(const received *rv);
	received *new_received(u32 octets);
	void queue_arrival(received *rv);
	void poll();
	void poll_later();
	bool receive(received *rv);
	void check_invalidation(const received *rv, enum rpcrdma_outcome what);
	void deliver(received *rv);
	void drain_device();
	void check_drained();
	void spoil_props(received *rv);
	friend struct exposure;
	friend struct invalidation;

	world &w_;
	upcalls &ops_;
	/* The locks that the core holds */
	bool locked_ = false, mrs_locked_ = false;
	bool closes_ = false; /* once the lock is released */
	bool granting_ = false;
	u32 users_ = 0;
	u32 free_read_mrs_;
	bool reads_tried_ = false;
	/* Transfers that have waited for MRs, and the last of them posted */
	u64 reads_waited_ = 0, reads_posted_ = 0;
	/* Work completed before the device stopped the queue pair */
	std::vector<work *> late_;
	bool flushed_ = false; /* no posted work is left */
	/* number of STOPs that are still to fail */
	u32 refusals_ = 0;
	rpcrdma_ep_params settings_; /* params in the core's form */
	rpcrdma_cm_peer answer_;     /* of a client's server */
	std::vector<send_context> sends_;
	memory control_;	/* buffers of control messages */
	u32 buffers_short_ = 0; /* allocations that are to fail */
	u32 buffers_ = 0;	/* other Send buffers */
	u32 checks_ = 0;
	bool receives_refused_ = false; /* the device has refused Receives */
	u32 dropped_ = 0; /* times that the teardown's reference was dropped */
	std::vector<std::unique_ptr<received>> receives_;
	bool overdue_watched_ = false;
	bool stall_armed_ = false;
	u64 stall_timer_ = 0; /* number of the armed stall timer */
	bool noticed_ = false;
	/*
	 * The setup context: whether it sleeps, was woken, and has ended; the
	 * number of its sleeps
	 */
	bool sleeps_ = false, woken_ = false, made_ = false;
	u32 slept_ = 0;
	int status_ = 0;
	/*
	 * The teardown: the step it waits for; whether it has stopped the
	 * timers
	 */
	rpcrdma_teardown releasing_ = RPCRDMA_TEARDOWN_END;
	bool stopped_ = false;
	bool unstopped_ = false; /* the last STOP has failed */
	u32 mrs_made_ = 0;	 /* MRs allocated */
	u32 mrs_left_ = 0;	 /* MRs that can be allocated at once */
	/* an allocation of MRs is scheduled or runs */
	bool making_ = false;
	/* a waiter was refused and not notified yet */
	bool mrs_wanted_ = false;
	/* MRs were added or released since the waiters were last notified */
	bool more_mrs_ = false;
	/* used MRs were released, and a waiter is to be notified */
	bool to_notify_ = false;
	/* time of the last notification without such a change */
	u64 idle_notified_ = 0;
	u64 short_until_ = 0; /* until then, no memory for MRs */
	u64 none_until_ = 0;  /* until then, the device has no MRs */
	/*
	 * since then, a message was refused although no other message has MRs
	 */
	u64 refused_since_ = 0;
	bool refused_ = false;
	std::unique_ptr<engine_test::credit_model> model_;
	std::vector<received *> spares_, free_receives_;
	/*
	 * Arrivals: the Receives completed since the last batch, the newest
	 * first; the numbers of the last one completed and of the last one
	 * processed
	 */
	llist_node *newest_ = nullptr;
	u64 last_arrival_ = 0, last_received_ = 0;
	/* invalidations by the peer's Sends */
	u64 invalidations_ = 0;
	bool polling_ = false, polls_ = false; /* POLL is scheduled */
	bool in_drain_ = false, drained_ = false;
	bool opened_reported_ = false;
	bool version_refused_ = false;
	/* The counts of the core, and the expected ones */
	u64 counts_[RPCRDMA_NR_COUNTERS]{}, due_[RPCRDMA_NR_COUNTERS]{};
	u32 live_arrays_ = 0; /* message memory not freed */
	u32 live_ = 0;	      /* works, streams and similar objects not freed */
	/* Values that check() saw last */
	u32 last_limit_ = 0, last_advertised_ = 0;
};

/* Return the endpoint that contains @core, which calls the port. */
inline endpoint &of(rpcrdma_ep_core *core)
{
	return *static_cast<endpoint *>(core);
}

} // namespace simulation

#endif /* SIMULATION_ENDPOINT_HH */
