// SPDX-License-Identifier: GPL-2.0
/* The version 1 peer: RPCs that it sends */
#include "v1_peer_internal.hh"

namespace simulation
{

void v1_peer::begin(const spec &what, std::function<void()> ended)
{
	const u32 xid = next_xid_++;
	auto t = std::make_unique<task>();

	t->what = net_.new_rpc();
	t->what->owner = &host_;
	t->what->xid = xid;
	t->what->what = what;
	t->ended = std::move(ended);
	w_.log("version 1: RPC %u, xid %x, %u (item %u) for %u (item %u) of %u",
	       t->what->id, xid, what.call_length, what.call_item,
	       what.reply_length, what.reply_item, what.reply_max);
	tasks_[xid] = std::move(t);
	transmit();
}

void v1_peer::transmit()
{
	if (!up_ || closing_) {
		if (params_.client && !qp_ && !tasks_.empty())
			net_.want_connection();
		return;
	}
	for (auto &each : tasks_) {
		if (each.second->sent)
			continue;
		if (out_ >= limit_ || !send_call(*each.second))
			break;
	}
}

/*
 * Maximum number of segments of a chunk. If the other end has memory for them,
 * it accepts more than its own limit.
 */
constexpr u32 MANY_SEGS = RPCRDMA_MAX_SEGS + 26;

/* Provide memory for a chunk, in segments. Return false if there are no MRs for
 * it now. */
bool v1_peer::map(task &t, job *j, memory &mem, u32 at, u32 length,
		  bool writable, u32 position, chunk *c, bool many)
{
	/* Number of segments of a chunk that certainly fit into the header */
	const u32 nr = many ? MANY_SEGS : threshold_ / 200;
	const u32 most = std::max(many ? 128u : 1024u, (length / nr + 4) & ~3u);

	while (length) {
		const u32 n = std::min(length, most);
		device_mr *reg;

		if (free_mrs_.empty())
			return false;
		reg = free_mrs_.back();
		free_mrs_.pop_back();
		reg->take(mem, at, n, writable);
		t.mrs.push_back(reg);
		c->push_back({ position, reg->handle, n, reg->offset });
		j->requests.push_back(
			{ op::reg, reg, reg->handle, 0, nullptr, 0, 0 });
		at += n;
		length -= n;
	}
	return true;
}

/* Send a Call. Return false if it cannot be sent now. */
bool v1_peer::send_call(task &t)
{
	const spec &what = t.what->what;
	const bool chunks = params_.client;
	const u32 xid = t.what->xid, sequence = w_.choose.below(1000);
	const u32 reply_rest =
		what.reply_max - (what.ddp ? roundup4(what.reply_item) : 0);
	job *j = new_job({}, 0);
	std::vector<u8> payload, m;
	chunk reads;
	bool special = false, ok = true;

	t.what->sequence = std::max(t.what->sequence + 1, sequence);
	fill(t.call.octets, xid, CALL, t.what->id, t.what->sequence,
	     what.call_length, what.call_item);
	payload = t.call.octets;
	t.writes.clear();
	t.reply_chunk.clear();

	if (chunks && what.ddp && what.call_item &&
	    (what.call_length + 200 > threshold_ || w_.choose.below(2))) {
		for (u32 i = 0; i < what.call_pieces; i++) {
			const u32 n = what.call_pieces;
			const u32 from = spec::piece(what.call_item, n, i);
			const u32 to = spec::piece(what.call_item, n, i + 1);

			ok &= map(t, j, t.call, ITEM_POSITION + from, to - from,
				  false, ITEM_POSITION + from, &reads);
		}
		payload.erase(payload.begin() + ITEM_POSITION,
			      payload.begin() + ITEM_POSITION +
				      roundup4(what.call_item));
	}
	if (chunks && what.reply_max + 28 > threshold_) {
		t.result.octets.resize(what.reply_item);
		for (u32 i = 0;
		     what.ddp && what.reply_item && i < what.reply_pieces;
		     i++) {
			const u32 n = what.reply_pieces;
			const u32 from = spec::piece(what.reply_item, n, i);
			const u32 to = spec::piece(what.reply_item, n, i + 1);

			t.writes.emplace_back();
			ok &= map(t, j, t.result, from, to - from, true, 0,
				  &t.writes.back());
		}
		/* The returned chunks need space in the Reply, too. */
		if (reply_rest + threshold_ / 2 > threshold_ ||
		    w_.choose.below(4) == 3) {
			t.reply.octets.resize(what.reply_max);
			ok &= map(t, j, t.reply, 0, what.reply_max, true, 0,
				  &t.reply_chunk,
				  reads.empty() && threshold_ >= 4096 &&
					  w_.choose.below(4) == 3);
		}
	}
	if (ok && payload.size() + 28 + 24 * t.mrs.size() + 16 > threshold_) {
		/*
		 * The complete Call except its items, in a Position Zero Read
		 * chunk
		 */
		chunk base;

		special = true;
		if (!chunks)
			w_.complain("a callback of version 1 is too large");
		if (reads.empty()) {
			ok &= map(t, j, t.call, 0, what.call_length, false, 0,
				  &base);
		} else {
			const u32 after =
				ITEM_POSITION + roundup4(what.call_item);

			ok &= map(t, j, t.call, 0, ITEM_POSITION, false, 0,
				  &base);
			ok &= map(t, j, t.call, after, what.call_length - after,
				  false, 0, &base);
		}
		reads.insert(reads.begin(), base.begin(), base.end());
		payload.clear();
	}
	if (!ok) {
		for (device_mr *reg : t.mrs)
			free_mrs_.push_back(reg);
		t.mrs.clear();
		delete j;
		return false;
	}

	put_fixed(m, xid, params_.asks == ASKS_MORE ? limit_ + 8 : params_.asks,
		  special ? RDMA_NOMSG : RDMA_MSG);
	for (const segment &s : reads) {
		put_word(m, 1);
		put_word(m, s.position);
		put_segment(m, s.handle, s.length, s.offset);
	}
	put_word(m, 0);
	for (const chunk &c : t.writes) {
		put_word(m, 1);
		put_word(m, static_cast<u32>(c.size()));
		for (const segment &s : c)
			put_segment(m, s.handle, s.length, s.offset);
	}
	put_word(m, 0);
	put_word(m, !t.reply_chunk.empty());
	if (!t.reply_chunk.empty()) {
		put_word(m, static_cast<u32>(t.reply_chunk.size()));
		for (const segment &s : t.reply_chunk)
			put_segment(m, s.handle, s.length, s.offset);
	}
	m.insert(m.end(), payload.begin(), payload.end());
	if (m.size() > threshold_)
		w_.complain("the model of version 1 sends too much");
	j->buf.octets = m;
	j->requests.push_back({ op::send, nullptr, 0, 0, &j->buf, 0,
				static_cast<u32>(m.size()) });
	t.sent = true;
	out_++;
	post(j);
	return true;
}

void v1_peer::over(u32 xid, int status)
{
	auto found = tasks_.find(xid);
	std::unique_ptr<task> t = std::move(found->second);

	tasks_.erase(found);
	t->call.retire(w_, "a Call of version 1");
	t->result.retire(w_, "a result of version 1");
	t->reply.retire(w_, "a Reply of version 1");
	t->what->status = status;
	if (t->ended)
		t->ended();
	net_.rpc_over(t->what);
}

void v1_peer::reply(received *rv, const lists &l)
{
	const u8 *m = rv->space.data();
	const u32 xid = load(m);
	auto found = tasks_.find(xid);
	std::vector<u8> stream;
	std::vector<u32> written;
	const u32 generation = generation_;

	if (found == tasks_.end() || !found->second->sent ||
	    found->second->answered) {
		w_.complain("a Reply of version 1 without an RPC");
		return;
	}
	task &t = *found->second;

	out_--;
	limit_ = std::max(1u, load(m + 8));
	t.answered = true;
	if (rv->inv_handle && !inv_ok_)
		w_.complain("version 1 invalidates without permission");
	if (l.writes.size() != t.writes.size()) {
		w_.complain("Write chunks of version 1 are not returned");
		return;
	}
	for (size_t i = 0; i < l.writes.size(); i++) {
		written.push_back(octets_of(l.writes[i]));
		if (written[i] > octets_of(t.writes[i]))
			w_.complain(
				"a version 1 chunk is written beyond its end");
	}
	if (load(m + 12) == RDMA_NOMSG) {
		const u32 n = octets_of(l.reply);

		if (t.reply_chunk.empty() || n > t.reply.octets.size()) {
			w_.complain("a Reply of version 1 has no payload");
			return;
		}
		stream.assign(t.reply.octets.begin(),
			      t.reply.octets.begin() + n);
	} else {
		stream.assign(m + l.end, m + rv->octets);
	}

	invalidate(t, [this, xid, generation, stream, written](bool ok) {
		if (!ok || generation != generation_)
			return;
		finish(*tasks_.find(xid)->second, stream, written);
	});
}

/*
 * The Call @xid was refused. That is an error, unless the other end has no
 * memory for its segments. The Call was not executed: send it again.
 */
void v1_peer::refused(u32 xid, u32 code)
{
	auto found = tasks_.find(xid);
	const u32 generation = generation_;

	if (!w_.segs_missing || code != ERR_CHUNK || found == tasks_.end() ||
	    !found->second->sent || found->second->answered) {
		w_.complain("a Call of version 1 is refused");
		return;
	}
	w_.segs_missing--;
	out_--;
	found->second->answered = true;
	invalidate(*found->second, [this, xid, generation](bool ok) {
		task &t = *tasks_.find(xid)->second;

		if (!ok || generation != generation_)
			return;
		for (device_mr *reg : t.mrs)
			free_mrs_.push_back(reg);
		t.mrs.clear();
		t.sent = false;
		t.answered = false;
		w_.after(1, this, SEND_AGAIN);
	});
}

/* Invalidate the MRs that the other end has not invalidated, then call @ended. */
void v1_peer::invalidate(const task &t, std::function<void(bool)> ended)
{
	job *j = new_job({}, 0);

	for (device_mr *reg : t.mrs) {
		if (reg->valid)
			j->requests.push_back({ op::invalidate, reg,
						reg->handle, 0, nullptr, 0,
						0 });
	}
	if (j->requests.empty()) {
		delete j;
		ended(true);
		return;
	}
	j->ended = std::move(ended);
	post(j);
}

/* Check that the Reply is the expected one. */
void v1_peer::finish(task &t, const std::vector<u8> &stream,
		     const std::vector<u32> &written)
{
	const spec &what = t.what->what;
	std::vector<u8> whole, expected;
	u32 at = ITEM_POSITION, all = 0;

	for (device_mr *reg : t.mrs)
		free_mrs_.push_back(reg);
	t.mrs.clear();
	for (u32 n : written)
		all += n;
	whole = stream;
	if (all && stream.size() >= ITEM_POSITION) {
		whole.resize(ITEM_POSITION);
		for (u32 i = 0; i < written.size(); i++) {
			const u32 n = what.reply_pieces;
			const u32 from = spec::piece(what.reply_item, n, i);
			const u32 to = spec::piece(what.reply_item, n, i + 1);
			const auto &mem = t.result.octets;

			if (written[i] == to - from) {
				whole.insert(whole.end(), mem.begin() + from,
					     mem.begin() + to);
				whole.resize(roundup4(
					static_cast<u32>(whole.size())));
				continue;
			}
			if (written[i] || at + to - from > stream.size()) {
				w_.complain(
					"a result of version 1 is truncated");
				break;
			}
			whole.insert(whole.end(), stream.begin() + at,
				     stream.begin() + at + roundup4(to - from));
			at += roundup4(to - from);
		}
		whole.insert(whole.end(), stream.begin() + at, stream.end());
	}
	fill(expected, t.what->xid, REPLY, t.what->id, STATUS_OK,
	     what.reply_length, what.reply_item);
	if (whole != expected && what.session && whole.size() >= MIN_MESSAGE &&
	    load(&whole[12]) == STATUS_UNCACHED)
		fill(expected, t.what->xid, REPLY, t.what->id, STATUS_UNCACHED,
		     MIN_MESSAGE, 0);
	if (whole != expected)
		w_.complain("bytes of a Reply of version 1 are wrong");
	over(t.what->xid, 0);
	w_.after(1, this, SEND_AGAIN);
}

} // namespace simulation
