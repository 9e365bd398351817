# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: mounts in a network namespace, as in containers. By default their RPCs
# fail if the network is lost (fatal_neterrors), unlike those of mounts outside.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119,SC2154

# The server's address does not resolve for a while.
work_address_gone()
{
	local before
	before=$(connects)
	load_begin 600
	# The server keeps the address: soft-RoCE never sends again for the connection manager
	# after a packet from an address that does not exist.
	ip link set d0 arp off
	impair server loss 100%
	wait_for 60 no_transport
	ip -n $NETNS neigh flush dev c0
	heal
	wait_for 60 unresolved $ADDR4
	ip link set d0 arp on
	reconnected $before
	goes_on 300
	load_stop 1
}

# Return 0 if the client requests the hardware address of $1, which no host answers.
unresolved() { ip -n $NETNS neigh show to $1 | grep -qE 'INCOMPLETE|FAILED'; }

# Print how often transports have begun to connect.
tries() { grep -c ' xprt_connect: ' $TRACE/trace || true; }
tried_more() { [ "$(tries)" -gt $1 ]; }

# work_taken device|address|link: remove the client's device under load, with its address or its
# link, and restore it after attempts to connect. The device is removed in each case, because
# soft-RoCE never sends again for the connection manager after a packet from an address that
# does not exist.
work_taken()
{
	local before
	before=$(connects)
	load_begin 600
	case $1 in
	address) ip -n $NETNS addr del $CLIENT4/24 dev c0 ;;
	link) ip -n $NETNS link set c0 down ;;
	esac
	client_device_del
	wait_for 60 no_transport
	echo >$TRACE/trace
	echo 1 >$TRACE/events/sunrpc/xprt_connect/enable
	wait_for 60 tried_more 1
	echo 0 >$TRACE/events/sunrpc/xprt_connect/enable
	case $1 in
	address) ip -n $NETNS addr add $CLIENT4/24 dev c0 ;;
	link) ip -n $NETNS link set c0 up ;;
	esac
	client_device_add
	reconnected $before
	goes_on 300
	load_stop 1
}

# ended VERS...: a container's network ends with its last device. The operations of its hard
# mount fail, and it can be unmounted.
ended()
{
	local v pid
	for v in "$@"; do
		ip netns add e
		ip link add d2 type veth peer name c2 netns e
		ip link set d2 mtu 4200 up
		ip -n e link set c2 mtu 4200 up
		ip addr add 203.0.113.1/24 dev d2
		ip -n e addr add 203.0.113.2/24 dev c2
		rdma link add rxe2 type rxe netdev d2
		nsenter --net=/run/netns/e rdma link add rxee type rxe netdev c2
		NETNS=e HOST=203.0.113.1 do_mount $v /mnt-ended
		"$NFSIO" burn /mnt-ended/burn 2>/tmp/ended &
		pid=$!
		wait_for 60 test -s $EXPORT/burn
		ip link del d2
		! wait $pid || complain "work continued without a network"
		cat /tmp/ended
		grep -qE 'Network is down|Input/output error' /tmp/ended
		timeout $((60 * TIMEOUT_SCALE)) umount /mnt-ended
		rm $EXPORT/burn
		ip netns del e
	done
	settle
}
