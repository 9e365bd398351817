#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Recipes from the field: what users of NFS over RDMA have reported in public, of
# this transport or another, done between two hosts in one guest of a kernel that
# has soft-RoCE in network namespaces (7.x; scripts/uml-kernel.sh).
#
#   field.sh [PREFIX [ONLY]]
#
# $RUN/nfsio is nfsio.c, compiled on the host. After each test nothing is left of
# its connections.
# shellcheck disable=SC2086,SC2119,SC2317
set -u

PREFIX=${1:-}
ONLY=${2:-}
# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source-path=SCRIPTDIR source=work.sh
. "$(dirname "$0")/work.sh"
# shellcheck source-path=SCRIPTDIR source=field/hosts.sh
. "$(dirname "$0")/field/hosts.sh"
# shellcheck source-path=SCRIPTDIR source=field/client.sh
. "$(dirname "$0")/field/client.sh"
# shellcheck source-path=SCRIPTDIR source=field/network.sh
. "$(dirname "$0")/field/network.sh"
# shellcheck source-path=SCRIPTDIR source=field/server.sh
. "$(dirname "$0")/field/server.sh"
# shellcheck source-path=SCRIPTDIR source=field/ping.sh
. "$(dirname "$0")/field/ping.sh"
# shellcheck disable=SC2034
NFSIO=$RUN/nfsio MAXSIZE=70000 MANY='6 4'

bring_up()
{
	hosts_up
	nfs_services_up
	client_named
	disk_up
	nfsd_up
}

SECONDS=0
t setup.hosts 300 bring_up
[ $FAILED -eq 0 ] || abort "there is no server to test with"
MAC=$(cat /sys/class/net/d0/address)
t setup.module 100 check_module
count_resources

t ping.nfsd 100 ping_nfsd
t ping.version1 200 ping_version1
t ping.server 200 ping_server
t ping.sentences 200 ping_sentences
repair

for v in 3 4.2; do
	t hosts.$v 100 mounted $v work_hosts $v
	repair
done
t hosts.outside 100 mounted 4.2 work_outside 4.2
repair

t deferred.calls 100 mounted 3,noac work_deferred
repair
t deferred.dropped 100 mounted 3,noac work_deferred dropped
repair
t deferred.server-restarts 100 mounted 3,noac work_deferred stopped
repair
for v in 3 4.2; do
	t once.$v 100 mounted $v work_names usual special pulled continued version1
	repair
done
t xattrs.dropped 100 mounted 4.2 work_xattrs
repair
t copy.dropped 100 mounted 4.2 work_copy
repair

t loss.one-percent 100 mounted 3 work_lossy loss 1%
repair
t partition.client 100 mounted 3 work_partition client
repair
t address.vlan 100 vlan_mount
repair
t address.link-local 100 link_local
repair
t namespace.address-gone 100 mounted 3 work_address_gone
repair

t unload.stop 100 stop_all
t unload.slab 100 no_slab_left
if have_kmemleak; then
	t unload.kmemleak 100 no_leaks
fi
end_of_run
