// SPDX-License-Identifier: GPL-2.0
#include "sim.hh"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace engine_test
{

/* Offset of the item in every message that has one */
constexpr u32 ITEM_POSITION = 64;

using s32 = int;

static s32 distance(u32 from, u32 to)
{
	return static_cast<s32>(to - from);
}

static u32 roundup4(u32 n)
{
	return (n + 3) & ~3u;
}

/* Return the bytes of an RPC message without its items. */
static octets rpc_octets(u32 xid, u32 direction, u32 length)
{
	message m;
	octets result;

	m.rpc(xid, direction, length);
	result = m.data();
	for (u32 i = 8; i < result.size(); i++)
		result[i] = static_cast<uint8_t>(xid * 31 + i);
	return result;
}

sim_options usual_options(u32 client_window, u32 server_window)
{
	return {
		.cfg = { usual_config(true, client_window),
			 usual_config(false, server_window) },
		.posted = { rpcrdma_window_receives(client_window),
			    rpcrdma_window_receives(server_window) },
		.start = { 0, 0 },
	};
}

sim::sim(const sim_options &options)
{
	for (side s : { CLIENT, SERVER }) {
		rpcrdma_conn *conn = &ends_[s].conn;

		rpcrdma_conn_init(conn, &options.cfg[s]);
		/* Start as if that many messages had been sent in this
		 * direction before. */
		conn->sent += options.start[s];
		conn->limit += options.start[s];
		conn->acked += options.start[s];
		conn->last_nongrant += options.start[s];
		conn->received += options.start[1 - s];
		conn->advertised += options.start[1 - s];
		conn->posted = conn->received;
		ends_[s].last_limit = conn->limit;
		ends_[s].last_advertised = conn->advertised;
		ends_[s].next_xid = s == CLIENT ? 1 : 0x80000001;
		start_[s] = options.posted[s];
	}
}

bool sim::open()
{
	/* Receives are posted before the connection exists (WP 4). */
	handle(SERVER,
	       rpcrdma_recvs_posted(&ends_[SERVER].conn, start_[SERVER]));
	handle(CLIENT,
	       rpcrdma_recvs_posted(&ends_[CLIENT].conn, start_[CLIENT]));
	handle(CLIENT, rpcrdma_conn_established(&ends_[CLIENT].conn));
	drain();
	return !closed_ && ends_[CLIENT].conn.state == RPCRDMA_CONN_OPEN &&
	       ends_[SERVER].conn.state == RPCRDMA_CONN_OPEN;
}

void sim::complain(const std::string &what)
{
	if (complaint_.empty())
		complaint_ = what;
}

/* Check the invariants after each step. */
void sim::check()
{
	for (side s : { CLIENT, SERVER }) {
		end_state &me = ends_[s];
		const rpcrdma_conn &conn = me.conn;
		const std::string who = s == CLIENT ? "client: " : "server: ";

		/* Local invariants, which hold for any peer */
		if (distance(conn.advertised, conn.posted - 1) < 0)
			complain(who + "advertises its reserve");
		if (distance(me.last_advertised, conn.advertised) < 0)
			complain(who + "reduces the limit it advertised");
		if (distance(me.last_limit, conn.limit) < 0)
			complain(who + "limit moved back");
		if (distance(conn.limit, conn.sent) > 1)
			complain(who + "sends beyond limit and reserve");
		me.last_advertised = conn.advertised;
		me.last_limit = conn.limit;

		/* Invariants between honest ends */
		if (!honest_ || closed_)
			continue;
		const end_state &other = ends_[1 - s];

		if (distance(conn.posted - 1, other.conn.limit) > 0)
			complain(who + "peer may use the reserve");
		if (distance(conn.received, other.conn.sent) !=
		    static_cast<s32>(other.wire.size()))
			complain(who + "miscounts messages");
		if (distance(other.conn.sent, conn.posted) < 0)
			complain(who + "message without a Receive");
	}
	if (closed_ && honest_) {
		for (side s : { CLIENT, SERVER }) {
			if (ends_[s].conn.reason)
				complain(std::string("closed: ") +
					 ends_[s].conn.reason);
		}
	}
}

void sim::put(side s, octets data)
{
	ends_[s].wire.push_back(std::move(data));
}

void sim::repost(side s)
{
	handle(s, rpcrdma_recvs_posted(&ends_[s].conn, 1));
}

void sim::handle(side s, u32 events)
{
	if (events & RPCRDMA_EV_CLOSE) {
		closed_ = true;
		return;
	}
	if (events)
		pump(s);
}

/* Send the next message of @out. Return false if it has to wait. */
bool sim::send_one(side s, outgoing &out)
{
	end_state &me = ends_[s];
	u32 flags = out.kind == RPCRDMA_KIND_REPLY ? RDMA2_F_RESPONSE : 0;
	const rpcrdma_lists *lists = &out.lists;
	u32 part = static_cast<u32>(out.payload.size());
	bool more = false;
	octets buf(4096);
	u32 header;

	if (!rpcrdma_conn_may_send(&me.conn, out.kind))
		return false;

	if (out.format == RPCRDMA_CONTINUED) {
		const u32 left =
			static_cast<u32>(out.payload.size()) - out.sent;

		const auto next =
			rpcrdma_next_fragment(&me.conn, lists, left, ~0u);

		part = next.octets;
		more = next.more;
		if (part > left || (more && (part == left || part % 4)) ||
		    part < 4)
			complain("a continued message is split wrongly");
		if (more) {
			flags |= RDMA2_F_MORE;
			lists = nullptr;
		}
	}
	header = rpcrdma_encode_header(
		&me.conn, buf.data(), 4096, out.xid,
		out.format == RPCRDMA_SPECIAL ? RDMA2_NOMSG : RDMA2_MSG, flags,
		lists);
	if (!header)
		complain("header does not fit");
	if (out.format == RPCRDMA_SPECIAL)
		part = 0;
	rpcrdma_conn_stamp(&me.conn, out.kind, buf.data());
	if (out.exposure) {
		rpcrdma_pull_sent(&me.conn, out.exposure, out.lists.inv_handle,
				  0);
		me.exposed++;
	}

	const struct rpcrdma_conn_limits limits = rpcrdma_conn_limits(&me.conn);

	if (header + part > limits.send_inline)
		complain("message above the inline threshold");
	buf.resize(header);
	buf.insert(buf.end(), out.payload.begin() + out.sent,
		   out.payload.begin() + out.sent + part);
	put(s, std::move(buf));
	out.sent += part;
	me.current = more;
	me.current_kind = out.kind;
	return true;
}

void sim::pump(side s)
{
	end_state &me = ends_[s];

	for (;;) {
		octets buf(4096);
		const u32 n =
			rpcrdma_conn_next_control(&me.conn, buf.data(), 4096)
				.octets;

		if (!n)
			break;
		buf.resize(n);
		put(s, std::move(buf));
	}

	for (;;) {
		std::deque<outgoing> *queue;

		if (closed_)
			return;
		if (me.current)
			queue = me.current_kind == RPCRDMA_KIND_CALL ?
					&me.calls :
					&me.replies;
		else
			queue = me.replies.empty() ? &me.calls : &me.replies;
		if (queue->empty() || !send_one(s, queue->front()))
			break;
		if (!me.current) {
			const outgoing &out = queue->front();

			if (out.kind == RPCRDMA_KIND_CALL)
				me.pending[out.xid].sent = true;
			rpcrdma_conn_count(&me.conn, out.kind, out.format,
					   &out.lists);
			queue->pop_front();
		}
	}
	/* Calls may be sent before waiting Replies. */
	if (!me.current && !me.calls.empty() && !me.replies.empty() &&
	    rpcrdma_conn_may_send(&me.conn, RPCRDMA_KIND_CALL) &&
	    !rpcrdma_conn_may_send(&me.conn, RPCRDMA_KIND_REPLY))
		complain("a Call may be sent while a Reply may not");
}

u32 sim::call(side from, const rpc_shape &shape)
{
	end_state &me = ends_[from];
	const u32 xid = me.next_xid;
	const u32 reply_max = shape.reply_max ? shape.reply_max :
						shape.reply_length;
	rpcrdma_call call = {};
	rpcrdma_call_plan plan;
	outgoing out = {};

	call.xid = xid;
	call.length = shape.call_length;
	call.item_position = shape.call_item ? ITEM_POSITION : 0;
	call.item_length = shape.call_item;
	call.reply_max = reply_max;
	call.result_max = shape.reply_item;
	call.call_segs = static_cast<u16>(shape.call_length / 65536 + 1);
	call.item_segs = static_cast<u16>(shape.call_item / 65536 + 1);
	call.reply_segs = static_cast<u16>(reply_max / 65536 + 1);
	call.result_segs = static_cast<u16>(shape.reply_item / 65536 + 1);
	call.reverse = from == SERVER;
	call.ddp = 1;
	if (closed_ || rpcrdma_plan_call(&me.conn, &call, &plan))
		return 0;

	out.xid = xid;
	out.kind = RPCRDMA_KIND_CALL;
	out.format = static_cast<rpcrdma_format>(plan.format);
	rpcrdma_lists_init(&out.lists);

	const u32 item = plan.read_item ? roundup4(shape.call_item) : 0;
	const u32 stream = shape.call_length - item;

	if (out.format == RPCRDMA_SPECIAL)
		add_read(&out.lists, 0, 1, stream);
	else if (plan.inline_length != stream)
		complain("plan and reduced length disagree");
	if (plan.read_item)
		add_read(&out.lists, ITEM_POSITION, 1, shape.call_item);
	if (plan.write_chunk)
		add_write(&out.lists, call.result_segs, 65536);
	if (plan.reply_chunk)
		add_reply(&out.lists, call.reply_segs, 65536);
	if (out.lists.nr_segs)
		out.lists.inv_handle = out.lists.segs[0].handle;
	if (out.format != RPCRDMA_SPECIAL)
		out.payload = rpc_octets(xid, CALL, stream);

	me.next_xid++;
	me.pending[xid] = { shape, out.lists, false };
	me.calls.push_back(std::move(out));
	pump(from);
	check();
	return xid;
}

void sim::got_call(side s, const rpcrdma_rx &rx, const octets &payload)
{
	end_state &me = ends_[s];
	auto found = peer(s).pending.find(rx.xid);

	if (honest_) {
		if (found == peer(s).pending.end()) {
			complain("a Call that was never sent");
		} else if (!same_lists(found->second.lists, rx.lists)) {
			complain("a Call's lists differ");
		} else if (rx.format != RPCRDMA_SPECIAL &&
			   payload != rpc_octets(rx.xid, CALL,
						 static_cast<u32>(
							 payload.size()))) {
			complain("a Call's payload differs");
		}
	}
	me.working.push_back({ rx.xid, rx.lists });
	if (on_call)
		on_call(s, rx.xid);
}

void sim::got_reply(side s, const rpcrdma_rx &rx, const octets &payload)
{
	end_state &me = ends_[s];
	auto found = me.pending.find(rx.xid);
	rpcrdma_placed placed;

	/* The Requester sends DONE whether or not a caller waits for the Reply
	 * (DR 4.1.2). */
	if (rpcrdma_reply_needs_done(&rx) && send_done)
		handle(s, rpcrdma_conn_queue_done(&me.conn, rx.xid,
						  rx.lists.inv_handle));
	if (found == me.pending.end()) {
		if (me.abandoned)
			me.abandoned--;
		else if (honest_)
			complain("a Reply without an RPC");
		return;
	}
	if (rpcrdma_check_reply(&me.conn, &found->second.lists, &rx, &placed)) {
		if (honest_)
			complain("a Reply with bad lists");
	} else if (honest_) {
		const rpc_shape &shape = found->second.shape;
		const u32 total =
			(rx.format == RPCRDMA_SPECIAL ?
				 placed.reply_octets + placed.pull_octets :
				 static_cast<u32>(payload.size())) +
			roundup4(placed.write_octets);

		if (total != shape.reply_length)
			complain("bytes of a Reply are missing");
	}
	me.pending.erase(found);
	me.completed++;
}

/* The handle that DONE invalidated is not checked: the simulated wire does not
 * convey it. */
void sim::got_done(side s, const rpcrdma_rx &rx)
{
	if (!rx.exposed || !ends_[s].exposed) {
		complain("a DONE without a pulled Reply");
		return;
	}
	rpcrdma_pull_cancel(&ends_[s].conn, rx.exposed);
	ends_[s].exposed--;
}

u32 sim::take_back(side at, u32 now)
{
	rpcrdma_overdue overdue;
	u32 n = 0;

	while ((overdue = rpcrdma_conn_overdue(&ends_[at].conn, now)).exposure) {
		rpcrdma_pull_cancel(&ends_[at].conn, overdue.exposure);
		ends_[at].exposed--;
		n++;
	}
	check();
	return n;
}

/* Three MRs: the ends of a Reply rarely adjoin its middle. */
bool sim::expose(side at, outgoing *out, rpcrdma_reply_plan *plan)
{
	rpcrdma_conn *conn = &ends_[at].conn;
	const u32 third = plan->read_length / 3 & ~3u;
	const rpcrdma_mr_pool pool{};
	rpcrdma_lists chunk;

	rpcrdma_pull_entry *exposure = &exposures_.emplace_back();

	if (rpcrdma_pull_reserve(conn, exposure, out->xid, plan))
		return false;
	rpcrdma_lists_init(&chunk);
	rpcrdma_lists_add_read(&chunk, 0);
	rpcrdma_lists_add_segment(&chunk, out->xid * 4, third, 0);
	rpcrdma_lists_add_segment(&chunk, out->xid * 4 + 1, third, 4096);
	rpcrdma_lists_add_segment(&chunk, out->xid * 4 + 2,
				  plan->read_length - 2 * third, 8192);
	if (rpcrdma_plan_expose(conn, &pool, 0, &chunk, plan)) {
		rpcrdma_pull_cancel(conn, exposure);
		return false;
	}
	out->exposure = exposure;
	return true;
}

bool sim::deliver(side to)
{
	end_state &me = ends_[to];
	end_state &other = peer(to);
	rpcrdma_verdict verdict;
	octets data;
	u8 *copy;
	bool hold = false;

	if (closed_ || other.wire.empty())
		return false;
	/*
	 * The device would have no Receive, which is the fault of a dishonest
	 * peer.
	 */
	if (!distance(me.conn.received, me.conn.posted)) {
		closed_ = true;
		check();
		return false;
	}
	data = std::move(other.wire.front());
	other.wire.pop_front();

	/*
	 * Use malloc(), with which ASan detects accesses to the first byte
	 * after the message.
	 */
	copy = static_cast<u8 *>(malloc(data.empty() ? 1 : data.size()));
	std::copy(data.begin(), data.end(), copy);
	memset(&rx_, 0xaa, sizeof(rx_));
	rx_.lists.extra_segs = nullptr;
	verdict = rpcrdma_conn_receive(&me.conn, copy,
				       static_cast<u32>(data.size()), &rx_);
	const u32 events = rx_.events;

	switch (verdict) {
	case RPCRDMA_RX_FRAGMENT:
		if (rx_.first_fragment)
			me.assembly.clear();
		[[fallthrough]];
	case RPCRDMA_RX_CALL:
	case RPCRDMA_RX_REPLY: {
		octets payload;

		if (rx_.format != RPCRDMA_SPECIAL ||
		    verdict == RPCRDMA_RX_FRAGMENT) {
			if (rx_.payload_offset + rx_.payload_length !=
			    data.size())
				complain("payload is not the message's end");
			me.assembly.resize(
				verdict == RPCRDMA_RX_FRAGMENT ||
						rx_.format ==
							RPCRDMA_CONTINUED ?
					me.assembly.size() :
					0);
			me.assembly.insert(
				me.assembly.end(), copy + rx_.payload_offset,
				copy + rx_.payload_offset + rx_.payload_length);
			if (me.assembly.size() != rx_.total_length)
				complain("parts and total length disagree");
			if (rx_.total_length >
			    (rx_.format == RPCRDMA_INLINE &&
					     verdict != RPCRDMA_RX_FRAGMENT ?
				     data.size() :
				     me.conn.cfg.props.reassembly))
				complain("reassembles too much");
		}
		if (verdict == RPCRDMA_RX_FRAGMENT)
			break;
		payload.swap(me.assembly);
		if (verdict == RPCRDMA_RX_CALL) {
			hold = true;
			got_call(to, rx_, payload);
		} else {
			got_reply(to, rx_, payload);
		}
		break;
	}
	case RPCRDMA_RX_BAD_REPLY:
		if (honest_)
			complain("a bad Reply");
		[[fallthrough]];
	case RPCRDMA_RX_ERROR:
		if (me.pending.erase(rx_.xid))
			me.failed++;
		if (rx_.error.status >= 0)
			complain("an error that is none");
		break;
	case RPCRDMA_RX_CONSUMED:
		break;
	case RPCRDMA_RX_PULL_COMPLETE:
		got_done(to, rx_);
		break;
	case RPCRDMA_RX_CLOSE:
		closed_ = true;
		break;
	}
	free(copy);

	handle(to, events);
	if (!closed_ && !hold)
		repost(to);
	check();
	return true;
}

bool sim::answer(side at, u32 index)
{
	end_state &me = ends_[at];

	if (closed_ || index >= me.working.size())
		return false;

	const incoming_call in = me.working[index];
	auto found = peer(at).pending.find(in.xid);
	const rpc_shape shape = found == peer(at).pending.end() ?
					rpc_shape{} :
					found->second.shape;
	rpcrdma_reply reply = {};
	rpcrdma_reply_plan plan;

	me.working.erase(me.working.begin() + index);
	reply.xid = in.xid;
	reply.length = shape.reply_length;
	reply.reverse = at == CLIENT;
	if (shape.reply_item) {
		reply.nr_items = 1;
		reply.items[0] = { ITEM_POSITION, shape.reply_item };
	}
	rpcrdma_plan_reply(&me.conn, &in.lists, &reply, &plan);

	outgoing out = {};

	out.xid = in.xid;
	if (!plan.error && plan.read_length)
		expose(at, &out, &plan);
	if (plan.error) {
		handle(at,
		       rpcrdma_conn_queue_error(&me.conn, in.xid, plan.error,
						plan.arg[0], plan.arg[1]));
	} else {
		out.kind = RPCRDMA_KIND_REPLY;
		out.format = static_cast<rpcrdma_format>(plan.format);
		out.lists = plan.lists;
		out.payload = rpc_octets(in.xid, REPLY, plan.inline_length);
		if (out.format == RPCRDMA_SPECIAL)
			out.payload.clear();
		me.replies.push_back(std::move(out));
		pump(at);
	}
	repost(at);
	check();
	return true;
}

bool sim::refuse(side at, u32 index, u32 code)
{
	end_state &me = ends_[at];

	if (closed_ || index >= me.working.size())
		return false;
	const u32 xid = me.working[index].xid;

	me.working.erase(me.working.begin() + index);
	handle(at, rpcrdma_conn_queue_error(&me.conn, xid, code, 1, 1));
	repost(at);
	check();
	return true;
}

bool sim::forget(side at, u32 index)
{
	end_state &me = ends_[at];

	if (closed_ || index >= me.working.size())
		return false;
	peer(at).pending.erase(me.working[index].xid);
	me.working.erase(me.working.begin() + index);
	repost(at);
	check();
	return true;
}

void sim::abandon(side from)
{
	ends_[from].abandoned += static_cast<u32>(ends_[from].pending.size());
	ends_[from].pending.clear();
}

bool sim::corrupt(side to, u32 offset, uint8_t value)
{
	end_state &other = peer(to);

	if (other.wire.empty() || other.wire.front().empty())
		return false;
	octets &data = other.wire.front();

	honest_ = false;
	data[offset % data.size()] ^= value;
	return true;
}

bool sim::replace(side to, const octets &with)
{
	end_state &other = peer(to);

	if (other.wire.empty())
		return false;

	octets data = with;
	const octets &old = other.wire.front();

	if (data.size() >= 24 && old.size() >= 24) {
		memcpy(data.data() + 8, old.data() + 8, 4);
		memcpy(data.data() + 20, old.data() + 20, 4);
	}
	honest_ = false;
	other.wire.front() = std::move(data);
	return true;
}

/* Send a credit grant where the rules permit one, but none is owed. */
void sim::inject_grant(side from)
{
	rpcrdma_conn &conn = ends_[from].conn;
	octets buf(40);

	if (closed_ || conn.state != RPCRDMA_CONN_OPEN || !conn.props_sent ||
	    distance(conn.sent, conn.limit) < 0 ||
	    distance(conn.received + 1, conn.posted) < 0)
		return;
	rpcrdma_encode_header(&conn, buf.data(), 40, 0, RDMA2_NOMSG, 0,
			      nullptr);
	/* Preserve the state of a continued message that is open. */
	const u8 tx_open = conn.tx_open;

	rpcrdma_conn_stamp(&conn, RPCRDMA_KIND_CONTROL, buf.data());
	conn.tx_open = tx_open;
	put(from, std::move(buf));
	check();
}

bool sim::drain(bool answer_calls)
{
	/*
	 * Far more steps than any queue here needs. If they do not suffice, the
	 * exchange has no end.
	 */
	for (u32 i = 0; i < 200000; i++) {
		bool moved = false;

		if (closed_ || !complaint_.empty())
			return true;
		for (side s : { CLIENT, SERVER }) {
			moved |= deliver(s);
			if (answer_calls)
				moved |= answer(s);
		}
		if (!moved)
			return true;
	}
	complain("messages are exchanged without end");
	return false;
}

} // namespace engine_test
