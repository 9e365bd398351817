/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connection requests: the private messages, and the admission of connections
 * by a server, which the core decides
 */
#ifndef SIMULATION_LISTENER_HH
#define SIMULATION_LISTENER_HH

#include "endpoint.hh"

namespace simulation
{

/*
 * Return the private message of @from, set up as @cfg. NULL: a model of a
 * version 1 peer
 */
rpcrdma_private private_of(const endpoint *from,
			   const rpcrdma_conn_config &cfg);

class listener
{
public:
	explicit listener(world &w) : w_{ w }
	{
		rpcrdma_admission_init(&admission_);
	}

	/*
	 * Return true if the connection is admitted. For it, the connection
	 * that has been opening longest may be evicted.
	 */
	bool admit(endpoint &server);
	/* Return true if the service has the connection from now on. */
	bool opened(endpoint &server);
	void closed(endpoint &server);
	/* Evict the connection for another one. */
	void evict(endpoint &oldest);
	void check_gone();

private:
	/* Handle the actions after an event of a connection. */
	void wake(u32 todo);

	world &w_;
	rpcrdma_admission admission_;
	/*
	 * A listener that was destroyed since a connection was admitted would
	 * wait, until it is woken after its last connection.
	 */
	bool waits_ = false;
};

} // namespace simulation

#endif /* SIMULATION_LISTENER_HH */
