# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: rpcrdma-ctl at two hosts, for findings that need two hosts.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119

CTL_DEVICE=rxec CTL_NETDEV=c0

# Secrets of both hosts. The client's are keys of its network namespace, so the next three
# functions replace those of hostauth.sh.

# add_secret IDENTITY FILE
add_secret()
{
	keyctl padd logon rpcrdma:$1 @u <$2 >/dev/null
	client keyctl padd rpcrdma rpcrdma:$1 @u <$2 >/dev/null
}

drop_secret()
{
	keyctl unlink "$(keyctl search @u logon rpcrdma:${1:-$AUTH_IDENTITY} 2>/dev/null)" @u 2>/dev/null || true
	keyctl unlink "$(client keyctl search @u rpcrdma rpcrdma:${1:-$AUTH_IDENTITY} 2>/dev/null)" @u 2>/dev/null || true
}

revoke_secret()
{
	keyctl revoke "$(keyctl search @u logon rpcrdma:$AUTH_IDENTITY)"
	keyctl revoke "$(client keyctl search @u rpcrdma rpcrdma:$AUTH_IDENTITY)"
}

# The client's host has a separate sysfs, with only its devices.
# shellcheck disable=SC2016
ctl()
{
	client unshare --mount bash -c 'mount -t sysfs sysfs /sys
		mount -t tracefs tracefs /sys/kernel/tracing
		exec "$@"' bash $CTL "$@"
}

# The namespaces do not see each other's connections.
ctl_apart()
{
	ctl_status
	! grep -q 'Connection.*server' <(ctl status) || complain "a connection of another namespace"
	! grep -q 'Device *rxe0' <(ctl status) || complain "a device of another namespace"
	not_found ctl_server rejects-no-listener
}

# A connection opens and closes. Another one falls back to version 1.
ctl_events()
{
	client_begin $CTL events >/tmp/events.log 2>&1
	wait_for 60 events_seen
	set_until_end svc_max_version=1
	nfsd_again
	mount_works 4.2
	wait_for 20 grep -qE ', version 1 \(refused\), a fallback, open$' /tmp/events.log ||
		{ cat /tmp/events.log; complain "no connection has fallen back"; }
	umount_works
	restore
	nfsd_again
	kill $CLIENT_PID
	wait $CLIENT_PID 2>/dev/null || true
	screen events cat /tmp/events.log
	grep -qE "client $CLIENT4:[0-9]+ - $ADDR4:20049, version 2 \\(both\\), open" /tmp/events.log ||
		{ cat /tmp/events.log; complain "no connection has opened"; }
}

# Mount and unmount repeatedly, until the program, which may start slowly, has reported a
# connection from its beginning to its end.
events_seen()
{
	mount_works 4.2 && umount_works && settle
	sed '1,/, open$/d' /tmp/events.log | grep -q ', closing'
}

# The client's port is down, and then its device is gone.
ctl_devices()
{
	not_found ctl port-down no-device
	ip -n $NETNS link set c0 down
	found ctl port-down
	screen port-down cat /tmp/ctl.log
	ip -n $NETNS link set c0 up
	ip -n $NETNS addr replace $CLIENT4/24 dev c0
	ip -n $NETNS -6 addr replace $CLIENT6/64 dev c0 nodad
	wait_for 20 not_found ctl port-down
	client_device_del
	found ctl no-device
	client_device_add
	wait_for 20 not_found ctl no-device port-down
}

# Packets of the complete MTU are lost, because the server's end accepts only smaller ones. On a
# host without ping, the doctor reports that the MTU was not checked.
ctl_mtu()
{
	local ping
	not_found ctl mtu-mismatch mtu-unchecked
	ip link set d0 mtu 1500
	found ctl mtu-mismatch
	screen mtu cat /tmp/ctl.log
	ip link set d0 mtu 4200
	ping=$(command -v ping)
	mv $ping $ping.away
	found ctl mtu-unchecked
	not_found ctl mtu-mismatch
	mv $ping.away $ping
	not_found ctl mtu-unchecked
}

# Interfaces of one port have different MTUs.
ctl_vlan()
{
	not_found ctl_server mtu-interfaces
	ip link add link d0 name d0.5 type vlan id 5
	ip link set d0.5 mtu 1500 up
	ip addr add 203.0.113.1/24 dev d0.5
	wait_for 20 found ctl_server mtu-interfaces
	ip link del d0.5
	wait_for 20 not_found ctl_server mtu-interfaces
}

# The only listener is bound to an address, and the device of that address is removed.
ctl_listener_lost()
{
	not_found ctl_server listener-lost
	rdma_del
	found ctl_server listener-lost
	rdma_add
	wait_for 20 not_found ctl_server listener-lost
}

# A client does not pull a Reply, and stays connected. The finding ends with the connection, and
# the counter remains.
ctl_never_pulled()
{
	not_found ctl_server never-pulled
	mark ctl_server
	set_until_end svc_done_timeout=1
	head -c 65536 /dev/zero | tr '\0' h >$EXPORT/hostile
	client_begin $HOSTILE client $ADDR4 20049 unpulled >/tmp/unpulled.log 2>&1
	wait_for 60 overdue || { cat /tmp/unpulled.log; complain "no Reply is overdue"; }
	found ctl_server never-pulled
	screen never-pulled cat /tmp/ctl.log
	kill $CLIENT_PID
	wait $CLIENT_PID 2>/dev/null || true
	restore
	rm $EXPORT/hostile
	settle
	raised ctl_server pulls_overdue
	not_found ctl_server never-pulled
}

overdue() { [ "$(sum_of server dones_overdue)" -gt 0 ]; }

# A server has too little memory for its clients.
ctl_memory()
{
	local i pids=()
	mark ctl_server
	set_until_end svc_max_memory=1
	for i in {1..24}; do
		client_begin $PING -c 1000 -i 0.05 -t 20 $ADDR4 >/dev/null 2>&1
		pids+=("$CLIENT_PID")
	done
	wait_for 60 raised ctl_server refused_no_memory >/dev/null
	screen memory cat /tmp/ctl.log
	kill "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" 2>/dev/null || true
	restore
	settle
}

# Each cause of a failed attempt to connect is counted.
ctl_causes()
{
	mark ctl
	cannot_mount 203.0.113.77
	ping_with --reject -- cannot_mount $ADDR4 port=$PING_PORT
	raised ctl unresolved rejects_by_peer connects_failed
	screen causes cat /tmp/ctl.log
}

# cannot_mount ADDRESS [OPTION,...]
cannot_mount()
{
	! client timeout -s KILL 60 mount -t nfs \
		-o vers=4.2,proto=rdma,port=20049,soft,timeo=10,retrans=1,retry=0${2:+,$2} $1:/ $MNT 2>/dev/null ||
		complain "it mounts"
}

# A connection is lost because a Work Request fails: the client's Call is not acknowledged. The
# server's end has nothing to send, so only the client's end fails.
ctl_lost()
{
	local before call logged
	mark ctl ctl_server
	logged=$(dmesg | grep -c "$UNACKNOWLEDGED" || true)
	before=$(connects)
	wait_for 30 quiet
	impair client loss 100%
	impair server loss 100%
	touch $MNT/lost &
	call=$!
	wait_for 60 no_transport
	log_says "$UNACKNOWLEDGED" $logged || complain "the log does not have the reason"
	heal
	reconnected $before
	wait $call
	rm $MNT/lost
	raised ctl wr_failures
	[ "$(growth ctl_server wr_failures)" -eq 0 ] || complain "the server's end counts one, too"
	screen lost cat /tmp/ctl.log
	# nfsd keeps the connections of silent clients for a while: restart it.
	server_again
}

UNACKNOWLEDGED="connection to $ADDR4:$PORT closed: transport retry counter exceeded"

opening() { connections | grep '^role=server ' | grep -qv ' state=open '; }

# Begin a client's connection. The server's answer to it is delayed for seconds. The
# client does not have to ask for the server's hardware address.
connects_slowly()
{
	client ip neigh replace $ADDR4 lladdr $MAC dev c0 nud permanent
	impair server delay 3s
	client_begin $PING -c 1 -t 100 $ADDR4 >/dev/null 2>&1
	wait_for 30 opening
}

# A client is killed before the server's answer arrives. Its connection manager rejects the answer.
ctl_rejected()
{
	mark ctl_server
	connects_slowly
	kill -KILL $CLIENT_PID
	wait $CLIENT_PID 2>/dev/null || true
	wait_for 60 raised ctl_server rejects_other >/dev/null
	heal
	client ip neigh del $ADDR4 dev c0
}

# ping_fails [OPTION...]
ping_fails() { ! client timeout -s KILL 60 $PING -t 20 -c 1 "$@" $ADDR4 >/dev/null 2>&1 || complain "it is accepted: $*"; }

# Host authentication fails for each reason, at a server and at a client. rpcrdma-ping is the
# other end.
ctl_auths()
{
	local me=p.example.test secret=/tmp/ping.secret with conf=/tmp/openssl.cnf
	head -c 32 /dev/urandom >$secret
	head -c 32 /dev/urandom >$secret.other
	add_secret $me $secret
	with=("--identity=$me" "--secret=$secret")
	mark ctl ctl_server

	set_until_end svc_host_auth=2
	ping_fails --identity=$me --secret=$secret.other
	ping_fails --identity=stranger.example.test --secret=$secret
	ping_fails
	ping_fails -v 1
	printf another.example.test | keyctl padd user rpcrdma-peer:$CLIENT4 @u >/dev/null
	ping_fails "${with[@]}"
	keyctl unlink "$(keyctl search @u user rpcrdma-peer:$CLIENT4)" @u
	# This kernel has no Diffie-Hellman.
	set_until_end auth_dh=2
	ping_fails "${with[@]}"
	restore
	raised ctl_server auths_wrong_proof auths_unknown auths_not_offered \
		auths_version_1 auths_wrong_identity auths_no_hash

	set_until_end host_identity=$me
	ping_with "${with[@]/%secret/secret.other}" -- cannot_mount $ADDR4 port=$PING_PORT
	set_until_end host_auth=0
	ping_with "${with[@]}" -- cannot_mount $ADDR4 port=$PING_PORT
	# A server whose libcrypto has no algorithms
	printf '%s\n' 'openssl_conf = a' '[a]' 'providers = b' '[b]' 'base = c' '[c]' 'activate = 1' >$conf
	echo 1 >$CTL_PARAMETERS/host_auth
	OPENSSL_CONF=$conf ping_with "${with[@]}" -- cannot_mount $ADDR4 port=$PING_PORT
	restore
	drop_secret $me
	raised ctl auths_refused auths_peer_requires auths_unavailable
	screen auths cat /tmp/ctl.log
}

# A client stops before it confirms its connection.
ctl_openings()
{
	mark ctl_server
	connects_slowly
	kill -STOP $CLIENT_PID
	heal
	wait_for 90 raised ctl_server openings_overdue >/dev/null
	screen openings cat /tmp/ctl.log
	kill -KILL $CLIENT_PID
	wait $CLIENT_PID 2>/dev/null || true
	client ip neigh del $ADDR4 dev c0
}
