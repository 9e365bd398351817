# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: rpcrdma-ctl at both hosts.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119

CTL=$RUN/ctl/rpcrdma-ctl

# says PATTERN COMMAND...: check that the command's output matches PATTERN
says()
{
	local pattern=$1
	shift
	"$@" >/tmp/ctl.log 2>&1 || true
	grep -qE -- "$pattern" /tmp/ctl.log || { cat /tmp/ctl.log; complain "$* does not print: $pattern"; }
}

# found HOST NAME, not_found HOST NAME: check that doctor reports this finding, or does not.
# HOST is client, or command for the server.
found()
{
	says "\\[$2\\]\$" $1 $CTL doctor
}

not_found()
{
	$1 $CTL doctor >/tmp/ctl.log 2>&1 || true
	! grep -qF "[$2]" /tmp/ctl.log || { cat /tmp/ctl.log; complain "$1: doctor reports $2"; }
}

# One mount: status shows the connections of both ends, without privileges
ctl_status()
{
	says 'Module +loaded: [0-9.]+ \(' command $CTL status
	says "Listener +0.0.0.0:20049\$" command $CTL status
	says "Mount +$MNT of .*NFS 4.2, rdma, connection 0" client $CTL status
	says "Connection +[0-9]+: client $CLIENT4:[0-9]+ - $ADDR4:20049, version 2 \\(both\\)\$" \
		client $CTL status
	says "Connection +[0-9]+: server $ADDR4:20049 - $CLIENT4:[0-9]+, version 2" command $CTL status
	says 'Device +rxec/1 CA, Ethernet, ACTIVE.* c0 \(MTU 4200\), RoCE v2' client $CTL status
	# A namespace's status does not have the connections of the other one.
	! grep -q 'Connection.*server' <(client $CTL status) || complain "status shows a connection of another namespace"
	# The numbers are those of debugfs.
	says "sent=$($CTL status --json | sed -n 's/.*"sent": \([0-9]*\).*/\1/p' | head -n 1) " \
		grep role=server /sys/kernel/debug/rpcrdma/connections
	says 'Connection' setpriv --reuid 65534 --regid 65534 --clear-groups $CTL status
}

ctl_top()
{
	dd if=/dev/zero of=$MNT/top bs=64k count=64 conv=fsync 2>/dev/null
	says "^c $CLIENT4:[0-9]+ $ADDR4:20049 +2 " client $CTL top -n 1 -d 1
	says "^$MNT " client $CTL top -n 1 -d 1
	says '^rpcrdma_opened_total [1-9]' client $CTL metrics
	says "^rpcrdma_connection_version\\{role=\"client\",.*\\} 2\$" client $CTL metrics
	client $CTL metrics -o /tmp/rpcrdma.prom
	grep -q '^rpcrdma_connection_sent_total{' /tmp/rpcrdma.prom || complain "no metrics in the file"
}

ctl_trace()
{
	client $CTL trace -i c0 -o /tmp/ctl.tar.gz -- ls -lR $MNT >/dev/null
	rm -rf /tmp/rpcrdma-trace
	tar -C /tmp -xzf /tmp/ctl.tar.gz
	grep -q 'rpcrdma_send: xid=' /tmp/rpcrdma-trace/trace.txt || complain "no tracepoint"
	[ -s /tmp/rpcrdma-trace/packets.pcap ] || complain "no packets"
	grep -q '"connections"' /tmp/rpcrdma-trace/status.json || complain "no status"
	! ls -d /sys/kernel/tracing/instances/rpcrdma-ctl.* 2>/dev/null || complain "an instance is left"
}

# A connection opens and closes: events, recordings and metrics
ctl_events()
{
	local pid
	client $CTL events >/tmp/events.log 2>&1 &
	pid=$!
	wait_for 20 events_seen
	kill $pid
	wait $pid 2>/dev/null || true
	grep -qE "client $CLIENT4:[0-9]+ - $ADDR4:20049, version 2 \\(both\\), open" /tmp/events.log ||
		{ cat /tmp/events.log; complain "no connection has opened"; }
}

# Mount and unmount, until the program has seen the end of a connection.
events_seen()
{
	mount_works 4.2 && umount_works && settle
	grep -q closing /tmp/events.log
}

# version 1 as a fallback, and for the server's version again
ctl_fallback()
{
	not_found client fallback
	echo 1 >/sys/module/rpcrdma/parameters/svc_max_version
	nfsd_down
	nfsd_up
	mounted 3 found client fallback
	says '^rpcrdma_fallbacks_total [1-9]' client $CTL metrics
	server_again
}

# Findings about devices
ctl_devices()
{
	not_found client port-down
	ip -n $NETNS link set c0 down
	found client port-down
	ip -n $NETNS link set c0 up
	ip -n $NETNS addr replace $CLIENT4/24 dev c0
	ip -n $NETNS -6 addr replace $CLIENT6/64 dev c0 nodad
	wait_for 20 not_found client port-down
}

# Packets of the full MTU are lost, because the server's end accepts smaller ones only.
ctl_mtu()
{
	not_found client mtu-mismatch
	ip link set d0 mtu 1500
	found client mtu-mismatch
	ip link set d0 mtu 4200
}

# Listeners: none, one that the next start of nfsd will not have, one without its device
ctl_listeners()
{
	not_found command listener-missing
	found command listener-not-persistent
	mkdir -p /etc/nfs.conf.d
	printf '[nfsd]\nrdma=y\n' >/etc/nfs.conf.d/ctl.conf
	not_found command listener-not-persistent
	rm /etc/nfs.conf.d/ctl.conf
}

# No listener at that port: the client counts the cause
ctl_counters()
{
	! client mount -t nfs -o vers=4.2,proto=rdma,port=20051,soft,timeo=10,retrans=1,retry=0 $ADDR4:/ $MNT 2>/dev/null ||
		complain "the mount succeeded"
	found client rejects-no-listener
	not_found command rejects-no-listener
}

# The module is replaced, and the server has its listeners again.
ctl_reload()
{
	mounted 4.2 says "$MNT is mounted: umount $MNT" $CTL reload
	says 'loaded: ' $CTL reload
	says 'rdma 20049' cat /proc/fs/nfsd/portlist
	mounted 4.2 ctl_status
}
