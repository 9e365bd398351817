# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: what happens at the client.
# shellcheck shell=bash disable=SC2034,SC2046,SC2086,SC2119,SC2154

# Everything that one mount can show in short
work_hosts()
{
	work_sizes
	work_many
	[ $1 = 3 ] || work_delegation
	work_counted 1 read_chunks write_chunks calls_inline replies_inline remote_inv
}

# A mount outside the namespace, of the same server, at the same time
work_outside()
{
	NETNS='' do_mount $1 /mnt-other
	echo outside >/mnt-other/outside
	[ "$(cat $MNT/outside)" = outside ] || complain "the other mount's file is not there"
	work_many
	umount /mnt-other
	work_delegation
}

# Random operations with extended attributes, on a disk file system
work_xattrs()
{
	local MNT=$MNT/disk EXPORT=$EXPORT/disk i pids=()
	for i in 1 2 3; do
		"$NFSIO" stress $MNT/stress$i $EXPORT/stress$i 600 $i XATTRS >/tmp/stress$i.log 2>&1 &
		pids+=($!)
	done
	MNT=${MNT%/disk}
	for i in 1 2 3; do
		goes_on 500
		drop_once
	done
	goes_on 500
	kill -TERM "${pids[@]}"
	for i in 1 2 3; do
		wait ${pids[i - 1]} || complain "$(cat /tmp/stress$i.log)"
		cat /tmp/stress$i.log
	done
}

# Soft RPCs time out, with memory registered for them, while connections end; a
# hard mount of the same server has its data.
work_soft()
{
	local i pids=()
	rm -f /tmp/soft.*
	do_mount 3 /mnt-soft soft,timeo=5,retrans=1
	load_begin 600
	for i in 1 2 3 4; do
		while [ ! -e /tmp/soft.stop ]; do
			"$NFSIO" burn /mnt-soft/burn$i 2>>/tmp/soft.errors || true
		done &
		pids+=($!)
	done
	for i in 1 2 3 4 5 6; do
		goes_on 50
		case $i in
		2|5)
			: >/tmp/soft.errors
			nfsd_down
			wait_for 30 test -s /tmp/soft.errors
			nfsd_up ;;
		*) drop_once ;;
		esac
	done
	: >/tmp/soft.stop
	# The loops end when their programs do.
	pkill -KILL -f 'nfsio burn' || true
	wait "${pids[@]}" || true
	load_stop 3
	rm -f $MNT/burn*
	umount /mnt-soft || { sleep 1; umount /mnt-soft; }
	sort /tmp/soft.errors | sed 's/.*: //' | uniq -c
}

copies() { awk '$1 == "COPY:" { n += $2 } END { print n + 0 }' /proc/self/mountstats; }

# The server copies on its own, while connections end and nfsd restarts.
work_copy()
{
	local before i
	"$NFSIO" tree $EXPORT/copy 3 0 40000000
	before=$(copies)
	for i in none dropped; do
		cp --reflink=never --sparse=never $MNT/copy/big0 $MNT/copy/local$i 2>/dev/null
		cp $MNT/copy/big0 $MNT/copy/$i &
		[ $i = none ] || drop_once
		wait $!
		cmp $EXPORT/copy/big0 $EXPORT/copy/$i
	done
	[ "$(copies)" -gt $before ] || complain "the server was not asked to copy"
	rm -r $MNT/copy
}

# Each transport of a mount with several is dropped, and some are set offline
# and removed.
work_nconnect()
{
	local f i=0 count unused
	"$NFSIO" many $MNT $EXPORT 8 4 5
	[ "$(xprt_lines $MNT | wc -l)" -eq $1 ] || complain "there should be $1 transports"
	unused=$(xprt_lines $MNT | awk '$8 == 0' | wc -l)
	[ $unused -eq 0 ] || complain "$unused of the transports were not used"
	load_begin 600
	count=$(client_transports | wc -l)
	[ $count -eq $1 ] || complain "$count transports are connected"
	for f in $(client_transports); do
		drop_transport $f
		goes_on 20
		i=$((i + 1))
		# The first one is the mount's own.
		if [ $((i % 4)) -eq 0 ]; then
			echo offline >$f/xprt_state
			echo remove >$f/xprt_state
			goes_on 20
		fi
	done
	load_stop 1
}

# spelt OPTION,... [PATH]: mount as administrators write it.
spelt()
{
	local opts=$1 path=${2:-/} type=${3:-nfs}
	timeout $((60 * TIMEOUT_SCALE)) nsenter --net=/run/netns/$NETNS \
		mount -t $type -o "$opts" "$ADDR4:$path" $MNT
	grep " $MNT nfs" /proc/mounts | grep -q 'proto=rdma,port=20049' ||
		complain "$opts: $(grep " $MNT nfs" /proc/mounts)"
	[ "$(xprt_lines $MNT | wc -l)" -ge 1 ] || complain "$opts: it is not over RDMA"
	ls $MNT >/dev/null
}

# refused OPTION,... [PATH]: a mount that cannot work ends with an error.
refused()
{
	! timeout $((60 * TIMEOUT_SCALE)) nsenter --net=/run/netns/$NETNS \
		mount -t nfs -o "$1" "$ADDR4:${2:-/}" $MNT 2>/tmp/refused || complain "$1 works"
	[ -s /tmp/refused ] || complain "$1: no error was shown"
	echo "$1: $(head -n 1 /tmp/refused)"
}

spellings()
{
	local opts
	count_resources
	for opts in rdma rdma,port=20049 proto=rdma,port=20049 rdma,vers=4.2 rdma,vers=4.1 rdma,vers=4.0 \
		nfsvers=4,minorversion=1,rdma rdma,sync,noac rdma,lookupcache=none,actimeo=0 \
		async,rsize=1048576,wsize=1048576,rdma,port=20049; do
		spelt $opts
		umount $MNT
	done
	for opts in rdma,vers=3,nolock vers=3,nolock,proto=rdma,port=20049,mountproto=tcp \
		async,vers=3,nolock,rsize=1048576,wsize=1048576,rdma,port=20049; do
		spelt $opts $EXPORT
		umount $MNT
	done
	spelt rdma / nfs4
	mount -o remount,ro $MNT
	! touch $MNT/spelt 2>/dev/null || complain "it is not read-only"
	mount -o remount,rw $MNT
	touch $MNT/spelt
	umount $MNT
	# No such listener, and what contradicts itself
	refused rdma,port=2049,vers=4.2,retry=0
	refused rdma,port=2049,vers=3,nolock,retry=0 $EXPORT
	refused rdma,tcp
	settle
}

# Memory is swapped to a file of the mount, and comes back over new connections.
work_swap()
{
	local before
	before=$(connects)
	dd if=/dev/zero of=$MNT/swap bs=1M count=48 status=none
	chmod 600 $MNT/swap
	mkswap -q $MNT/swap 2>/dev/null || mkswap $MNT/swap >/dev/null
	export -f drop_once connects xprt_lines client_transports drop_transport connected_again wait_for complain
	export MNT NFSIO ADDR4 PORT SYSFS
	"$NFSIO" swap 32 $MNT/swap "bash -c 'drop_once && drop_once'"
	[ "$(connects)" -ge $((before + 2)) ] || complain "no connection was dropped"
	rm $MNT/swap
}

# Clients that crash: no packet says so, and their device is another one when
# they come again from the same address.
crashed()
{
	local i held
	count_resources
	held=$CONNECTIONS
	for i in 1 2 3 4; do
		mount_works ${1:-3}
		"$NFSIO" many $MNT $EXPORT 4 2 $i
		impair client loss 100%
		impair server loss 100%
		client_device_del
		umount -f $MNT 2>/dev/null || true
		! mountpoint -q $MNT || umount -l $MNT
		heal
		client_device_add
	done
	mounted_again=$(connections | wc -l)
	echo "$((mounted_again - held)) connections are left of 4 clients"
	mount_works ${1:-3}
	work_many
	umount_works
	# nfsd keeps those of clients that no longer answer for a while: restart it.
	nfsd_down
	nfsd_up
	settle
}

# A client that hears and says nothing for longer than its lease, and goes on
work_paused()
{
	local before
	exec 7>$MNT/paused
	echo before >&7
	before=$(connects)
	load_begin 600
	impair client loss 100%
	impair server loss 100%
	# The server holds nothing for a client without lease.
	wait_for 90 no_client
	heal
	wait_for 60 connected_again $before
	goes_on 300
	exec 7>&-
	load_stop 1
}

no_client() { ! grep -qs 'status: confirmed' /proc/fs/nfsd/clients/*/info; }

# A mount in a namespace has errors that are fatal to it by default. Neither a
# server's address that is not there for a while is one, nor a new device.
work_address_gone()
{
	local before
	before=$(connects)
	load_begin 600
	ip addr del $ADDR4/24 dev d0
	ip -n $NETNS neigh flush dev c0
	wait_for 60 no_transport
	wait_for 60 unresolved $ADDR4
	ip addr add $ADDR4/24 dev d0
	wait_for 60 connected_again $before
	goes_on 300
	load_stop 1
}

work_device_replaced()
{
	local before i
	for i in 1 2 3; do
		before=$(connects)
		load_begin 600
		client_device_del
		wait_for 60 no_transport
		client_device_add
		wait_for 60 connected_again $before
		goes_on 300
		load_stop 1
	done
}
