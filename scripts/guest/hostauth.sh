# SPDX-License-Identifier: GPL-2.0
# Sourced by tests in the guest: host authentication. Client and server are the same
# host here, so both have the same identity and the same secret, or neither has one.
# shellcheck shell=bash disable=SC2086

AUTH_PARAMETERS=/sys/module/rpcrdma/parameters
AUTH_IDENTITY=guest.example.test

revoke_secret() { keyctl revoke "$(keyctl search @u logon rpcrdma:$AUTH_IDENTITY)"; }

# set_auth CLIENT SERVER: 0 none, 1 offer, 2 require
set_auth()
{
	echo $1 >$AUTH_PARAMETERS/host_auth
	echo $2 >$AUTH_PARAMETERS/svc_host_auth
}

# set_secret [BYTES]: set the host's identity, and a secret of that many random bytes for it
set_secret()
{
	drop_secret
	echo $AUTH_IDENTITY >$AUTH_PARAMETERS/host_identity
	head -c ${1:-32} /dev/urandom >/tmp/secret
	add_secret $AUTH_IDENTITY /tmp/secret
}

# add_secret IDENTITY FILE
add_secret() { keyctl padd logon rpcrdma:$1 @u <$2; }

# give_secret IDENTITY SECRET
give_secret()
{
	drop_secret $1
	printf %s "$2" | keyctl padd logon rpcrdma:$1 @u
}

# drop_secret [IDENTITY]
drop_secret()
{
	keyctl unlink "$(keyctl search @u logon rpcrdma:${1:-$AUTH_IDENTITY} 2>/dev/null)" @u 2>/dev/null || true
}

# auth_is CLIENT SERVER: check which states the ends of the mount's connection report
auth_is()
{
	connections
	connections | grep -q "^role=client .* auth=$1 .*state=open " ||
		complain "the client does not report $1"
	connections | grep -q "^role=server .* auth=$2 .*state=open " ||
		complain "the server does not report $2"
}

# auth_mounts VERSION CLIENT SERVER
auth_mounts()
{
	local dir=/mnt-auth status=0
	do_mount $1 $dir
	echo $1 >$dir/auth
	[ "$(cat $EXPORT/auth)" = $1 ] || complain "the file in the export has another content"
	auth_is $2 $3 || status=$?
	umount $dir
	return $status
}

# auth_ends: print the log's lines about the ends of a client's connections
auth_ends() { dmesg | grep ":$PORT closed: " || true; }

# auth_denied VERSION REASON: a mount fails, and is not retried, with EACCES. The log has the
# reason, and no other one for the client's connection. A mount may make several attempts. The
# module logs at most 10 lines in 5 seconds. If earlier lines have used up this limit, the mount
# is tried again.
auth_denied()
{
	local began before lines said reasons
	before=$(auth_ends | wc -l)
	lines=$(dmesg | wc -l)
	while :; do
		began=$SECONDS
		said=$(do_mount $1 /mnt-auth 2>&1) && complain "the mount did not fail"
		echo "$said"
		# mount retries other errors for two minutes.
		[ $((SECONDS - began)) -lt $((45 * TIMEOUT_SCALE)) ] || complain "the mount took $((SECONDS - began)) s to fail"
		[[ $said == *denied* ]] || complain "the error is not EACCES"
		reasons=$(auth_ends | tail -n +$((before + 1)) | sed 's/.* closed: //' | sort -u)
		[ -z "$reasons" ] || break
	done
	dmesg | tail -n 10
	dmesg | tail -n +$((lines + 1)) | grep -q "$2" || complain "the log does not have: $2"
	[ "$(wc -l <<<"$reasons")" -eq 1 ] || complain "the log does not have one reason for the connection"
}

auth_secret()
{
	set_auth 2 2
	set_secret
	auth_mounts $1 authenticated authenticated
}

# groups_are NAME: check that both ends of the mount's connection report that group
groups_are()
{
	[ "$(connections | grep -c " auth=authenticated .* auth_dh=$1 .*state=open ")" -eq 2 ] || {
		connections
		complain "both ends do not report the group $1"
	}
}

# group_mounts NAME
group_mounts()
{
	local status=0
	do_mount 4.2 /mnt-auth
	groups_are $1 || status=$?
	umount /mnt-auth
	return $status
}

# Diffie-Hellman: disabled, by default, and required. A kernel may have none.
auth_groups()
{
	local status=0 name=ffdhe3072
	grep -qx 'name *: dh' /proc/crypto || name=none
	set_auth 2 2
	set_secret
	echo 0 >$AUTH_PARAMETERS/auth_dh
	group_mounts none || status=1
	echo 1 >$AUTH_PARAMETERS/auth_dh
	group_mounts $name || status=1
	echo 2 >$AUTH_PARAMETERS/auth_dh
	if [ $name = none ]; then
		auth_denied 4.2 'algorithm' || status=1
	else
		group_mounts $name || status=1
	fi
	echo 1 >$AUTH_PARAMETERS/auth_dh
	return $status
}

# ---- hostile peers with Diffie-Hellman, for kernels that have it ----

HOSTILE=$RUN/hostile
RESULTS=$RUN/results.now

# refuses COUNTER REASON COMMAND...: check that the counter is incremented for each case in the
# command's results, and that the log has the reason. The module logs at most 10 lines in 5
# seconds. If earlier lines have used up this limit, the cases are repeated: a fast guest runs
# several rounds in that time.
refuses()
{
	local counter=$1 reason=$2 before after logged cases end=$((SECONDS + 60 * TIMEOUT_SCALE))
	shift 2
	logged=$(dmesg | grep -c "$reason" || true)
	while [ $SECONDS -lt $end ]; do
		before=$(numbers ctl | number $counter)
		"$@" || { cat $RESULTS; complain "cases failed"; }
		cases=$(grep -c '^ok ' $RESULTS)
		echo "$cases cases"
		after=$(numbers ctl | number $counter)
		[ $after -eq $((before + cases)) ] ||
			complain "$cases cases, and $counter went from $before to $after"
		! log_says "$reason" $logged || return 0
	done
	complain "the log does not have: $reason"
}

hostile_client() { "$HOSTILE" client $ADDR4 $PORT $1 >$RESULTS; }

hostile_servers()
{
	local i
	for i in 1 2; do server_begin $i 3 $i/2 $1; done
	servers_wait
}

NOT_VALID='a message of the host authentication is not valid'
NOT_PROVEN='the peer does not prove that it knows the secret'

secret_of_hostile() { give_secret hostile 'the secret of a hostile peer, 32'; }

auth_hostile_clients()
{
	modprobe -a ib_uverbs rdma_ucm 2>/dev/null || true
	secret_of_hostile
	set_auth 1 2
	hostile_client groups || { cat $RESULTS; complain "cases failed"; }
	refuses auths_malformed "$NOT_VALID" hostile_client values
	refuses auths_wrong_proof "$NOT_PROVEN" hostile_client proofs
	found ctl auths-malformed auths-wrong-proof auths-no-hash
	set_auth 1 1
}

# The client offers groups to servers that violate the protocol.
auth_hostile_servers()
{
	gateway_up
	secret_of_hostile
	set_auth 1 1
	echo hostile >$AUTH_PARAMETERS/host_identity
	head -c 65536 /dev/zero | tr '\0' h >$EXPORT/hostile
	hostile_servers groups || { cat $RESULTS; complain "cases failed"; }
	refuses auths_malformed "$NOT_VALID" hostile_servers values
	refuses auths_wrong_proof "$NOT_PROVEN" hostile_servers proofs
	rm $EXPORT/hostile
	drop_secret hostile
	echo >$AUTH_PARAMETERS/host_identity
}

# rpcrdma-ping at a server that requires a group
auth_ping()
{
	local me=ping.example.test status=0
	head -c 32 /dev/urandom >/tmp/ping.secret
	drop_secret $me
	add_secret $me /tmp/ping.secret
	set_auth 1 2
	echo 2 >$AUTH_PARAMETERS/auth_dh
	"$RUN/rpcrdma-ping" -t 20 -c 2 --identity=$me --secret=/tmp/ping.secret $ADDR4 >/tmp/ping.log || status=$?
	echo 1 >$AUTH_PARAMETERS/auth_dh
	drop_secret $me
	cat /tmp/ping.log
	[ $status -eq 0 ] && grep -q 'host auth   authenticated: .*, Diffie-Hellman ffdhe3072$' /tmp/ping.log ||
		complain "it is not authenticated in a group"
}

# After a secret is revoked, the open connection continues, and no other one can be established.
auth_revoked()
{
	set_auth 2 2
	set_secret
	auth_mounts 4.2 authenticated authenticated
	revoke_secret
	auth_denied 4.2 'secret'
}

no_secret() { ! keyctl search @u logon rpcrdma:$AUTH_IDENTITY >/dev/null 2>&1; }

auth_expired()
{
	set_auth 2 2
	set_secret
	auth_mounts 4.2 authenticated authenticated
	keyctl timeout "$(keyctl search @u logon rpcrdma:$AUTH_IDENTITY)" 1
	wait_for 30 no_secret
	auth_denied 4.2 'secret'
}

# log_says TEXT COUNT: return 0 if the log has more than COUNT such lines
log_says() { [ "$(dmesg | grep -c "$1")" -gt $2 ]; }

# A secret is revoked under load. The connection continues until an administrator ends it.
# Without a secret no other one is established. With a new secret all RPCs succeed.
auth_revoked_under_load()
{
	local said='no usable secret' before
	set_auth 2 2
	set_secret
	do_mount 4.2 $MNT
	load_begin
	revoke_secret
	goes_on 50
	before=$(dmesg | grep -c "$said")
	echo $AUTH_IDENTITY >$AUTH_PARAMETERS/end_identity
	wait_for 60 log_says "$said" $before
	! connections | grep '^role=client .*state=open ' || complain "it is connected without a secret"
	set_secret
	load_end 1
	auth_is authenticated authenticated
	umount_works
}

# Each connection under load needs one handshake: before its CHALLENGE the server looks up the
# secret once, and each end computes the proofs once.
auth_reconnects()
{
	local tracing=/sys/kernel/tracing again
	set_auth 2 2
	set_secret
	[ -e $tracing/trace ] || mount -t tracefs tracefs $tracing
	do_mount 4.2 $MNT
	echo >$tracing/trace
	echo 1 >$tracing/events/rpcrdma/rpcrdma_auth_answer/enable
	trouble_client_drop
	echo 0 >$tracing/events/rpcrdma/rpcrdma_auth_answer/enable
	again=$(($(connects) - CONNECTS))
	[ "$(grep -c 'rpcrdma_auth_answer: .*what=secret' $tracing/trace)" -eq $again ] &&
		[ "$(grep -c 'rpcrdma_auth_answer: .*what=proofs' $tracing/trace)" -eq $((2 * again)) ] || {
		grep rpcrdma_auth_answer: $tracing/trace
		complain "there were not $again handshakes"
	}
	auth_is authenticated authenticated
	umount_works
}

auth_missing()
{
	drop_secret
	set_auth 2 2
	auth_denied ${1:-3} 'secret'
	set_auth 1 2
	auth_denied ${1:-3} 'requires'
	set_auth 1 1
	auth_mounts ${1:-3} none unused
}

# Settings that are required at one end only
auth_not_offered()
{
	set_secret
	set_auth 2 0
	auth_denied 4.1 'does not take part'
	set_auth 1 0
	auth_mounts 4.1 unused none
	set_auth 0 2
	auth_denied 4.1 'requires'
}

auth_version_1()
{
	set_secret
	set_auth 2 1
	echo 1 >$AUTH_PARAMETERS/svc_max_version
	auth_denied 3 'version 1' || { echo 2 >$AUTH_PARAMETERS/svc_max_version; return 1; }
	echo 2 >$AUTH_PARAMETERS/svc_max_version
}

# The client has another identity for this server, with a separate secret.
auth_own()
{
	local own=own.example.test
	set_auth 2 2
	set_secret
	keyctl padd user rpcrdma-own:$ADDR4 @u <<<$own
	auth_denied 4.1 'no usable secret'
	give_secret $own 'a secret for this server, 32 byte'
	do_mount 4.1 /mnt-auth
	connections
	connections | grep "^role=server .* auth=authenticated .*identity=$own .*state=open " ||
		complain "the server does not know the client as $own"
	connections | grep "^role=client .* auth=authenticated .*identity=$AUTH_IDENTITY .*state=open " ||
		complain "the client does not know the server as $AUTH_IDENTITY"
	umount /mnt-auth
	keyctl unlink "$(keyctl search @u user rpcrdma-own:$ADDR4)" @u
	auth_mounts 4.1 authenticated authenticated
	drop_secret $own
}

# A secret that is too short is not used.
auth_short()
{
	set_secret 15
	set_auth 2 2
	auth_denied 4.2 'has less than 16 bytes'
}

# ---- network namespaces, on kernels whose soft-RoCE is in all of them (7.x) ----

AUTH_NET=auth
AUTH_NET_ADDR=198.51.100.2
AUTH_CONTAINER=container.example.test

in_namespace() { nsenter --net=/run/netns/$AUTH_NET "$@"; }

# namespace_key NAME CONTENT: add a key of the namespace
namespace_key()
{
	printf %s "$2" | in_namespace keyctl padd rpcrdma $1 @u >/dev/null
}

# Create the namespace of the client. The server is the host's, at another RDMA device.
auth_namespace_up()
{
	modprobe veth
	ip netns add $AUTH_NET
	ip link add auth0 type veth peer name auth1 netns $AUTH_NET
	ip link set auth0 mtu 4200 up
	ip addr add 198.51.100.1/24 dev auth0
	ip -n $AUTH_NET link set lo up
	ip -n $AUTH_NET link set auth1 mtu 4200 up
	ip -n $AUTH_NET addr add $AUTH_NET_ADDR/24 dev auth1
	rdma link add rxe_auth0 type rxe netdev auth0
	in_namespace rdma link add rxe_auth1 type rxe netdev auth1
	set_secret
	set_auth 2 2
}

# namespace_is_refused REASON: a mount in the namespace fails, and a mount of the host succeeds
namespace_is_refused()
{
	NETNS=$AUTH_NET HOST=198.51.100.1 auth_denied 3 "$1"
	auth_mounts 3 authenticated authenticated
}

# open_client ADDRESS: print both ends of the open connection of a client with that address
open_client() { connections | grep "^role=client .*state=open " | grep -oE "local=$1:[0-9]+ remote=[^ ]*"; }
open_client_changes() { [ "$(open_client $1)" != "$2" ]; }

# The host and the container have a mount each, and the server has proven the same identity to
# both. Each of them can end only connections of its own namespace.
auth_ends_in_namespace()
{
	local host container
	host=$(open_client $ADDR4)
	container=$(open_client $AUTH_NET_ADDR)
	[ -n "$host" ] && [ -n "$container" ] || complain "the host or the container is not connected" || return
	echo $AUTH_IDENTITY >$AUTH_PARAMETERS/end_identity
	wait_for 30 open_client_changes $ADDR4 "$host"
	ls $MNT >/dev/null
	host=$(open_client $ADDR4)
	[ -n "$host" ] || complain "the host is not connected again"
	[ "$(open_client $AUTH_NET_ADDR)" = "$container" ] || complain "the host ended the container's connection"
	in_namespace bash -c "echo $AUTH_IDENTITY >$AUTH_PARAMETERS/end_identity"
	wait_for 30 open_client_changes $AUTH_NET_ADDR "$container"
	[ "$(open_client $ADDR4)" = "$host" ] || complain "the container ended the host's connection"
	ls /mnt-auth >/dev/null
	[ -n "$(open_client $AUTH_NET_ADDR)" ] || complain "the container is not connected again"
}

auth_namespace_client()
{
	local secret='a secret of a container, 32 bytes' id
	echo "the host's secret, and a logon key that the namespace adds"
	printf %s "$secret" | in_namespace keyctl padd logon rpcrdma:$AUTH_CONTAINER @u
	namespace_is_refused 'no usable secret'
	namespace_key rpcrdma-identity $AUTH_CONTAINER
	namespace_is_refused 'no usable secret'
	echo "another secret than the server's"
	namespace_key rpcrdma:$AUTH_CONTAINER 'another secret of this container'
	namespace_is_refused "refuses this host's identity or secret"
	echo "the same secret"
	namespace_key rpcrdma:$AUTH_CONTAINER "$secret"
	NETNS=$AUTH_NET HOST=198.51.100.1 do_mount 3 /mnt-auth
	do_mount 3 $MNT
	connections
	for id in $AUTH_CONTAINER $AUTH_IDENTITY; do
		[ "$(connections | grep -c "^role=server .* auth=authenticated .*identity=$id .*state=open ")" -eq 1 ] ||
			complain "the server does not report $id"
	done
	auth_ends_in_namespace || return
	umount /mnt-auth
	umount $MNT
	drop_secret $AUTH_CONTAINER
	echo "the server lacks the container's secret"
	namespace_is_refused "refuses this host's identity or secret"
	echo "an identity that the server must prove"
	namespace_key rpcrdma-peer:198.51.100.1 other.example.test
	give_secret $AUTH_CONTAINER "$secret"
	namespace_is_refused 'another identity than expected'
	in_namespace keyctl unlink "$(in_namespace keyctl search @u rpcrdma rpcrdma-peer:198.51.100.1)" @u
	drop_secret $AUTH_CONTAINER
}

# namespace_ping STATUS TEXT: ping the server in the namespace, and check status and output
namespace_ping()
{
	local status=0
	"$RUN/rpcrdma-ping" -t 20 -c 2 --identity=$AUTH_IDENTITY --secret=/tmp/ping.secret $AUTH_NET_ADDR >/tmp/ping.log 2>&1 ||
		status=$?
	cat /tmp/ping.log
	[ $status -eq $1 ] && grep -q "$2" /tmp/ping.log || complain "status $status, not $1, or no: $2"
}

# The server is in the namespace, and its client is the host.
auth_namespace_server()
{
	local status=0 nfsd=/run/nfsd-auth
	modprobe -a ib_uverbs rdma_ucm 2>/dev/null || true
	printf %s 'a secret of the host, for a ping' >/tmp/ping.secret
	give_secret $AUTH_IDENTITY "$(cat /tmp/ping.secret)"
	mkdir -p $nfsd
	in_namespace mount -t nfsd nfsd $nfsd
	echo -4 >$nfsd/versions
	echo rdma $PORT >$nfsd/portlist
	echo 2 >$nfsd/threads
	namespace_ping 9 'refuses this host' || status=1
	namespace_key rpcrdma:$AUTH_IDENTITY "$(cat /tmp/ping.secret)"
	namespace_ping 0 "authenticated: $AUTH_CONTAINER" || status=1
	echo 0 >$nfsd/threads
	umount $nfsd
	rm /tmp/ping.secret
	return $status
}

no_namespace_key() { ! grep " rpcrdma  *rpcrdma" /proc/keys; }
no_namespace_device() { ! rdma link show | grep rxe_auth; }

# The keys of the namespace are freed with it.
auth_namespace_down()
{
	grep " rpcrdma  *rpcrdma:$AUTH_CONTAINER" /proc/keys
	ip link del auth0
	ip netns del $AUTH_NET
	wait_for 30 no_namespace_key
	wait_for 30 no_namespace_device
}

auth_off()
{
	drop_secret
	set_auth 1 1
	echo >$AUTH_PARAMETERS/host_identity
}
