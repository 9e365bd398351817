#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The client's guest of scripts/interop.sh: mounts, work, fault injection.
#   interop-client.sh CASE...
# A case is CLIENT:SERVER:PROTOCOL: the modules of the ends (ours, in-tree), and the
# version of RPC-over-RDMA that the connections must use (1 or 2). If both ends support
# both versions, version 1 is forced. The case "switch" continues with the mounts of the
# preceding case, which must be ours:in-tree:1. "silent" and "drop" have a server in this
# guest's user space that ignores version 2, or closes the connection. "auth" is host
# authentication.
# $RUN/nfsio and $RUN/version1-server are the programs of those names, compiled
# on the host. Tests are called
#   client-CLIENT-server-SERVER/rpcrdmaPROTOCOL/nfsVERSION/TEST
# with "all" for NFSVERSION if the test uses all mounts at once.
# shellcheck disable=SC2086,SC2119,SC2154,SC2317
set -u
# shellcheck source-path=SCRIPTDIR source=interop.sh
. "$(dirname "$0")/interop.sh"
# shellcheck source-path=SCRIPTDIR source=work.sh
. "$(dirname "$0")/work.sh"
NFSIO=$RUN/nfsio
VERSIONS=${VERSIONS:-3 4.0 4.1 4.2}
OURS_VERSIONS=${OURS_VERSIONS:-$VERSIONS}
MAXSIZE=${MAXSIZE:-66000} FIO_SIZE=2m MANY='10 5' ENTRIES=150

# Run a request of work.sh at the server.
at_server()
{
	on_server "$1"
}

mnt() { echo /mnt/$1; }

# Print the protocol versions of the open connections, from an end that reports them.
protocol()
{
	if [ "$(module_kind)" = ours ]; then
		connections
	else
		on_server connections
	fi | grep ' state=open ' | field version | sort -u
}

check_protocol()
{
	local found
	found=$(protocol)
	[ "$found" = $1 ] || complain "the connections are of version ${found:-none}, not $1"
}

# Load the modules of a case, and apply the settings that force version 1.
set_up()
{
	local client=$1 server=$2 protocol=$3
	use_module $client
	on_server server_module $server
	if [ $client$server = oursours ]; then
		on_server "echo $protocol >/proc/sys/sunrpc/svc_rdma/max_version"
	fi
}

# Read the server's files in another way: NFS 3 over TCP, without a cache.
export_up()
{
	mkdir -p $EXPORT
	timeout $((60 * TIMEOUT_SCALE)) mount -t nfs \
		-o vers=3,proto=tcp,nolock,noac,lookupcache=none,nosharecache \
		$SERVER_ADDR:$EXPORT $EXPORT
}

# mount_works VERSION PROTOCOL
mount_works()
{
	do_mount $1 $MNT
	grep " $MNT nfs" /proc/mounts | grep -q "proto=rdma,"
	grep " $MNT nfs" /proc/mounts | grep -q "vers=$1,"
	echo hello >$MNT/hello
	[ "$(cat $EXPORT/hello)" = hello ]
	rm $MNT/hello
	check_xprt_lines $MNT
	check_protocol $2
}

umount_works()
{
	do_umount $MNT
}

# Check that the connections have the limits of the in-tree module: thresholds of
# 4096 bytes, 64 credits, 1 MiB in a Read or Write. The ends that can report them
# are in CONNECTIONS.
limits_ok()
{
	local line
	CONNECTIONS=$({ connections; on_server connections; } | grep ' state=open ')
	[ -n "$CONNECTIONS" ] || return
	grep " $MNT nfs" /proc/mounts | grep -q "rsize=1048576,wsize=1048576," || return
	for line in $(field send_inline <<<"$CONNECTIONS") $(field recv_inline <<<"$CONNECTIONS"); do
		[ $line -ge 4096 ] || return
	done
	[ $1 = 1 ] || return 0
	while read -r line; do
		case $line in
		role=client*) line=$(($(field limit <<<"$line") - $(field sent <<<"$line"))) ;;
		role=server*) line=$(($(field advertised <<<"$line") - $(field received <<<"$line"))) ;;
		esac
		[ $line -ge 64 ] || return
	done <<<"$CONNECTIONS"
}

# An outstanding Call uses a credit for a moment.
work_limits()
{
	wait_for 20 limits_ok $1 || { echo "$CONNECTIONS"; grep " $MNT nfs" /proc/mounts; return 1; }
}

# ---- fault injection, with a load in every mount ----------------------------

mounted()
{
	local v
	for v in $VERSIONS; do
		! grep -q " $(mnt $v) nfs" /proc/mounts || echo $v
	done
}

loads_begin()
{
	local v
	for v in $(mounted); do
		rm -f /tmp/load-$v.status
		MNT=$(mnt $v)
		connects >/tmp/load-$v.connects
		(
			"$NFSIO" load $MNT/load-$v $EXPORT/load-$v 100000 ${v#*.} >/tmp/load-$v.log 2>&1 &
			echo $! >/tmp/load-$v.pid
			wait $!
			echo $? >/tmp/load-$v.status
		) &
	done
	sleep 2
}

# Return 0 if all mounts have connected since the load began.
all_connected()
{
	local v MNT bad=0
	for v in $(mounted); do
		MNT=$(mnt $v)
		connected_again "$(cat /tmp/load-$v.connects)" || bad=1
	done
	return $bad
}

# The loads verify all their data when they end.
loads_end()
{
	local v
	for v in $(mounted); do
		kill -TERM "$(cat /tmp/load-$v.pid)" 2>/dev/null || true
	done
}

# load_verified VERSION PROTOCOL
load_verified()
{
	wait_for 80 test -s /tmp/load-$1.status
	cat /tmp/load-$1.log
	[ "$(cat /tmp/load-$1.status)" -eq 0 ] || complain "$(tail -n 1 /tmp/load-$1.log)"
	echo "reconnected $(($(connects) - $(cat /tmp/load-$1.connects))) times"
	check_protocol $2
}

trouble_restart()
{
	on_server "server_down && sleep 1 && nfsd_up"
	wait_for 90 all_connected
}

# Drop all packets for longer than either end needs to detect it. (Setting an end's own
# netdev down does not lose packets: rxe treats it as a permanent error, from which the
# connection manager's queue pair does not recover.)
trouble_cut()
{
	on_server link_cut
	link_cut
	sleep 17
	link_mend
	on_server link_mend
	wait_for 90 all_connected
}

trouble_switch()
{
	on_server server_module $1
	wait_for 90 all_connected
}

# trouble NAME PROTOCOL TEST FUNCTION [ARGUMENT...]
trouble()
{
	local name=$1/rpcrdma$2 protocol=$2 test=$3 v
	shift 3
	[[ -z $ONLY || $name/all/$test =~ $ONLY ]] || return 0
	[ -n "$(mounted)" ] || return
	loads_begin
	t $name/all/$test 150 "$@"
	loads_end
	for v in $(mounted); do
		MNT=$(mnt $v)
		t $name/nfs$v/$test 120 load_verified $v $protocol
	done
}

# ---- a server that does not refuse version 2 --------------------------------

V1LOG=/tmp/version1-server.log
V1PORT=20060

# begins: print the versions of the first messages of its connections so far
begins()
{
	sed -n 's/^connection [0-9]* begins with version //p' $V1LOG | tr '\n' ' '
}

mount_of_version1()
{
	mkdir -p $MNT
	timeout $((90 * TIMEOUT_SCALE)) mount -t nfs -o \
		vers=3,proto=rdma,port=$V1PORT,mountproto=tcp,mountaddr=$SERVER_ADDR,nolock,rsize=1024,wsize=1024 \
		$CLIENT_ADDR:$EXPORT $MNT
}

# The client tries version 2 first, then version 1 on a second connection. The connection
# line and the log have the reason.
version1_works()
{
	mount_of_version1
	head -c 5000 /dev/urandom >$MNT/old
	sync $MNT/old
	cmp $MNT/old $EXPORT/old
	connections | grep "role=client .*:$V1PORT version=1 why=silence state=open"
	dmesg | grep "$CLIENT_ADDR port $V1PORT does not answer version 2, trying version 1"
	[ "$(begins)" = "2 1 " ] || complain "the connections began with versions $(begins)"
}

# The mount and later ones remember the version.
version1_remembered()
{
	local before
	before=$(connects)
	kill -USR1 $V1PID
	wait_for 60 connected_again $before
	[ "$(begins)" = "2 1 1 " ] || complain "the connections began with versions $(begins)"
	rm $MNT/old
	do_umount $MNT
	mount_of_version1
	[ "$(begins)" = "2 1 1 1 " ] || complain "the connections began with versions $(begins)"
	do_umount $MNT
}

case_version1()
{
	local name=client-ours-server-$1/rpcrdma1/nfs3
	MNT=/mnt/old
	t client-ours-server-$1/rpcrdma1/all/modules 60 use_module ours
	modprobe rdma_ucm
	: >$V1LOG
	"$RUN/version1-server" $V1PORT $1 $SERVER_ADDR >$V1LOG 2>&1 &
	V1PID=$!
	wait_for 20 grep -q listening $V1LOG
	t $name/falls-back 90 version1_works || cat $V1LOG
	t $name/remembered 90 version1_remembered || cat $V1LOG
	kill $V1PID
	# Another port is another server, with an empty version cache.
	V1PORT=$((V1PORT + 1))
}

# ---- host authentication of two hosts, with a secret and an identity each ----

AUTH_CLIENT=client.example.test
AUTH_SERVER=server.example.test

# Both ends have the same secret, and each reports the identity of the other one.
auth_agreed()
{
	echo $AUTH_CLIENT >$AUTH_PARAMETERS/host_identity
	on_server "echo $AUTH_SERVER >$AUTH_PARAMETERS/host_identity"
	give_secret $AUTH_CLIENT 'a secret of both hosts'
	on_server "give_secret $AUTH_CLIENT 'a secret of both hosts'"
	set_auth 2 2
	on_server "set_auth 2 2"
	do_mount 4.2 $MNT
	echo hello >$MNT/hello
	[ "$(cat $EXPORT/hello)" = hello ]
	connections | grep "^role=client .* auth=authenticated auth_hash=sha512 identity=$AUTH_SERVER " ||
		complain "the client does not know the server"
	on_server connections | grep "^role=server .* auth=authenticated auth_hash=sha512 identity=$AUTH_CLIENT " ||
		complain "the server does not know the client"
	do_umount $MNT
}

# Test each combination of auth_dh at both ends: 0 disabled, 1 used if both ends support it, 2
# required. Either both ends report the same group, or the mount fails.
auth_groups_agreed()
{
	local here there group no_common='no algorithm for host authentication in common'
	for here in 0 1 2; do
		echo $here >$AUTH_PARAMETERS/auth_dh
		for there in 0 1 2; do
			on_server "echo $there >$AUTH_PARAMETERS/auth_dh"
			case $here$there in
			02|20)
				auth_denied 4.2 "$no_common"
				on_server "dmesg | tail -n 10 | grep '$no_common'"
				continue ;;
			00|01|10) group=none ;;
			*) group=ffdhe3072 ;;
			esac
			do_mount 4.2 $MNT
			connections | grep "^role=client .* auth=authenticated .* auth_dh=$group " ||
				complain "the client does not report $group with auth_dh=$here, at the server $there"
			on_server connections | grep "^role=server .* auth=authenticated .* auth_dh=$group " ||
				complain "the server does not report $group with auth_dh=$there, at the client $here"
			do_umount $MNT
		done
	done
	echo 1 >$AUTH_PARAMETERS/auth_dh
	on_server "echo 1 >$AUTH_PARAMETERS/auth_dh"
}

# The server has another secret.
auth_disagreed()
{
	on_server "give_secret $AUTH_CLIENT 'another, of the server'"
	auth_denied 3 "the server refuses this host's identity or secret"
	on_server "dmesg | grep 'does not prove that it knows the secret; its identity: $AUTH_CLIENT'"
}

# The secret was removed: the server ends the connection of that client.
no_server_connection() { ! on_server connections | grep '^role=server'; }
auth_ended()
{
	on_server "give_secret $AUTH_CLIENT 'a secret of both hosts'"
	do_mount 3 $MNT
	on_server "drop_secret $AUTH_CLIENT; echo $AUTH_CLIENT >$AUTH_PARAMETERS/end_identity"
	wait_for 30 no_server_connection
	on_server "give_secret $AUTH_CLIENT 'a secret of both hosts'"
	[ "$(cat $MNT/hello)" = hello ]
	do_umount $MNT
}

# A client that requires host authentication, and the in-tree server
auth_in_tree_server()
{
	on_server server_module in-tree
	set_auth 2 2
	auth_denied 3 'host authentication is required, and the peer has only version 1'
	set_auth 1 1
	do_mount 3 $MNT
	[ "$(cat $MNT/hello)" = hello ]
	check_protocol 1
	do_umount $MNT
	on_server "server_module ours; set_auth 2 2; echo $AUTH_SERVER >$AUTH_PARAMETERS/host_identity"
}

# The in-tree client has neither version 2 nor host authentication.
auth_in_tree()
{
	use_module in-tree
	! do_mount 3 $MNT retry=0,soft,timeo=50,retrans=1 || complain "the mount did not fail"
	on_server "dmesg | grep 'host authentication is required, and the peer has only version 1'"
	on_server "set_auth 1 1"
	do_mount 3 $MNT
	[ "$(cat $MNT/hello)" = hello ]
	do_umount $MNT
}

auth_over()
{
	use_module ours
	drop_secret $AUTH_CLIENT
	on_server "drop_secret $AUTH_CLIENT; rm $EXPORT/hello"
}

case_auth()
{
	MNT=/mnt/auth
	t client-ours-server-ours/rpcrdma2/all/auth-modules 90 set_up ours ours 2
	t client-ours-server-ours/rpcrdma2/nfs4.2/auth 90 auth_agreed
	t client-ours-server-ours/rpcrdma2/nfs4.2/auth-groups 180 auth_groups_agreed
	t client-ours-server-ours/rpcrdma2/nfs3/auth-wrong-secret 90 auth_disagreed
	t client-ours-server-ours/rpcrdma2/nfs3/auth-ended 90 auth_ended
	t client-ours-server-in-tree/rpcrdma1/nfs3/auth-required 150 auth_in_tree_server
	t client-in-tree-server-ours/rpcrdma1/nfs3/auth-required 150 auth_in_tree
	t client-ours-server-ours/rpcrdma2/all/auth-over 90 auth_over
}

# ---- the run ----------------------------------------------------------------

# Return 0 if NFS $1 does the work of $2 in a divided run.
has_part() { [ -z "$DIVIDE" ] || [ $1 = $2 ]; }

case_works()
{
	local client=$1 server=$2 protocol=$3 versions=$VERSIONS name v
	name=client-$client-server-$server
	[ $client:$server != ours:ours ] || versions=$OURS_VERSIONS
	t $name/rpcrdma$protocol/all/modules 90 set_up $client $server $protocol || return
	for v in $versions; do
		MNT=$(mnt $v)
		t $name/rpcrdma$protocol/nfs$v/mount 90 mount_works $v $protocol
		grep -q " $MNT nfs" /proc/mounts || continue
		if has_part $v "${versions%% *}"; then
			t $name/rpcrdma$protocol/nfs$v/sizes 120 work_sizes
			t $name/rpcrdma$protocol/nfs$v/fio-direct 120 work_fio direct 1 512-300k
		fi
		if has_part $v "${versions##* }"; then
			t $name/rpcrdma$protocol/nfs$v/fio-buffered 120 work_fio buffered 0 1k-256k
			t $name/rpcrdma$protocol/nfs$v/many-processes 120 work_many
			t $name/rpcrdma$protocol/nfs$v/directories 120 work_dir
			t $name/rpcrdma$protocol/nfs$v/acl 60 work_acl $v
		fi
		t $name/rpcrdma$protocol/nfs$v/limits 40 work_limits $protocol
		case $v in 4.*) t $name/rpcrdma$protocol/nfs$v/delegation 90 work_delegation ;; esac
	done
	trouble $name $protocol server-restart trouble_restart
	trouble $name $protocol cut-link trouble_cut
}

case_switch()
{
	trouble client-ours-server-in-tree-then-ours 2 switch trouble_switch ours
	trouble client-ours-server-ours-then-in-tree 1 switch trouble_switch in-tree
}

umount_all()
{
	local v
	for v in $(mounted); do
		MNT=$(mnt $v)
		t $1/nfs$v/umount 90 umount_works
	done
}

shared_up || exit
link_up $CLIENT_ADDR || exit
modprobe nfs
mkdir -p /run/rpc_pipefs
mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
wait_for 240 test -e $SHARED/ready || abort "the server's guest does not come up"
export_up || abort "the server cannot be reached"

after=
for case in "$@"; do
	IFS=: read -r client server protocol <<<"$case"
	case $case in
	switch) case_switch; continue ;;
	esac
	umount_all $after
	after=
	case $case in
	silent|drop) case_version1 $case; continue ;;
	auth) case_auth; continue ;;
	esac
	after=client-$client-server-$server/rpcrdma$protocol
	case_works $client $server $protocol
done
umount_all $after
umount $EXPORT
touch $SHARED/stop
rdma_del
t unload 60 wait_for 30 modprobe -r rpcrdma
end_of_run
