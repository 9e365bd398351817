// SPDX-License-Identifier: GPL-2.0
/* The Responder: Replies of the service */
#include "host.hh"

#include <cerrno>
#include <cstring>

#include "reconnect.hh"

namespace simulation
{

/*
 * Return the number of bytes of a Reply without the items that @plan places in Write
 * chunks.
 */
static u32 without_items(const rpcrdma_reply &reply,
			 const rpcrdma_reply_plan &plan)
{
	rpcrdma_msg_iter at{};
	rpcrdma_msg_range range;
	u32 octets = 0;

	while (rpcrdma_reply_iter_next(&reply, &plan, &at, &range)) {
		if (!range.chunk || range.chunk == &plan.lists.reply)
			octets += range.length;
	}
	return octets;
}

/*
 * Check the wire profile's rules about the use of Write chunks, and about when
 * a Responder may report that a Reply cannot be conveyed (section 6).
 */
void host::check_plan(const served *s, const rpcrdma_reply &reply,
		      const rpcrdma_reply_plan &plan)
{
	const endpoint *on = s->ep;
	const rpcrdma_lists &lists = *s->call_lists;
	const struct rpcrdma_conn_limits limits =
		rpcrdma_conn_limits(&on->conn);
	rpcrdma_lists returned = lists;
	u32 payload = reply.length, placed = 0, header;

	for (u32 i = 0; i < reply.nr_items && i < lists.nr_writes; i++) {
		const u32 length = reply.items[i].length;

		if (!lists.writes[i].count)
			continue;
		if (length > lists.writes[i].length) {
			w_.sum.short_chunks++;
			continue;
		}
		placed |= 1u << i;
		payload -= roundup4(length);
	}
	if (!plan.error &&
	    plan.inline_length + plan.reply_length + plan.read_length !=
		    without_items(reply, plan))
		w_.complain("a plan and its Reply do not agree");
	if (on->conn.version == RPCRDMA_VERS_1)
		return;
	if (!plan.error && placed != plan.placed)
		w_.complain("Write chunks are not used as they should be");
	if (!plan.error)
		return;
	returned.nr_reads = 0;
	returned.has_reply = 0;
	header = rpcrdma_header_octets(&on->conn, &returned);
	if (header + payload <= limits.send_inline)
		w_.complain("a Reply is refused that fits into a message");
	if (limits.continued >= payload && header + 8 <= limits.send_inline &&
	    (!client_ || on->conn.cfg.props.brs >= RDMA2_RVRSDIR_CONT))
		w_.complain("a Reply is refused that could be continued");
}

/* Encode the Reply. */
void host::encode(served *s)
{
	const spec &what = net_.find(s->rpc_id)->what;

	s->reply.clear();
	if (s->uncached)
		fill(s->reply, s->xid, REPLY, s->rpc_id, STATUS_UNCACHED,
		     MIN_MESSAGE, 0);
	else
		fill(s->reply, s->xid, REPLY, s->rpc_id, STATUS_OK,
		     what.reply_length, what.reply_item);
	s->length = static_cast<u32>(s->reply.size());
	s->call_lists = s->rv ? &s->rv->rx.lists : &s->lists;
}

/* Send the Reply. */
void host::answer(served *s)
{
	endpoint *on = s->ep;
	rpcrdma_segment *spoilt = nullptr;
	rpcrdma_reply reply{};
	rpcrdma_reply_plan plan;
	int rc;

	if (!on->is_open()) {
		/*
		 * A thread may notice that before or after the end of the
		 * connection.
		 */
		if (s->rpc_id % 2)
			refuse(s, RDMA2_ERR_REPLY_RESOURCE, 0, 0);
		else
			end(s);
		return;
	}
	/* A client gets a context for its Reply when it sends that. */
	if (!s->send && !client_) {
		w_.complain("a thread waits for its peer");
		end(s);
		return;
	}

	encode(s);
	reply.xid = s->xid;
	reply.length = s->length;
	reply.reverse = client_;
	items(s, &reply);
	/* The core plans it once more, with the same result. */
	rpcrdma_plan_reply(&on->conn, s->call_lists, &reply, &plan);
	check_plan(s, reply, plan);
	if (net_.find(s->rpc_id)->what.bad)
		spoilt = spoil(s, plan);
	s->kept = client_;
	s->exposes = false;
	rc = rpcrdma_core_send_reply(on, s);
	if (!rc && !s->refused && s->rv && rpcrdma_reply_is_credit(&on->conn))
		w_.complain(
			"a Reply is a credit for which no Receive is posted");
	if (spoilt && (s->rv || client_))
		spoilt->handle ^= s->spoilt;
	s->spoilt = 0;
	if (rc == -EAGAIN || rc == -ENOBUFS) {
		/* Other RPCs will release their MRs, or memory. */
		if (!s->kept)
			w_.complain(
				"a Reply is to be sent again that is not kept");
		if (w_.now - s->since > 5 * SECOND)
			w_.complain("a Reply waits too long for MRs");
		busy_ += !s->stays;
		queue_of(*on).busy += !s->stays;
		s->stays = true;
		waiting_.push_back(s);
		poll(20 * MILLISECOND);
		return;
	}
	end(s);
}

/*
 * Corrupt a Reply so that its Requester cannot accept it: chunks that are not
 * the Call's, or a message with another XID. Return the segment of the Call that was
 * changed, or null.
 */
rpcrdma_segment *host::spoil(served *s, const rpcrdma_reply_plan &plan)
{
	rpcrdma_lists &lists = s->rv ? s->rv->rx.lists : s->lists;
	const rpcrdma_chunk *first = nullptr;

	for (u32 i = 0; i < plan.lists.nr_writes && !first; i++) {
		if (plan.lists.writes[i].count)
			first = &lists.writes[i];
	}
	if (!first || plan.read_length || !w_.choose.below(2)) {
		s->reply[3] ^= 0x55;
		return nullptr;
	}
	s->spoilt = 0x5500;

	auto *segment = const_cast<rpcrdma_segment *>(
		rpcrdma_lists_seg(&lists, first->first));

	segment->handle ^= s->spoilt;
	return segment;
}

/* ---- The port ---- */

/* Return the result, if there is one in one piece. */
const rpcrdma_item *host::only_item(served *s) const
{
	const spec &what = net_.find(s->rpc_id)->what;

	if (s->uncached || !what.reply_item || !what.ddp ||
	    what.reply_pieces != 1)
		return nullptr;
	s->item = { ITEM_POSITION, what.reply_item };
	return &s->item;
}

void host::items(const served *s, rpcrdma_reply *reply) const
{
	const spec &what = net_.find(s->rpc_id)->what;

	if (s->uncached || !what.reply_item || !what.ddp)
		return;
	reply->nr_items = what.reply_pieces;
	each_item(what.reply_pieces, what.reply_item,
		  [&](u32 i, u32 from, u32 length) {
			  reply->items[i] = { ITEM_POSITION + from, length };
		  });
}

void host::copy_reply(const served *s, u32 from, u32 length, u8 *to)
{
	if (from > s->reply.size() || length > s->reply.size() - from) {
		w_.complain("bytes beyond a Reply are copied");
		return;
	}
	std::copy_n(s->reply.begin() + from, length, to);
}

/* The pages of the Reply live until the device has transmitted them. */
static void give_memory(const served *s, transfer *t)
{
	t->source.octets = s->reply;
}

transfer *host::new_writes(served *s)
{
	transfer *t = nullptr;

	/* Often with an exposure, which then has to be cancelled; few Replies have both. */
	if (!w_.fault(s->exposes ? 500 : 2))
		t = s->ep->new_transfer(op::write);
	if (t)
		give_memory(s, t);
	return t;
}

/*
 * The data is written to the chunks of the Call, whatever the header says about
 * them.
 */
static rpcrdma_lists of_call(const served *s, const rpcrdma_lists &lists)
{
	rpcrdma_lists original = lists;

	original.segs[0].handle ^= s->spoilt;
	return original;
}

int host::add_write(served *s, transfer *t, const rpcrdma_lists &lists,
		    const rpcrdma_chunk &chunk, u32 to, u32 from, u32 length)
{
	return s->ep->add_transfer(t, of_call(s, lists), chunk, to, t->source,
				   from, length);
}

transfer *host::write_item(served *s, rpcrdma_segment segment)
{
	transfer *t = s->ep->new_transfer(op::write);

	if (!t)
		return nullptr;
	give_memory(s, t);
	segment.handle ^= s->spoilt;
	return s->ep->only_part(t, segment, t->source, ITEM_POSITION);
}

/* From now on nothing is copied from the Reply, which the Writes have. */
void host::hold(served *s, transfer *t)
{
	const u64 octets = t->octets;
	endpoint *on = s->ep;

	s->reply.clear();
	on->hold(RPCRDMA_QUOTA_REPLIES, octets);
	t->ended = [this, on, t, octets](bool) {
		t->source.retire(w_, "a Reply that is written");
		on->give(RPCRDMA_QUOTA_REPLIES, octets);
	};
}

/*
 * Expose the part of a Reply that is to be pulled. A thread that waits for MRs is
 * modelled by a Reply that is sent again.
 */
int host::expose(served *s, const rpcrdma_reply &reply,
		 rpcrdma_reply_plan *plan, rpcrdma_pull_entry **x)
{
	auto *own = new exposure;
	rpcrdma_msg_iter at{};
	rpcrdma_msg_range range;
	int rc;

	while (rpcrdma_reply_exposed_next(&reply, plan, &at, &range)) {
		const auto from = s->reply.begin() + range.from;

		own->data.octets.insert(own->data.octets.end(), from,
					from + range.length);
	}
	if (!s->stays)
		s->wait = {};
	rc = s->ep->expose(own, s->xid, plan, &s->wait);
	if (rc) {
		delete own;
		s->kept |= s->wait.ms != 0;
		return rc;
	}
	own->held = own->data.octets.size();
	s->ep->hold(RPCRDMA_QUOTA_REPLIES, own->held);
	s->exposes = true;
	*x = own;
	return 0;
}

/* In version 1 a Receive is posted before the Reply permits another Call. */
void host::built(served *s)
{
	if (s->rv && rpcrdma_reply_is_credit(&s->ep->conn))
		rpcrdma_core_call_release(s->rv);
}

static served *served_of(const rpcrdma_reply_out *out)
{
	return static_cast<served *>(const_cast<rpcrdma_reply_out *>(out));
}

} // namespace simulation

using namespace simulation;

const struct rpcrdma_item *
rpcrdma_port_reply_item(const struct rpcrdma_reply_out *out)
{
	served *s = served_of(out);

	return s->owner->only_item(s);
}

void rpcrdma_port_reply_items(const struct rpcrdma_reply_out *out,
			      struct rpcrdma_reply *reply)
{
	const served *s = served_of(out);

	s->owner->items(s, reply);
}

void rpcrdma_port_reply_copy(const struct rpcrdma_reply_out *out, u32 from,
			     u32 length, void *to)
{
	const served *s = served_of(out);

	s->owner->copy_reply(s, from, length, static_cast<u8 *>(to));
}

struct rpcrdma_stream *
rpcrdma_port_reply_stream(const struct rpcrdma_reply_out *out, u32 octets,
			  const struct rpcrdma_lists *lists)
{
	return served_of(out)->ep->new_stream(RPCRDMA_KIND_REPLY, out->xid,
					      lists, std::vector<u8>(octets));
}

struct rpcrdma_transfer *
rpcrdma_port_item_write(struct rpcrdma_ep_core *, struct rpcrdma_reply_out *out,
			const struct rpcrdma_segment *segment)
{
	served *s = served_of(out);

	return s->owner->write_item(s, *segment);
}

struct rpcrdma_transfer *
rpcrdma_port_reply_writes(struct rpcrdma_ep_core *,
			  struct rpcrdma_reply_out *out, u32, u32)
{
	served *s = served_of(out);

	return s->owner->new_writes(s);
}

int rpcrdma_port_reply_write(struct rpcrdma_reply_out *out,
			     struct rpcrdma_transfer *t,
			     const struct rpcrdma_lists *lists,
			     const struct rpcrdma_msg_range *range)
{
	served *s = served_of(out);

	return s->owner->add_write(s, static_cast<transfer *>(t), *lists,
				   *range->chunk, range->to, range->from,
				   range->length);
}

void rpcrdma_port_reply_hold(struct rpcrdma_reply_out *out,
			     struct rpcrdma_transfer *t)
{
	served *s = served_of(out);

	s->owner->hold(s, static_cast<transfer *>(t));
}

int rpcrdma_port_reply_expose(struct rpcrdma_ep_core *,
			      struct rpcrdma_reply_out *out,
			      const struct rpcrdma_reply *reply,
			      struct rpcrdma_reply_plan *plan,
			      struct rpcrdma_pull_entry **x)
{
	served *s = served_of(out);

	return s->owner->expose(s, *reply, plan, x);
}

void rpcrdma_port_reply_built(struct rpcrdma_ep_core *,
			      struct rpcrdma_reply_out *out, bool)
{
	served *s = served_of(out);

	s->owner->built(s);
}

void rpcrdma_port_reply_refused(struct rpcrdma_ep_core *,
				const struct rpcrdma_reply_out *out, u32)
{
	served_of(out)->refused = true;
}
