// SPDX-License-Identifier: GPL-2.0
#include "reconnect.hh"

#include <cerrno>

namespace simulation
{

void reconnect::start(bool close, u64 delay)
{
	worker &me = workers_[close];

	/* A work item that is queued while it runs is run again afterwards. */
	if (me.busy) {
		me.again = w_.now + delay;
		return;
	}
	me = {};
	me.busy = true;
	me.walk.close = close;
	w_.after(delay, this, STEP, close);
}

void reconnect::go_on(bool close)
{
	w_.after(w_.delay(20), this, STEP, close);
}

void reconnect::connect()
{
	if (connecting_)
		return;
	connecting_ = true;
	locked_ = true;
	start(false, 1 + net_.reconnect_delay());
}

void reconnect::drop()
{
	to_be_closed_ = true;
	if (locked_)
		return;
	locked_ = true;
	w_.after(w_.delay(20), this, CLEAN_UP);
}

void reconnect::unlock()
{
	if (to_be_closed_) {
		w_.after(w_.delay(20), this, CLEAN_UP);
		return;
	}
	locked_ = false;
	if (connected_ && (!client_.ep || client_.ep->is_gone()))
		w_.complain("a client does not know that its connection ended");
	client_.transmit_soon();
}

void reconnect::tried(endpoint *made, int result)
{
	workers_[false].made = made;
	workers_[false].result = result;
	/* A worker that has slept that long may wake late. */
	w_.after(w_.delay(2000), this, STEP, false);
}

void reconnect::closed(endpoint &ep)
{
	for (worker &each : workers_) {
		if (each.old == &ep)
			go_on(each.walk.close);
	}
	/* The context that has removed the connection does the rest. */
	if (client_.ep == &ep)
		drop();
}

/* Forget the old connection. Return false if that has not completed. */
bool reconnect::forget(worker &me)
{
	me.old = client_.ep;
	client_.ep = nullptr;
	if (!me.old)
		return true;
	me.old->close(nullptr);
	return me.old->is_gone();
}

/*
 * Run one reconnect step. Return false if the step completes later by itself,
 * or was the last one.
 */
bool reconnect::step(worker &me, const rpcrdma_reconnect_step &s)
{
	switch (s.what) {
	case RPCRDMA_RECONNECT_FORGET:
		return forget(me);
	case RPCRDMA_RECONNECT_TRY:
		net_.connect(*this);
		return false;
	case RPCRDMA_RECONNECT_TRY_OTHER:
		return !net_.connect_otherwise(*this);
	case RPCRDMA_RECONNECT_KEEP:
		net_.learn(*me.made, RPCRDMA_END_NONE);
		if (client_.ep)
			w_.complain("a client has two connections");
		client_.ep = me.made;
		break;
	case RPCRDMA_RECONNECT_SETTLED:
		connecting_ = false;
		break;
	case RPCRDMA_RECONNECT_UP:
		connected_ = true;
		me.open = me.made->is_open();
		break;
	case RPCRDMA_RECONNECT_DROP:
		w_.sum.ended_early++;
		drop();
		break;
	case RPCRDMA_RECONNECT_WAKE:
		client_.wake(s.status);
		break;
	case RPCRDMA_RECONNECT_UNLOCK:
		unlock();
		break;
	case RPCRDMA_RECONNECT_DOWN:
		connected_ = false;
		client_.wake(-ENOTCONN);
		break;
	case RPCRDMA_RECONNECT_END:
		/* The worker that closes still holds the lock. */
		if (me.walk.close)
			unlock();
		return false;
	}
	return true;
}

void reconnect::act(u32 what, u64 arg)
{
	if (what == CLEAN_UP) {
		to_be_closed_ = false;
		start(true, 1);
		return;
	}

	worker &me = workers_[arg];

	if (me.old) {
		net_.learn(*me.old,
			   static_cast<enum rpcrdma_end>(me.old->life.end));
		me.old = nullptr;
	}

	const rpcrdma_reconnect_step s =
		rpcrdma_reconnect_next(&me.walk, me.result, me.open);

	if (step(me, s)) {
		go_on(arg);
	} else if (s.what == RPCRDMA_RECONNECT_END) {
		me.busy = false;
		if (me.again)
			start(arg, std::max(me.again, w_.now + 1) - w_.now);
	}
}

} // namespace simulation
