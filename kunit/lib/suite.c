// SPDX-License-Identifier: GPL-2.0
/* Suites and their fixtures: a device, and a listener at its address */
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../module/suites.h"
#include "pair.h"

struct sockaddr_in loop_addr;
bool loop_iwarp;
struct memdev *loop_memdev;

/* Find the address of a network device with an RDMA device of the wanted kind. */
static bool loop_find_address(void)
{
	const struct in_ifaddr *ifa;
	struct net_device *ndev;
	struct ib_device *dev;
	struct in_device *in;

	loop_addr.sin_family = 0;
	rtnl_lock();
	for_each_netdev(&init_net, ndev) {
		dev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
		if (!dev)
			continue;
		ib_device_put(dev);
		if (loop_memdev ? dev != memdev_ib(loop_memdev) :
				  !!memdev_find(ndev->name))
			continue;
		loop_iwarp = rdma_protocol_iwarp(dev, 1);
		in = __in_dev_get_rtnl(ndev);
		ifa = in ? rtnl_dereference(in->ifa_list) : NULL;
		if (!ifa)
			continue;
		loop_addr.sin_family = AF_INET;
		loop_addr.sin_addr.s_addr = ifa->ifa_local;
		break;
	}
	rtnl_unlock();
	return loop_addr.sin_family == AF_INET;
}

int loop_mem_suite_init(struct kunit_suite *suite)
{
	struct memdev *md = memdev_find("mem0");
	int rc;

	/* Recreate the device if a suite has removed it. */
	if (!md)
		md = memdev_add("mem0");
	if (IS_ERR(md)) {
		pr_err("rpcrdma_loopback_test: the device in memory needs a network device mem0 with an IPv4 address\n");
		return PTR_ERR(md);
	}
	loop_memdev = md;
	loop_mem_maps = atomic_read(&memdev_counts(md)->maps);
	rc = loop_suite_init(suite);
	if (rc)
		loop_memdev = NULL;
	return rc;
}

int loop_suite_init(struct kunit_suite *suite)
{
	/*
	 * Fail without a device, because a pass without any test would be misleading.
	 */
	if (!loop_find_address()) {
		pr_err("rpcrdma_loopback_test: no RDMA device with an IPv4 address; create one first, for example rxe on a dummy netdev\n");
		return -ENODEV;
	}
	return rpcrdma_ep_init();
}

void loop_suite_exit(struct kunit_suite *suite)
{
	if (rpcrdma_wq)
		rpcrdma_ep_exit();
	rpcrdma_wq = NULL;
	loop_memdev = NULL;
}

struct loop_pair *loop_pair_new(struct kunit *test)
{
	struct loop_pair *pair;

	pair = kunit_kzalloc(test, sizeof(*pair), GFP_KERNEL);
	if (!pair)
		return ERR_PTR(-ENOMEM);
	pair->client_params = (struct rpcrdma_ep_params){
		.window		= 16,
		.reverse	= 4,
		.sends		= 16,
		.send_size	= 4096,
		.recv_size	= 4096,
		.reassembly	= 262144,
		.max_mrs	= 64,
		.reads		= 48,
		.brs		= RDMA2_RVRSDIR_GENL,
		.version_low	= RPCRDMA_VERS_2,
		.version_high	= RPCRDMA_VERS_2,
	};
	pair->server_params = pair->client_params;
	pair->server_params.sends = 64;
	pair->server_params.reads = 64;
	mutex_init(&pair->lock);
	loop_side_init(&pair->client, 0x1000);
	loop_side_init(&pair->server, 0x80001000);
	pair->listener = rpcrdma_listen(&init_net,
					(struct sockaddr *)&loop_addr,
					loop_incoming, pair);
	return IS_ERR(pair->listener) ? ERR_CAST(pair->listener) : pair;
}

int loop_test_init(struct kunit *test)
{
	struct loop_pair *pair;

	loop_test_begin();
	pair = loop_pair_new(test);
	if (IS_ERR(pair))
		return PTR_ERR(pair);
	test->priv = pair;
	return 0;
}

void loop_test_exit(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	if (!pair)
		return;
	loop_fail_at(0);
	rpcrdma_listener_destroy(pair->listener);
	loop_disconnect(test, pair);
}

MODULE_DESCRIPTION("KUnit tests of the RPC-over-RDMA endpoint and transports");
MODULE_LICENSE("GPL");
