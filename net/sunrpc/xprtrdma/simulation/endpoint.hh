/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of the endpoint (endpoint/send.c, recv.c, frwr.c, expose.c and ep.c):
 * one end of one connection around the engine, on the model of a device. Where
 * the module takes a lock, nothing else happens here meanwhile; where it sleeps
 * or queues work, other things do.
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

/* Of memory, which begins with a page */
constexpr u32 PAGE_SHIFT = 10;
constexpr u32 PAGE_OCTETS = 1 << PAGE_SHIFT;

struct endpoint_params {
	rpcrdma_conn_config cfg;
	u32 sends;	 /* Send contexts for RPC traffic */
	u32 replies;	 /* under way, while messages wait */
	u32 sq_depth;	 /* of the device */
	u32 max_regions; /* memory regions */
	u32 region_size; /* octets at most, whole pages */
	u32 read_into;	 /* regions for Reads; 0: they go anywhere */
	bool reorders;	 /* the device completes Sends before Reads */
	bool silent;	 /* reads nothing, answers nothing */
	/* Its credits are those of the wire profile's letter, not the engine's. */
	bool letter;
	bool refuses_props; /* of the peer */
	/* What it shares with others; NULL: nothing is bounded */
	rpcrdma_memory *memory;
	u64 most_memory; /* never more of it than that, octets */
};

/* RDMA Reads, or the Writes in front of a Reply, or ahead of it */
struct transfer final : work {
	endpoint *ep;
	std::vector<request> left; /* yet to be posted, in turns */
	work *reply = nullptr;	   /* goes when these are done */
	rpcrdma_read_claim claim{};
	u32 holds = 0; /* regions of those that are read into */
	u32 parts = 0; /* each a region, where the device takes any */
	/* Who holds the memory; called once, at the end */
	std::function<void(bool ok)> ended;

	void done(bool ok) override;
};

/* Local invalidation of some regions */
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
	u64 held = 0; /* octets that are counted */
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

/* A message in parts */
struct stream final : work {
	endpoint *ep;
	enum rpcrdma_kind rpc;
	u32 xid, sent, inv_handle;
	transfer *writes;
	rpcrdma_lists lists;
	std::vector<region *> regions; /* to be registered with the first */
	std::vector<u8> data;
	u64 held; /* octets that are counted */

	void done(bool ok) override;
};

class endpoint;

/* What the transports hear */
class upcalls
{
public:
	virtual ~upcalls() = default;
	virtual void call(endpoint &ep, received *rv) = 0;
	virtual void reply(endpoint &ep, received *rv) = 0;
	virtual void error(endpoint &ep, received *rv) = 0;
	virtual void write_space(endpoint &ep) = 0;
	/* What waited for memory may look again. */
	virtual void memory_freed(endpoint &ep) = 0;
	virtual void opened(endpoint &ep) = 0;
	virtual void closed(endpoint &ep) = 0;
	/* A client's maker is through: with a connection; or without, and with an errno. */
	virtual void connected(endpoint &ep) = 0;
	virtual void failed(endpoint &ep, int status) = 0;
	/* A client asks its peer. */
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
	/* Hold off the teardown; false: too late. */
	bool enter();
	void leave();
	u32 posted_transfers() const;

	/* Sending */
	send_context *take_send();
	send_context *take_reply_send();
	void put_send(send_context *s);
	/* Of the next Call, whoever makes it; NULL: none may be sent now */
	send_context *call_send();
	int send_call(send_context *s, const std::vector<region *> &regions,
		      enum rpcrdma_format format, const rpcrdma_lists *lists);
	int send_continued_call(stream *st);
	/* The Writes that went ahead of @reply are done, or never will be. */
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

		/* Without chunks the number does not matter. */
		return { PAGE_SHIFT, region_size_ >> PAGE_SHIFT,
			 most ? most : ~0u, false, false };
	}
	/* To be planned with no more regions than there are */
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
	/* Returns 0, or -EAGAIN: write_space() comes. */
	int map(std::vector<region *> &regions, memory &mem, u32 at, u32 length,
		bool writable, rpcrdma_lists &lists);
	void put_regions(std::vector<region *> &regions);
	static bool any_exposed(const std::vector<region *> &regions);
	static bool invalidated(std::vector<region *> &regions, u32 handle);
	void invalidate(const std::vector<region *> &regions,
			std::function<void(bool)> ended);
	/* @what: read or write */
	transfer *new_transfer(op what);
	/* Between a chunk and @mem from @at on; false: the chunk is short. */
	bool add_transfer(transfer *t, const rpcrdma_lists &lists,
			  const rpcrdma_chunk &chunk, u32 chunk_offset,
			  memory &mem, u32 at, u32 length);
	void read(transfer *t);
	void free_transfer(transfer *t);
	int expose(exposure *x, u32 xid, rpcrdma_reply_plan *plan);
	void cancel_exposure(exposure *x);

	/* Receiving */
	void put(received *rv);

	/* Memory that is held for the peer, with the others'; memory_freed() comes */
	bool room(rpcrdma_memory_use use, u64 octets)
	{
		return !params.memory ||
		       rpcrdma_memory_ask(params.memory, &account, use, octets);
	}
	void hold(rpcrdma_memory_use use, u64 octets);
	void give(rpcrdma_memory_use use, u64 octets);
	void wake_waiting();

	/* The device's upcalls */
	void completed(work *w) override;
	void arrived(received *rv) override;
	void refuse(const char *reason);
	void drain();
	void receive(received *rv);

	void act(u32 what, u64 arg) override;
	void check();
	/* For the story of a run that failed */
	void describe() const;
	/* After closed(): is anything left? */
	void check_gone();

	rpcrdma_conn conn;
	rpcrdma_memory_account account{};
	rpcrdma_guest guest{}; /* a server's */
	endpoint_params params;
	rpcrdma_life life{};
	enum rpcrdma_answer answer =
		RPCRDMA_ANSWER_NOT_YET; /* of a failed attempt */
	queue_pair qp;
	const char *name;
	u32 lent = 0; /* Receives */
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
	/* Completed, while the device does not stop */
	std::vector<work *> late_;
	u32 refusals_ = 0; /* of STOP, that are left */
	int stop_ = 0;	   /* the result of STOP */
	std::vector<std::unique_ptr<send_context>> sends_;
	std::vector<send_context *> free_sends_;
	send_context *call_send_;
	std::vector<std::unique_ptr<received>> receives_;
	bool stall_watched_ = false, overdue_watched_ = false;
	bool noticed_ = false;
	/* The maker: sleeps, the how manyth time; is through, with that */
	bool sleeps_ = false, made_ = false;
	u32 slept_ = 0;
	int status_ = 0;
	/* The release: the step that is not through; objects of the device */
	rpcrdma_release releasing_ = RPCRDMA_RELEASE_END;
	bool objects_ = false;
	u32 region_size_;
	rpcrdma_region_pool pool_{};
	std::vector<region *> free_regions_;
	bool regions_wanted_ = false; /* who was refused was not told since */
	/* More were made or came back used, since those who wait were told; */
	bool more_regions_ = false;
	u64 idly_told_ = 0;	/* when they were told without that, last */
	u64 short_until_ = 0;	/* memory for regions */
	u64 none_until_ = 0;	/* regions of the device */
	u64 refused_since_ = 0; /* a region that no other message has */
	bool refused_ = false;
	std::vector<u8> assembly_;
	std::unique_ptr<engine_test::letter_credits> letter_;
	std::vector<received *> spares_, free_receives_, behind_;
	u32 live_ = 0; /* works, streams and the like not freed */
	/* What was last seen, for check() */
	u32 last_limit_, last_advertised_;
};

} // namespace simulation

#endif /* SIMULATION_ENDPOINT_HH */
