#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The client's guest of scripts/interop.sh: mounts, work, troubles.
#   interop-client.sh NAME PROTOCOL...
# NAME is put before the tests' names. PROTOCOL is the version of
# RPC-over-RDMA that the connections must have (1 or 2); where both ends can
# do both, giving "1" forces it.
# shellcheck source-path=SCRIPTDIR disable=SC2086,SC2119
set -u
. "$(dirname "$0")/interop.sh"

NAME=$1
shift

# The version of the connections, by the end that can tell.
protocol()
{
	if [ $MODULE_KIND = ours ]; then
		connections
	else
		on_server connections
	fi | grep ' state=open ' | field version | sort -u
}

set_protocol()
{
	[ $MODULE_KIND = ours ] || return 0
	if [ -e $SHARED/server-ours ]; then
		echo $1 >/proc/sys/sunrpc/rdma_max_version
		on_server "echo $1 >/proc/sys/sunrpc/svc_rdma/max_version"
	fi
}

sum() { md5sum <"$1" | cut -d' ' -f1; }

mount_works()
{
	do_mount $1 $MNT
	touch $MNT/there
	[ "$(protocol)" = "$2" ] || complain "the connection is of version $(protocol), not $2"
}

# Files of all sizes there and back, compared at the server, too.
work_files()
{
	local size f
	for size in 1 900 4000 5000 65537 1048576 5242881; do
		head -c $size /dev/urandom >/tmp/f.$size
		cp /tmp/f.$size $MNT/f.$size
		dd if=/tmp/f.$size of=$MNT/d.$size bs=256K oflag=direct conv=fsync 2>/dev/null ||
			dd if=/tmp/f.$size of=$MNT/d.$size bs=256K conv=fsync 2>/dev/null
	done
	sync
	for f in /tmp/f.*; do
		size=${f##*.}
		[ "$(on_server md5sum "<$EXPORT/f.$size")" = "$(sum $f)  -" ] || complain "the server has something else in f.$size"
	done
	echo 3 >/proc/sys/vm/drop_caches
	for f in /tmp/f.*; do
		size=${f##*.}
		cmp $f $MNT/f.$size
		cmp $f $MNT/d.$size
	done
	rm /tmp/f.*
}

# What has large Replies, and long Calls
work_names()
{
	local i long
	mkdir $MNT/dir
	for ((i = 0; i < 200; i++)); do
		: >$MNT/dir/a-name-that-makes-directories-large-$i
	done
	echo 3 >/proc/sys/vm/drop_caches
	[ "$(find $MNT/dir -name "a-name*" | wc -l)" -eq 200 ] || complain "names are missing"
	long=$(head -c 1000 /dev/zero | tr '\0' x)
	ln -s $long $MNT/symlink
	echo 3 >/proc/sys/vm/drop_caches
	[ "$(readlink $MNT/symlink)" = $long ] || complain "the link is another"
	rm -r $MNT/dir
}

# More RPCs at a time than there are credits
work_parallel()
{
	local i pids=()
	for ((i = 0; i < 24; i++)); do
		(
			for _ in 1 2 3; do
				head -c 70000 /dev/urandom >/tmp/p.$i
				cp /tmp/p.$i $MNT/p.$i
				sync $MNT/p.$i
				cmp /tmp/p.$i $MNT/p.$i
			done
		) &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait $i || complain "a process failed"
	done
	rm -f $MNT/p.* /tmp/p.*
}

# A delegation is granted, and given back when the server's side writes.
work_delegation()
{
	local started took
	echo before >$MNT/delegated
	sync
	cat $MNT/delegated >/dev/null
	exec 9<$MNT/delegated
	cat <&9 >/dev/null
	on_server 'cat /proc/fs/nfsd/clients/*/states' | grep -q 'type: deleg' ||
		complain "no delegation was granted"
	started=$SECONDS
	on_server "echo after >>$EXPORT/delegated"
	took=$((SECONDS - started))
	[ $took -lt $((8 * TIMEOUT_SCALE)) ] || complain "it took $took s to get the delegation back"
	exec 9<&-
	grep -q after $MNT/delegated || complain "the client does not see what was written"
}

load_begin()
{
	head -c 30000000 /dev/urandom >/tmp/load
	(
		for _ in 1 2 3; do
			cp /tmp/load $MNT/load && sync $MNT/load && cmp /tmp/load $MNT/load || exit
		done
	) &
	load=$!
	sleep 2
}

load_end()
{
	wait $load || complain "the load failed"
	[ "$(on_server md5sum "<$EXPORT/load")" = "$(sum /tmp/load)  -" ] || complain "the server has something else"
	rm -f $MNT/load /tmp/load
	[ "$(protocol)" = $1 ] || complain "after it the connection is of version $(protocol), not $1"
}

trouble_restart()
{
	load_begin
	on_server "nfsd_down; sleep 1; nfsd_up"
	load_end $1
}

trouble_cut()
{
	load_begin
	on_server "ip link set eth0 down; sleep 12; ip link set eth0 up"
	load_end $1
}

umount_works()
{
	rm -rf ${MNT:?}/*
	do_umount $MNT
}

shared_up || exit
link_up $CLIENT_ADDR || exit
modprobe nfs
mkdir -p /run/rpc_pipefs
mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
modprobe rpcrdma
t $NAME/module 60 check_module
wait_for 240 test -e $SHARED/ready || abort "the server's guest does not come up"

for protocol in "$@"; do
	set_protocol $protocol
	for v in ${VERSIONS:-3 4.0 4.1 4.2}; do
		name=$NAME/rpcrdma$protocol/nfs$v
		t $name/mount 120 mount_works $v $protocol
		mountpoint -q $MNT || continue
		t $name/files 180 work_files
		t $name/names 120 work_names
		t $name/parallel 180 work_parallel
		case $v in 4.*) t $name/delegation 90 work_delegation ;; esac
		case $v in 3|4.2) t $name/server-restart 240 trouble_restart $protocol ;; esac
		case $v in 4.2) t $name/cut-link 300 trouble_cut $protocol ;; esac
		t $name/umount 90 umount_works
	done
done

touch $SHARED/stop
rxe_del
t $NAME/unload 60 modprobe -r rpcrdma
end_of_run
