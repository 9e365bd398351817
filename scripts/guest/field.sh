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
# shellcheck disable=SC2034
NFSIO=$RUN/nfsio MAXSIZE=70000

bring_up()
{
	hosts_up
	nfs_services_up
	client_named
	disk_up
	nfsd_up
}

SECONDS=0
t setup.hosts 120 bring_up
[ $FAILED -eq 0 ] || abort "there is no server to test with"
MAC=$(cat /sys/class/net/d0/address)
t setup.module 30 check_module
count_resources

for v in 3 4.2; do
	t hosts.$v 30 mounted $v work_hosts $v
	repair
done
t hosts.outside 30 mounted 4.2 work_outside 4.2
repair

t deferred.calls 30 mounted 3,noac work_deferred
repair
t deferred.dropped 30 mounted 3,noac work_deferred dropped
repair
t deferred.server-restarts 30 mounted 3,noac work_deferred stopped
repair
t deferred.secure-ports 30 mounted 3,noac work_secure
repair
for v in 3 4.2; do
	t once.$v 30 mounted $v work_names usual special pulled continued version1
	repair
done
t soft.timeouts 30 mounted 3 work_soft
repair
t xattrs.dropped 30 mounted 4.2 work_xattrs
repair
t copy.dropped 30 mounted 4.2 work_copy
repair
for v in 3 4.2; do
	t nconnect.$v 30 mounted $v,nconnect=8 work_nconnect 8
	repair
done

t mounts.spellings 30 spellings
repair
t mounts.unanswered 30 unanswered
repair
t mounts.unanswered-killed 30 unanswered_killed
repair
t swap.dropped 30 mounted 4.1 work_swap
repair

t loss.one-percent 30 mounted 3 work_lossy loss 1%
repair
t loss.ten-percent 30 mounted 4.2 work_lossy loss 10%
repair
t loss.reordered 30 mounted 4.2 work_lossy delay 5ms 5ms
repair
t loss.short 30 mounted 4.2 work_cut
repair
t partition.both 30 mounted 4.2 work_partition client server
repair
t partition.client 30 mounted 3 work_partition client
repair
t partition.server 30 mounted 4.2 work_partition server
repair
t client.crashed 30 crashed 3
repair
t client.paused 30 mounted 4.2 work_paused
repair
t address.mac-announced 30 mounted 4.2 work_mac 1
repair
t address.mac-unannounced 30 mounted 3 work_mac 0
repair
t address.moves 30 mounted 4.2 work_moves
repair
t address.vlan 30 vlan_mount
repair
t address.link-local 30 link_local
repair
t address.mtu 30 mounted 4.2 work_mtu
repair
t address.bonding 30 bonding
repair
t namespace.address-gone 30 mounted 3 work_address_gone
repair
t namespace.device-replaced 30 mounted 3 work_device_replaced
repair

t server.restarts 30 mounted 3 work_restarts
repair
t server.listeners 30 mounted 3 work_listeners
repair
t server.bound-listener 30 bound
repair
t server.no-ipv6 30 no_ipv6
repair
t server.pools 30 pools
repair
if [ -e /sys/kernel/debug/nfsd/io_cache_read ]; then
	for v in 3 4.2; do
		t direct.$v 30 mounted $v work_direct
		repair
	done
fi
t server.payload 30 work_payload 4194304
repair

t unload.stop 30 stop_all
t unload.slab 30 no_slab_left
if have_kmemleak; then
	t unload.kmemleak 30 no_leaks
fi
end_of_run
