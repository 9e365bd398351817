// SPDX-License-Identifier: GPL-2.0
/*
 * An endpoint, and a port that defines only the functions that the tests need. A call of
 * another one jumps to address 0. The simulation and the module are complete hosts.
 */
#include <cerrno>

#include <gtest/gtest.h>

#include "endpoint/posting.hh"
#include "fixture.hh"

host *the_host;

extern "C" {

void rpcrdma_port_lock(rpcrdma_ep_core *)
{
	const auto before = std::move(the_host->before_lock);

	the_host->before_lock = nullptr;
	if (before)
		before();
}

void rpcrdma_port_unlock(rpcrdma_ep_core *)
{
}

u32 rpcrdma_port_now_ms(const rpcrdma_ep_core *)
{
	return the_host->now;
}

void rpcrdma_port_arm_stall(rpcrdma_ep_core *core, u32 ms)
{
	/* Only an attempt to get a buffer may precede the time that is set. */
	EXPECT_TRUE(!the_host->stall_ms || core->buffer_watched);
	the_host->stall_ms = ms;
}

void rpcrdma_port_arm_overdue(rpcrdma_ep_core *, u32 ms)
{
	EXPECT_EQ(the_host->overdue_ms, 0u);
	the_host->overdue_ms = ms;
}

void rpcrdma_port_overdue(const rpcrdma_pull_entry *x)
{
	the_host->overdue.push_back(x->xid);
}

bool rpcrdma_port_enter(rpcrdma_ep_core *)
{
	return true;
}

void rpcrdma_port_leave(rpcrdma_ep_core *)
{
}

void rpcrdma_port_count(rpcrdma_ep_core *, rpcrdma_counter)
{
}

void rpcrdma_port_write_space(rpcrdma_ep_core *)
{
	the_host->spaces++;
}

bool rpcrdma_port_post_send(rpcrdma_ep_core *, rpcrdma_send *)
{
	the_host->posted++;
	return true;
}

rpcrdma_send *rpcrdma_port_send(rpcrdma_ep_core *, u32 number)
{
	return &the_host->sends.at(number);
}

void *rpcrdma_port_buffer(rpcrdma_ep_core *, u32 size,
			  enum rpcrdma_buffer_need need, u64 *addr)
{
	if (need == RPCRDMA_BUFFER_NOW && the_host->only_later)
		return nullptr;
	if (size > the_host->largest) {
		if (!the_host->large)
			return nullptr;
		the_host->large--;
	}
	*addr = 0;
	the_host->buffers.push_back(std::make_unique<u8[]>(size));
	return the_host->buffers.back().get();
}

void rpcrdma_port_closing(rpcrdma_ep_core *, const char *reason)
{
	the_host->closing = reason;
}

int rpcrdma_port_make(rpcrdma_ep_core *, const rpcrdma_setup_step *)
{
	return the_host->unresolved;
}

bool rpcrdma_port_network_lost(rpcrdma_ep_core *)
{
	return the_host->network_lost;
}

void rpcrdma_port_wake(rpcrdma_ep_core *)
{
}

int rpcrdma_port_queue_pair(rpcrdma_ep_core *, const rpcrdma_queues *queues,
			    rpcrdma_queue_pair *qp)
{
	if (the_host->refused) {
		the_host->refused--;
		return -ENOMEM;
	}
	*qp = { rpcrdma_queues_send_wrs(queues), the_host->read_sges,
		queues->sges };
	return 0;
}

} // extern "C"

namespace
{

/*
 * A Call is refused because there is no context. Until there is one, control messages have
 * used the credits: their wait has to end, too.
 */
TEST_F(EndpointSends, ARefusedCallDoesNotWaitForCreditsWithoutLimit)
{
	grant(4);
	EXPECT_FALSE(rpcrdma_core_may_call(core.get()));
	EXPECT_EQ(port.stall_ms, 0u);
	send_done(1);
	EXPECT_EQ(port.stall_ms, 0u);
	send_done(2);
	EXPECT_EQ(port.posted, 2u);
	give(SENDS);
	EXPECT_EQ(freed(), 0u);
	EXPECT_EQ(port.stall_ms, 60000u);
	/* The timer is not armed again. */
	EXPECT_EQ(freed(), 0u);
	expire();
	EXPECT_STREQ(port.closing, "the peer does not grant credits");
}

/* When the timer expires, a connection on which nothing waits any more is not closed. */
TEST_F(EndpointSends, AnIdleConnectionIsNotClosed)
{
	EXPECT_EQ(freed(), 0u);
	EXPECT_EQ(port.stall_ms, 0u);

	give(SENDS);
	EXPECT_FALSE(rpcrdma_core_may_call(core.get()));
	EXPECT_EQ(port.stall_ms, 60000u);
	grant(4);
	EXPECT_EQ(freed(), u32{ RPCRDMA_TODO_RETRY });
	grant(0);
	expire();
	EXPECT_EQ(freed(), 0u);
	EXPECT_EQ(port.stall_ms, 0u);
	EXPECT_EQ(port.closing, nullptr);
}

/* After ENETDOWN, sunrpc may end the RPCs of a hard mount. */
TEST_F(Endpoint, OnlyALostNetworkIsDown)
{
	for (int rc :
	     { -ENETDOWN, -ENETUNREACH, -ENODEV, -EADDRNOTAVAIL, -EINVAL }) {
		for (bool lost : { false, true }) {
			*core = {};
			rpcrdma_core_init(core.get());
			core->life.client = true;
			core->control.params = &params;
			port.unresolved = rc;
			port.network_lost = lost;

			const rpcrdma_setup_step end =
				rpcrdma_core_setup(core.get(), 0);

			EXPECT_EQ(end.what, RPCRDMA_SETUP_END);
			EXPECT_EQ(end.status, rc == -EINVAL ? -EINVAL :
					      lost	    ? -ENETDOWN :
							      -ENETUNREACH);
		}
	}
}

/* A buffer is charged as the memory that the host allocates for it. */
TEST_F(Endpoint, AConnectionReservesWhatItsBuffersOccupy)
{
	const rpcrdma_ep_sizes sizes = { 4096, 256, 512, 256, 4096 };
	const struct {
		u32 setting, octets;
	} cases[] = { { 4096, 4096 },	{ 5000, 8192 },	  { 16384, 16384 },
		      { 16385, 20480 }, { 20480, 20480 }, { 65536, 65536 } };
	rpcrdma_quota_account first = {};
	rpcrdma_settings settings = {};
	const rpcrdma_quota all = {};

	settings.svc_max_requests = 64;
	for (const auto &one : cases) {
		rpcrdma_quota_account account = {};

		settings.svc_max_req_size = one.setting;
		rpcrdma_server_params(&settings, &params);
		rpcrdma_core_reserve(&all, &account, &params, &sizes, 4096);
		if (!first.fixed)
			first = account;
		EXPECT_EQ(account.fixed, first.fixed);
		EXPECT_EQ(account.share[RPCRDMA_QUOTA_BUFFERS] -
				  first.share[RPCRDMA_QUOTA_BUFFERS],
			  5 * 2 * u64{ one.octets - 4096 });
	}
	EXPECT_EQ(rpcrdma_buffer_octets(65536, 16385), 32768u);
	EXPECT_EQ(rpcrdma_buffer_octets(65536, 16384), 16384u);
}

/*
 * A device that reads into MRs only has one for each segment that is announced, whatever
 * the settings, if memory is tight, and with shorter queues than requested.
 */
TEST_F(Endpoint, ThereAreMrsForAllAnnouncedSegments)
{
	const rpcrdma_ep_sizes sizes = { 4096, 256, 512, 256, 4096 };
	rpcrdma_settings settings = {};

	settings.svc_max_bc_requests = 16;
	settings.svc_max_req_size = 4096;
	settings.svc_min_version = RPCRDMA_VERS_1;
	settings.svc_max_version = RPCRDMA_VERS_2;
	for (u32 requests : { 4, 64, 16384 })
		for (bool tight : { false, true })
			for (u32 shorter : { 0, 1, 2 })
				for (bool into_mrs : { false, true }) {
					const u32 rcsiz = announced(
						settings, requests, tight,
						shorter, into_mrs, sizes);

					EXPECT_GT(rcsiz, 0u);
					EXPECT_TRUE(rpcrdma_sq_fits(
						&core->sq,
						1 + core->conn.message_mrs));
					if (into_mrs)
						EXPECT_LE(rcsiz,
							  core->rw.pool.mrs);
					else
						EXPECT_EQ(
							rcsiz,
							u32{ RPCRDMA_MAX_SEGS });
				}
}

/*
 * A part of a transfer is one batch of Work Requests, and need not begin at a page. If a
 * device can read into MRs only, its MRs alone bound what it reads.
 */
TEST_F(Endpoint, PartsOfTransfersFitTheDevice)
{
	rpcrdma_device_limits dev = device(false);
	const rpcrdma_ep_rw *rw = &core->rw;
	rpcrdma_settings settings = {};
	u32 written;

	settings.svc_max_requests = 64;
	settings.svc_max_req_size = 4096;
	settings.svc_max_version = RPCRDMA_VERS_2;
	rpcrdma_server_params(&settings, &params);
	port.read_sges = 1;
	set_up(dev);
	written = (rpcrdma_sq_part_pages(&core->sq, 4) - 1) << 12;
	EXPECT_GT(written, 4096u);
	EXPECT_EQ(rw->write_part, written);
	EXPECT_EQ(rw->read_part, (rpcrdma_sq_part_pages(&core->sq, 1) - 1)
					 << 12);
	EXPECT_LT(rw->read_part, rw->write_part);
	EXPECT_FALSE(rw->reads_into_mrs);
	/* Large pages, or many elements, do not exceed a chunk. */
	dev.page_shift = 16;
	port.read_sges = 32;
	set_up(dev);
	EXPECT_EQ(rw->read_part, u32{ RPCRDMA_MAX_CHUNK_OCTETS });
	dev.page_shift = 12;
	port.read_sges = 1;
	dev.queues.read_mrs = 1;
	set_up(dev);
	EXPECT_TRUE(rw->reads_into_mrs);
	EXPECT_EQ(rw->limits.octets, rw->read_part);
	EXPECT_EQ(rw->limits.pages, 256u);
	EXPECT_EQ(rw->pool.pages, 256u);
	EXPECT_EQ(core->conn.cfg.props.rcsiz, u32{ RPCRDMA_MAX_SEGS });
	dev.reads_into_mrs = true;
	set_up(dev);
	EXPECT_EQ(rw->limits.octets, u32{ RPCRDMA_MAX_CHUNK_OCTETS });
	EXPECT_EQ(rw->write_part, written);
}

/* A device that transmits large Sends from their buffers reports when it has done so. */
TEST_F(Endpoint, SendsByReferenceAreSignaled)
{
	rpcrdma_device_limits dev = device(true);
	rpcrdma_settings settings = {};

	settings.svc_max_requests = 64;
	settings.svc_max_req_size = 4096;
	settings.svc_max_version = RPCRDMA_VERS_2;
	rpcrdma_server_params(&settings, &params);
	set_up(dev);
	EXPECT_EQ(core->signal_threshold, RPCRDMA_SIGNAL_BY_QUEUE);
	dev.refers = true;
	set_up(dev);
	EXPECT_EQ(core->signal_threshold, 4096u);
}

/* A server's end that exposes Replies without MRs */
class EndpointExposes : public EndpointSends
{
protected:
	static constexpr u32 DONE_MS = 30000;

	EndpointExposes()
	{
		core->conn.cfg.expose_octets = 1 << 20;
		core->conn.cfg.done_ms = DONE_MS;
	}

	void expose(rpcrdma_pull_entry &x, u32 xid)
	{
		rpcrdma_reply_plan plan = {};

		plan.read_length = 4096;
		x = {};
		x.core = core.get();
		x.mrs.next = x.mrs.prev = &x.mrs;
		x.release = [](rpcrdma_pull_entry *) {
		};
		ASSERT_EQ(rpcrdma_pull_reserve(&core->conn, &x, xid, &plan), 0);
		rpcrdma::expose_reply(core.get(), &x);
	}

	/* Let the timer expire. Nothing happens before that. */
	void overdue()
	{
		ASSERT_NE(port.overdue_ms, 0u);
		port.now += port.overdue_ms;
		port.overdue_ms = 0;
		rpcrdma_core_exposed_overdue(core.get());
	}
};

/*
 * Other Replies are sent while the timer expires, before it is armed again. They are due
 * later than the one that is already exposed.
 */
TEST_F(EndpointExposes, NoReplyIsExposedForLonger)
{
	rpcrdma_pull_entry first, second, third, fourth;

	expose(first, 1);
	EXPECT_EQ(port.overdue_ms, DONE_MS);
	port.now += 1000;
	port.overdue_ms -= 1000;
	expose(second, 2);
	rpcrdma_pull_cancel(&core->conn, &first);

	port.before_lock = [&] {
		expose(third, 3);
	};
	overdue();
	EXPECT_TRUE(port.overdue.empty());
	EXPECT_EQ(port.overdue_ms, 1000u);

	/* While an exposure is ended, the lock is free. */
	port.before_lock = [&] {
		port.before_lock = [&] {
			expose(fourth, 4);
		};
	};
	overdue();
	EXPECT_EQ(port.overdue, std::vector<u32>{ 2 });
	EXPECT_EQ(port.overdue_ms, DONE_MS - 1000);

	overdue();
	overdue();
	EXPECT_EQ(port.overdue, (std::vector<u32>{ 2, 3, 4 }));
	/* The timer is armed again after it was not needed. */
	EXPECT_EQ(port.overdue_ms, 0u);
	expose(first, 1);
	EXPECT_EQ(port.overdue_ms, DONE_MS);
}

} // namespace
