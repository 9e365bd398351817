/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the files of the version 1 peer */
#ifndef SIMULATION_V1_PEER_INTERNAL_HH
#define SIMULATION_V1_PEER_INTERNAL_HH

#include "network.hh"

namespace simulation
{

/* rdma_proc, and the codes of RDMA_ERROR */
constexpr u32 RDMA_MSG = 0;
constexpr u32 RDMA_NOMSG = 1;
constexpr u32 RDMA_ERROR = 4;
constexpr u32 ERR_VERS = 1;
constexpr u32 ERR_CHUNK = 2;

/* A chain of Work Requests, and the action after its end */
struct v1_peer::job final : work {
	v1_peer *owner;
	memory buf;
	std::function<void(bool)> ended;

	void done(bool ok) override
	{
		if (ended)
			ended(ok);
		buf.retire(owner->w_, "a message of version 1");
		delete this;
	}
};

/* An RPC that this peer sends */
struct v1_peer::task {
	rpc *what;
	std::function<void()> ended;
	bool sent = false, answered = false;
	std::vector<device_mr *> mrs;
	std::vector<chunk> writes;
	chunk reply_chunk;
	memory call, result, reply;
};

/* An RPC that this peer receives */
struct v1_peer::call {
	u32 xid = 0, generation = 0, rpc_id = 0;
	u32 asked = 0; /* credits that it requests */
	lists l;
	/* the payload, or the memory of the Position Zero Read chunk */
	memory base;
	memory items;
	bool uncached = false;
};

inline void put_word(std::vector<u8> &m, u32 value)
{
	m.resize(m.size() + 4);
	store(&m[m.size() - 4], value);
}

inline void put_fixed(std::vector<u8> &m, u32 xid, u32 credit, u32 proc)
{
	put_word(m, xid);
	put_word(m, RPCRDMA_VERS_1);
	put_word(m, credit);
	put_word(m, proc);
}

inline void put_segment(std::vector<u8> &m, u32 handle, u32 length, u64 offset)
{
	put_word(m, handle);
	put_word(m, length);
	put_word(m, static_cast<u32>(offset >> 32));
	put_word(m, static_cast<u32>(offset));
}

} // namespace simulation

#endif /* SIMULATION_V1_PEER_INTERNAL_HH */
