/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Calls of a client that have not ended.
 *
 * The library refers to a Call until it has sent the last message of it. A peer may refuse a
 * continued Call before that, and one that violates the protocol may answer any xid. A Call
 * therefore remains in place until it has ended and is sent.
 */
#ifndef PING_OUTSTANDING_HH
#define PING_OUTSTANDING_HH

#include <map>
#include <utility>

#include <rpcrdma2/conn.h>

#include "rpc.hh"

namespace ping
{

class outstanding
{
public:
	struct call {
		rpcrdma2_tx tx;
		bytes message;
		uint64_t since;
		bool sent = false, over = false;
	};

	/* Add a Call, for the library to send. */
	rpcrdma2_tx *add(uint32_t xid, bytes message, uint64_t now)
	{
		call &c = calls_[xid];

		c.message = std::move(message);
		c.tx = {};
		c.tx.xid = xid;
		c.tx.payload = c.message.data();
		c.tx.length = static_cast<uint32_t>(c.message.size());
		c.since = now;
		count_++;
		return &c.tx;
	}

	/* Note that the library does not use @tx any more. */
	void sent(const rpcrdma2_tx *tx)
	{
		const auto at = calls_.find(tx->xid);

		at->second.sent = true;
		if (at->second.over)
			calls_.erase(at);
	}

	/* Return the Call that a Reply with @xid answers, or null. */
	const call *answered(uint32_t xid) const
	{
		const auto at = calls_.find(xid);

		return at != calls_.end() && at->second.sent ? &at->second :
							       nullptr;
	}

	/* End the Call with @xid. Return false if there is none. */
	bool end(uint32_t xid)
	{
		const auto at = calls_.find(xid);

		if (at == calls_.end() || at->second.over)
			return false;
		count_--;
		at->second.over = true;
		if (at->second.sent)
			calls_.erase(at);
		return true;
	}

	size_t count() const
	{
		return count_;
	}

	/* Return when the oldest Call was added. There is one that has not ended. */
	uint64_t oldest() const
	{
		auto at = calls_.begin();

		while (at->second.over)
			++at;
		return at->second.since;
	}

private:
	std::map<uint32_t, call> calls_;
	size_t count_ = 0; /* of those that have not ended */
};

} // namespace ping

#endif /* PING_OUTSTANDING_HH */
