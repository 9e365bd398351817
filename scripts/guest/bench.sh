#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# For scripts/bench.sh: the module that was built and the kernel's own one after
# the other in one guest, the same work with each. Leaves what nfsbench printed
# in $RUN/ours and $RUN/in-tree.
#
#   bench.sh NFSVERS
# shellcheck disable=SC2086
set -u

TIMEOUT_SCALE=${TIMEOUT_SCALE:-1}
# shellcheck source-path=SCRIPTDIR source=nfs.sh
. "$(dirname "$0")/nfs.sh"

bench()
{
	local i
	nfsd_up || return
	# The first messages may be lost while the device comes up.
	for ((i = 0; i < 3; i++)); do
		do_mount $2 $MNT && break
	done
	mountpoint -q $MNT || { echo "bench: $1: the mount failed"; return 1; }
	"$RUN/nfsbench" $MNT >"$RUN/$1" || return
	connections
	do_umount $MNT && nfsd_down && wait_for 30 modprobe -r rpcrdma
}

rdma_up && nfs_services_up || exit
modprobe rpcrdma && bench ours $1 || exit
modprobe -r rpcrdma
mv /lib/modules/*/updates/rpcrdma.ko /tmp/ && depmod -a
modprobe rpcrdma && bench in-tree $1
