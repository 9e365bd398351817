/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the host tests of the protocol engine share: building messages word by
 * word, handing them to the engine, and bringing connections into a state.
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
	/* A version 2 prefix */
	message &prefix(u32 xid, u32 htype, u32 flags, u32 credit = 16,
			u32 received = 0);
	/* Chunk lists that are empty */
	message &no_lists(u32 inv_handle = 0);
	message &segment(u32 handle, u32 length, u64 offset);
	message &read_segment(u32 position, u32 handle, u32 length,
			      u64 offset = 0);
	/* The first words of an RPC message, then @count - 8 octets */
	message &rpc(u32 xid, u32 direction, u32 count);
	/* Overwrite the word at octet @offset. */
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

/* Usual properties and configuration of an end */
rpcrdma_props usual_props();
rpcrdma_conn_config usual_config(bool client, u32 window = 32);

/* An end of a connection, fed by hand */
class end
{
public:
	explicit end(const rpcrdma_conn_config &cfg);

	/* Post Receives; what the events were is in @events. */
	void post(u32 count);
	/* Make all Receives that the engine wants, and post them. */
	void make();
	/*
	 * Give a message to the engine, from memory that ends where it ends,
	 * with room for more segments if it wants that and @may_have_more, and
	 * post another Receive in its place unless @hold.
	 */
	rpcrdma_verdict receive(const message &m, bool hold = false);
	/* The next control message, empty: none */
	message control();
	/* Send something that nobody receives. */
	message send(rpcrdma_kind kind, u32 xid, u32 flags = 0,
		     u32 payload = 64);

	rpcrdma_conn conn;
	u32 events = 0;	    /* of the last call */
	u32 all_events = 0; /* of all calls */
	u32 inv_handle = 0; /* of the last control message */
	bool may_have_more = true;
	std::unique_ptr<rpcrdma_segment[]> more;
	/* Last: ASan sees what is written behind its lists. */
	rpcrdma_rx rx;
};

/* The CONNPROP of an end with @cfg */
message connprop_of(const rpcrdma_conn_config &cfg, u32 credit = 32,
		    u32 received = 0);

/*
 * An end whose opening is through, with @peer at the other end, which lets it
 * send @credit messages.
 */
std::unique_ptr<end> open_end(const rpcrdma_conn_config &cfg,
			      const rpcrdma_conn_config &peer,
			      u32 credit = 1000);
std::unique_ptr<end> open_server(u32 credit = 1000);
std::unique_ptr<end> open_client(u32 credit = 1000);

/* Add a chunk of @segs segments of @length octets each. */
void add_read(rpcrdma_lists *lists, u32 position, u32 segs, u32 length);
void add_write(rpcrdma_lists *lists, u32 segs, u32 length);
void add_reply(rpcrdma_lists *lists, u32 segs, u32 length);

/*
 * A copy of @lists, with its own more[], which is @more then: plans overwrite
 * that of the lists they are for.
 */
rpcrdma_lists copy_of(const rpcrdma_lists &lists,
		      std::unique_ptr<rpcrdma_segment[]> &more);

/* Are these the same lists, as far as they have meaning? */
bool same_lists(const rpcrdma_lists &a, const rpcrdma_lists &b);

/* A small generator whose sequence is the same everywhere */
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
