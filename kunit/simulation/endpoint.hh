/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of the endpoint (verbs/send.c, recv.c, frwr.c, expose.c and ep.c):
 * one end of one connection around the engine, on the model of a device. While
 * the module would hold a lock, no other event happens here. Where the module
 * sleeps or queues work, other events happen.
 */
#ifndef SIMULATION_ENDPOINT_HH
#define SIMULATION_ENDPOINT_HH

#include <functional>
#include <memory>

#include <letter.hh>

#include "device.hh"

namespace simulation
{

enum {
	WORK_CALL = RPCRDMA_KIND_CALL,
	WORK_REPLY = RPCRDMA_KIND_REPLY,
	WORK_CONTROL = RPCRDMA_KIND_CONTROL,
	WORK_RDMA,
	WORK_STREAM,
};

/* Page size of memory, which begins at a page boundary */
constexpr u32 PAGE_SHIFT = 10;
constexpr u32 PAGE_OCTETS = 1 << PAGE_SHIFT;

struct endpoint_params {
	rpcrdma_conn_config cfg;
	u32 sends;	 /* Send contexts for RPC traffic */
	u32 replies;	 /* in progress while messages wait */
	u32 sq_depth;	 /* Send Queue depth of the device */
	u32 max_regions; /* number of MRs */
	u32 region_size; /* maximum length of an MR in bytes, whole pages */
	u32 read_into;	 /* MRs for Reads; 0: Reads need no MR */
	bool reorders;	 /* the device completes Sends before earlier Reads */
	bool silent;	 /* reads nothing, sends nothing */
	/*
	 * Use the reference credit model of the wire profile, not the engine's
	 * credits.
	 */
	bool letter;
	bool refuses_props; /* refuses the peer's properties */
	/* The quota shared with other connections; NULL: memory is unlimited */
	rpcrdma_memory *memory;
	u64 most_memory; /* upper bound of its use of the quota, in bytes */
};

/* RDMA Reads, or the Writes posted before a Reply or ahead of it */
struct transfer final : work {
	endpoint *ep;
	std::vector<request> left; /* not yet posted, in batches */
	work *reply = nullptr;	   /* Reply to send after these Writes */
	rpcrdma_read_claim claim{};
	u32 holds = 0; /* MRs reserved for Reads */
	u32 parts = 0; /* parts, an MR each if the device needs MRs */
	/* Callback of the holder of the memory, called once, at the end */
	std::function<void(bool ok)> ended;

	void done(bool ok) override;
};

/* Local invalidation of MRs */
struct invalidation final : work {
	endpoint *ep;
	std::function<void(bool ok)> ended;

	void done(bool ok) override;
};

struct exposure {
	endpoint *ep;
	rpcrdma_exposure engine{};
	u32 inv_handle;
	std::vector<region *> regions;
	rpcrdma_lists lists;
	memory data;
	u64 held = 0; /* bytes charged to the quota */
	bool closing = false;
};

struct stream;

struct send_context final : work {
	endpoint *ep;
	memory buf;
	u32 header_length, length;
	transfer *writes;
	stream *last_of;
	exposure *exposed;

	void done(bool ok) override;
};

/* A continued message */
struct stream final : work {
	endpoint *ep;
	enum rpcrdma_kind rpc;
	u32 xid, sent, inv_handle;
	transfer *writes;
	rpcrdma_lists lists;
	std::vector<region *> regions; /* MRs to register with the first part */
	std::vector<u8> data;
	u64 held; /* bytes charged to the quota */

	void done(bool ok) override;
};

class endpoint;

/* Upcalls to the transports */
class upcalls
{
public:
	virtual ~upcalls() = default;
	virtual void call(endpoint &ep, received *rv) = 0;
	virtual void reply(endpoint &ep, received *rv) = 0;
	virtual void error(endpoint &ep, received *rv) = 0;
	virtual void write_space(endpoint &ep) = 0;
	/* Work that waits for memory may retry. */
	virtual void memory_freed(endpoint &ep) = 0;
	virtual void opened(endpoint &ep) = 0;
	virtual void closed(endpoint &ep) = 0;
	/*
	 * A client's setup has ended, with a connection, or without one and
	 * with an errno.
	 */
	virtual void connected(endpoint &ep) = 0;
	virtual void failed(endpoint &ep, int status) = 0;
	/* A client sends its connection request. */
	virtual void request(endpoint &ep) = 0;
};

class endpoint : public actor, public queue_owner
{
public:
	endpoint(world &w, const endpoint_params &params, upcalls &ops,
		 const char *name);
	~endpoint() override;

	/* Opening and closing */
	void make(int result);
	void news(rpcrdma_news what, int rejection = 0);
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
	u32 posted_transfers() const;

	/* Sending */
	send_context *take_send();
	send_context *take_reply_send();
	void put_send(send_context *s);
	/*
	 * Reserve a Send context for the next Call of any task. NULL: no Call
	 * may be sent now.
	 */
	send_context *call_send();
	int send_call(send_context *s, const std::vector<region *> &regions,
		      enum rpcrdma_format format, const rpcrdma_lists *lists);
	int send_continued_call(stream *st);
	/* The Writes posted ahead of @reply have completed, or never will. */
	void written(work *reply, bool ok);
	void send_reply(send_context *s, transfer *writes, u32 inv_handle,
			enum rpcrdma_format format, const rpcrdma_lists *lists);
	void send_continued_reply(stream *st);
	void send_error(u32 xid, u32 code, u32 arg0, u32 arg1);
	void send_done(u32 xid, u32 inv_handle);
	stream *new_stream(enum rpcrdma_kind kind, u32 xid,
			   const rpcrdma_lists *lists);

	/* Memory */
	rpcrdma_cut how_cut() const
	{
		const u32 most = rpcrdma_conn_limits(&conn).max_segment;

		/* Without chunks the number of MRs does not matter. */
		return { PAGE_SHIFT, region_size_ >> PAGE_SHIFT,
			 most ? most : ~0u, false, false };
	}
	/* Limit @call to as many MRs as there are. */
	void limit_regions(rpcrdma_call *call) const
	{
		rpcrdma_call_regions(call, &pool_);
	}
	u32 count_regions(u32 at, u32 length) const
	{
		const rpcrdma_cut cut = how_cut();

		return rpcrdma_region_count(&cut, at & (PAGE_OCTETS - 1),
					    length);
	}
	/*
	 * Return: 0; -EAGAIN if MRs are missing, write_space() will be called.
	 */
	int map(std::vector<region *> &regions, memory &mem, u32 at, u32 length,
		bool writable, rpcrdma_lists &lists);
	void put_regions(std::vector<region *> &regions);
	static bool any_exposed(const std::vector<region *> &regions);
	static bool invalidated(std::vector<region *> &regions, u32 handle);
	void invalidate(const std::vector<region *> &regions,
			std::function<void(bool)> ended);
	/* Allocate a transfer. @what: read or write */
	transfer *new_transfer(op what);
	/*
	 * Transfer between a chunk and @mem from @at on. Return false if the
	 * chunk is too short.
	 */
	bool add_transfer(transfer *t, const rpcrdma_lists &lists,
			  const rpcrdma_chunk &chunk, u32 chunk_offset,
			  memory &mem, u32 at, u32 length);
	void read(transfer *t);
	void free_transfer(transfer *t);
	int expose(exposure *x, u32 xid, rpcrdma_reply_plan *plan);
	void cancel_exposure(exposure *x);

	/* Receiving */
	void put(received *rv);

	/*
	 * Charge memory held for the peer to the shared quota. If that fails,
	 * memory_freed() will be called.
	 */
	bool room(rpcrdma_memory_use use, u64 octets)
	{
		return !params.memory ||
		       rpcrdma_memory_ask(params.memory, &account, use, octets);
	}
	void hold(rpcrdma_memory_use use, u64 octets);
	void give(rpcrdma_memory_use use, u64 octets);
	void wake_waiting();

	/* Upcalls of the device */
	void completed(work *w) override;
	void arrived(received *rv) override;
	void refuse(const char *reason);
	void drain();
	void receive(received *rv);

	void act(u32 what, u64 arg) override;
	void check();
	/* Print the state, for the log of a run that failed. */
	void describe() const;
	/* Complain if anything is left after closed(). */
	void check_gone();

	rpcrdma_conn conn;
	rpcrdma_memory_account account{};
	rpcrdma_guest guest{}; /* of a server */
	endpoint_params params;
	rpcrdma_life life{};
	enum rpcrdma_answer answer =
		RPCRDMA_ANSWER_NOT_YET; /* answer of a failed attempt */
	queue_pair qp;
	const char *name;
	u32 lent = 0; /* Receives held by the transport */
	bool excuse_stall = false;

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
		OPEN_OVERDUE,
	};

	void events(u32 ev);
	void pump();
	void wanted();
	bool turn(bool &retry, bool &more);
	rpcrdma_sq_first first() const;
	bool post(work *w);
	bool hand_over(work *w);
	void expose(send_context *s);
	bool post_send(send_context *s);
	bool post_control();
	bool post_transfer();
	bool post_message();
	bool post_part(stream *st);
	void post_letter_grants();
	u32 next_part(const stream *st, u32 &wrs, bool &more) const;
	void prepare(send_context *s, u8 kind, u32 inv_handle);
	void chain_writes(send_context *s, transfer *writes);
	bool in_chain(u32 message, const transfer *writes) const;
	void turn_of(transfer *t);
	send_context *pop();
	int call_rc(rpcrdma_sq_answer may);
	u32 stall_watch();
	void do_write_space();
	void carry_out_pool(u32 todo);
	void make_regions();
	void regions_made(u32 count);
	void work_rdma(work *w);
	u32 next_part_of(const transfer *t, u32 at, u32 rest) const;
	void add_part(transfer *t);
	int make_ready(transfer *t);
	void refused(size_t count);
	int make_all_ready(transfer *t);
	void unmake(transfer *t);
	void wake_reads();
	void post_reads(transfer *t);
	void retry_reads();
	void end(std::vector<work *> &through);
	void flush_posted();
	void flush_waiting();
	bool make_one(const rpcrdma_make_step &m, int *result);
	void carry_out(const rpcrdma_life_step &step);
	void opened();
	void release();
	bool release_one(rpcrdma_release what);
	void give_back(received *rv);
	bool receives_round();
	void receives_due();
	u32 post_due();
	void post_free(u32 count);
	void lend(received *rv);
	bool is_letter() const
	{
		return letter_ && conn.version != RPCRDMA_VERS_1;
	}
	void as_letter_says();
	void letter_stamp(u8 *header, bool grant);
	void letter_received(const received *rv);
	received *new_received(u32 octets);
	bool append(received *rv);
	bool assemble(received *rv);
	void spoil_props(received *rv);
	static exposure *exposure_of(rpcrdma_exposure *x);
	void unexpose(exposure *x);
	void end_exposure(exposure *x);
	void release(exposure *x);
	static void expose_regions(const std::vector<region *> &regions);
	void chain_registrations(work *w, const std::vector<region *> &regions);

	friend struct transfer;
	friend struct invalidation;
	friend struct send_context;
	friend struct stream;

	world &w_;
	upcalls &ops_;
	u32 users_ = 0;
	rpcrdma_sq sq_{};
	std::deque<work *> transfers_, messages_;
	rpcrdma_read_pool read_pool_{};
	u32 free_read_regions_;
	std::deque<transfer *> reads_waiting_;
	bool reads_tried_ = false;
	std::vector<work *> inflight_;
	/* Work completed before the device has stopped the queue pair */
	std::vector<work *> late_;
	u32 refusals_ = 0; /* failures of STOP still to inject */
	int stop_ = 0;	   /* result of STOP */
	std::vector<std::unique_ptr<send_context>> sends_;
	std::vector<send_context *> free_sends_;
	send_context *call_send_;
	std::vector<std::unique_ptr<received>> receives_;
	bool stall_watched_ = false, overdue_watched_ = false;
	bool noticed_ = false;
	/*
	 * The setup context: whether it sleeps, the number of its sleeps, and
	 * whether it has ended
	 */
	bool sleeps_ = false, made_ = false;
	u32 slept_ = 0;
	int status_ = 0;
	/*
	 * The teardown: the step in progress; whether objects of the device
	 * exist
	 */
	rpcrdma_release releasing_ = RPCRDMA_RELEASE_END;
	bool objects_ = false;
	u32 region_size_;
	rpcrdma_region_pool pool_{};
	std::vector<region *> free_regions_;
	bool regions_wanted_ = false; /* a waiter refused, not notified */
	/*
	 * MRs were added or recycled since the last notification of the waiters
	 */
	bool more_regions_ = false;
	u64 idly_told_ = 0;	/* time of the last notification without that */
	u64 short_until_ = 0;	/* until then no memory for MRs */
	u64 none_until_ = 0;	/* until then the device has no MRs */
	u64 refused_since_ = 0; /* an MR used by no other message was refused */
	bool refused_ = false;
	std::vector<u8> assembly_;
	std::unique_ptr<engine_test::letter_credits> letter_;
	std::vector<received *> spares_, free_receives_, behind_;
	u32 live_ = 0; /* works, streams and similar objects not freed */
	/* Values that check() saw last */
	u32 last_limit_, last_advertised_;
};

} // namespace simulation

#endif /* SIMULATION_ENDPOINT_HH */
