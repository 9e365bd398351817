# SPDX-License-Identifier: GPL-2.0
# Sourced by programs that run in the guest: an RDMA device, an NFS server, mounts.
# shellcheck shell=bash disable=SC2034,SC2046,SC2086

# Addresses from the documentation prefixes of both families
ADDR4=192.0.2.1
ADDR6=2001:db8::1
PORT=20049
# The export of the server (a tmpfs), and the mount points
EXPORT=/export
MNT=/mnt
NFSD_THREADS=8

# The RDMA device: rxe, siw, or memdev, the device in memory of kunit/
RDMA=${RDMA:-rxe}

# Create that device over a dummy netdev with addresses of both families.
rdma_up()
{
	modprobe dummy numdummies=0
	ip link add d0 type dummy
	ip link set d0 mtu 4200 up
	ip addr add $ADDR4/24 dev d0
	ip -6 addr add $ADDR6/64 dev d0 nodad
	rdma_add
}

rdma_add()
{
	case $RDMA in
	memdev) modprobe rpcrdma_memdev netdevs=d0 ${MEMDEV_PARAMETERS:-} ;;
	# The server's siw loses messages that a client sends before the server has returned
	# from accepting the connection; no real network is that fast.
	siw)
		tc qdisc replace dev lo root netem delay 1ms &&
			modprobe siw && rdma link add siw0 type siw netdev d0
		;;
	*) modprobe rdma_rxe && rdma link add rxe0 type rxe netdev d0 ;;
	esac
}

rdma_del()
{
	case $RDMA in
	memdev) modprobe -r rpcrdma_memdev ;;
	siw) rdma link delete siw0 && tc qdisc del dev lo root ;;
	*) rdma link delete ${RDMA}0 ;;
	esac
}

# Set the sizes in bytes of Sends and Receives of the next connections: $1 for clients, $2 for
# servers (default: $1).
set_inline()
{
	local p=/sys/module/rpcrdma/parameters
	echo $1 >$p/max_inline_read
	echo $1 >$p/max_inline_write
	echo ${2:-$1} >$p/svc_max_req_size
}

# Wait for a fifth of a second. No process is started, which would be slow here.
exec {PAUSE_FD}<> <(:)
pause()
{
	read -r -t 0.2 -u $PAUSE_FD || true
}

# Wait for up to $1 seconds until the rest of the arguments, a command, is true.
wait_for()
{
	local deadline=$((SECONDS + $1 * TIMEOUT_SCALE))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || { echo "timed out waiting for: $*"; return 1; }
		pause
	done
}

# Start everything but nfsd's threads: the services that mount, exportfs and lockd need.
nfs_services_up()
{
	modprobe nfsd
	modprobe nfs
	mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
	mkdir -p /run/rpc_pipefs /var/lib/nfs/v4recovery
	mountpoint -q /run/rpc_pipefs || mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
	mkdir -p $EXPORT
	mountpoint -q $EXPORT || mount -t tmpfs -o mode=1777,size=70% export $EXPORT
	mkdir -p /var/lib/nfs/nfsdcld /var/lib/nfs/sm /var/lib/nfs/sm.bak
	: >/etc/exports
	mkdir -p /etc/exports.d
	echo "$EXPORT *(rw,async,no_root_squash,no_subtree_check,fsid=0,insecure)" >/etc/exports.d/guest.exports

	rpcbind -w 2>/dev/null || rpcbind || return
	wait_for 20 rpcinfo -p 127.0.0.1 >/dev/null || return
	rpc.statd --no-notify || return
	nfsdcld -p /run/rpc_pipefs || return
	rpc.idmapd -p /run/rpc_pipefs 2>/dev/null || true
	# lockd's grace period delays locks as nfsd's delays opens
	[ ! -e /proc/sys/fs/nfs/nlm_grace_period ] || echo 1 >/proc/sys/fs/nfs/nlm_grace_period
	exportfs -ra || return
	rpc.mountd || return
}

# Start threads and RDMA listeners. The grace period is ended at once: no lock was held before.
nfsd_up()
{
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	echo ${LEASE:-10} >/proc/fs/nfsd/nfsv4leasetime
	# The default depends on the memory, and is less than 1 MiB here. It can be set only
	# while the server is down.
	echo ${MAX_BLOCK_SIZE:-1048576} >/proc/fs/nfsd/max_block_size 2>/dev/null
	# Newer kernels start no service without a listener. Older ones add listeners for TCP
	# and UDP only if there is none.
	if ! echo ${1:-$NFSD_THREADS} >/proc/fs/nfsd/threads 2>/dev/null; then
		nfsd_listen && echo ${1:-$NFSD_THREADS} >/proc/fs/nfsd/threads || return
	fi
	nfsd_listen
}

# Add the RDMA listener. It is not an error if it exists.
nfsd_listen()
{
	grep -q '^rdma' /proc/fs/nfsd/portlist ||
		echo "rdma $PORT" >/proc/fs/nfsd/portlist
}

nfsd_down()
{
	echo 0 >/proc/fs/nfsd/threads
}

# Export a file system with user extended attributes, which tmpfs lacks.
disk_up()
{
	mkdir -p $EXPORT/disk
	truncate -s 64M /export.img
	mke2fs -q -t ext4 -b 4096 -O ^has_journal /export.img
	modprobe loop 2>/dev/null || true
	mount -o loop /export.img $EXPORT/disk
	# Use a separate file, because krb5_up replaces the other one.
	echo "$EXPORT/disk *(rw,async,no_root_squash,no_subtree_check,insecure)" >/etc/exports.d/disk.exports
	exportfs -ra
}

# do_mount VERS [DIR [OPTION,...]]: an NFS/RDMA mount of the export, in the network
# namespace NETNS if that is set. The address is IPv4 unless HOST is set.
do_mount()
{
	local vers=$1 dir=${2:-$MNT} opts=${3:-} path=/ proto=rdma
	case $vers in
	3) path=$EXPORT; opts=nolock${opts:+,$opts} ;;
	3lock) vers=3; path=$EXPORT ;;
	esac
	# The netid selects the address family, regardless of the address.
	[[ ${HOST:-} == \[* ]] && proto=rdma6
	[ -d "$dir" ] || mkdir -p "$dir"
	timeout $((60 * TIMEOUT_SCALE)) ${NETNS:+nsenter --net=/run/netns/$NETNS} mount -t nfs \
		-o "vers=$vers,proto=$proto,port=$PORT${opts:+,$opts}" \
		"${HOST:-$ADDR4}:$path" "$dir"
}

# Unmount, after waiting a moment for processes with open files.
do_umount()
{
	local i
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		umount "$1" 2>/dev/null && return
		sleep 1
	done
	umount "$1"
}

# Print the "xprt: rdma" lines of the mount at $1.
xprt_lines()
{
	awk -v dir="$1" '
		$1 == "device" { mine = $5 == dir }
		mine && $1 == "xprt:" && $2 == "rdma"' /proc/self/mountstats
}

CONNECTION_LINES=/sys/kernel/debug/rpcrdma/connections

# Print the connections of the module under test, or nothing with the in-tree module.
connections()
{
	cat $CONNECTION_LINES 2>/dev/null
}

# Check that the "xprt: rdma" lines have the in-tree module's number of fields, because tools
# parse them by position. Interop uses this for mounts of the in-tree module, too.
check_xprt_lines()
{
	[ "$(xprt_lines $1 | awk '{ print NF }' | sort -u)" = 29 ] || {
		xprt_lines $1
		complain "mountstats has other fields"
	}
}

# field KEY: print the values of KEY in the connection lines on stdin
field()
{
	grep -oE "(^| )$1=[^ ]*" | cut -d= -f2
}

# stop_daemons NAME...: stop the named daemons if they run
stop_daemons()
{
	local p
	for p in "$@"; do
		pidof $p >/dev/null && kill $(pidof $p)
	done
}

# Stop everything, so that rpcrdma can be unloaded.
nfs_services_down()
{
	exportfs -ua
	nfsd_down
	stop_daemons rpc.mountd rpc.idmapd nfsdcld rpc.statd rpcbind
	sleep 0.5
}
