# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: what happens at the client.
# shellcheck shell=bash disable=SC2034,SC2046,SC2086,SC2119,SC2154

# Everything that one mount can show in short
work_hosts()
{
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

copies() { awk '$1 == "COPY:" { n += $2 } END { print n + 0 }' /proc/self/mountstats; }

# The server copies on its own, while connections end.
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
