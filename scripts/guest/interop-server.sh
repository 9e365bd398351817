#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The server's guest of scripts/interop.sh: export, and do as the client asks.
# shellcheck source-path=SCRIPTDIR disable=SC2119
set -u
. "$(dirname "$0")/interop.sh"

# server_module ours|in-tree: restart the server with that module. What clients
# have mounted stays mounted.
server_module()
{
	nfsd_down
	use_module "$1" && nfsd_up
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
