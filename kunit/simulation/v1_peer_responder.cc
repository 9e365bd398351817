// SPDX-License-Identifier: GPL-2.0
/* The version 1 peer: RPCs that it receives */
#include "v1_peer_internal.hh"

#include <cstring>

namespace simulation
{

void v1_peer::serve(received *rv, const lists &l)
{
	const u8 *m = rv->space.data();
	auto c = std::make_shared<call>();
	u32 base = 0, items = 0;
	job *j;

	c->xid = load(m);
	c->asked = load(m + 8);
	c->generation = generation_;
	c->l = l;
	serving_++;
	served_++;
	net_.served_version1();
	if (load(m + 12) == RDMA_MSG)
		c->base.octets.assign(m + l.end, m + rv->octets);
	if (l.reads.empty()) {
		execute(c);
		return;
	}
	for (const segment &s : l.reads)
		(s.position ? items : base) += s.length;
	if (load(m + 12) == RDMA_NOMSG)
		c->base.octets.resize(base);
	else if (base)
		w_.complain(
			"a Position Zero Read chunk in addition to a payload");
	c->items.octets.resize(items);
	j = new_job({}, 0);
	base = items = 0;
	for (const segment &s : l.reads) {
		u32 &at = s.position ? items : base;

		j->requests.push_back({ op::read, nullptr, s.handle, s.offset,
					s.position ? &c->items : &c->base, at,
					s.length });
		at += s.length;
	}
	j->ended = [this, c](bool ok) {
		if (ok && c->generation == generation_)
			execute(c);
	};
	post(j);
}

void v1_peer::execute(const std::shared_ptr<call> &c)
{
	std::vector<u8> whole, expected;
	u32 base = 0, item = 0;
	rpc *what = nullptr;

	/* An item ends with the last segment of the same Position. */
	for (size_t i = 0; i < c->l.reads.size();) {
		const u32 position = c->l.reads[i].position;
		u32 n = 0;

		for (; i < c->l.reads.size() &&
		       c->l.reads[i].position == position;
		     i++)
			n += c->l.reads[i].length;
		if (!position)
			continue;
		if (position < whole.size() ||
		    position - whole.size() > c->base.octets.size() - base) {
			w_.complain(
				"a Read chunk of version 1 has an impossible position");
			return;
		}
		const u32 before = position - static_cast<u32>(whole.size());

		whole.insert(whole.end(), c->base.octets.begin() + base,
			     c->base.octets.begin() + base + before);
		base += before;
		whole.insert(whole.end(), c->items.octets.begin() + item,
			     c->items.octets.begin() + item + n);
		whole.resize(roundup4(static_cast<u32>(whole.size())));
		item += n;
	}
	whole.insert(whole.end(), c->base.octets.begin() + base,
		     c->base.octets.end());
	if (whole.size() >= MIN_MESSAGE)
		what = net_.find(load(&whole[8]));
	if (!what || what->owner == &host_) {
		w_.complain("a Call of version 1 that was never sent");
		return;
	}
	fill(expected, what->xid, CALL, what->id, load(&whole[12]),
	     what->what.call_length, what->what.call_item);
	if (whole != expected)
		w_.complain("bytes of a Call of version 1 are wrong");
	if (!net_.new_sequence(what->id, load(&whole[12])) &&
	    what->what.sequenced)
		w_.complain("a sequence number is used twice");
	c->rpc_id = what->id;
	c->uncached = net_.executed(what->id) && what->what.session;
	if (!params_.client && what->what.chain && !c->uncached) {
		spec inner;

		inner.call_length = MIN_MESSAGE + 4 * w_.choose.below(64);
		w_.sum.callbacks++;
		begin(inner, [this, c] {
			if (c->generation == generation_ && qp_)
				answer(c);
		});
		return;
	}
	ready_.push_back(c);
	w_.after(w_.delay(20), this, ANSWER);
}

/*
 * Return the credits to grant in the Reply to @c, or in another message if @c
 * is null.
 */
u32 v1_peer::grant(const call *c) const
{
	const personality &as = params_.as;

	if (as.echoes)
		return std::min(params_.credits,
				c ? std::max(c->asked, 1u) : 1);
	if (as.free)
		return as.credits > serving_ ? as.credits - serving_ : 0;
	return as.fixed ? as.credits : params_.credits;
}

/* Return true if an unused chunk is returned in this form. */
static bool comes_back(choices &c, unused form)
{
	return form == unused::empty || (form == unused::any && c.below(2));
}

void v1_peer::answer(const std::shared_ptr<call> &c)
{
	const personality &as = params_.as;
	const spec &what = net_.find(c->rpc_id)->what;
	std::vector<u8> whole, rest, m;
	std::vector<u32> placed(c->l.writes.size());
	u32 pieces = what.reply_item && what.ddp ? what.reply_pieces : 0;
	u32 header = 28, at = 0, reply_octets = 0, handle = 0;
	job *j;

	if (!qp_ || c->generation != generation_)
		return;
	serving_--;
	if (c->uncached) {
		pieces = 0;
		fill(whole, c->xid, REPLY, c->rpc_id, STATUS_UNCACHED,
		     MIN_MESSAGE, 0);
	} else {
		fill(whole, c->xid, REPLY, c->rpc_id, STATUS_OK,
		     what.reply_length, what.reply_item);
	}

	/*
	 * Place the data of a READ in the Reply chunk, if that is large enough.
	 */
	if (as.whole && c->l.has_reply && octets_of(c->l.reply) >= whole.size())
		pieces = 0;
	j = new_job({}, 0);
	for (const chunk &w : c->l.writes)
		header += 8 + 16 * static_cast<u32>(w.size());
	header += c->l.has_reply ?
			  4 + 16 * static_cast<u32>(c->l.reply.size()) :
			  0;
	for (u32 i = 0; i < pieces && i < c->l.writes.size(); i++) {
		const u32 from = spec::piece(what.reply_item, pieces, i);
		const u32 n =
			spec::piece(what.reply_item, pieces, i + 1) - from;

		if (c->l.writes[i].empty())
			continue;
		if (octets_of(c->l.writes[i]) < n) {
			delete j;
			refuse(c->xid);
			return;
		}
		placed[i] = n;
		rest.insert(rest.end(), whole.begin() + at,
			    whole.begin() + ITEM_POSITION + from);
		at = ITEM_POSITION + from + roundup4(n);
	}
	rest.insert(rest.end(), whole.begin() + at, whole.end());

	if (c->l.has_reply && octets_of(c->l.reply) >= rest.size() &&
	    (as.reply_chunk || header + rest.size() > threshold_))
		reply_octets = static_cast<u32>(rest.size());
	if (!reply_octets && header + rest.size() > threshold_) {
		w_.complain("a Call of version 1 has no space for its Reply");
		delete j;
		return;
	}

	/*
	 * The pages of the Reply, which live until the device has transmitted
	 * them
	 */
	auto pages = std::make_shared<memory>();

	pages->octets = whole;
	pages->octets.insert(pages->octets.end(), rest.begin(), rest.end());
	auto write = [&](chunk &to, u32 from, u32 octets) {
		for (segment &s : to) {
			s.length = std::min(s.length, octets);
			if (s.length)
				j->requests.push_back({ op::write, nullptr,
							s.handle, s.offset,
							pages.get(), from,
							s.length });
			from += s.length;
			octets -= s.length;
		}
	};
	std::vector<u32> handles;

	for (const segment &s : c->l.reads)
		handles.push_back(s.handle);
	for (u32 i = 0; i < c->l.writes.size(); i++) {
		for (const segment &s : c->l.writes[i])
			handles.push_back(s.handle);
		write(c->l.writes[i],
		      placed[i] ? ITEM_POSITION + spec::piece(what.reply_item,
							      pieces, i) :
				  0,
		      placed[i]);
	}
	for (const segment &s : c->l.reply)
		handles.push_back(s.handle);
	write(c->l.reply, static_cast<u32>(whole.size()), reply_octets);
	if (!inv_ok_ || handles.empty())
		handle = 0;
	else if (!as.first_write)
		handle = handles[w_.choose.below(
			static_cast<u32>(handles.size()))];
	else if (!c->l.has_reply && !c->l.writes.empty() &&
		 !c->l.writes[0].empty())
		handle = c->l.writes[0][0].handle;

	put_fixed(m, c->xid, grant(c.get()),
		  reply_octets ? RDMA_NOMSG : RDMA_MSG);
	put_word(m, 0);
	for (u32 i = 0; i < c->l.writes.size(); i++) {
		/* An unused chunk may be returned without segments. */
		const bool none = !placed[i] && as.write == unused::any &&
				  w_.choose.below(2);
		const chunk &w = c->l.writes[i];

		/*
		 * All of the Reply is in the Reply chunk, and nothing in a
		 * Write chunk.
		 */
		if (reply_octets && !pieces && as.write == unused::absent)
			break;
		put_word(m, 1);
		put_word(m, none ? 0 : static_cast<u32>(w.size()));
		for (const segment &s : w) {
			if (!none)
				put_segment(m, s.handle, s.length, s.offset);
		}
	}
	put_word(m, 0);
	if (c->l.has_reply &&
	    (reply_octets || comes_back(w_.choose, as.reply))) {
		const bool none = !reply_octets && as.reply == unused::any &&
				  w_.choose.below(2);

		put_word(m, 1);
		put_word(m, none ? 0 : static_cast<u32>(c->l.reply.size()));
		for (const segment &s : c->l.reply) {
			if (!none)
				put_segment(m, s.handle, s.length, s.offset);
		}
	} else {
		put_word(m, 0);
	}
	if (!reply_octets)
		m.insert(m.end(), rest.begin(), rest.end());
	j->buf.octets = m;
	j->requests.push_back({ op::send, nullptr, handle, 0, &j->buf, 0,
				static_cast<u32>(m.size()) });
	j->ended = [this, pages](bool) {
		pages->retire(w_, "a Reply of version 1 that is written");
	};
	post(j);
}

} // namespace simulation
