# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: recipes at the server.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119,SC2120,SC2154

# ---- Calls that wait for mountd ---------------------------------------------

TRACE=/sys/kernel/tracing

# Print how often sunrpc has deferred a Call.
defers() { grep -c ' svc_defer: ' $TRACE/trace || true; }
deferred_more() { [ "$(defers)" -gt $1 ]; }

# sunrpc defers a Call at once if it misses in a cache, without waiting for a second.
defer_at_once()
{
	local d=/sys/kernel/debug/fail_sunrpc
	echo $1 >$d/ignore-client-disconnect
	echo $1 >$d/ignore-server-disconnect
	echo 0 >$d/ignore-cache-wait
	echo 0 >$d/verbose
	echo 1 >$d/interval
	echo -1 >$d/times
	echo $(($1 * 100)) >$d/probability
	echo $1 >$TRACE/events/sunrpc/svc_defer/enable
}

# The server drops its cache of exports, and no daemon answers its requests.
forget_exports()
{
	pkill -STOP -x rpc.mountd
	exportfs -f
}

none_held() { [ "$(sum_of server memory_calls)" -eq 0 ] && [ "$(sum_of server memory_replies)" -eq 0 ]; }

# work_deferred [dropped|stopped]: let Calls wait for mountd, and meanwhile drop the connection or
# restart nfsd
work_deferred()
{
	local i before round pid
	mkdir -p $EXPORT/defer/d{0..7}
	touch $EXPORT/defer/f{0..7}
	before=$(connects)
	defer_at_once 1
	for round in 1 2; do
		echo 2 >/proc/sys/vm/drop_caches
		echo >$TRACE/trace
		forget_exports
		"$NFSIO" calls $MNT/defer $EXPORT/defer 8 &
		pid=$!
		wait_for 20 deferred_more 5
		case ${1:-} in
		dropped) drop_begin ;;
		stopped)
			nfsd_down
			nfsd_up ;;
		esac
		i=$(defers)
		pkill -CONT -x rpc.mountd
		wait $pid || complain "Calls that waited for mountd have failed"
		# Each Call needs several entries of the cache, one after the other.
		[ -n "${1:-}" ] || [ "$(defers)" -gt $i ] || complain "no Call was deferred twice"
	done
	defer_at_once 0
	rm -rf $EXPORT/defer
	i=$(($(connects) - before))
	case ${1:-} in
	'')
		[ $i -eq 0 ] || complain "the client reconnected $i times"
		wait_for 20 none_held
		check_connections 1 ;;
	*) [ $i -ge 2 ] || complain "the client reconnected $i times, not 2 times" ;;
	esac
}

# Drop the connection, and do not wait for the next one.
drop_begin()
{
	local f
	for f in $(client_transports); do
		drop_transport $f
	done
}

# ---- operations that must not be executed twice ------------------------------

# Print the number of Calls that the duplicate request cache has answered.
cache_hits() { awk '$1 == "rc" { print $2 }' /proc/net/rpc/nfsd; }

# work_names FORM...: random operations on names, each of which must be executed once, while
# connections are dropped. Replies are delayed, so that the connection is lost between execution
# and Reply; the next connection conveys Calls in another form, or is of version 1.
work_names()
{
	local form hits round=0
	hits=$(cache_hits)
	LOAD_KIND=NAMES
	load_begin 600
	impair server delay 20ms
	for form in "$@"; do
		case $form in
		version1) echo 1 >/sys/module/rpcrdma/parameters/svc_max_version ;;
		*)
			set_format $form
			echo 2 >/sys/module/rpcrdma/parameters/svc_max_version ;;
		esac
		drop_once
		round=$((round + 1))
	done
	set_format usual
	echo 2 >/sys/module/rpcrdma/parameters/svc_max_version
	heal
	drop_once
	load_stop $((round + 1))
	hits=$(($(cache_hits) - hits))
	echo "$hits Calls were answered from the cache"
	# Sessions of NFS 4.1 and later use separate caches.
	[[ $(grep " $MNT nfs" /proc/mounts) != *vers=3,* ]] || [ $hits -gt 0 ] ||
		complain "no Call was sent again after its execution"
}

# ---- nfsd itself --------------------------------------------------------------

# nfsd's payload of 4 MiB, on kernels that support it
work_payload()
{
	local max=4194304
	nfsd_down
	MAX_BLOCK_SIZE=$max nfsd_up
	[ "$(cat /proc/fs/nfsd/max_block_size)" -eq $max ] || complain "max_block_size is not $max"
	mounted 3,rsize=$max,wsize=$max work_data $((max + 1))
	mounted 4.2,rsize=$max,wsize=$max work_data $((max + 1))
	server_again
}

# work_direct [DISK]: let nfsd bypass its page cache. The disk is the mount, or the folder DISK
# in it. The payload begins inside a page.
work_direct()
{
	local MNT=$MNT${1:-} EXPORT=$EXPORT${1:-} bs d=/sys/kernel/debug/nfsd count
	echo 2 >$d/io_cache_read
	echo 2 >$d/io_cache_write
	"$NFSIO" tree /tmp/direct 7 0 2000003
	for bs in 4095 47008 65537 1000001; do
		# A few small files
		count=$((4000000 / bs < 40 ? 4000000 / bs : 40))
		dd if=/tmp/direct/big0 of=$MNT/direct bs=$bs count=$count oflag=direct status=none
		cmp -n $((bs * count < 2000003 ? bs * count : 2000003)) /tmp/direct/big0 $EXPORT/direct
		dd if=$MNT/direct of=/tmp/direct/back bs=$bs iflag=direct status=none
		cmp /tmp/direct/back $EXPORT/direct
		rm $MNT/direct
	done
	rm -r /tmp/direct
	echo 0 >$d/io_cache_read
	echo 0 >$d/io_cache_write
	check_connections 1 read_chunks write_chunks
}

# nfsd is stopped and started again at once, with mounts in use
work_restarts()
{
	local i before
	before=$(connects)
	load_begin 600
	for i in 1 2 3 4; do
		nfsd_down
		nfsd_up
		do_mount 4.1 /mnt-other
		umount /mnt-other
	done
	reconnected $before
	load_stop 1
}

has_listener() { grep -q "^rdma $1\$" /proc/fs/nfsd/portlist; }

# Listeners on two ports are added and removed while a mount is in use.
work_listeners()
{
	local i
	for i in 1 2; do
		echo "rdma 20050" >/proc/fs/nfsd/portlist
		PORT=20050 do_mount 3 /mnt-other
		echo $i >/mnt-other/listener
		[ "$(cat $EXPORT/listener)" = $i ]
		umount /mnt-other
		# A second listener on the same port fails, and leaves no object.
		! echo "rdma 20050" 2>/dev/null >/proc/fs/nfsd/portlist || complain "a second listener was added to one port"
		nfsd_down
		! has_listener 20050 || complain "a listener is left"
		nfsd_up
	done
	cmp $MNT/listener $EXPORT/listener
}

# A host without IPv6 has at least the listener for IPv4.
no_ipv6()
{
	nfsd_down
	sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	nfsd_up
	mounted 4.2 work_many
	nfsd_down
	sysctl -qw net.ipv6.conf.all.disable_ipv6=0
	ip -6 addr replace $ADDR6/64 dev d0 nodad
	nfsd_up
}

# bound COMMAND...: run it with nfsd's only listener bound to the server's address, as nfsdctl
# binds it. It must listen again when the device or the address is available again.
bound()
{
	nfsd_down
	"$RUN/nfsdlisten" $ADDR4 $PORT
	echo $NFSD_THREADS >/proc/fs/nfsd/threads
	"$@"
	server_again
}

# The server's device is replaced under load, and new mounts work.
work_bound_device()
{
	local before
	before=$(connects)
	load_begin 600
	rdma_del
	wait_for 60 no_transport
	rdma_add
	reconnected $before
	goes_on 300
	load_stop 1
	do_mount 4.1 /mnt-other
	umount /mnt-other
}

# The server's address is removed and added. Nothing is mounted, because soft-RoCE never sends
# again for the connection manager after a packet from an address that does not exist.
bound_address()
{
	local i
	for i in 1 2; do
		mounted 4.2 work_many
		ip addr del $ADDR4/24 dev d0
		ip addr add $ADDR4/24 dev d0
	done
	mounted 3 work_many
	ip addr del $ADDR4/24 dev d0
	! NETNS='' HOST=127.0.0.1 do_mount 4.2 $MNT retry=0 2>/dev/null || complain "the server listens at another address"
	ip addr add $ADDR4/24 dev d0
	mounted 3 work_many
}
