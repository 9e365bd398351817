# SPDX-License-Identifier: GPL-2.0
# Sourced by hostile.sh and hostile-server.sh with their arguments: runs the hostile
# program, and checks the machine's state after it.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119

SEED=$1
STEPS=$2
PRESSURE=$3
PREFIX=${4:-}
ONLY=${5:-}
# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

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
	# Set the sizes that the program expects, and for which the slab is checked.
	modprobe rpcrdma
	set_inline 4096
	nfsd_up
	head -c 65536 /dev/zero | tr '\0' h >$EXPORT/hostile
	mount_works 4.1
}

# Print the number of objects of the slab with Receives and Send contexts, except those
# that the sanitizer has quarantined.
slab_objects()
{
	local slab=/sys/kernel/slab/kmalloc-4k
	[ ! -e $slab/shrink ] || echo 1 >$slab/shrink
	# with the number of each node after the sum
	sed 's/ .*//' $slab/objects 2>/dev/null || echo 0
}

# A connection of the server has more than 130 objects, which are freed after its end.
slab_settled()
{
	SLAB_NOW=$(slab_objects)
	[ $SLAB_NOW -lt $((SLAB + 100)) ]
}

baseline()
{
	sleep 1
	count_resources
	SLAB=$(slab_objects)
}

# Check that the existing mount works, that a new one succeeds, and that no object of the
# hostile connections is left.
aftermath()
{
	cat /proc/sys/kernel/random/uuid >/tmp/good
	cp /tmp/good $MNT/good
	cmp $EXPORT/good /tmp/good
	echo 3 >/proc/sys/vm/drop_caches
	cmp $MNT/good /tmp/good
	cmp $MNT/hostile $EXPORT/hostile
	do_mount 3 /mnt-other
	cmp /mnt-other/good /tmp/good
	umount /mnt-other
	settle
	wait_for 30 slab_settled ||
		complain "memory was leaked: $SLAB_NOW objects of 4 KiB, $SLAB before"
	echo "kmalloc-4k: $SLAB objects before, $SLAB_NOW now"
}

# Print the results of the cases, as tests with the name $1, and their output.
case_results()
{
	[ ! -e $RESULTS ] || sed -nE "s,^((not )?ok) ,\1 $PREFIX$1.,p; s,^# ,#   ,p" $RESULTS
	rm -f $RESULTS
}

wrong_cases()
{
	grep -vE '^((not )?ok|#) ' $RESULTS || true
	complain "$(grep -c '^not ok' $RESULTS) cases failed, the first: $(grep -m1 '^not ok' $RESULTS)"
}

# secret_for IDENTITY: add the program's secret (hostile/lib/auth.c) to the keyring
secret_for()
{
	printf 'the secret of a hostile peer, 32' | keyctl padd logon rpcrdma:$1 @u
}

# The tests before and after the hostile ones
hostile_begin()
{
	SECONDS=0
	t setup 120 bring_up
	[ $FAILED -eq 0 ] || abort "there is no server to test with"
	t setup.module 60 check_module
}

hostile_end()
{
	t umount 60 umount_works
	t unload.stop 60 stop_all
	t unload.slab 60 no_slab_left
	if have_kmemleak; then
		t unload.kmemleak 120 no_leaks
	fi
	end_of_run
}
