# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: what happens at the server.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119,SC2120,SC2154

# ---- Calls that wait for mountd ---------------------------------------------

TRACE=/sys/kernel/tracing

# How often sunrpc has deferred a Call
defers() { grep -c ' svc_defer: ' $TRACE/trace || true; }
deferred_more() { [ "$(defers)" -gt $1 ]; }

# sunrpc defers a Call that misses in a cache, instead of waiting a second first.
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

# The server forgets who may mount, and nothing answers it.
forget_exports()
{
	pkill -STOP -x rpc.mountd
	exportfs -f
}

calls_begin()
{
	local i
	CALLS=()
	for ((i = 0; i < 12; i++)); do
		stat $MNT/defer/f$i >/dev/null &
		CALLS+=($!)
		ls $MNT/defer/d$i >/dev/null &
		CALLS+=($!)
		echo $i >$MNT/defer/w$i &
		CALLS+=($!)
	done
}

calls_end()
{
	local i bad=
	for i in "${CALLS[@]}"; do
		wait $i || bad=1
	done
	[ -z "$bad" ] || complain "Calls that waited for mountd have failed"
	for ((i = 0; i < 12; i++)); do
		[ "$(cat $EXPORT/defer/w$i)" = $i ] || complain "a deferred write is lost"
	done
}

none_held() { [ "$(sum_of server memory_calls)" -eq 0 ] && [ "$(sum_of server memory_replies)" -eq 0 ]; }

# work_deferred [dropped|stopped]: Calls that wait for mountd, and what happens
# while they do
work_deferred()
{
	local i before round
	mkdir -p $EXPORT/defer
	for ((i = 0; i < 12; i++)); do
		mkdir -p $EXPORT/defer/d$i
		echo $i >$EXPORT/defer/f$i
	done
	before=$(connects)
	defer_at_once 1
	for round in 1 2 3; do
		echo 2 >/proc/sys/vm/drop_caches
		echo >$TRACE/trace
		forget_exports
		calls_begin
		wait_for 20 deferred_more 5
		case ${1:-} in
		dropped) drop_begin ;;
		stopped)
			nfsd_down
			nfsd_up ;;
		esac
		i=$(defers)
		pkill -CONT -x rpc.mountd
		calls_end
		# Each Call needs several entries of the cache, one after the other.
		[ -n "${1:-}" ] || [ "$(defers)" -gt $i ] || complain "no Call was deferred twice"
	done
	defer_at_once 0
	rm -rf $EXPORT/defer
	i=$(($(connects) - before))
	case ${1:-} in
	'')
		[ $i -eq 0 ] || complain "it connected $i times more"
		wait_for 20 none_held
		check_connections 1 ;;
	*) [ $i -ge 3 ] || complain "it connected $i times more, not 3 times" ;;
	esac
}

# Drop the connection without waiting for the next one.
drop_begin()
{
	local f
	for f in $(client_transports); do
		drop_transport $f
	done
}

# With an export for privileged ports only
work_secure()
{
	sed -i 's/,insecure//' /etc/exports.d/guest.exports
	exportfs -ra
	work_deferred
	sed -i 's/fsid=0/fsid=0,insecure/' /etc/exports.d/guest.exports
	exportfs -ra
}

# ---- operations that must not be executed twice ------------------------------

# Calls that the duplicate request cache has answered
cache_hits() { awk '$1 == "rc" { print $2 }' /proc/net/rpc/nfsd; }

# work_names FORM...: random operations on names, each of which must be executed
# once, while connections are dropped. Replies take their time, so that the
# connection is lost between execution and Reply; the next connection conveys
# Calls in another form, or is of version 1.
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
	# Sessions of NFSv4.1 and later have caches of their own.
	[[ $(grep " $MNT nfs" /proc/mounts) != *vers=3,* ]] || [ $hits -gt 0 ] ||
		complain "no Call was sent again after its execution"
}

# ---- nfsd itself --------------------------------------------------------------

# nfsd's payload of 4 MiB, where it has that
work_payload()
{
	local max=$1
	nfsd_down
	MAX_BLOCK_SIZE=$max nfsd_up
	[ "$(cat /proc/fs/nfsd/max_block_size)" -eq $max ] || echo "nfsd has less"
	mounted 3,rsize=$max,wsize=$max work_sizes
	mounted 4.2,rsize=$max,wsize=$max work_sizes
	nfsd_down
	nfsd_up
}

# nfsd that reads and writes past its page cache: payload begins inside a page.
work_direct()
{
	local bs d=/sys/kernel/debug/nfsd count
	echo 2 >$d/io_cache_read
	echo 2 >$d/io_cache_write
	"$NFSIO" tree /tmp/direct 7 0 2000003
	for bs in 4095 47008 65537 1000001; do
		# A few of the small ones
		count=$((4000000 / bs < 40 ? 4000000 / bs : 40))
		dd if=/tmp/direct/big0 of=$MNT/disk/direct bs=$bs count=$count oflag=direct status=none
		cmp -n $((bs * count < 2000003 ? bs * count : 2000003)) /tmp/direct/big0 $EXPORT/disk/direct
		dd if=$MNT/disk/direct of=/tmp/direct/back bs=$bs iflag=direct status=none
		cmp /tmp/direct/back $EXPORT/disk/direct
		rm $MNT/disk/direct
	done
	rm -r /tmp/direct
	echo 0 >$d/io_cache_read
	echo 0 >$d/io_cache_write
	check_connections 1 read_chunks write_chunks
}

# One pool of threads for each processor, each without threads in turn
pools()
{
	local threads
	count_resources
	nfsd_down
	echo percpu >/sys/module/sunrpc/parameters/pool_mode
	nfsd_up 4
	[ "$(wc -w </proc/fs/nfsd/pool_threads)" -gt 1 ] || complain "there is one pool only"
	for threads in '0 4' '4 0'; do
		echo $threads >/proc/fs/nfsd/pool_threads
		mount_works 3
		"$NFSIO" many $MNT $EXPORT 8 4 5
		drop_once
		"$NFSIO" many $MNT $EXPORT 8 4 6
		umount_works
	done
	nfsd_down
	echo global >/sys/module/sunrpc/parameters/pool_mode
	nfsd_up
	settle
}

# nfsd stopped and started again at once, with mounts that are in use
work_restarts()
{
	local i before
	before=$(connects)
	load_begin 600
	for i in 1 2 3 4 5 6; do
		nfsd_down
		nfsd_up
		do_mount 4.1 /mnt-other
		umount /mnt-other
	done
	wait_for 60 connected_again $before
	load_stop 1
}

has_listener() { grep -q "^rdma$2 $1\$" /proc/fs/nfsd/portlist; }

# Listeners on two ports come and go while a mount is in use.
work_listeners()
{
	local i
	for i in 1 2 3 4; do
		echo "rdma 20050" >/proc/fs/nfsd/portlist
		PORT=20050 do_mount 3 /mnt-other
		echo $i >/mnt-other/listener
		[ "$(cat $EXPORT/listener)" = $i ]
		umount /mnt-other
		# One more on the same port fails and leaves nothing.
		! echo "rdma 20050" 2>/dev/null >/proc/fs/nfsd/portlist || complain "two listeners have one port"
		nfsd_down
		! has_listener 20050 || complain "a listener is left"
		nfsd_up
	done
	cmp $MNT/listener $EXPORT/listener
}

# A host without IPv6 has the listener for IPv4 at least.
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

# nfsd listens at one address (nfsdctl): the listener comes again when the device
# is replaced, and when the address was away.
bound()
{
	local i
	nfsd_down
	count_resources
	"$RUN/nfsdlisten" $ADDR4 $PORT
	echo $NFSD_THREADS >/proc/fs/nfsd/threads
	mounted 4.2 work_many
	rdma_del
	rdma_add
	mounted 4.2 work_many
	ip addr del $ADDR4/24 dev d0
	ip addr add $ADDR4/24 dev d0
	mounted 4.2 work_many
	nfsd_down
	settle
	nfsd_up
}
