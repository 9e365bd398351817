# SPDX-License-Identifier: GPL-2.0
# Sourced by hostile.sh and hostile-server.sh, after harness.sh: the program that
# is hostile, and what must be there when it is gone.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119

HOSTILE=$RUN/hostile
RESULTS=$RUN/results.now
export TIMEOUT_SCALE
# The debug kernel is several times slower.
[ $KIND = stock ] || TIMEOUT_SCALE=$((TIMEOUT_SCALE * 2))

bring_up()
{
	# stock kernels have them as modules
	modprobe -a ib_uverbs rdma_ucm 2>/dev/null || true
	rdma_up
	nfs_services_up
	nfsd_up
	head -c 65536 /dev/zero | tr '\0' h >$EXPORT/hostile
	mount_works 4.1
}

# What devices count of the connections that there are
resources()
{
	rdma resource show | sed 's/ mr [0-9]*//'
}

# Objects of the slab that Receives and Send contexts are in, without those
# that the sanitizer holds back
slab_objects()
{
	local slab=/sys/kernel/slab/kmalloc-4k
	[ ! -e $slab/shrink ] || echo 1 >$slab/shrink
	cat $slab/objects 2>/dev/null || echo 0
}

settled()
{
	[ "$(connections | wc -l)" -eq $CONNECTIONS ] && [ "$(resources)" = "$RESOURCES" ]
}

baseline()
{
	sleep 1
	CONNECTIONS=$(connections | wc -l)
	RESOURCES=$(resources)
	SLAB=$(slab_objects)
}

# The mount that was there before is as good as ever, another one can be made,
# and of the others there is nothing left.
aftermath()
{
	local now
	cat /proc/sys/kernel/random/uuid >/tmp/good
	cp /tmp/good $MNT/good
	cmp $EXPORT/good /tmp/good
	echo 3 >/proc/sys/vm/drop_caches
	cmp $MNT/good /tmp/good
	cmp $MNT/hostile $EXPORT/hostile
	do_mount 3 /mnt-other
	cmp /mnt-other/good /tmp/good
	umount /mnt-other
	if ! wait_for 30 settled; then
		connections
		echo "$RESOURCES; and now:"
		resources
		complain "something is left of the hostile connections"
	fi
	now=$(slab_objects)
	echo "kmalloc-4k: $SLAB objects before, $now now"
	# A connection of the server has more than 130.
	[ $now -lt $((SLAB + 100)) ] || complain "memory is left: $now objects of 4 KiB, and $SLAB before"
}

# The cases' own results, as tests of the name $1
case_results()
{
	[ ! -e $RESULTS ] || sed -nE "s,^((not )?ok) ,\1 $PREFIX$1.,p" $RESULTS
	rm -f $RESULTS
}
