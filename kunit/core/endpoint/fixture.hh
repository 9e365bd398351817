/* SPDX-License-Identifier: GPL-2.0 */
/* An endpoint and its host, for the tests in this folder */
#ifndef CORE_ENDPOINT_FIXTURE_HH
#define CORE_ENDPOINT_FIXTURE_HH

#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/endpoint_control.h>
#include <rpcrdma/endpoint_rpc.h>
#include <rpcrdma/endpoint_send.h>
#include <rpcrdma/quota.h>
#include <rpcrdma/settings.h>

/* The host of the one endpoint of a test */
struct host {
	u32 now = 1000;
	u32 stall_ms = 0;	  /* time for which the stall timer is armed */
	u32 overdue_ms = 0;	  /* time of the timer for exposed Replies */
	std::vector<u32> overdue; /* xids of Replies that were not pulled */
	/* called once, before the lock is acquired, as another thread */
	std::function<void()> before_lock;
	/* called when a Receive is released */
	std::function<void()> put = [] {
	};
	u32 spaces = 0; /* calls of rpcrdma_port_write_space() */
	u32 posted = 0; /* Sends */
	const char *closing = nullptr;
	int unresolved = 0; /* errno of the resolution of an address */
	bool network_lost = false;
	u32 refused = 0;   /* queue pairs that the device cannot create */
	u32 read_sges = 4; /* elements of a Read */
	/* Buffers larger than @largest of which there are no more than @large */
	u32 largest = ~0u, large = 0;
	bool only_later = false; /* no buffer without sleeping */
	std::vector<rpcrdma_send> sends = std::vector<rpcrdma_send>(256);
	std::vector<std::unique_ptr<u8[]>> buffers;
};

extern host *the_host;

class Endpoint : public testing::Test
{
protected:
	Endpoint() : params{}, core(std::make_unique<rpcrdma_ep_core>())
	{
		the_host = &port;
		rpcrdma_core_init(core.get());
		core->control.params = &params;
	}

	static rpcrdma_device_limits device(bool into_mrs)
	{
		rpcrdma_device_limits dev = {};

		dev.queues = { 16384, 65536, into_mrs, 4 };
		dev.reads_in = dev.reads_out = 16;
		dev.max_segs = RPCRDMA_MAX_SEGS;
		dev.max_segment = 1 << 20;
		dev.page_shift = 12;
		dev.read_pages = 256;
		dev.registers = dev.invalidates = true;
		dev.reads_into_mrs = into_mrs;
		return dev;
	}

	/* Set up an end with @params and the device @dev. */
	void set_up(const rpcrdma_device_limits &dev)
	{
		rpcrdma_queues queues;

		*core = {};
		rpcrdma_core_init(core.get());
		core->control.params = &params;
		core->control.number = 1;
		EXPECT_EQ(rpcrdma_core_configure(core.get(), &dev, &queues), 0);
		EXPECT_EQ(rpcrdma_core_queue_pair(core.get(), &dev, &queues),
			  0);
	}

	/* Set up a server's end. Return the segments that it announces. */
	u32 announced(rpcrdma_settings settings, u32 requests, bool tight,
		      u32 shorter, bool into_mrs, const rpcrdma_ep_sizes &sizes)
	{
		rpcrdma_quota all = {};
		rpcrdma_quota_account account = {};

		settings.svc_max_requests = requests;
		rpcrdma_server_params(&settings, &params);
		all.tight = tight;
		rpcrdma_core_reserve(&all, &account, &params, &sizes, 4096);
		port.refused = shorter;
		set_up(device(into_mrs));
		return core->conn.cfg.props.rcsiz;
	}

	host port;
	rpcrdma_ep_params params;
	std::unique_ptr<rpcrdma_ep_core> core;
};

/* A client's endpoint after the exchange of properties */
class EndpointSends : public Endpoint
{
protected:
	static constexpr u32 SENDS = 32, SENT = 100;

	EndpointSends() : control(RPCRDMA_CONTROL_BUFS)
	{
		rpcrdma_conn_config cfg = {};
		rpcrdma_conn &conn = core->conn;

		core->life.client = true;
		core->life.stage = RPCRDMA_STAGE_OPEN;
		core->life.may_send = true;
		cfg.number = 1;
		cfg.client = true;
		cfg.version_low = RPCRDMA_VERS_1;
		cfg.version_high = RPCRDMA_VERS_2;
		cfg.window = 64;
		rpcrdma_conn_init(&conn, &cfg);
		conn.state = RPCRDMA_CONN_OPEN;
		conn.version = RPCRDMA_VERS_2;
		conn.props_sent = conn.props_begun = conn.props_received = 1;
		conn.answered = 1;
		conn.posted = 200;
		conn.received = SENT;
		conn.advertised = conn.posted - 1;
		conn.receives = 66;
		conn.sent = conn.last_nongrant = SENT;
		conn.acked = SENT;
		rpcrdma_sq_init(&core->sq, 256, SENDS, 2, ~0u);
		core->control_bufs = control.data();
		core->nr_sends = 64;
		core->signal_threshold = RPCRDMA_SIGNAL_BY_QUEUE;
		give(RPCRDMA_CONTROL_SENDS);
	}

	/* Grant @messages credits of the peer. */
	void grant(u32 messages)
	{
		core->conn.limit = core->conn.sent + messages;
	}

	void give(u32 contexts)
	{
		while (contexts--)
			rpcrdma_sq_give(&core->sq);
	}

	/* Contexts have become free. Return the actions. */
	u32 freed()
	{
		rpcrdma_core_freed(core.get());
		return rpcrdma_core_take_todo(core.get());
	}

	void send_done(u32 xid)
	{
		rpcrdma_core_events(core.get(), rpcrdma_conn_queue_done(
							&core->conn, xid, 0));
	}

	/* The stall timer expires. */
	void expire()
	{
		port.now += port.stall_ms;
		port.stall_ms = 0;
		rpcrdma_core_stall_expired(core.get());
	}

	std::vector<u8> control;
};

#endif /* CORE_ENDPOINT_FIXTURE_HH */
