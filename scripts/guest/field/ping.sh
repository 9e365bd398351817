# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: rpcrdma-ping from the client's host.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119

PING=$RUN/rpcrdma-ping
PING_PORT=20050

# ping_says STATUS TEXT ARG...: run rpcrdma-ping, and check its exit status and output
ping_says()
{
	local wanted=$1 text=$2 status=0
	shift 2
	# Use a longer time limit than the default, because the machine may be busy.
	client timeout -s KILL 60 $PING -t 20 "$@" >/tmp/ping.log 2>&1 || status=$?
	[ $status -eq $wanted ] || { cat /tmp/ping.log; complain "ping $*: exit status $status, not $wanted"; return; }
	grep -qF -- "$text" /tmp/ping.log || { cat /tmp/ping.log; complain "ping $* does not print: $text"; }
}

# The module's server, with both versions
ping_nfsd()
{
	ping_says 0 'version     2: both ends have it' -c 20 -i 0.01 $ADDR4
	ping_says 0 'round trip  20 Calls' -c 20 -i 0.01 $ADDR4
	screen ping cat /tmp/ping.log
	ping_says 0 '"version": 2' --json -c 2 $ADDR4
	ping_says 0 '"version": 1' --json -c 2 -v 1 $ADDR4
	ping_says 0 'outstanding' --load --time=2 $ADDR4
	screen ping-load cat /tmp/ping.log
	ping_says 7 'does not serve program 300000' -P 300000 $ADDR4
}

# A server with version 1 only
ping_version1()
{
	echo 1 >/sys/module/rpcrdma/parameters/svc_max_version
	nfsd_down
	nfsd_up
	ping_says 0 'version     1: the server has refused version 2' -c 20 -i 0.01 $ADDR4
	ping_says 6 'has version 1 only' -v 2 $ADDR4
	server_again
}

# ping_with OPTION... -- COMMAND...: run it with rpcrdma-ping's own server, outside the
# namespace
ping_with()
{
	local options=() server
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	$PING --server -p $PING_PORT "${options[@]}" >/tmp/ping-server.log 2>&1 &
	server=$!
	wait_for 20 grep -q listening /tmp/ping-server.log || complain "the server does not listen"
	"$@"
	kill $server 2>/dev/null || true
	# Ended by a signal
	wait $server 2>/dev/null || true
}

ping_server()
{
	ping_with -- ping_says 0 'version     2' -p $PING_PORT -c 50 -i 0.001 $ADDR4
	ping_with -- ping_says 0 'version     2' -p $PING_PORT -c 5 -s 20000 $ADDR4
	ping_with -- ping_says 0 'outstanding' -p $PING_PORT --load --time=2 $ADDR4
	ping_with -v 1 -- ping_says 0 'version     1' -p $PING_PORT -c 5 $ADDR4
	ping_with -v 1 -- ping_says 6 'has version 1 only' -p $PING_PORT -v 2 $ADDR4
}

# Host authentication: with nfsd, and with rpcrdma-ping's own server
ping_auth()
{
	local me=--identity=ping.example.test secret=/tmp/ping.secret
	head -c 32 /dev/urandom >$secret
	head -c 32 /dev/urandom >$secret.other
	keyctl padd logon rpcrdma:ping.example.test @u <$secret >/dev/null
	set_until_end svc_host_auth=2
	ping_says 0 'host auth   authenticated: ' $me --secret=$secret -c 2 $ADDR4
	screen ping-auth cat /tmp/ping.log
	ping_says 0 '"state": "authenticated"' --json $me --secret=$secret -c 2 $ADDR4
	ping_says 9 'refuses this host' $me --secret=$secret.other $ADDR4
	ping_says 9 'requires host authentication' $ADDR4
	keyctl padd user rpcrdma:ping.example.test @u <$secret >/dev/null
	ping_says 0 'host auth   authenticated: ' $me -c 2 $ADDR4
	keyctl unlink "$(keyctl search @u user rpcrdma:ping.example.test)" @u
	ping_says 1 'no readable key' $me $ADDR4
	keyctl unlink "$(keyctl search @u logon rpcrdma:ping.example.test)" @u
	ping_says 9 'refuses this host' $me --secret=$secret $ADDR4
	echo 0 >$CTL_PARAMETERS/svc_host_auth
	ping_says 9 'does not take part' $me --secret=$secret $ADDR4
	ping_with --identity=s.example.test --secret=$secret -- \
		ping_says 0 'authenticated: s.example.test, sha512' -p $PING_PORT $me --secret=$secret -c 2 $ADDR4
	ping_with --identity=s.example.test --secret=$secret -- \
		ping_says 9 'refuses this host' -p $PING_PORT $me --secret=$secret.other $ADDR4
}

# Each failure has a separate sentence and exit status.
ping_sentences()
{
	ping_says 4 'nothing listens for RDMA' -p 20051 $ADDR4
	screen ping-closed cat /tmp/ping.log
	ping_with --reject -- ping_says 4 'has refused the connection' -p $PING_PORT $ADDR4
	ping_with --silent -- ping_says 5 'does not answer NULL' -p $PING_PORT -t 2 $ADDR4
	ping_says 3 'route' -t 2 203.0.113.1
	ping_says 3 '198.51.100.77' -t 2 198.51.100.77
	ping_says 3 'no.such.host' no.such.host
	ping_says 1 'usage' --count=0 $ADDR4
	ping_unanswered silent 'does not answer: it may drop all but version 1'
	ping_unanswered drop 'closes them without an answer: it may have version 1 only'
	ping_with -- ping_lost
}

# ping_unanswered silent|drop TEXT: a server of version 1 that does not refuse version 2
ping_unanswered()
{
	local log=/tmp/version1-server.log server
	"$RUN/version1-server" $((PING_PORT + 2)) $1 $ADDR4 >$log 2>&1 &
	server=$!
	wait_for 20 grep -q listening $log || complain "the server does not listen"
	ping_says 5 "$2" -t 3 -p $((PING_PORT + 2)) $ADDR4
	kill $server
	wait $server 2>/dev/null || true
}

ping_connected() { client rdma resource show qp | grep 'type RC' | grep 'state RTS' | grep -q "pid $CLIENT_PID "; }

# The server, started by ping_with, is killed while it is called.
ping_lost()
{
	local status=0
	client_begin $PING -t 20 -c 100000 -i 0.01 -p $PING_PORT $ADDR4 >/tmp/ping.log 2>&1
	wait_for 20 ping_connected || complain "no connection"
	sleep 1
	kill -KILL $server
	wait $CLIENT_PID || status=$?
	[ $status -eq 8 ] && grep -q "the connection to $ADDR4 port $PING_PORT has ended" /tmp/ping.log ||
		{ cat /tmp/ping.log; complain "exit status $status, not 8"; }
}
