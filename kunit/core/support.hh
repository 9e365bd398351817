/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers shared by the host tests of the engine. They build messages word by
 * word, pass them to the engine, and bring connections into a given state.
 */
#ifndef ENGINE_TEST_SUPPORT_HH
#define ENGINE_TEST_SUPPORT_HH

#include <cstdint>
#include <memory>
#include <vector>

#include <rpcrdma/engine.h>

namespace engine_test
{

using octets = std::vector<uint8_t>;

/* A message under construction */
class message
{
public:
	message() = default;
	explicit message(octets data) : data_{ std::move(data) }
	{
	}

	message &word(u32 value);
	message &hyper(u64 value);
	message &fill(u32 count, uint8_t value = 0x5a);
	/* Append the prefix of a version 2 header. */
	message &prefix(u32 xid, u32 htype, u32 flags, u32 credit = 16,
			u32 received = 0);
	/* Append empty chunk lists. */
	message &no_lists(u32 inv_handle = 0);
	message &segment(u32 handle, u32 length, u64 offset);
	message &read_segment(u32 position, u32 handle, u32 length,
			      u64 offset = 0);
	/* Append the first words of an RPC message, then @count - 8 bytes. */
	message &rpc(u32 xid, u32 direction, u32 count);
	/* Overwrite the word at byte @offset. */
	message &set(u32 offset, u32 value);
	u32 get(u32 offset) const;

	const octets &data() const
	{
		return data_;
	}
	u32 size() const
	{
		return static_cast<u32>(data_.size());
	}
	message &truncate(u32 count);

private:
	octets data_;
};

constexpr u32 CALL = 0;
constexpr u32 REPLY = 1;

/* Return the default properties and configuration of an end. */
rpcrdma_props usual_props();
rpcrdma_conn_config usual_config(bool client, u32 window = 32);

/* One end of a connection, driven by the test */
class end
{
public:
	explicit end(const rpcrdma_conn_config &cfg);

	/* Post Receives. Store the resulting events in @events. */
	void post(u32 count);
	/* Allocate and post the Receives that the engine wants. */
	void make();
	/*
	 * Pass a message to the engine, in memory that ends exactly at the
	 * message's end. If the engine wants more segments and @may_have_more
	 * is set, provide space for them. Post another Receive in its place
	 * unless @hold.
	 */
	rpcrdma_verdict receive(const message &m, bool hold = false);
	/* Return the next control message, or an empty one. */
	message control();
	/* Send a message that is not delivered. */
	message send(rpcrdma_kind kind, u32 xid, u32 flags = 0,
		     u32 payload = 64);

	rpcrdma_conn conn;
	u32 events = 0;	    /* of the last call */
	u32 all_events = 0; /* of all calls */
	u32 inv_handle = 0; /* of the last control message */
	bool may_have_more = true;
	std::unique_ptr<rpcrdma_segment[]> more;
	/* The last member, so that ASan detects writes beyond its lists. */
	rpcrdma_rx rx;
};

/* Return the CONNPROP of an end with @cfg. */
message connprop_of(const rpcrdma_conn_config &cfg, u32 credit = 32,
		    u32 received = 0);

/*
 * Return an end that has completed its opening with @peer, which grants it
 * @credit messages.
 */
std::unique_ptr<end> open_end(const rpcrdma_conn_config &cfg,
			      const rpcrdma_conn_config &peer,
			      u32 credit = 1000);
std::unique_ptr<end> open_server(u32 credit = 1000);
std::unique_ptr<end> open_client(u32 credit = 1000);

/* Add a chunk of @segs segments of @length bytes each. */
void add_read(rpcrdma_lists *lists, u32 position, u32 segs, u32 length);
void add_write(rpcrdma_lists *lists, u32 segs, u32 length);
void add_reply(rpcrdma_lists *lists, u32 segs, u32 length);

/*
 * Return a copy of @lists with an extra_segs of its own, stored in @more, because
 * plans overwrite the extra_segs of the lists they are given.
 */
rpcrdma_lists copy_of(const rpcrdma_lists &lists,
		      std::unique_ptr<rpcrdma_segment[]> &more);

/* Return true if the meaningful parts of both lists are equal. */
bool same_lists(const rpcrdma_lists &a, const rpcrdma_lists &b);

/*
 * Return true if a server may start another Call, as the server asks before
 * each one.
 */
inline bool may_begin(rpcrdma_quota *all, rpcrdma_quota_account *account,
		      u64 bytes)
{
	return !rpcrdma_quota_must_ask(all, account) ||
	       rpcrdma_quota_ask(all, account, RPCRDMA_QUOTA_REPLIES, bytes);
}

/*
 * A small random number generator, with the same sequence on every platform
 */
class generator
{
public:
	explicit generator(u64 seed) : state_{ seed * 2 + 1 }
	{
	}
	u32 next();
	u32 below(u32 bound)
	{
		return bound ? next() % bound : 0;
	}
	bool chance(u32 percent)
	{
		return below(100) < percent;
	}

private:
	u64 state_;
};

} // namespace engine_test

#endif /* ENGINE_TEST_SUPPORT_HH */
