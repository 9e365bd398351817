/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of a reliable connection between two RNICs: queue pairs, MRs and
 * RDMA. It provides the guarantees of the verbs, and no others:
 *
 * - Work Requests begin in order.
 * - A Send arrives after the Writes posted before it. It may be completed long
 *   before or after the receiver has processed it.
 * - A Read may take long. Some devices complete a Send before earlier Reads.
 * - If the connection is lost, any part of the work in flight may have arrived.
 */
#ifndef SIMULATION_DEVICE_HH
#define SIMULATION_DEVICE_HH

#include <deque>

#include <rpcrdma/endpoint_receive.h>

#include "world.hh"

namespace simulation
{

/*
 * Memory that a device may access. Before it is freed, retire() complains if a
 * device may still access it.
 */
struct memory {
	std::vector<u8> octets;
	u32 exposed = 0; /* MRs the peer may access */
	u32 posted = 0;	 /* Work Requests not completed */

	void retire(world &w, const char *what)
	{
		if (exposed)
			w.complain(std::string(what) +
				   " is freed while a peer may access it");
		if (posted)
			w.complain(std::string(what) +
				   " is freed while the device works on it");
		/* Swap, because an assignment of {} would keep the memory. */
		std::vector<u8>().swap(octets);
	}
};

struct device_mr : rpcrdma_mr {
	device_mr() : rpcrdma_mr{}
	{
	}

	memory *mem = nullptr;
	u32 at = 0; /* byte offset in mem */
	bool writable = false;
	bool valid = false;
	bool registered = false; /* since it was set up */
	bool taken = false;

	/*
	 * Set up this MR for @octets bytes of @m from @from on, with a new key
	 * each time.
	 */
	void take(memory &m, u32 from, u32 octets, bool write)
	{
		handle = (handle & ~255u) | ((handle + 1) & 255);
		offset = u64{ handle } << 20 | from;
		length = octets;
		mem = &m;
		at = from;
		writable = write;
		registered = false;
	}
};

enum class op : u8 {
	reg,
	invalidate,
	send,
	write,
	read,
};

/* A Work Request */
struct request {
	op what;
	device_mr *reg; /* MR of a reg or invalidate */
	/* the peer's handle; of a send: the handle to invalidate, or 0 */
	u32 handle;
	u64 offset;
	memory *mem; /* local memory */
	u32 at, length;
};

/* The owner of a queue pair, which receives its completions */
class queue_owner
{
public:
	virtual ~queue_owner() = default;
	virtual void completed(struct work *w) = 0;
	virtual void arrived(struct received *rv) = 0;
	/* The device reports the loss of the connection. */
	virtual void lost() = 0;
};

class endpoint;

/* A chain of Work Requests, posted at once */
struct work {
	std::vector<request> requests;
	rpcrdma_wrs wrs{};
	u8 kind = 0;
	u32 pending = 0; /* Work Requests that the device has */

	virtual ~work() = default;
	/* Called once, when the device has completed the chain */
	virtual void done(bool ok) = 0;
};

struct received final : rpcrdma_recv {
	endpoint *ep;
	std::vector<u8> space; /* buf */
	u64 turn = 0;	       /* number of the completion that ends it */
	bool failed = false;   /* flushed, because the queue pair has stopped */
	bool held = false;
	bool spare = false; /* another Receive was posted in its place */

	const u8 *data() const
	{
		return static_cast<const u8 *>(payload);
	}
};

class queue_pair : public actor
{
public:
	queue_pair(world &w, queue_owner &owner, u32 depth, u32 nr_mrs);
	~queue_pair() override;

	/*
	 * Connect the two queue pairs. From now on, posted work is transmitted.
	 */
	static void connect(queue_pair &a, queue_pair &b);
	/*
	 * Lose the connection: part of the work in flight arrives, and nothing
	 * after it.
	 */
	void cut();
	bool dead() const
	{
		return dead_;
	}
	bool connected() const
	{
		return peer_;
	}
	queue_pair *peer()
	{
		return peer_;
	}

	/* Post @w. Return false if the device rejects it or a part of it. */
	bool post(work *w);
	void post_receive(received *rv)
	{
		receives_.push_back(rv);
	}
	/*
	 * The owner has freed @reg: an access of the peer may fail without
	 * being a fault.
	 */
	void excuse(const device_mr *reg)
	{
		excused_.push_back(reg->handle);
	}
	bool is_excused(u32 handle) const
	{
		return std::find(excused_.begin(), excused_.end(), handle) !=
		       excused_.end();
	}
	/* Return a message that had arrived without being reported, or null. */
	received *next_arrival();
	/*
	 * Abort all work without reporting it: no upcall is permitted any more.
	 */
	void quiet();

	void act(u32 what, u64 arg) override;

	std::vector<device_mr> mrs;
	bool reorders = false; /* Sends complete before earlier Reads */
	u32 read_time = 30;    /* microseconds, the usual maximum */

private:
	enum {
		TRANSMIT,
		DELIVER,
		RESPONSE,
		SEND_COMPLETION,
		RECEIVE_COMPLETION,
	};
	struct entry {
		request what;
		work *owner;
		bool last, done, reported;
	};

	entry &at(u64 index)
	{
		return sq_[index - base_];
	}
	void transmit();
	void deliver();
	bool arrive(entry &e);
	bool receive(const request &r);
	device_mr *find(u32 handle, u64 offset, u32 length, bool write,
			const char *what);
	void finish(u64 index);
	void retire();
	void settle(const entry &e);
	void run(bool &scheduled, u32 what, u64 usual);
	template <typename T>
	T *next(std::deque<T *> &queue, bool &scheduled, u32 what);
	void flush();
	void error();

	world &w_;
	queue_owner &owner_;
	queue_pair *peer_ = nullptr;
	u32 depth_;
	std::deque<entry> sq_;
	u64 base_ = 0; /* index of sq_[0] */
	u64 next_ = 0; /* index of the next request to transmit */
	std::deque<u64> wire_;
	std::deque<received *> receives_;
	std::deque<work *> completions_;
	std::deque<received *> arrivals_;
	std::vector<u32> excused_; /* handles */
	bool transmitting_ = false, delivering_ = false;
	bool completing_ = false, receiving_ = false;
	bool dead_ = false;
};

} // namespace simulation

#endif /* SIMULATION_DEVICE_HH */
