#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run the tools of scripts/tools/bpftrace/ with a mount of a server in the same guest.
# $RUN/nfsio is nfsio.c, compiled on the host.
#
#   latency.sh [PREFIX [ONLY]]
# shellcheck disable=SC2086,SC2119,SC2317
set -u

PREFIX=${1:-}
ONLY=${2:-}
# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source-path=SCRIPTDIR source=work.sh
. "$(dirname "$0")/work.sh"
# shellcheck disable=SC2034
NFSIO=$RUN/nfsio
TOOLS=$PWD/scripts/tools/bpftrace

bring_up()
{
	rdma_up
	nfs_services_up
	nfsd_up
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
}

attached() { grep -q 'Attaching' /tmp/$1.log; }

# End the program $1. On a busy machine it may still attach, and miss the signal.
end_program()
{
	kill -INT $1 || return
	while sleep 2 && runs $1; do kill -INT $1; done
	wait $1
}

# latencies NAME PHASE...: the tool prints a histogram of each phase.
latencies()
{
	local name=$1 pid phase
	bpftrace $TOOLS/rpcrdma-$name.bt >/tmp/$name.log 2>&1 &
	pid=$!
	shift
	wait_for 120 attached $name
	# Until then it prints nothing, and it does not report that the probes are active.
	sleep 10
	work_data 400000
	sleep 1
	end_program $pid || { cat /tmp/$name.log; complain "bpftrace has ended"; }
	cp /tmp/$name.log $RUN/latency-$name.log
	for phase in "$@"; do
		grep -qE "^@${phase}_us\[[A-Z]+\]:" /tmp/$name.log ||
			complain "no histogram of the phase $phase: $(tail -n 1 /tmp/$name.log)"
	done
	grep -cE '^@[a-z]*_us' /tmp/$name.log
}

t setup.mount 300 bring_up
# The first registration of a connection waits until MRs are allocated.
stalls()
{
	local pid
	bpftrace $TOOLS/rpcrdma-stalls.bt >/tmp/stalls.log 2>&1 &
	pid=$!
	wait_for 120 attached stalls
	sleep 10
	do_umount $MNT
	do_mount 4.2 $MNT
	dd if=/dev/zero of=$MNT/stalls bs=64k count=1 oflag=direct
	rm $MNT/stalls
	sleep 1
	end_program $pid || { cat /tmp/stalls.log; complain "bpftrace has ended"; }
	cp /tmp/stalls.log $RUN/latency-stalls.log
	grep '^@[a-z_]*_us:' /tmp/stalls.log
}

[ $FAILED -eq 0 ] || abort "there is no server to test with"
t mount 100 mount_works 4.2
t latency.client 200 latencies client queue wire finish
t latency.server 200 latencies server queue server
t latency.stalls 200 stalls
t umount 100 umount_works
end_of_run
