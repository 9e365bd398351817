// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Replies of a server that are not sent yet.
 *
 * The library refers to a Reply until it has sent the last message of it, in order. A client
 * that grants few credits gets few Replies, but can send more Calls, because a server grants
 * credits for Calls that it has processed. The number of Replies is therefore limited.
 */
#ifndef PING_REPLIES_HH
#define PING_REPLIES_HH

#include <list>
#include <utility>

#include <rpcrdma2/conn.h>

#include "rpc.hh"

namespace ping
{

class replies
{
public:
	/* Far more than the credits of a connection */
	static constexpr size_t MOST = 4096;

	/* Add a Reply, for the library to send. Return null if there are too many. */
	rpcrdma2_tx *add(uint32_t xid, bytes message)
	{
		if (list_.size() >= MOST)
			return nullptr;
		list_.emplace_back();

		reply &r = list_.back();

		r.message = std::move(message);
		r.tx = {};
		r.tx.xid = xid;
		r.tx.payload = r.message.data();
		r.tx.length = static_cast<uint32_t>(r.message.size());
		return &r.tx;
	}

	/* The library does not use the oldest one any more. */
	void sent()
	{
		list_.pop_front();
	}

private:
	struct reply {
		rpcrdma2_tx tx;
		bytes message;
	};

	std::list<reply> list_;
};

} // namespace ping

#endif /* PING_REPLIES_HH */
