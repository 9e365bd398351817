#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A smoke test for a guest with any stock kernel: mounts, files compared, data verified,
# a delegation recalled, large and continued Replies, and the module unloaded.
#
#   kernels.sh [PREFIX [short]]
#
# short: skip tests that repeat others with another version of NFS or form of messages.
# $RUN/nfsio is nfsio.c, compiled on the host.
# shellcheck disable=SC2046,SC2086,SC2317
set -u

PREFIX=${1:-}
short=${2:-}
# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source-path=SCRIPTDIR source=work.sh
. "$(dirname "$0")/work.sh"
NFSIO=$RUN/nfsio
MAXSIZE=300000 FIO_SIZE=4m MANY='6 6' ENTRIES=600

bring_up()
{
	rdma_up
	nfs_services_up
	nfsd_up
}

# The mount $1 has small messages, so that large Replies (directories) and Calls (a long
# ACL) are continued.
work_split()
{
	work_sizes
	work_dir
	work_acl $1
	[ $MODULE_KIND = ours ] || return 0
	check_connections 1 calls_continued replies_continued
}

# A client reads whole pages, which the Reply to a READ of a small file has to have space for.
# With pages of up to 16 KiB it has space in one message. With larger ones each file has a
# Write chunk.
work_small_files()
{
	local i chunks=0
	mkdir -p $EXPORT/small
	for ((i = 0; i < 10; i++)); do head -c 2000 /dev/urandom >$EXPORT/small/$i; done
	cat $MNT/small/* >$RUN/small
	cat $EXPORT/small/* | cmp - $RUN/small
	[ $MODULE_KIND = ours ] || return 0
	[ $(getconf PAGESIZE) -le 16384 ] || chunks=10
	[ $(sum_of client write_chunks) -eq $chunks ] ||
		complain "small files were read with $(sum_of client write_chunks) Write chunks, not $chunks"
}

set_small()
{
	[ $MODULE_KIND = ours ] || return 0
	set_inline 1024 16384
	echo 0 >/sys/module/rpcrdma/parameters/pull_replies
}

version_logged()
{
	[ $MODULE_KIND = ours ] || return 0
	dmesg | grep -qF "rpcrdma: version $(modinfo -F version rpcrdma) " ||
		complain "the kernel's log does not have the loaded version"
}

# Up to 6.1 an NFSv4 mount has one connection, regardless of nconnect.
nconnect_4()
{
	local wanted=2
	[[ $(uname -r) != 6.1.* ]] || wanted=1
	xprt_lines $MNT
	[ $(xprt_lines $MNT | wc -l) -eq $wanted ] || complain "the mount does not have $wanted connections"
}

SECONDS=0
uname -r | sed 's/^/# /'
t setup.server 120 bring_up
[ $FAILED -eq 0 ] || abort "there is no server to test with"
t setup.module 60 check_module
t setup.version 20 version_logged
for v in 3 4.2; do
	t $v.mount 90 mount_works $v
	mountpoint -q $MNT || continue
	[ $v = 3 ] || t $v.small-files 60 work_small_files
	t $v.sizes 120 work_sizes
	if [ $v = 4.2 ] || [ -z "$short" ]; then
		t $v.fio 240 work_fio buffered 0 1k-256k
		t $v.connection 60 work_counted 1 read_chunks write_chunks calls_inline replies_inline
	fi
	if [ -z "$short" ]; then
		t $v.many-processes 120 work_many
		t $v.directories 120 work_dir
	fi
	[ $v = 3 ] || t $v.delegation 90 work_delegation
	t $v.umount 60 umount_works
done
for v in $([ -n "$short" ] || echo 4.0 4.1); do
	t $v.mount 90 mount_works $v
	mountpoint -q $MNT || continue
	t $v.sizes 120 work_sizes
	t $v.umount 60 umount_works
done
if [ -z "$short" ]; then
	t nconnect.mount 90 mount_works 4.2 nconnect=2
	t nconnect.connections 60 nconnect_4
	t nconnect.umount 60 umount_works
fi
set_small
for v in $([ -n "$short" ] || echo 3) 4.2; do
	t split.$v.mount 90 mount_works $v
	mountpoint -q $MNT || continue
	t split.$v.work 240 work_split $v
	t split.$v.umount 60 umount_works
done
t unload 60 stop_all
t unload.slab 60 no_slab_left
end_of_run
