#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bring up an RDMA device, nfsd and one NFS/RDMA mount, run the commands given as arguments in
# /mnt, the mount, then print the statistics of its transports and connections. For manual tests:
#   scripts/guest.sh --module in-tree -- $PWD/scripts/guest/try.sh 'dd ...'
#   VERS=3 by "bash -c 'VERS=3 .../try.sh ...'"; default 4.2
#   RDMA=siw or RDMA=memdev the same way; default rxe, see nfs.sh
# shellcheck source-path=SCRIPTDIR disable=SC2086,SC2119
set -u
. "$(dirname "$0")/nfs.sh"
rdma_up || exit
nfs_services_up || exit
nfsd_up || exit
do_mount "${VERS:-4.2}" $MNT || exit
grep " $MNT " /proc/mounts
status=0
if [ $# -gt 0 ]; then
	(cd $MNT && bash -c "$*") || status=$?
fi
xprt_lines $MNT
connections
do_umount $MNT || status=1
nfs_services_down
rdma_del || status=1
modprobe -r rpcrdma || status=1
exit $status
