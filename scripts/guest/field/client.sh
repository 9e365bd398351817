# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: recipes at the client.
# shellcheck shell=bash disable=SC2034,SC2046,SC2086,SC2119,SC2154

# Run each kind of work in one mount, with few files.
work_hosts()
{
	work_many
	[ $1 = 3 ] || work_delegation
	work_counted 1 read_chunks write_chunks calls_inline replies_inline remote_inv
}

# A mount of the same server outside the namespace, at the same time
work_outside()
{
	NETNS='' do_mount $1 /mnt-other
	echo outside >/mnt-other/outside
	[ "$(cat $MNT/outside)" = outside ] || complain "the other mount's file is missing"
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

copies() { awk '$1 == "COPY:" { n += $2 } END { print n + 0 }' /proc/self/mountstats; }

# The server copies data (COPY) while connections end.
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

# Return true if the loop $1 has ended. It ends after its program, and may have started the
# program once more.
burnt()
{
	pkill -KILL -f 'nfsio burn' || true
	! runs $1
}

# RPCs of a soft mount time out while memory is registered for them, and are sent again to a
# server that may have executed them; connections end as well. A hard mount of the same server
# keeps its data. (With a time limit that a working server exceeds, soft-RoCE would read from
# memory after its registration has ended.)
work_soft()
{
	local i pids=()
	do_mount 3 /mnt-soft soft,timeo=30,retrans=1
	load_begin 600
	for i in 1 2; do
		while [ ! -e /tmp/soft.stop ]; do
			"$NFSIO" burn /mnt-soft/burn$i 2>>/tmp/soft.errors || true
		done &
		pids+=($!)
	done
	drop_once
	for i in 1 2; do
		: >/tmp/soft.errors
		impair server loss 100%
		wait_for 60 test -s /tmp/soft.errors
		heal
		goes_on 50
	done
	drop_once
	: >/tmp/soft.stop
	for i in "${pids[@]}"; do wait_for 60 burnt $i; done
	load_stop 2
	rm -f $MNT/burn* /tmp/soft.stop
	umount /mnt-soft || { sleep 1; umount /mnt-soft; }
	sort /tmp/soft.errors | sed 's/.*: //' | uniq -c
}

# Each transport of a mount with several is dropped, and some are set offline and removed.
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
		# The first transport cannot be removed, because it belongs to the mount.
		if [ $((i % 4)) -eq 0 ]; then
			echo offline >$f/xprt_state
			echo remove >$f/xprt_state
			goes_on 20
		fi
	done
	load_stop 1
}

# spelt OPTION,... [PATH]: mount with options as administrators write them
spelt()
{
	local opts=$1 path=${2:-/} type=${3:-nfs}
	timeout $((60 * TIMEOUT_SCALE)) nsenter --net=/run/netns/$NETNS \
		mount -t $type -o "$opts" "$ADDR4:$path" $MNT
	has /proc/mounts proto=rdma,port=20049 || complain "$opts: $(grep " $MNT nfs" /proc/mounts)"
	: >$MNT/spelt
}

# refused OPTION,... [PATH]: check that a mount that cannot work fails with an error
refused()
{
	! timeout $((60 * TIMEOUT_SCALE)) nsenter --net=/run/netns/$NETNS \
		mount -t nfs -o "$1" "$ADDR4:${2:-/}" $MNT 2>/tmp/refused || complain "a mount with $1 succeeded"
	[ -s /tmp/refused ] || complain "$1: no error was shown"
	echo "$1: $(head -n 1 /tmp/refused)"
}

spellings()
{
	local opts
	count_resources
	for opts in rdma proto=rdma,port=20049,vers=4.2,sync,noac nfsvers=4,minorversion=1,rdma \
		rdma,port=20049,vers=4.1,lookupcache=none,actimeo=0 \
		async,rsize=1048576,wsize=1048576,rdma,vers=4.0; do
		spelt $opts
		umount $MNT
	done
	for opts in rdma,vers=3,nolock \
		async,vers=3,nolock,rsize=1048576,wsize=1048576,proto=rdma,port=20049,mountproto=tcp; do
		spelt $opts $EXPORT
		umount $MNT
	done
	spelt rdma / nfs4
	mount -o remount,ro $MNT
	! touch $MNT/spelt 2>/dev/null || complain "the mount is not read-only"
	mount -o remount,rw $MNT
	touch $MNT/spelt
	umount $MNT
	# No such listener, and options that contradict each other
	refused rdma,port=2049,vers=4.2,retry=0
	refused rdma,port=2049,vers=3,nolock,retry=0 $EXPORT
	refused rdma,tcp
	settle
}

# Clients crash, without a packet that reports it. They connect again from the same address,
# with another device.
crashed()
{
	local i held=$CONNECTIONS
	count_resources
	for i in 1 2 3; do
		mount_works $1
		"$NFSIO" many $MNT $EXPORT 4 2 $i
		impair client loss 100%
		impair server loss 100%
		client_device_del
		wait_for 30 no_transport
		umount -f $MNT 2>/dev/null || true
		! mountpoint -q $MNT || umount -l $MNT
		heal
		client_device_add
	done
	echo "$(($(connections | wc -l) - held)) connections are left of 3 clients"
	mount_works $1
	work_many
	umount_works
	# nfsd keeps the connections of silent clients for a while: restart it.
	server_again
	settle
}

# A client that receives and sends nothing for longer than its lease, and then continues
work_paused()
{
	local before
	exec 7>$MNT/paused
	echo before >&7
	before=$(connects)
	load_begin 600
	impair client loss 100%
	impair server loss 100%
	# The server holds nothing for a client without a lease.
	wait_for 90 no_client
	heal
	reconnected $before
	goes_on 300
	exec 7>&-
	load_stop 1
}

no_client() { ! grep -qs 'status: confirmed' /proc/fs/nfsd/clients/*/info; }
