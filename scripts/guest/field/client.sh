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

# A mount in a namespace has errors that are fatal to it by default. A server's address
# that does not resolve for a while is none of them.
work_address_gone()
{
	local before
	before=$(connects)
	load_begin 600
	# The server keeps the address: soft-RoCE ends for good what the connection
	# manager sends from an address that is not there.
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
