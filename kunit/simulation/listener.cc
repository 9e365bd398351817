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

bool listener::admit(endpoint &server)
{
	enum rpcrdma_admit answer;
	bool memory = false;

	for (;;) {
		endpoint *oldest = opening_.empty() ? nullptr :
						      opening_.front();

		memory = memory || server.join();
		answer = rpcrdma_admission_ask(&admission_, &server.pending,
					       oldest ? &oldest->pending :
							nullptr,
					       memory, w_.now_ms());
		if (answer == RPCRDMA_ADMIT)
			opening_.push_back(&server);
		if (answer != RPCRDMA_ADMIT_EVICT)
			return answer == RPCRDMA_ADMIT;
		w_.tell("%s: is evicted", oldest->name);
		opening_.pop_front();
		rpcrdma_admission_leave(&admission_, &oldest->pending);
		oldest->leave_quota();
		oldest->close(nullptr);
	}
}

bool listener::opened(endpoint &server)
{
	std::erase(opening_, &server);
	if (!rpcrdma_admission_opened(&admission_, &server.pending))
		return false;
	rpcrdma_admission_take(&admission_, &server.pending);
	rpcrdma_pending_conn_served(&server.pending, false);
	return true;
}

void listener::closed(endpoint &server)
{
	const bool known = rpcrdma_pending_conn_known(&server.pending);
	const u32 todo = rpcrdma_admission_gone(known ? nullptr : &admission_,
						&server.pending);

	std::erase(opening_, &server);
	if (!(todo & (known ? RPCRDMA_PENDING_CLOSE : RPCRDMA_PENDING_FREE)))
		w_.complain("the end of a connection is not reported");
}

void listener::check_gone()
{
	if (admission_.all)
		w_.complain("a listener waits for a connection that has ended");
	if (admission_.opening || admission_.opened)
		w_.complain("a listener counts a connection that has ended");
}

} // namespace simulation
