#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The server's guest of scripts/interop.sh: export, and do as the client asks.
# shellcheck source-path=SCRIPTDIR disable=SC2119
set -u
. "$(dirname "$0")/interop.sh"

shared_up || exit
link_up $SERVER_ADDR || exit
nfs_services_up || exit
modprobe rpcrdma
check_module || exit
nfsd_up || exit
touch $SHARED/ready
serve_requests
nfs_services_down
rxe_del
modprobe -r rpcrdma
