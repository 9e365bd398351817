# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: recipes in the network between the hosts.
# shellcheck shell=bash disable=SC2034,SC2046,SC2086,SC2119,SC2154

# Packets are lost, overtake others, or arrive late. Operations are slow, but none fails.
work_lossy()
{
	load_begin 600
	impair server "$@"
	impair client "$@"
	goes_on 30
	heal
	goes_on 300
	load_stop
}

# partition SIDE...: drop all packets that leave these hosts, for longer than the device retries.
# After that, the load continues.
work_partition()
{
	local side before
	before=$(connects)
	load_begin 600
	for side in "$@"; do
		impair $side loss 100%
	done
	wait_for 60 no_transport
	heal
	reconnected $before
	goes_on 300
	load_stop 1
}

no_transport() { [ -z "$(client_transports)" ]; }

# Both hosts on the VLAN 7 of the same devices
vlan_mount()
{
	local v
	modprobe 8021q
	ip link add link d0 name d0.7 type vlan id 7
	ip -n $NETNS link add link c0 name c0.7 type vlan id 7
	ip addr add 203.0.113.1/24 dev d0.7
	ip -n $NETNS addr add 203.0.113.2/24 dev c0.7
	ip link set d0.7 up
	ip -n $NETNS link set c0.7 up
	for v in 3 4.2; do
		HOST=203.0.113.1 mounted $v work_many
	done
	ip link del d0.7
	ip -n $NETNS link del c0.7
}

# The link-local address, followed by the name of the client's device
link_local()
{
	local addr
	addr=$(ip -6 -o addr show dev d0 scope link | grep -oE 'fe80[^/]*' | head -n 1)
	HOST=[$addr%c0] mounted 4.2 work_many
	HOST=[$addr%c0] mounted 3 work_many
	HOST=[$ADDR6] mounted 4.2 work_many
}

# Print the number of packets that the server's queueing discipline has dropped.
lost() { tc -s qdisc show dev d0 | sed -n 's/.*dropped \([0-9]*\).*/\1/p' | head -n 1; }
lost_more() { [ "$(lost)" -gt $1 ]; }

# All packets are lost, for a shorter time than the device retries.
work_cut()
{
	local i before
	load_begin 600
	for i in 1 2 3; do
		before=$(lost)
		impair server loss 100%
		wait_for 60 lost_more $((before + 3))
		heal
		goes_on 50
	done
	load_stop
}

# The server's address gets another MAC address. The kernel announces it only if "arp_notify" is
# set.
work_mac()
{
	local i
	sysctl -qw net.ipv4.conf.d0.arp_notify=$1
	load_begin 600
	for i in 1 2; do
		ip link set d0 address 02:00:00:00:00:9$i
		goes_on 300
	done
	ip link set d0 address $MAC
	goes_on 300
	load_stop
}

# The server's address moves to another device, as to another node. Then it moves back to a new
# device: soft-RoCE never sends again for the connection manager from a device on which the
# address was missing.
work_moves()
{
	local from=d0 to=d1 before link
	ip link add d1 type veth peer name c1 netns $NETNS
	ip link set d1 mtu 4200 up
	ip -n $NETNS link set c1 mtu 4200 up
	ip -n $NETNS addr add 198.51.100.3/24 dev c1
	rdma link add rxe1 type rxe netdev d1
	client rdma link add rxed type rxe netdev c1
	load_begin 600
	for link in c1 c0; do
		before=$(connects)
		ip addr del $ADDR4/24 dev $from
		ip addr add $ADDR4/24 dev $to
		ip -n $NETNS route replace $ADDR4/32 dev $link
		reconnected $before
		goes_on 300
		if [ $from = d0 ]; then
			rdma_del
			rdma_add
		fi
		from=d1 to=d0
	done
	load_stop 2
	ip -n $NETNS route del $ADDR4/32
	rdma link delete rxe1
	rdma link delete rxed
	ip link del d1
}

# The link's MTU changes: the next connection has another path MTU.
work_mtu()
{
	local mtu
	load_begin 600
	for mtu in 1500 9000 1280 4200; do
		ip link set d0 mtu $mtu
		ip -n $NETNS link set c0 mtu $mtu
		drop_once
		goes_on 100
	done
	load_stop 4
}

# Active-backup bonding on both hosts, over two links each
bonds_up()
{
	local i
	modprobe bonding
	ip link add bs type bond mode active-backup miimon 100
	ip -n $NETNS link add bc type bond mode active-backup miimon 100
	for i in 1 2; do
		ip link add s$i type veth peer name k$i netns $NETNS
		ip link set s$i master bs
		ip -n $NETNS link set k$i master bc
	done
	ip link set bs up
	ip -n $NETNS link set bc up
	ip addr add 203.0.113.1/24 dev bs
	ip -n $NETNS addr add 203.0.113.2/24 dev bc
	rdma link add rxeb type rxe netdev bs
	client rdma link add rxek type rxe netdev bc
}

bonds_active()
{
	ip link set bs type bond active_slave s$1
	ip -n $NETNS link set bc type bond active_slave k$1
}

bonding()
{
	local v
	bonds_up
	bonds_active 1
	for v in 3 4.2; do
		HOST=203.0.113.1 mounted $v work_failover
	done
	rdma link delete rxeb
	rdma link delete rxek
	ip link del bs
	ip -n $NETNS link del bc
	ip link del s1
	ip link del s2
}

# The other links become active, under load; a new mount works after each change.
work_failover()
{
	local i
	load_begin 600
	for i in 2 1; do
		bonds_active $i
		goes_on 200
		do_mount 4.1 /mnt-other
		umount /mnt-other
	done
	load_stop
}

# Mounts of addresses that no host has fail; a mount succeeds if its address appears while it
# tries.
unanswered()
{
	local i pids=() started=$SECONDS
	count_resources
	for ((i = 0; i < 4; i++)); do
		mkdir -p /mnt-none$i
		(HOST=198.51.100.$((100 + i)) do_mount 4.2 /mnt-none$i retry=0 2>/tmp/none$i) &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		! wait $i || complain "a mount without a server succeeded"
	done
	for ((i = 0; i < 4; i++)); do
		[ -s /tmp/none$i ] || complain "a mount without a server did not end by itself"
	done
	sort /tmp/none* | sed 's/198[.0-9]*//' | uniq -c
	echo "all ended after $((SECONDS - started)) s"
	settle
	rmdir /mnt-none*
	HOST=198.51.100.200 do_mount 4.2 $MNT retry=2 &
	i=$!
	wait_for 20 unresolved 198.51.100.200
	ip addr add 198.51.100.200/24 dev d0
	wait $i || complain "the mount did not succeed after its server's address was added"
	[ -e $MNT/hello ] || ls $MNT >/dev/null
	umount_works
	ip addr del 198.51.100.200/24 dev d0
	settle
}

# A client is killed while its mount waits for an address that no host has.
unanswered_killed()
{
	local pid
	count_resources
	mkdir -p /mnt-none
	nsenter --net=/run/netns/$NETNS mount -t nfs -o vers=4.2,proto=rdma,port=$PORT 198.51.100.99:/ /mnt-none &
	pid=$!
	wait_for 20 unresolved 198.51.100.99
	pkill -KILL -f 198.51.100.99:/
	! wait $pid || complain "a mount without a server succeeded"
	settle
	rmdir /mnt-none
}
