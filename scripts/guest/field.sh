#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Recipes from the field: reports of users of NFS over RDMA, with this transport or another,
# reproduced between two hosts in one guest, with a kernel that has soft-RoCE in network
# namespaces (7.x; scripts/uml-kernel.sh).
#
#   field.sh [PREFIX [ONLY]]
#
# $RUN/nfsio is nfsio.c, compiled on the host. After each test, nothing of its connections is
# left.
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
# shellcheck source-path=SCRIPTDIR source=field/namespace.sh
. "$(dirname "$0")/field/namespace.sh"
# shellcheck source-path=SCRIPTDIR source=field/server.sh
. "$(dirname "$0")/field/server.sh"
# shellcheck source-path=SCRIPTDIR source=field/ping.sh
. "$(dirname "$0")/field/ping.sh"
# shellcheck source-path=SCRIPTDIR source=ctl.sh
. "$(dirname "$0")/ctl.sh"
# shellcheck source-path=SCRIPTDIR source=hostauth.sh
. "$(dirname "$0")/hostauth.sh"
# shellcheck source-path=SCRIPTDIR source=field/ctl.sh
. "$(dirname "$0")/field/ctl.sh"
# shellcheck source-path=SCRIPTDIR source=field/trouble.sh
. "$(dirname "$0")/field/trouble.sh"
# shellcheck source-path=SCRIPTDIR source=field/siw.sh
. "$(dirname "$0")/field/siw.sh"
# shellcheck disable=SC2034
NFSIO=$RUN/nfsio MAXSIZE=70000 MANY='6 4' ENTRIES=300 LINKS=30

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

# recipe NAME COMMAND...: run a test, and restore the initial state if it failed
recipe()
{
	t "$1" 100 "${@:2}"
	repair
}

t ping.nfsd 100 ping_nfsd
t ping.version1 200 ping_version1
t ping.server 200 ping_server
t ping.sentences 200 ping_sentences
t ping.auth 200 ping_auth
repair

recipe ctl.status mounted 4.2 ctl_apart
recipe ctl.good mounted 4.2 ctl_good
recipe ctl.top mounted 4.2 ctl_top
recipe ctl.trace mounted 4.2 ctl_trace -i c0
recipe ctl.events ctl_events
recipe ctl.small ctl_small
recipe ctl.errors ctl_errors
recipe ctl.never-pulled ctl_never_pulled
recipe ctl.memory ctl_memory
recipe ctl.fallback ctl_fallback
recipe ctl.devices ctl_devices
recipe ctl.mtu mounted 4.2 ctl_mtu
recipe ctl.vlan ctl_vlan
recipe ctl.listeners ctl_listeners
recipe ctl.listener-lost bound ctl_listener_lost
recipe ctl.not-rdma ctl_not_rdma
recipe ctl.counters ctl_counters
recipe ctl.causes ctl_causes
recipe ctl.unreachable ctl_unreachable
recipe ctl.openings ctl_openings
recipe ctl.gids ctl_gids
recipe ctl.lost mounted 4.2 ctl_lost
recipe ctl.rejected ctl_rejected
recipe ctl.accepts-failed ctl_accepts
recipe ctl.auth ctl_auth
recipe ctl.auths ctl_auths
recipe auth.log auth_log
recipe auth.peer-version-1 auth_peer_version_1
recipe ctl.too-many ctl_too_many
recipe ctl.reload mounted 4.2 ctl_reload

recipe hosts.3 mounted 3 work_hosts 3
recipe hosts.4.2 mounted 4.2 work_hosts 4.2
recipe hosts.outside mounted 4.2 work_outside 4.2

recipe deferred.calls mounted 3,noac work_deferred
recipe deferred.dropped mounted 3,noac work_deferred dropped
recipe deferred.server-restarts mounted 3,noac work_deferred stopped
recipe once.3 mounted 3 work_names usual special pulled continued version1
recipe once.4.2 mounted 4.2 work_names usual special pulled continued version1
recipe soft.timeouts mounted 3 work_soft
recipe xattrs.dropped mounted 4.2 work_xattrs
recipe copy.dropped mounted 4.2 work_copy
recipe nconnect.3 mounted 3,nconnect=8 work_nconnect 8
recipe nconnect.4.2 mounted 4.2,nconnect=8 work_nconnect 8

recipe mounts.spellings spellings
recipe mounts.unanswered unanswered
recipe mounts.unanswered-killed unanswered_killed

recipe loss.one-percent mounted 3 work_lossy loss 1%
recipe loss.ten-percent mounted 4.2 work_lossy loss 10%
recipe loss.reordered mounted 4.2 work_lossy delay 5ms 5ms
recipe loss.short mounted 4.2 work_cut
recipe partition.both mounted 4.2 work_partition client server
recipe partition.client mounted 3 work_partition client
recipe partition.server mounted 4.2 work_partition server
recipe client.crashed crashed 3
recipe client.paused mounted 4.2 work_paused
recipe address.mac-announced mounted 4.2 work_mac 1
recipe address.mac-unannounced mounted 3 work_mac 0
recipe address.moves mounted 4.2 work_moves
recipe address.vlan vlan_mount
recipe address.link-local link_local
recipe address.mtu mounted 4.2 work_mtu
recipe address.bonding bonding
recipe namespace.address-gone mounted 3 work_address_gone
recipe namespace.device-taken mounted 3 work_taken device
recipe namespace.link-taken mounted 4.2 work_taken link
recipe namespace.address-taken mounted 3 work_taken address
recipe namespace.ended ended 3 4.2

recipe server.restarts mounted 3 work_restarts
recipe server.listeners mounted 3 work_listeners
recipe server.bound-device bound mounted 4.2 work_bound_device
recipe server.bound-address bound bound_address
recipe server.no-ipv6 no_ipv6
if [ -e /sys/kernel/debug/nfsd/io_cache_read ]; then
	# An NFS 3 mount has one file system.
	EXPORT=$EXPORT/disk recipe direct.3 mounted 3 work_direct
	recipe direct.4.2 mounted 4.2 work_direct /disk
fi
recipe server.payload work_payload

t siw.device 100 siw_up
if [ -e /sys/class/infiniband/siw0 ]; then
	for v in 3 4.2; do
		for form in usual special pulled continued; do
			recipe siw.$form.$v siw_form $form $v
		done
	done
	t siw.over 100 siw_down
fi

t unload.stop 100 stop_all
t ctl.modules 100 ctl_modules
t unload.slab 100 no_slab_left
if have_kmemleak; then
	t unload.kmemleak 100 no_leaks
fi
end_of_run
