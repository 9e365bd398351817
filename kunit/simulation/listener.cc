// SPDX-License-Identifier: GPL-2.0
#include "listener.hh"

namespace simulation
{

rpcrdma_private private_of(const endpoint *from, const rpcrdma_conn_config &cfg)
{
	rpcrdma_private priv = { 1, cfg.inv_ok, cfg.props.sbsiz,
				 cfg.props.rbsiz };
	u8 octets[RPCRDMA_PRIVATE_OCTETS];

	if (from)
		rpcrdma_conn_build_private(&from->conn, &priv);
	rpcrdma_encode_private(&priv, octets);
	rpcrdma_decode_private(octets, sizeof(octets), &priv);
	return priv;
}

static endpoint &of(rpcrdma_pending_conn *conn)
{
	return *static_cast<pending_conn *>(conn)->ep;
}

static bool attach(rpcrdma_pending_conn *conn)
{
	return of(conn).join();
}

static void evict(rpcrdma_pending_conn *conn)
{
	auto *evicted = static_cast<pending_conn *>(conn);

	evicted->at->evict(*evicted->ep);
}

void listener::evict(endpoint &oldest)
{
	w_.log("%s: is evicted", oldest.name);
	rpcrdma_admission_leave(&admission_, &oldest.pending);
	oldest.leave_quota();
	oldest.close(nullptr);
}

bool listener::admit(endpoint &server)
{
	static constexpr rpcrdma_admission_user USER = { attach,
							 simulation::evict };

	server.pending.ep = &server;
	server.pending.at = this;
	if (rpcrdma_admission_admit(&admission_, &server.pending, &USER,
				    w_.now_ms()) != RPCRDMA_ADMIT)
		return false;
	waits_ = true;
	return true;
}

void listener::wake(u32 todo)
{
	if (todo & RPCRDMA_PENDING_LAST)
		waits_ = false;
	if (waits_ && !admission_.all)
		w_.complain(
			"a listener is not woken after its last connection");
}

bool listener::opened(endpoint &server)
{
	if (!(rpcrdma_admission_opened(&admission_, &server.pending) &
	      RPCRDMA_PENDING_LISTED))
		return false;
	if (rpcrdma_admission_next(&admission_) != &server.pending)
		w_.complain("another connection is accepted than opened");
	wake(rpcrdma_admission_accept(&admission_, &server.pending));
	rpcrdma_pending_conn_served(&server.pending, false);
	return true;
}

void listener::closed(endpoint &server)
{
	const bool known = rpcrdma_pending_conn_known(&server.pending);
	const u32 todo = rpcrdma_admission_gone(known ? nullptr : &admission_,
						&server.pending);

	wake(todo);
	if (!(todo & (known ? RPCRDMA_PENDING_CLOSE : RPCRDMA_PENDING_FREE)))
		w_.complain("the end of a connection is not reported");
}

void listener::check_gone()
{
	if (waits_)
		w_.complain("a listener waits for a connection that has ended");
	if (admission_.opening || admission_.opened)
		w_.complain("a listener counts a connection that has ended");
}

} // namespace simulation
