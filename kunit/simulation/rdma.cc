// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers on the model of a device: their part of the port, and the
 * counterpart of verbs/rw.c. A device transfers a few pages in each Work
 * Request. Some devices read only into MRs, of which there are few, and each of
 * which may hold less than was reported.
 */
#include <cerrno>

#include <transfer_end.h>

#include "endpoint.hh"

namespace simulation
{

/* ---- Entries ---- */

transfer *endpoint::new_transfer(op what)
{
	transfer *t;

	if (!enter())
		return nullptr;
	t = new transfer{};
	live_++;
	t->ep = this;
	t->work.chain = &t->chain;
	t->chain.of = &t->work;
	t->work.done = rpcrdma_core_transfer_done;
	rpcrdma_core_transfer_begin(this, t, what == op::read);
	if (t->claim.reads && rw.pool.waiting && !t->claim.waits)
		w_.complain("a transfer overtakes waiting ones");
	return t;
}

int endpoint::add_transfer(transfer *t, const rpcrdma_lists &lists,
			   const rpcrdma_chunk &chunk, u32 chunk_offset,
			   memory &mem, u32 at, u32 length)
{
	/* Two extents, if there is more than a page, as an xdr_buf has several */
	const u32 first = std::min(length, params.page_octets() - in_page(at));
	const rpcrdma_extent ext[] = {
		extent_of(mem, at, first),
		extent_of(mem, at + first, length - first),
	};
	rpcrdma_extent_pos pos{ ext, first < length ? 2u : 1u, 0 };
	const int rc = rpcrdma_core_transfer_add(t, &pos, &lists, &chunk,
						 chunk_offset, length);

	if (rc && rc != -ENOMEM)
		w_.complain("a transfer cannot be built");
	return rc;
}

transfer *endpoint::only_part(transfer *t, const rpcrdma_segment &segment,
			      memory &mem, u32 at)
{
	const rpcrdma_extent ext = extent_of(mem, at, segment.length);
	const rpcrdma_extent_pos pos{ &ext, 1, 0 };
	const u32 pages =
		rpcrdma_extent_pages(&pos, segment.length, params.page_shift);
	transfer_part *part = nullptr;

	if (new_part(t, pos, pages, segment, false, &part)) {
		drop_transfer(t);
		return nullptr;
	}
	rpcrdma_transfer_only(t, part);
	return t;
}

void endpoint::read(transfer *t)
{
	rpcrdma_core_transfer_post(t);
}

void endpoint::drop_transfer(transfer *t)
{
	rpcrdma_core_transfer_end(t, false);
}

/* ---- Parts ---- */

/* The connection may close while a transfer is being prepared. */
void endpoint::disturb()
{
	if (is_open() && w_.fault(1))
		close(nullptr);
}

int endpoint::new_part(transfer *t, const rpcrdma_extent_pos &pos, u32 pages,
		       const rpcrdma_segment &segment, bool now,
		       transfer_part **part)
{
	auto *mem = static_cast<memory *>(pos.ext->pages);
	const u32 from = pos.ext->offset + pos.done;
	int rc = 0;

	disturb();
	if (!segment.length || from + segment.length > mem->octets.size())
		w_.complain("a part is beyond its memory");
	if (w_.fault(2))
		return -ENOMEM;

	auto *p = new transfer_part{};

	live_++;
	p->elements = pages;
	p->whole = { t->claim.reads ? op::read : op::write,
		     nullptr,
		     segment.handle,
		     segment.offset,
		     mem,
		     from,
		     segment.length };
	if (now)
		rc = prepare(t, p);
	if (rc == -ERANGE) {
		w_.sum.split_finer++;
		live_--;
		delete p;
		return rc;
	}
	*part = p;
	return rc;
}

/* Return the number of Work Requests or a negative errno. */
int endpoint::prepare(transfer *t, transfer_part *p)
{
	disturb();
	if (p->holds || p->wrs)
		w_.complain("a part is prepared twice");
	if (w_.fault(1)) {
		due_[RPCRDMA_COUNT_MAP_FAILURES]++;
		return -ENOMEM;
	}
	if (!t->claim.reads || !params.read_into)
		return static_cast<int>((p->elements + params.sges - 1) /
					params.sges);
	if (p->elements > params.read_holds) {
		/*
		 * If a transfer that has waited gets this failure, the
		 * connection closes.
		 */
		w_.trouble |= t->claim.waits;
		return -ERANGE;
	}
	if (!free_read_mrs_)
		return -EAGAIN;
	free_read_mrs_--;
	p->holds = true;
	return 1;
}

void endpoint::unprepare(transfer_part *p)
{
	free_read_mrs_ += p->holds;
	p->holds = false;
	p->posted = false;
}

/*
 * Append the Work Requests of the parts after @from, up to and including @to.
 */
void endpoint::chain(const transfer *t, list_head *from, const list_head *to,
		     std::vector<request> *requests)
{
	if (!t->ended && !t->call)
		w_.complain("a transfer is posted that holds no memory");
	while (from != to) {
		from = from->next;

		auto *p = static_cast<transfer_part *>(
			rpcrdma::list_object<rpcrdma_transfer_part>(from));
		const u32 most = p->holds ? p->whole.length :
					    params.sges * params.page_octets();
		request r = p->whole;
		u32 left = r.length;

		if (from == &t->parts) {
			w_.complain("a batch beyond its transfer");
			return;
		}
		if (p->posted)
			w_.complain("a part is posted twice");
		if (!p->wrs ||
		    (t->claim.reads && params.read_into && !p->holds))
			w_.complain("a part is posted that is not prepared");
		p->posted = true;
		for (; left; left -= r.length) {
			/* A Work Request ends at the end of a page. */
			const u32 room =
				most -
				(p->holds ? 0 : r.at % params.page_octets());

			r.length = std::min(left, room);
			requests->push_back(r);
			r.offset += r.length;
			r.at += r.length;
		}
	}
}

bool endpoint::post_batch(transfer *t)
{
	rpcrdma_work *w = &t->work;

	if (w->wrs.nr > rpcrdma_sq_max_batch_wrs(&sq))
		w_.complain("a batch is too long");
	if (t->posted == &t->parts && t->waited && t->waited < reads_posted_)
		w_.complain("a transfer overtakes one that waits longer");
	reads_posted_ = std::max(reads_posted_, t->waited);
	w->chain->requests.clear();
	chain(t, t->posted, t->batch, &w->chain->requests);
	w_.sum.behind += t->reply && t->posted == &t->parts;
	if (t->left)
		w_.sum.turns++;
	return submit(w->chain, *w);
}

void endpoint::end_parts(transfer *t, bool ok)
{
	while (!list_is_empty(&t->parts)) {
		auto *p = static_cast<transfer_part *>(
			list_first<rpcrdma_transfer_part>(&t->parts));

		if (ok && !p->posted)
			w_.complain("a transfer ends before all is posted");
		if (t->chain.pending && !life.unstopped)
			w_.complain("a transfer ends while it is posted");
		if (p->wrs)
			unprepare(p);
		else if (p->holds)
			w_.complain("a part holds an MR that is not counted");
		list_remove(&p->list);
		live_--;
		delete p;
	}
	if (t->ended)
		t->ended(ok);
}

void endpoint::free_transfer(transfer *t)
{
	if (!list_is_empty(&t->parts))
		w_.complain("a transfer is freed with its parts");
	live_--;
	delete t;
	leave();
}

/* Some transfers wait for MRs. Number those that have just begun to. */
void endpoint::wake_reads()
{
	for (list_head *at = rw.waiting.next; at != &rw.waiting;
	     at = at->next) {
		auto *t = static_cast<transfer *>(
			reinterpret_cast<rpcrdma_transfer *>(at));

		if (t->waited)
			continue;
		w_.sum.reads_waited++;
		t->waited = ++reads_waited_;
		wait_in_queue();
	}
	if (reads_tried_)
		return;
	reads_tried_ = true;
	w_.after(w_.delay(5), this, READS);
}

} // namespace simulation

using namespace simulation;

static transfer *own(rpcrdma_transfer *t)
{
	return static_cast<transfer *>(t);
}

int rpcrdma_port_part(struct rpcrdma_transfer *t,
		      const struct rpcrdma_extent_pos *pos, u32 pages,
		      const struct rpcrdma_segment *segment, bool prepare,
		      struct rpcrdma_transfer_part **part)
{
	transfer_part *p = nullptr;
	const int rc = of(t->core).new_part(own(t), *pos, pages, *segment,
					    prepare, &p);

	*part = p;
	return rc;
}

int rpcrdma_port_prepare(struct rpcrdma_transfer *t,
			 struct rpcrdma_transfer_part *part)
{
	return of(t->core).prepare(own(t), static_cast<transfer_part *>(part));
}

void rpcrdma_port_unprepare(struct rpcrdma_transfer *t,
			    struct rpcrdma_transfer_part *part)
{
	of(t->core).unprepare(static_cast<transfer_part *>(part));
}

bool rpcrdma_port_post_batch(struct rpcrdma_ep_core *core,
			     struct rpcrdma_transfer *t)
{
	return of(core).post_batch(own(t));
}

void rpcrdma_port_transfer_ended(struct rpcrdma_transfer *t, bool ok)
{
	of(t->core).end_parts(own(t), ok);
}

void rpcrdma_port_transfer_free(struct rpcrdma_transfer *t)
{
	of(t->core).free_transfer(own(t));
}

void rpcrdma_port_wake_reads(struct rpcrdma_ep_core *core)
{
	of(core).wake_reads();
}
