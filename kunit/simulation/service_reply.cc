// SPDX-License-Identifier: GPL-2.0
/* The Responder: Replies of the service */
#include "host.hh"

#include <cerrno>
#include <cstring>

#include "reconnect.hh"

namespace simulation
{

/* Return @whole without the items that @plan places in Write chunks. */
static std::vector<u8> without(const std::vector<u8> &whole,
			       const rpcrdma_reply &reply,
			       const rpcrdma_reply_plan &plan)
{
	std::vector<u8> rest;
	rpcrdma_msg_iter at{};
	rpcrdma_msg_range range;

	while (rpcrdma_reply_iter_next(&reply, &plan, &at, &range)) {
		const auto from = whole.begin() + range.from;

		if (!range.chunk || range.chunk == &plan.lists.reply)
			rest.insert(rest.end(), from, from + range.length);
	}
	return rest;
}

/*
 * Check the wire profile's rules about the use of Write chunks, and about when
 * a Responder may report that a Reply cannot be conveyed (section 6).
 */
void host::check_plan(const served *s, const rpcrdma_reply &reply,
		      const rpcrdma_reply_plan &plan)
{
	const endpoint *on = s->ep;
	const rpcrdma_lists &lists = s->rv->rx.lists;
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

/* Send the Reply. */
void host::answer(served *s)
{
	endpoint *on = s->ep;
	const spec &what = net_.find(s->rpc_id)->what;
	rpcrdma_reply reply{};
	rpcrdma_reply_plan plan;
	std::vector<u8> whole;
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
	if (!s->send) {
		w_.complain("a thread waits for its peer");
		end(s);
		return;
	}

	reply.xid = s->rv->rx.xid;
	reply.reverse = client_;
	if (s->uncached) {
		fill(whole, reply.xid, REPLY, s->rpc_id, STATUS_UNCACHED,
		     MIN_MESSAGE, 0);
	} else {
		fill(whole, reply.xid, REPLY, s->rpc_id, STATUS_OK,
		     what.reply_length, what.reply_item);
		if (what.reply_item && what.ddp) {
			reply.nr_items = what.reply_pieces;
			for (u32 i = 0; i < reply.nr_items; i++) {
				const u32 n = what.reply_pieces;
				const u32 from =
					spec::piece(what.reply_item, n, i);
				const u32 to =
					spec::piece(what.reply_item, n, i + 1);

				reply.items[i] = { ITEM_POSITION + from,
						   to - from };
			}
		}
	}
	reply.length = static_cast<u32>(whole.size());
	rpcrdma_plan_reply(&on->conn, &s->rv->rx.lists, &reply, &plan);
	check_plan(s, reply, plan);
	rc = plan.error ? -EMSGSIZE : answer_one(s, whole, reply, &plan);
	if (rc == -EAGAIN) {
		/* All MRs are in use. Other RPCs will release theirs. */
		if (w_.now - s->since > 5 * SECOND)
			w_.complain("a Reply waits too long for MRs");
		busy_ += !s->stays;
		queue_of(*on).busy += !s->stays;
		s->stays = true;
		waiting_.push_back(s);
		poll(20 * MILLISECOND);
		return;
	}
	if (rc)
		rpcrdma_core_remedy(on, reply.xid, RPCRDMA_FAILED_REPLY, rc,
				    &plan, "no resources to send a Reply");
	end(s);
}

/*
 * Corrupt a Reply so that its Requester cannot accept it: chunks that are not
 * the Call's, or a message with another XID.
 */
void host::spoil(rpcrdma_reply_plan *plan, std::vector<u8> &rest)
{
	rpcrdma_lists &lists = plan->lists;
	bool chunks = false;

	for (u32 i = 0; i < lists.nr_writes; i++)
		chunks |= lists.writes[i].count;
	if (chunks && !plan->read_length && w_.choose.below(2))
		lists.segs[0].handle ^= 0x5500;
	else
		rest[3] ^= 0x55;
}

int host::answer_one(served *s, const std::vector<u8> &whole,
		     const rpcrdma_reply &reply, rpcrdma_reply_plan *plan)
{
	endpoint *on = s->ep;
	const auto format = static_cast<rpcrdma_format>(plan->format);
	std::vector<u8> rest = without(whole, reply, *plan);
	rpcrdma_send *send = s->send;
	rpcrdma_lists returned;
	exposure *x = nullptr;
	transfer *t = nullptr;
	int rc;

	if (plan->inline_length + plan->reply_length + plan->read_length !=
	    rest.size())
		w_.complain("a plan and its Reply do not agree");
	/*
	 * The data is written to the chunks of the Call, whatever the header
	 * says about them.
	 */
	returned = plan->lists;
	if (net_.find(s->rpc_id)->what.bad)
		spoil(plan, rest);
	if (plan->read_length) {
		x = new exposure;
		x->data.octets = rest;
		rc = on->expose(x, reply.xid, plan);
		if (rc) {
			delete x;
			return rc;
		}
		x->held = rest.size();
		on->hold(RPCRDMA_QUOTA_REPLIES, x->held);
	}
	if (plan->placed || plan->reply_length) {
		/*
		 * The pages of the Reply, which live until the device has
		 * transmitted them
		 */
		auto pages = std::make_shared<simulation::memory>();
		u64 octets = plan->reply_length;
		rpcrdma_msg_iter at{};
		rpcrdma_msg_range range;

		pages->octets = rest;
		pages->octets.insert(pages->octets.end(), whole.begin(),
				     whole.end());
		t = on->new_transfer(op::write);
		if (!t) {
			if (x) {
				on->cancel_exposure(x);
				delete x;
			}
			return -ENOTCONN;
		}
		rc = 0;
		while (!rc &&
		       rpcrdma_reply_iter_next(&reply, plan, &at, &range)) {
			const u64 index = range.chunk - plan->lists.writes;

			if (range.chunk == &plan->lists.reply) {
				rc = on->add_transfer(t, returned,
						      returned.reply, range.to,
						      *pages, range.to,
						      range.length);
			} else if (range.chunk) {
				octets += range.length;
				rc = on->add_transfer(
					t, returned, returned.writes[index],
					range.to, *pages,
					static_cast<u32>(rest.size()) +
						range.from,
					range.length);
			}
		}
		if (rc) {
			on->drop_transfer(t);
			if (x) {
				on->give(RPCRDMA_QUOTA_REPLIES, x->held);
				on->cancel_exposure(x);
				delete x;
			}
			return rc;
		}
		on->hold(RPCRDMA_QUOTA_REPLIES, octets);
		t->ended = [this, on, pages, octets](bool) {
			pages->retire(w_, "a Reply that is written");
			on->give(RPCRDMA_QUOTA_REPLIES, octets);
		};
	}
	if (plan->format == RPCRDMA_CONTINUED) {
		stream *st = on->new_stream(RPCRDMA_KIND_REPLY, reply.xid,
					    &plan->lists, std::move(rest));

		s->send = nullptr;
		rpcrdma_core_send_put(send);
		rpcrdma_core_send_continued_reply(on, st, t, plan->inv_handle);
		return 0;
	}
	rc = rpcrdma_core_send_begin(send, RPCRDMA_KIND_REPLY, format,
				     reply.xid, plan->inline_length,
				     &plan->lists);
	if (rc) {
		if (t)
			on->drop_transfer(t);
		if (x) {
			on->give(RPCRDMA_QUOTA_REPLIES, x->held);
			on->cancel_exposure(x);
			delete x;
		}
		return rc;
	}
	if (send->len > rpcrdma_conn_limits(&on->conn).send_inline)
		w_.complain("a planned Reply does not fit");
	std::copy_n(rest.begin(), plan->inline_length,
		    static_cast<u8 *>(send->buf) + send->header_len);
	if (rpcrdma_reply_is_credit(&on->conn)) {
		received *rv = s->rv;

		s->rv = nullptr;
		on->put(rv);
	}
	if (x)
		send->exposed = x;
	s->send = nullptr;
	on->send_reply(send, t, plan->inv_handle, format, &plan->lists);
	return 0;
}

} // namespace simulation
