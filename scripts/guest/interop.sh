# SPDX-License-Identifier: GPL-2.0
# Sourced by the two ends of an interop run: the link between the guests, and
# how the client's guest has the server's guest do something. They share the
# folder $SHARED, which the host provides.
# shellcheck shell=bash disable=SC2034

# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

SERVER_ADDR=192.0.2.1
CLIENT_ADDR=192.0.2.2
ADDR4=$SERVER_ADDR
SHARED=/run/shared

# link_up ADDR: the netdev between the guests and an rxe device over it.
link_up()
{
	modprobe virtio_net
	wait_for 20 test -e /sys/class/net/eth0 || return
	ip link set eth0 mtu 4200 up
	ip addr add "$1/24" dev eth0
	modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0
}

shared_up()
{
	mkdir -p $SHARED
	modprobe 9pnet_virtio
	mount -t 9p -o trans=virtio,version=9p2000.L,rw,cache=none shared $SHARED
}

# on_server COMMAND: run it in the server's guest; its output, and its status.
REQUEST=0
on_server()
{
	local n i
	# Tests run in subshells: the number of the last request is in a file.
	n=$(($(cat $SHARED/number 2>/dev/null || echo 0) + 1))
	echo $n >$SHARED/number
	echo "$*" >$SHARED/tmp.$n
	mv $SHARED/tmp.$n $SHARED/request.$n
	for ((i = 0; i < 600 * TIMEOUT_SCALE; i++)); do
		[ ! -e $SHARED/status.$n ] || break
		pause
	done
	cat $SHARED/output.$n
	[ -e $SHARED/status.$n ] || complain "the server's guest does not answer"
	return "$(cat $SHARED/status.$n)"
}

# The other side of that, until asked to stop.
serve_requests()
{
	local n=1
	until [ -e $SHARED/stop ]; do
		if [ -e $SHARED/request.$n ]; then
			( eval "$(cat $SHARED/request.$n)" ) >$SHARED/output.$n 2>&1
			echo $? >$SHARED/tmp.$n
			mv $SHARED/tmp.$n $SHARED/status.$n
			n=$((n + 1))
		else
			pause
		fi
	done
}
