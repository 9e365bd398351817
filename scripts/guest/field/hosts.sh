# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: two hosts in one guest, on kernels in which soft-RoCE is available in
# every network namespace (7.x). nfsd is in the initial namespace, on the device of $ADDR4. The
# client is in the namespace $NETNS, on the other end of a pair of Ethernet devices, so that
# packets can be lost and addresses can move.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119

NETNS=c
ADDR4=198.51.100.1
ADDR6=2001:db8:1::1
CLIENT4=198.51.100.2
CLIENT6=2001:db8:1::2
# The sysfs of the namespace, with the transports of its mounts
SYSFS=/run/sys-$NETNS

# client COMMAND...: run it in the client's namespace. (A mount made by "ip netns exec" would
# end with that command.)
client()
{
	nsenter --net=/run/netns/$NETNS "$@"
}

# client_begin COMMAND...: run it there in the background, and set CLIENT_PID to its process
client_begin()
{
	nsenter --net=/run/netns/$NETNS "$@" &
	CLIENT_PID=$!
}

# The devices are d0 with rxe0 at the server, and c0 with rxec at the client.
hosts_up()
{
	modprobe veth
	modprobe rdma_rxe
	ip netns add $NETNS
	ip link add d0 type veth peer name c0 netns $NETNS
	MAC=$(cat /sys/class/net/d0/address)
	ip link set d0 mtu 4200 up
	ip -n $NETNS link set lo up
	ip -n $NETNS link set c0 mtu 4200 up
	ip addr add $ADDR4/24 dev d0
	ip -6 addr add $ADDR6/64 dev d0 nodad
	ip -n $NETNS addr add $CLIENT4/24 dev c0
	ip -n $NETNS -6 addr add $CLIENT6/64 dev c0 nodad
	link_quality add server
	link_quality add client
	# An address that does not answer, or a changed hardware address, is detected within a
	# second.
	client sysctl -qw net.ipv4.neigh.c0.retrans_time_ms=200 \
		net.ipv4.neigh.c0.delay_first_probe_time=1 net.ipv4.neigh.c0.base_reachable_time_ms=1000
	rdma_add
	client_device_add
	mkdir -p $SYSFS
	client mount -t sysfs sysfs $SYSFS
}

client_device_add()
{
	client rdma link add rxec type rxe netdev c0
}

client_device_del()
{
	rdma link delete rxec
}

# Set a separate host name, so that nfsd distinguishes the client from mounts outside the
# namespace.
client_named()
{
	echo $NETNS >$SYSFS/fs/nfs/net/nfs_client/identifier
}

# link_quality add|change HOST [NETEM...]: impair packets that leave HOST (server, client). The
# queueing discipline exists from the beginning to the end: while it is replaced, or when it is
# full, packets are refused. After the first refused packet of the connection manager, queue
# pair 1 of the soft-RoCE device stays in the error state, and sends nothing more.
link_quality()
{
	local verb=$1 host=$2
	shift 2
	case $host in
	server) tc qdisc $verb dev d0 root netem limit 100000 "$@" ;;
	client) client tc qdisc $verb dev c0 root netem limit 100000 "$@" ;;
	esac
}

# impair HOST NETEM...
impair()
{
	link_quality change "$@"
}

heal()
{
	impair server
	impair client
}

# mounted VERS[,OPTION...] COMMAND...: run it with $MNT mounted, unmount, and check that no object
# of the connection is left
mounted()
{
	local how=$1 opts=
	shift
	[[ $how != *,* ]] || opts=${how#*,}
	count_resources
	mount_works ${how%%,*} $opts
	"$@"
	umount_works
	settle
}

# Return 0 if no message was sent or received for a second.
quiet()
{
	local before
	before=$(connections)
	sleep 1
	[ "$before" = "$(connections)" ]
}

# Wait until the mount has connected more than $1 times.
reconnected()
{
	wait_for 60 connected_again $1 || { what_hangs; complain "the client did not reconnect after $1 connections"; }
}

# Drop the mount's connections, if there are any.
drop_any()
{
	local f found=
	before=$(connects)
	for f in $(client_transports); do
		drop_transport $f && found=1
	done
	[ -n "$found" ]
}

# Drop the mount's connections, and wait for new ones.
drop_once()
{
	local before
	wait_for 60 drop_any || complain "no transport was found to drop"
	reconnected $before
}

# Return true if nfsd answers mounts, that is, if the previous test does not block it any more.
repair()
{
	local dir
	[ $FAILED -ne ${REPAIRED:-0} ] || return 0
	REPAIRED=$FAILED
	echo "# after a failure: resetting both hosts"
	heal
	swapoff -a
	pkill -KILL -x nfsio
	pkill -KILL -x rpcrdma-ping
	pkill -CONT -x rpc.mountd
	defer_at_once 0
	ip link set d0 address $MAC mtu 4200 arp on up
	ip -n $NETNS link set c0 mtu 4200 up
	ip addr replace $ADDR4/24 dev d0
	[ -e /sys/class/infiniband/rxe0 ] || rdma_add
	[ -e /sys/class/infiniband/rxec ] || client_device_add
	server_again
	grep -oE ' /mnt[^ ]* nfs' /proc/mounts | awk '{ print $1 }' | sort -r | while read -r dir; do
		timeout -s KILL 20 umount $dir || timeout -s KILL 20 umount -f $dir || umount -l $dir
	done 2>/dev/null
	settle >/dev/null || abort "what the test left does not end"
}

# Restart nfsd with the default settings.
server_again()
{
	nfsd_down
	set_format usual
	echo 2 >/sys/module/rpcrdma/parameters/svc_max_version
	nfsd_up
}
