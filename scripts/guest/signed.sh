#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A kernel that loads only signed modules, first because of lockdown, then because of
# module.sig_enforce as well, whose firmware has a key of this module. $RUN has the module unsigned, signed with
# another key, and signed with this one.
# shellcheck source-path=SCRIPTDIR disable=SC2086,SC2317
set -u
PREFIX=${1:-}
ONLY=${2:-}
. "$(dirname "$0")/harness.sh"

# refused MODULE ERROR LOGGED: check that insmod fails with that error and log line.
refused()
{
	local out
	! out=$(insmod $RUN/$1.ko 2>&1) || complain "$1.ko was loaded"
	grep -qF "$2" <<<"$out" || complain "insmod printed: $out"
	dmesg | tail -n 5 | grep -qF "$3" || complain "the log has: $(dmesg | tail -n 1)"
}

# The taint E shows an unsigned module.
loads()
{
	insmod $RUN/signed.ko
	[ "$(cat /sys/module/rpcrdma/taint)" = O ] || complain "its taint is $(cat /sys/module/rpcrdma/taint)"
}

# With lockdown, the connections are readable.
mounted()
{
	grep -q '\[integrity\]' /sys/kernel/security/lockdown
	do_mount 4.2 $MNT
	head -c 300000 /dev/urandom >$EXPORT/file
	cmp $EXPORT/file $MNT/file
	connections | grep -q 'role=client .*version=2 ' || complain "no connection of version 2 is shown"
	do_umount $MNT
}

bring_up()
{
	rdma_up
	nfs_services_up
	nfsd_up
}

unload()
{
	nfs_services_down
	rdma_del
	modprobe -r rpcrdma
}

modprobe rdma_cm
modprobe sunrpc
mount -t securityfs securityfs /sys/kernel/security
echo integrity >/sys/kernel/security/lockdown
denied="Operation not permitted"
restricted="Lockdown: insmod: unsigned module loading is restricted"
t lockdown.unsigned 30 refused unsigned "$denied" "$restricted"
t lockdown.other-key 30 refused other "$denied" "$restricted"
t lockdown.signed 30 loads
t lockdown.unload 30 rmmod rpcrdma
echo 1 >/sys/module/module/parameters/sig_enforce
rejected="Key was rejected by service"
t enforce.unsigned 30 refused unsigned "$rejected" "Loading of unsigned module is rejected"
t enforce.other-key 30 refused other "$rejected" "Loading of module with unavailable key is rejected"
t enforce.signed 30 loads
t enforce.server 120 bring_up
t enforce.mount 120 mounted
t enforce.unload 60 unload
end_of_run
