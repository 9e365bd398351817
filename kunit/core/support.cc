// SPDX-License-Identifier: GPL-2.0
#include "support.hh"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace engine_test
{

message &message::word(u32 value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		data_.push_back(static_cast<uint8_t>(value >> shift));
	return *this;
}

message &message::hyper(u64 value)
{
	return word(static_cast<u32>(value >> 32)).word(static_cast<u32>(value));
}

message &message::fill(u32 count, uint8_t value)
{
	data_.insert(data_.end(), count, value);
	return *this;
}

message &message::prefix(u32 xid, u32 htype, u32 flags, u32 credit,
			 u32 received)
{
	/* Sufficient for most messages, of which the tests build millions. */
	data_.reserve(64);
	return word(xid)
		.word(RPCRDMA_VERS_2)
		.word(credit)
		.word(htype)
		.word(flags)
		.word(received);
}

message &message::no_lists(u32 inv_handle)
{
	return word(inv_handle).word(0).word(0).word(0);
}

message &message::segment(u32 handle, u32 length, u64 offset)
{
	return word(handle).word(length).hyper(offset);
}

message &message::read_segment(u32 position, u32 handle, u32 length, u64 offset)
{
	return word(1).word(position).segment(handle, length, offset);
}

message &message::rpc(u32 xid, u32 direction, u32 count)
{
	message whole;

	whole.word(xid).word(direction);
	if (count > whole.size())
		whole.fill(count - whole.size());
	data_.insert(data_.end(), whole.data_.begin(),
		     whole.data_.begin() + count);
	return *this;
}

message &message::set(u32 offset, u32 value)
{
	for (u32 i = 0; i < 4; i++)
		data_.at(offset + i) =
			static_cast<uint8_t>(value >> (24 - 8 * i));
	return *this;
}

u32 message::get(u32 offset) const
{
	u32 value = 0;

	for (u32 i = 0; i < 4; i++)
		value = value << 8 | data_.at(offset + i);
	return value;
}

message &message::truncate(u32 count)
{
	data_.resize(std::min<size_t>(count, data_.size()));
	return *this;
}

rpcrdma_props usual_props()
{
	return {
		.sbsiz = 4096,
		.rbsiz = 4096,
		.rssiz = 1048576,
		.rcsiz = RPCRDMA_MAX_SEGS,
		.brs = RDMA2_RVRSDIR_GENL,
		.reply_read = 0,
		.reassembly = 262144,
	};
}

rpcrdma_conn_config usual_config(bool client, u32 window)
{
	return {
		.number = 1,
		.client = client,
		.version_low = 2,
		.version_high = 2,
		.inv_ok = 1,
		.no_mrs = 0,
		.fallback_v1 = 0,
		.auth_mode = RPCRDMA_AUTH_NONE,
		.window = window,
		.first_window = 0,
		.reverse = window / 4,
		.expose_octets = 1048576,
		.done_ms = 1000,
		.stall_ms = 0,
		.props = usual_props(),
		.auth = nullptr,
	};
}

end::end(const rpcrdma_conn_config &cfg)
{
	rpcrdma_conn_init(&conn, &cfg);
	memset(&rx, 0xaa, sizeof(rx));
	rx.lists.extra_segs = nullptr;
}

void end::post(u32 count)
{
	events = rpcrdma_recvs_posted(&conn, count);
	all_events |= events;
}

void end::make()
{
	u32 count;

	while ((count = rpcrdma_recvs_to_alloc(&conn).count)) {
		all_events |= rpcrdma_recvs_allocated(&conn, count);
		count = rpcrdma_recvs_to_post(&conn, 0);
		if (count)
			post(count);
	}
}

rpcrdma_verdict end::receive(const message &m, bool hold)
{
	/* malloc: ASan detects accesses to the first byte after the message. */
	void *copy = malloc(m.size() ? m.size() : 1);
	rpcrdma_verdict verdict;
	u32 now;

	std::copy(m.data().begin(), m.data().end(), static_cast<u8 *>(copy));
	/* Free the extra segments, as the endpoint does. */
	more.reset();
	if (may_have_more && rpcrdma_wants_extra_segs(&conn, copy, m.size()))
		more.reset(new rpcrdma_segment[RPCRDMA_MAX_EXTRA_SEGS]);
	rx.lists.extra_segs = more.get();
	verdict = rpcrdma_conn_receive(&conn, copy, m.size(), &rx);
	free(copy);
	now = rx.events;
	if (!hold && verdict != RPCRDMA_RX_CLOSE)
		now |= rpcrdma_recvs_posted(&conn, 1);
	events = now;
	all_events |= events;
	return verdict;
}

message end::control()
{
	octets buf(4096);
	const rpcrdma_control next =
		rpcrdma_conn_next_control(&conn, buf.data(), 4096);

	inv_handle = next.inv_handle;
	buf.resize(next.octets);
	return message{ std::move(buf) };
}

message end::send(rpcrdma_kind kind, u32 xid, u32 flags, u32 payload)
{
	octets buf(4096);
	message m;

	if (kind == RPCRDMA_KIND_REPLY)
		flags |= RDMA2_F_RESPONSE;
	buf.resize(rpcrdma_encode_header(&conn, buf.data(), 4096, xid,
					 RDMA2_MSG, flags, nullptr));
	rpcrdma_conn_stamp(&conn, kind, buf.data());
	m = message{ std::move(buf) };
	return m.rpc(xid, kind == RPCRDMA_KIND_REPLY ? REPLY : CALL, payload);
}

message connprop_of(const rpcrdma_conn_config &cfg, u32 credit, u32 received)
{
	rpcrdma_conn_config client = cfg;

	/*
	 * Use the configuration of a client, because it announces all
	 * properties.
	 */
	client.client = 1;

	end e{ client };
	message m;

	e.post(2);
	rpcrdma_conn_established(&e.conn);
	m = e.control();
	return m.set(8, credit).set(20, received);
}

std::unique_ptr<end> open_end(const rpcrdma_conn_config &cfg,
			      const rpcrdma_conn_config &peer, u32 credit)
{
	auto e = std::make_unique<end>(cfg);

	e->post(rpcrdma_window_receives(cfg.window));
	if (cfg.client) {
		rpcrdma_conn_established(&e->conn);
		e->control();
		e->receive(connprop_of(peer, credit, 1));
	} else {
		e->receive(connprop_of(peer, credit, 0));
		e->control();
	}
	e->all_events = 0;
	return e;
}

std::unique_ptr<end> open_server(u32 credit)
{
	return open_end(usual_config(false), usual_config(true), credit);
}

std::unique_ptr<end> open_client(u32 credit)
{
	return open_end(usual_config(true), usual_config(false), credit);
}

static void add_segments(rpcrdma_lists *lists, u32 segs, u32 length)
{
	for (u32 i = 0; i < segs; i++)
		rpcrdma_lists_add_segment(lists, 0x1000 + lists->nr_segs,
					  length, u64{ 1 } << 40 | i << 20);
}

void add_read(rpcrdma_lists *lists, u32 position, u32 segs, u32 length)
{
	rpcrdma_lists_add_read(lists, position);
	add_segments(lists, segs, length);
}

void add_write(rpcrdma_lists *lists, u32 segs, u32 length)
{
	rpcrdma_lists_add_write(lists);
	add_segments(lists, segs, length);
}

void add_reply(rpcrdma_lists *lists, u32 segs, u32 length)
{
	rpcrdma_lists_add_reply(lists);
	add_segments(lists, segs, length);
}

rpcrdma_lists copy_of(const rpcrdma_lists &lists,
		      std::unique_ptr<rpcrdma_segment[]> &more)
{
	rpcrdma_lists copy = lists;

	if (lists.extra_segs) {
		more.reset(new rpcrdma_segment[RPCRDMA_MAX_EXTRA_SEGS]);
		std::copy_n(lists.extra_segs, +RPCRDMA_MAX_EXTRA_SEGS,
			    more.get());
		copy.extra_segs = more.get();
	}
	return copy;
}

static bool same_chunk(const rpcrdma_lists &a, const rpcrdma_chunk &x,
		       const rpcrdma_lists &b, const rpcrdma_chunk &y,
		       bool read)
{
	if (x.count != y.count || x.length != y.length)
		return false;
	if (read && x.position != y.position)
		return false;
	for (u32 i = 0; i < x.count; i++) {
		const rpcrdma_segment &s = *rpcrdma_lists_seg(&a, x.first + i);
		const rpcrdma_segment &t = *rpcrdma_lists_seg(&b, y.first + i);

		if (s.handle != t.handle || s.length != t.length ||
		    s.offset != t.offset)
			return false;
	}
	return true;
}

bool same_lists(const rpcrdma_lists &a, const rpcrdma_lists &b)
{
	if (a.inv_handle != b.inv_handle || a.nr_segs != b.nr_segs ||
	    a.nr_reads != b.nr_reads || a.nr_writes != b.nr_writes ||
	    a.has_reply != b.has_reply)
		return false;
	for (u32 i = 0; i < a.nr_reads; i++) {
		if (!same_chunk(a, a.reads[i], b, b.reads[i], true))
			return false;
	}
	for (u32 i = 0; i < a.nr_writes; i++) {
		if (!same_chunk(a, a.writes[i], b, b.writes[i], false))
			return false;
	}
	return !a.has_reply || same_chunk(a, a.reply, b, b.reply, false);
}

u32 generator::next()
{
	/* xorshift64* */
	state_ ^= state_ >> 12;
	state_ ^= state_ << 25;
	state_ ^= state_ >> 27;
	return static_cast<u32>((state_ * 0x2545f4914f6cdd1dull) >> 32);
}

} // namespace engine_test
