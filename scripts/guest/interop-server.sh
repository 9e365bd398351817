#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The server's guest of scripts/interop.sh: export, and run the commands that the client sends.
# shellcheck source-path=SCRIPTDIR disable=SC2119
set -u
. "$(dirname "$0")/interop.sh"

no_connections()
{
	[ -z "$(rdma resource show cm_id)" ]
}

# Stop nfsd, while no connection request arrives. The in-tree module of Linux 6.1 leaks
# connections that are requested while nfsd stops. After the module is unloaded, the
# connection manager would call its handlers.
server_down()
{
	local kind status=0
	kind=$(module_kind)
	[ $kind != in-tree ] || link_cut || return
	pause
	nfsd_down || status=$?
	[ $kind != in-tree ] || wait_for 30 no_connections || status=$?
	[ $kind != in-tree ] || link_mend || status=$?
	return $status
}

# server_module ours|in-tree: restart the server with that module. The clients'
# mounts remain.
server_module()
{
	server_down && use_module "$1" && nfsd_up
}

shared_up || exit
link_up $SERVER_ADDR || exit
nfs_services_up || exit
nfsd_up || exit
touch $SHARED/ready
serve_requests
nfs_services_down
rdma_del
[ ! -d /sys/module/rpcrdma ] || wait_for 30 modprobe -r rpcrdma
