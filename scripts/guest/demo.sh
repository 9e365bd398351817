#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The part of "make demo" in the guest: each version of NFS over RDMA, files
# copied in and out and compared, a delegation recalled, and the
# connection's statistics.
#
#   demo.sh SMALL BIG...		number of small files, and sizes of large ones
# shellcheck disable=SC2086,SC2317
set -u
# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source-path=SCRIPTDIR source=work.sh
. "$(dirname "$0")/work.sh"
NFSIO=$RUN/nfsio
TREE=/tree

bring_up()
{
	rdma_up
	nfs_services_up
	nfsd_up "$NFSD_THREADS"
}

checksums()
{
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

make_tree()
{
	mkdir $TREE
	mount -t tmpfs -o size=60% tree $TREE
	"$NFSIO" tree $TREE/files 20210415 "$@"
	checksums $TREE/files >/tmp/want
	echo "$(wc -l </tmp/want) files, $(du -sm $TREE/files | cut -f1) MiB"
}

# Copy into the mount, and compare with the server's files.
copy_in()
{
	cp -r $TREE/files $MNT/files
	sync -f $MNT
	checksums $EXPORT/files >/tmp/got
	cmp /tmp/want /tmp/got || complain "the server's files differ from those that were copied to it"
	echo "$(wc -l </tmp/got) checksums compared"
}

# Copy out of the mount, without a cache.
copy_out()
{
	echo 3 >/proc/sys/vm/drop_caches
	cp -r $MNT/files $TREE/back
	checksums $TREE/back >/tmp/got
	rm -rf $TREE/back
	cmp /tmp/want /tmp/got || complain "the files copied back differ from those copied to the server"
	echo "$(wc -l </tmp/got) checksums compared"
	rm -rf $MNT/files
}

# Print the values of the given keys in the connection line $1.
values()
{
	local line=$1 key
	shift
	for key in "$@"; do
		printf ' %s %s' "$(field $key <<<"$line")" "${key#*_}"
	done
}

show_connections()
{
	local line
	if [ $MODULE_KIND = in-tree ]; then
		echo "     version 1 only: the in-tree module"
		return
	fi
	connections | grep ' state=open ' | while read -r line; do
		printf '     %s %s -> %s: version %s\n' "$(field role <<<"$line")" "$(field local <<<"$line")" \
			"$(field remote <<<"$line")" "$(field version <<<"$line")"
		printf '       Calls:  %s\n' "$(values "$line" calls_inline calls_continued calls_special)"
		printf '       Replies:%s\n' "$(values "$line" replies_inline replies_continued replies_special)"
		printf '       chunks:  %s Read, %s Write, %s Reply\n' "$(field read_chunks <<<"$line")" \
			"$(field write_chunks <<<"$line")" "$(field reply_chunks <<<"$line")"
		printf '       handles: %s invalidated by the peer, %s here\n' \
			"$(field remote_inv <<<"$line")" "$(field local_inv <<<"$line")"
	done
}

t setup.server 120 bring_up
[ $FAILED -eq 0 ] || abort "there is no server to show"
t setup.module 20 check_module
t setup.files 120 make_tree "$@"

# demo_mount NAME VERS
demo_mount()
{
	echo
	echo "== NFS $1 over RDMA"
	t $1.mount 90 mount_works $2
	mountpoint -q $MNT || return
	t $1.copy-in 300 copy_in
	t $1.copy-out 300 copy_out
	case $1 in 4.1|4.2) t $1.delegation-recalled 90 work_delegation ;; esac
	t $1.connection 60 work_counted 1 calls_inline replies_inline read_chunks write_chunks remote_inv
	echo "   connections:"
	show_connections
	t $1.umount 60 umount_works
}

for v in 3 4.0 4.1 4.2; do
	demo_mount $v $v
done
# Mount over IPv6, without the large files.
rm -f $TREE/files/big*
checksums $TREE/files >/tmp/want
HOST=[$ADDR6]
demo_mount 4.2-ipv6 4.2
unset HOST

unload()
{
	nfsd_down
	wait_for 30 modprobe -r rpcrdma
	check_unloaded
}
echo
t unload 60 unload
end_of_run
