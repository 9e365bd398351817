# SPDX-License-Identifier: GPL-2.0
# Sourced by both guests of an interop run: the link between the guests, the choice of the
# module, and requests of the client's guest to the server's guest. They share the folder
# $SHARED, which the host provides.
# shellcheck shell=bash disable=SC2034

# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

# shellcheck source-path=SCRIPTDIR source=hostauth.sh
. "$(dirname "${BASH_SOURCE[0]}")/hostauth.sh"

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

# Drop all packets that arrive (link_cut), and accept them again (link_mend).
link_cut()
{
	tc qdisc add dev eth0 ingress &&
		tc filter add dev eth0 ingress matchall action drop
}

link_mend()
{
	tc qdisc del dev eth0 ingress
}

shared_up()
{
	mkdir -p $SHARED
	modprobe 9pnet_virtio
	mount -t 9p -o trans=virtio,version=9p2000.L,rw,cache=none shared $SHARED
}

# Print which module is loaded: ours, in-tree, or none.
module_kind()
{
	if [ ! -d /sys/module/rpcrdma ]; then
		echo none
	elif [ -e /sys/module/rpcrdma/parameters/max_version ]; then
		echo ours
	else
		echo in-tree
	fi
}

# use_module ours|in-tree: load it in place of the other one. No mount or export may use RDMA.
use_module()
{
	local file dep
	[ "$(module_kind)" != $1 ] || return 0
	# the last transports are destroyed by a work queue
	[ ! -d /sys/module/rpcrdma ] || wait_for 30 modprobe -r rpcrdma || return
	case $1 in
	ours) file=$(modinfo -n rpcrdma) ;;
	in-tree) file=/lib/modules/$(uname -r)/kernel/net/sunrpc/xprtrdma/rpcrdma.ko ;;
	esac
	for dep in $(modinfo -F depends $file | tr , ' '); do
		modprobe $dep || return
	done
	insmod $file || return
	[ "$(module_kind)" = $1 ] || complain "$file is not the requested module"
}

# on_server COMMAND: run it in the server's guest; print its output, and return its status
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
	[ -e $SHARED/status.$n ] || complain "the server's guest does not answer" || return
	cat $SHARED/output.$n
	return "$(cat $SHARED/status.$n)"
}

# Serve these requests until one of them says stop.
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
