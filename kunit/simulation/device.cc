// SPDX-License-Identifier: GPL-2.0
#include "device.hh"

#include <cstring>

namespace simulation
{

queue_pair::queue_pair(world &w, queue_owner &owner, u32 depth, u32 nr_mrs)
	: mrs(nr_mrs), w_{ w }, owner_{ owner }, depth_{ depth }
{
	for (u32 i = 0; i < nr_mrs; i++)
		mrs[i].handle = (i + 1) << 8;
}

queue_pair::~queue_pair() = default;

void queue_pair::connect(queue_pair &a, queue_pair &b)
{
	a.peer_ = &b;
	b.peer_ = &a;
	a.run(a.transmitting_, TRANSMIT, 10);
	b.run(b.transmitting_, TRANSMIT, 10);
}

/* One scheduled event of each kind at a time preserves the order. */
void queue_pair::run(bool &scheduled, u32 what, u64 usual)
{
	if (scheduled)
		return;
	scheduled = true;
	w_.after(w_.delay(usual), this, what);
}

bool queue_pair::post(work *w)
{
	if (sq_.size() + w->requests.size() > depth_)
		w_.complain("more Work Requests than the Send Queue has");
	for (const request &r : w->requests) {
		const bool last = &r == &w->requests.back();

		if (r.mem)
			r.mem->posted++;
		w->pending++;
		sq_.push_back({ r, w, last, false, false });
	}
	/* The work will never be executed. The drain detects that. */
	if (dead_)
		return true;
	if (peer_)
		run(transmitting_, TRANSMIT, 5);
	return true;
}

void queue_pair::settle(const entry &e)
{
	e.owner->pending--;
	if (e.what.mem)
		e.what.mem->posted--;
}

/* Return the completion that is due, and schedule the event for the next
 * one. */
template <typename T>
T *queue_pair::next(std::deque<T *> &queue, bool &scheduled, u32 what)
{
	T *due;

	scheduled = false;
	if (queue.empty())
		return nullptr;
	due = queue.front();
	queue.pop_front();
	if (!queue.empty())
		run(scheduled, what, 5);
	return due;
}

void queue_pair::act(u32 what, u64 arg)
{
	switch (what) {
	case TRANSMIT:
		transmitting_ = false;
		if (!dead_)
			transmit();
		break;
	case DELIVER:
		delivering_ = false;
		if (!dead_)
			deliver();
		break;
	case RESPONSE:
		/*
		 * The entry still exists, because a Read stays until it has
		 * finished.
		 */
		if (!dead_) {
			entry &e = at(arg);
			const device_mr *reg =
				peer_->find(e.what.handle, e.what.offset,
					    e.what.length, false, "Read");

			if (!reg) {
				error();
				break;
			}
			memcpy(&e.what.mem->octets[e.what.at],
			       &reg->mem->octets[reg->at + e.what.offset -
						 reg->offset],
			       e.what.length);
			finish(arg);
		}
		break;
	case SEND_COMPLETION:
		if (work *w = next(completions_, completing_, what))
			owner_.completed(w);
		break;
	case RECEIVE_COMPLETION:
		if (received *rv = next(arrivals_, receiving_, what))
			owner_.arrived(rv);
		break;
	}
}

/* Start the next Work Request. */
void queue_pair::transmit()
{
	if (next_ == base_ + sq_.size())
		return;

	const u64 index = next_++;
	const request &r = at(index).what;

	switch (r.what) {
	case op::reg:
		if (r.reg->valid)
			w_.complain("a valid MR is registered again");
		if (w_.fault(2)) {
			w_.log("a registration fails");
			error();
			return;
		}
		r.reg->valid = true;
		r.reg->registered = true;
		r.reg->mem->exposed++;
		finish(index);
		break;
	case op::invalidate:
		if (w_.fault(2)) {
			w_.log("an invalidation fails");
			error();
			return;
		}
		/* The peer may have invalidated the MR first. */
		if (r.reg->valid) {
			r.reg->valid = false;
			r.reg->mem->exposed--;
		}
		finish(index);
		break;
	case op::send:
	case op::write:
	case op::read:
		wire_.push_back(index);
		run(delivering_, DELIVER, 10);
		break;
	}
	if (!dead_ && next_ != base_ + sq_.size())
		run(transmitting_, TRANSMIT, 3);
}

/* Deliver the oldest transmitted request to the peer. */
void queue_pair::deliver()
{
	const u64 index = wire_.front();
	entry &e = at(index);

	wire_.pop_front();
	if (e.what.what == op::read) {
		/*
		 * The response arrives later. Other requests are not delayed by
		 * it.
		 */
		w_.after(w_.delay(read_time), this, RESPONSE, index);
	} else if (!arrive(e)) {
		/* The peer accepts nothing that follows the failed request. */
		wire_.clear();
		error();
		return;
	} else {
		finish(index);
	}
	if (!wire_.empty())
		run(delivering_, DELIVER, 4);
}

bool queue_pair::arrive(entry &e)
{
	const request &r = e.what;

	if (r.what == op::send)
		return peer_->receive(r);

	device_mr *reg =
		peer_->find(r.handle, r.offset, r.length, true, "Write");

	if (!reg)
		return false;
	memcpy(&reg->mem->octets[reg->at + r.offset - reg->offset],
	       &r.mem->octets[r.at], r.length);
	return true;
}

/* Return the MR if the peer may access the range, or null. */
device_mr *queue_pair::find(u32 handle, u64 offset, u32 length, bool write,
			    const char *what)
{
	const u32 i = (handle >> 8) - 1;
	device_mr *reg = i < mrs.size() ? &mrs[i] : nullptr;

	if (!reg || reg->handle != handle || !reg->valid) {
		if (!is_excused(handle))
			w_.complain(std::string(what) +
				    " of memory that is not exposed");
		return nullptr;
	}
	if (write && !reg->writable) {
		w_.complain("Write to memory exposed for reading");
		return nullptr;
	}
	if (!write && reg->writable) {
		w_.complain("Read of memory exposed for writing");
		return nullptr;
	}
	if (offset < reg->offset || offset - reg->offset > reg->length ||
	    length > reg->length - (offset - reg->offset)) {
		w_.complain(std::string(what) + " beyond an MR");
		return nullptr;
	}
	return reg;
}

/* Receive a Send of the peer. */
bool queue_pair::receive(const request &r)
{
	if (dead_)
		return false;
	if (receives_.empty()) {
		w_.complain("no Receive for a message");
		return false;
	}
	if (r.handle) {
		const u32 i = (r.handle >> 8) - 1;
		device_mr *reg = i < mrs.size() ? &mrs[i] : nullptr;

		if (!reg || reg->handle != r.handle || !reg->valid) {
			if (!is_excused(r.handle))
				w_.complain(
					"a handle is invalidated that is not valid");
			return false;
		}
		reg->valid = false;
		reg->mem->exposed--;
	}

	received *rv = receives_.front();

	if (r.length > rv->space.size()) {
		w_.complain("a message is larger than its Receive");
		return false;
	}
	receives_.pop_front();
	memcpy(rv->space.data(), &r.mem->octets[r.at], r.length);
	rv->octets = r.length;
	rv->inv_handle = r.handle;
	arrivals_.push_back(rv);
	run(receiving_, RECEIVE_COMPLETION, 5);
	return true;
}

void queue_pair::finish(u64 index)
{
	at(index).done = true;
	retire();
}

/* Report completed requests, as far as their order allows. */
void queue_pair::retire()
{
	bool read_before = false;

	for (entry &e : sq_) {
		if (!e.done) {
			if (!reorders || e.what.what != op::read)
				break;
			read_before = true;
			continue;
		}
		if (e.reported)
			continue;
		/* Only Sends overtake Reads. */
		if (read_before && e.what.what != op::send)
			break;
		e.reported = true;
		settle(e);
		if (e.last && e.owner->wrs.signaled) {
			completions_.push_back(e.owner);
			run(completing_, SEND_COMPLETION, 5);
		}
	}
	while (!sq_.empty() && sq_.front().reported) {
		sq_.pop_front();
		base_++;
	}
}

/* Lose the connection. Some of the requests in flight arrive; the others never
 * do. */
void queue_pair::cut()
{
	if (dead_)
		return;
	w_.log("the connection is cut");
	for (queue_pair *qp : { this, peer_ }) {
		u32 n;

		if (!qp || !qp->peer_)
			continue;
		n = w_.choose.below(static_cast<u32>(qp->wire_.size()) + 1);
		for (; n && !qp->wire_.empty(); n--) {
			const u64 index = qp->wire_.front();
			entry &e = qp->at(index);

			qp->wire_.pop_front();
			if (e.what.what == op::read)
				continue;
			if (!qp->arrive(e))
				break;
			/* The request is acknowledged, or its acknowledgement
			 * is lost. */
			if (w_.choose.below(2))
				qp->finish(index);
		}
	}
	dead_ = true;
	flush();
	if (peer_) {
		peer_->dead_ = true;
		peer_->flush();
		peer_->owner_.lost();
	}
	owner_.lost();
}

/*
 * Flush the Receives that will not be used. A device does so at once, or only
 * when the connection manager stops the queue pair. The latter is not modelled.
 */
void queue_pair::flush()
{
	if (w_.choose.below(4) != 3)
		return;
	for (received *rv : receives_) {
		rv->failed = true;
		arrivals_.push_back(rv);
	}
	receives_.clear();
	if (!arrivals_.empty())
		run(receiving_, RECEIVE_COMPLETION, 5);
}

void queue_pair::error()
{
	cut();
}

received *queue_pair::next_arrival()
{
	received *rv;

	if (arrivals_.empty())
		return nullptr;
	rv = arrivals_.front();
	arrivals_.pop_front();
	return rv;
}

/* Reset and then destroy the queue pair. From now on no memory is accessed. */
void queue_pair::quiet()
{
	dead_ = true;
	for (entry &e : sq_) {
		if (!e.reported)
			settle(e);
	}
	base_ += sq_.size();
	next_ = base_;
	sq_.clear();
	wire_.clear();
	completions_.clear();
	arrivals_.clear();
	receives_.clear();
	for (device_mr &reg : mrs) {
		if (reg.valid)
			reg.mem->exposed--;
		reg.valid = false;
	}
}

} // namespace simulation
