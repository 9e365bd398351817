// SPDX-License-Identifier: GPL-2.0
#include "peer1.hh"

#include <cerrno>
#include <cstring>

#include "network.hh"

namespace simulation
{

constexpr u32 SEND_QUEUE = 2048;
constexpr u32 REGIONS = 1024;
/* Receives in addition to those for Calls: for Replies to its own Calls, and
 * for refusals */
constexpr u32 MORE_RECEIVES = 80;

/* rdma_proc, and the codes of RDMA_ERROR */
constexpr u32 RDMA_MSG = 0;
constexpr u32 RDMA_NOMSG = 1;
constexpr u32 RDMA_ERROR = 4;
constexpr u32 ERR_VERS = 1;
constexpr u32 ERR_CHUNK = 2;

/* A chain of Work Requests, and the action after its end */
struct peer1::job final : work {
	peer1 *owner;
	memory buf;
	std::function<void(bool)> ended;

	void done(bool ok) override
	{
		if (ended)
			ended(ok);
		buf.retire(owner->w_, "a message of version 1");
		delete this;
	}
};

/* An RPC that this peer sends */
struct peer1::task {
	rpc *what;
	std::function<void()> ended;
	bool sent = false, answered = false;
	std::vector<region *> regions;
	std::vector<chunk> writes;
	chunk reply_chunk;
	memory call, result, reply;
};

/* An RPC that this peer receives */
struct peer1::call {
	u32 xid = 0, generation = 0, rpc_id = 0;
	lists l;
	memory base; /* the payload, or the Position Zero Read chunk */
	memory items;
	bool uncached = false;
};

static void put_word(std::vector<u8> &m, u32 value)
{
	m.resize(m.size() + 4);
	store(&m[m.size() - 4], value);
}

static void put_fixed(std::vector<u8> &m, u32 xid, u32 credit, u32 proc)
{
	put_word(m, xid);
	put_word(m, RPCRDMA_VERS_1);
	put_word(m, credit);
	put_word(m, proc);
}

peer1::peer1(world &w, network &net, host &stands_for,
	     const peer1_params &params)
	: w_{ w }, net_{ net }, host_{ stands_for }, params_{ params },
	  next_xid_{ params.client ? 0x1000u : 0x90000000u }
{
}

peer1::~peer1()
{
	for (job *j : queue_)
		delete j;
	for (job *j : posted_)
		delete j;
}

u32 peer1::octets_of(const chunk &c)
{
	u32 octets = 0;

	for (const segment &s : c)
		octets += s.length;
	return octets;
}

/* ---- Connections ---- */

queue_pair &peer1::connect(u32 threshold, bool inv_ok)
{
	close();
	threshold_ = threshold;
	inv_ok_ = inv_ok;
	closing_ = false;
	refused_ = false;
	generation_++;
	qps_.push_back(
		std::make_unique<queue_pair>(w_, *this, SEND_QUEUE, REGIONS));
	qp_ = qps_.back().get();
	used_ = 0;
	out_ = 0;
	limit_ = 1;
	free_regions_.clear();
	for (region &reg : qp_->regions)
		free_regions_.push_back(&reg);
	for (u32 i = 0; i < params_.credits + MORE_RECEIVES; i++) {
		receives_.push_back(std::make_unique<received>());
		receives_.back()->space.resize(std::max(4096u, params_.size));
		qp_->post_receive(receives_.back().get());
	}
	return *qp_;
}

void peer1::established()
{
	up_ = true;
	transmit();
}

void peer1::lost()
{
	if (closing_)
		return;
	closing_ = true;
	w_.after(w_.delay(500), this, CLOSE, generation_);
}

/* From now on no job uses the peer's memory, and nothing can access it. */
void peer1::close()
{
	std::vector<job *> through;

	if (!qp_)
		return;
	up_ = false;
	closing_ = true;
	qp_->cut();
	qp_->quiet();
	qp_ = nullptr;
	through.swap(posted_);
	through.insert(through.end(), queue_.begin(), queue_.end());
	queue_.clear();
	ready_.clear();
	serving_ = 0;
	for (job *j : through)
		j->done(false);
	for (auto i = tasks_.begin(); i != tasks_.end();) {
		task &t = *i->second;
		const u32 xid = i->first;

		i++;
		t.sent = false;
		t.answered = false;
		t.regions.clear();
		/* A server does not repeat a Call that failed with the
		 * connection. */
		if (!params_.client)
			over(xid, -ENOTCONN);
	}
}

void peer1::check_gone()
{
	close();
	if (!tasks_.empty())
		w_.complain("an RPC of version 1 is left");
}

void peer1::act(u32 what, u64 arg)
{
	switch (what) {
	case CLOSE:
		if (arg != generation_ || !qp_)
			break;
		close();
		if (!tasks_.empty())
			net_.want_connection();
		break;
	case SEND_AGAIN:
		transmit();
		break;
	case ANSWER: {
		std::vector<std::shared_ptr<call>> due;

		due.swap(ready_);
		for (const auto &c : due)
			answer(c);
		break;
	}
	}
}

/* ---- Sending ---- */

peer1::job *peer1::new_job(const std::vector<u8> &message, u32 handle)
{
	auto *j = new job;

	j->owner = this;
	j->wrs.signaled = true;
	j->buf.octets = message;
	if (!message.empty())
		j->requests.push_back({ op::send, nullptr, handle, 0, &j->buf,
					0, static_cast<u32>(message.size()) });
	return j;
}

void peer1::post(job *j)
{
	queue_.push_back(j);
	pump();
}

void peer1::pump()
{
	while (qp_ && !queue_.empty() &&
	       used_ + queue_.front()->requests.size() <= SEND_QUEUE) {
		job *j = queue_.front();

		queue_.pop_front();
		used_ += static_cast<u32>(j->requests.size());
		posted_.push_back(j);
		qp_->post(j);
	}
}

void peer1::completed(work *w)
{
	auto *j = static_cast<job *>(w);

	posted_.erase(std::find(posted_.begin(), posted_.end(), j));
	used_ -= static_cast<u32>(j->requests.size());
	j->done(true);
	pump();
}

void peer1::send(const std::vector<u8> &message, u32 handle)
{
	if (message.size() > threshold_)
		w_.complain("the model of version 1 sends too much");
	post(new_job(message, handle));
}

void peer1::refuse(u32 xid)
{
	std::vector<u8> m;

	put_fixed(m, xid, params_.credits, RDMA_ERROR);
	put_word(m, ERR_CHUNK);
	send(m);
}

/* ---- Receiving ---- */

bool peer1::parse(const received *rv, lists *l)
{
	u32 at = 16;
	bool ok = true;

	auto word = [&]() -> u32 {
		ok &= at + 4 <= rv->octets;
		at += 4;
		return ok ? load(&rv->space[at - 4]) : 0;
	};
	auto next = [&](u32 position) {
		segment s{ position, word(), word(), 0 };

		s.offset = u64{ word() } << 32;
		s.offset |= word();
		return s;
	};
	auto write_chunk = [&] {
		chunk c;

		for (u32 n = word(); ok && n; n--)
			c.push_back(next(0));
		return c;
	};

	while (ok && word()) {
		const u32 position = word();

		l->reads.push_back(next(position));
	}
	while (ok && word())
		l->writes.push_back(write_chunk());
	l->has_reply = word();
	if (l->has_reply)
		l->reply = write_chunk();
	l->end = at;
	return ok;
}

void peer1::arrived(received *rv)
{
	const u8 *m = rv->space.data();
	lists l;

	if (!qp_ || closing_)
		return;
	if (rv->octets < 16) {
		w_.complain("a message is too short for version 1");
		return;
	}
	if (load(m + 4) != RPCRDMA_VERS_1) {
		std::vector<u8> answer;

		if (params_.client || refused_)
			w_.complain("version 2 goes on after it was refused");
		refused_ = true;
		put_word(answer, load(m));
		put_word(answer, load(m + 4));
		put_word(answer, params_.credits);
		put_word(answer, RDMA_ERROR);
		put_word(answer, ERR_VERS);
		put_word(answer, RPCRDMA_VERS_1);
		put_word(answer, RPCRDMA_VERS_1);
		send(answer);
		qp_->post_receive(rv);
		if (params_.hangs_up)
			w_.after(100, this, CLOSE, generation_);
		return;
	}
	/* A peer that disconnects sends nothing more. */
	if (refused_ && params_.hangs_up)
		return;
	if (load(m + 12) == RDMA_ERROR) {
		w_.complain("a Call of version 1 is refused");
		return;
	}
	if (!parse(rv, &l)) {
		w_.complain("a header of version 1 cannot be read");
		return;
	}
	/* Only Calls have Read chunks, and only Replies are entirely in the
	 * other chunks. */
	if (load(m + 12) == RDMA_MSG ? load(m + l.end + 4) == REPLY :
				       l.reads.empty())
		reply(rv, l);
	else
		serve(rv, l);
	/* close() may have run. */
	if (qp_)
		qp_->post_receive(rv);
	transmit();
}

/* ---- Calls sent ---- */

void peer1::begin(const spec &what, std::function<void()> ended)
{
	const u32 xid = next_xid_++;
	auto t = std::make_unique<task>();

	t->what = net_.new_rpc();
	t->what->owner = &host_;
	t->what->xid = xid;
	t->what->what = what;
	t->ended = std::move(ended);
	w_.tell("version 1: RPC %u, xid %x, %u (item %u) for %u (item %u) of %u",
		t->what->id, xid, what.call_length, what.call_item,
		what.reply_length, what.reply_item, what.reply_max);
	tasks_[xid] = std::move(t);
	transmit();
}

void peer1::transmit()
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

/* Provide memory for a chunk, in segments. Return false if there are no MRs for
 * it now. */
bool peer1::map(task &t, job *j, memory &mem, u32 at, u32 length, bool writable,
		u32 position, chunk *c)
{
	/* An upper bound of the segments that certainly fit in the header */
	const u32 most =
		std::max(1024u, (length / (threshold_ / 200) + 4) & ~3u);

	while (length) {
		const u32 n = std::min(length, most);
		region *reg;

		if (free_regions_.empty())
			return false;
		reg = free_regions_.back();
		free_regions_.pop_back();
		reg->take(mem, at, n, writable);
		t.regions.push_back(reg);
		c->push_back({ position, reg->handle, n, reg->offset });
		j->requests.push_back(
			{ op::reg, reg, reg->handle, 0, nullptr, 0, 0 });
		at += n;
		length -= n;
	}
	return true;
}

static void put_segment(std::vector<u8> &m, u32 handle, u32 length, u64 offset)
{
	put_word(m, handle);
	put_word(m, length);
	put_word(m, static_cast<u32>(offset >> 32));
	put_word(m, static_cast<u32>(offset));
}

/* Send a Call. Return false if it cannot be sent now. */
bool peer1::send_call(task &t)
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
				  &t.reply_chunk);
		}
	}
	if (ok &&
	    payload.size() + 28 + 24 * t.regions.size() + 16 > threshold_) {
		/* The complete Call except its items, in a Position Zero Read
		 * chunk */
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
		for (region *reg : t.regions)
			free_regions_.push_back(reg);
		t.regions.clear();
		delete j;
		return false;
	}

	put_fixed(m, xid, limit_ + 8, special ? RDMA_NOMSG : RDMA_MSG);
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

void peer1::over(u32 xid, int status)
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

void peer1::reply(received *rv, const lists &l)
{
	const u8 *m = rv->space.data();
	const u32 xid = load(m);
	auto found = tasks_.find(xid);
	std::vector<u8> stream;
	std::vector<u32> written;
	const u32 generation = generation_;

	if (found == tasks_.end() || !found->second->sent ||
	    found->second->answered) {
		w_.complain("a Reply of version 1 that nobody waits for");
		return;
	}
	task &t = *found->second;

	out_--;
	limit_ = std::max(1u, load(m + 8));
	t.answered = true;
	if (rv->inv_handle && !inv_ok_)
		w_.complain("version 1 invalidates without leave");
	if (l.writes.size() != t.writes.size()) {
		w_.complain("Write chunks of version 1 do not come back");
		return;
	}
	for (size_t i = 0; i < l.writes.size(); i++) {
		written.push_back(octets_of(l.writes[i]));
		if (written[i] > octets_of(t.writes[i]))
			w_.complain("more of version 1 is written than fits");
	}
	if (load(m + 12) == RDMA_NOMSG) {
		const u32 n = octets_of(l.reply);

		if (t.reply_chunk.empty() || n > t.reply.octets.size()) {
			w_.complain("a Reply of version 1 is nowhere");
			return;
		}
		stream.assign(t.reply.octets.begin(),
			      t.reply.octets.begin() + n);
	} else {
		stream.assign(m + l.end, m + rv->octets);
	}

	/* Invalidate the MRs that the peer has not invalidated. */
	job *j = new_job({}, 0);

	for (region *reg : t.regions) {
		if (reg->valid)
			j->requests.push_back({ op::invalidate, reg,
						reg->handle, 0, nullptr, 0,
						0 });
	}
	auto then = [this, xid, generation, stream, written](bool ok) {
		if (!ok || generation != generation_)
			return;
		finish(*tasks_.find(xid)->second, stream, written);
	};
	if (j->requests.empty()) {
		delete j;
		then(true);
		return;
	}
	j->ended = then;
	post(j);
}

/* Check that the Reply is the expected one. */
void peer1::finish(task &t, const std::vector<u8> &stream,
		   const std::vector<u32> &written)
{
	const spec &what = t.what->what;
	std::vector<u8> whole, expected;
	u32 at = ITEM_POSITION, all = 0;

	for (region *reg : t.regions)
		free_regions_.push_back(reg);
	t.regions.clear();
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
				w_.complain("a result of version 1 is cut");
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
		w_.complain("octets of a Reply of version 1 are wrong");
	over(t.what->xid, 0);
	w_.after(1, this, SEND_AGAIN);
}

/* ---- Calls received ---- */

void peer1::serve(received *rv, const lists &l)
{
	const u8 *m = rv->space.data();
	auto c = std::make_shared<call>();
	u32 base = 0, items = 0;
	job *j;

	c->xid = load(m);
	c->generation = generation_;
	c->l = l;
	serving_++;
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
		w_.complain("a Position Zero Read chunk beside a payload");
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

void peer1::execute(const std::shared_ptr<call> &c)
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
			w_.complain("a Read chunk of version 1 is nowhere");
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
		w_.complain("a Call of version 1 that nobody made");
		return;
	}
	fill(expected, what->xid, CALL, what->id, load(&whole[12]),
	     what->what.call_length, what->what.call_item);
	if (whole != expected)
		w_.complain("octets of a Call of version 1 are wrong");
	if (!net_.new_sequence(what->id, load(&whole[12])) &&
	    what->what.sequenced)
		w_.complain("a sequence number comes a second time");
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

void peer1::answer(const std::shared_ptr<call> &c)
{
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
	    (params_.reply_chunk_first || header + rest.size() > threshold_))
		reply_octets = static_cast<u32>(rest.size());
	if (!reply_octets && header + rest.size() > threshold_) {
		w_.complain("a Call of version 1 has no room for its Reply");
		delete j;
		return;
	}

	/* The pages of the Reply, until the device has transmitted them */
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
	if (inv_ok_ && !handles.empty())
		handle = handles[w_.choose.below(
			static_cast<u32>(handles.size()))];

	put_fixed(m, c->xid, params_.credits,
		  reply_octets ? RDMA_NOMSG : RDMA_MSG);
	put_word(m, 0);
	for (u32 i = 0; i < c->l.writes.size(); i++) {
		/* An unused chunk may be returned without segments. */
		const bool none = !placed[i] && w_.choose.below(2);
		const chunk &w = c->l.writes[i];

		put_word(m, 1);
		put_word(m, none ? 0 : static_cast<u32>(w.size()));
		for (const segment &s : w) {
			if (!none)
				put_segment(m, s.handle, s.length, s.offset);
		}
	}
	put_word(m, 0);
	if (c->l.has_reply && (reply_octets || w_.choose.below(2))) {
		const bool none = !reply_octets && w_.choose.below(2);

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
