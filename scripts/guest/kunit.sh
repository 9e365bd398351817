#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Load the KUnit test modules one by one, and keep the kernel's log of each. The host reads
# the results from these logs.
#
#   kunit.sh [GLOB...]   the suites to run, if KUnit is the module of scripts/kunit-module.sh
# shellcheck source-path=SCRIPTDIR disable=SC2086
set -u
. "$(dirname "$0")/harness.sh"

# Timeout of a case in seconds. At KUnit's own time limit a case that hangs
# continues to run in parallel with the cases that follow.
SILENCE=$((100 * TIMEOUT_SCALE))

# Load the module $1, which runs its suites. Fails if they hang.
run_suites()
{
	local pid results seen=-1 since=$SECONDS
	modprobe $1 &
	pid=$!
	while runs $pid; do
		results=$(dmesg | grep -cE '\] +(ok|not ok) [0-9]')
		if [ $results -ne $seen ]; then
			seen=$results
			since=$SECONDS
		elif [ $((SECONDS - since)) -ge $SILENCE ]; then
			echo "kunit: no result for $SILENCE s; running CPUs and blocked tasks follow" >/dev/kmsg
			echo l >/proc/sysrq-trigger
			echo w >/proc/sysrq-trigger
			sleep 2
			echo l >/proc/sysrq-trigger
			dmesg >$RUN/$1.dmesg
			return 1
		fi
		sleep 1
	done
	wait $pid || echo "modprobe $1 failed"
	dmesg >$RUN/$1.dmesg
}

# rdma_rw maps the memory for each segment of a peer separately. If a page has the end of one
# and the start of the next, it is mapped twice. DMA debugging complains about that once, and is
# then silent. The device in memory checks its mappings itself.
[ ! -e /sys/kernel/debug/dma-api/num_errors ] || echo 0 >/sys/kernel/debug/dma-api/num_errors

# The suites of the endpoint connect over soft-RoCE, and over the device in
# memory, which is on a separate network device.
rdma_up || exit
ip link add mem0 type dummy
ip link set mem0 up
ip addr add 198.51.100.1/24 dev mem0
modprobe rpcrdma_memdev || exit
# The first module loads kunit, and "modprobe -r" unloads it with the module.
mkdir -p /run/modprobe.d
(IFS=,; echo "options kunit suites=${*:-*}") >/run/modprobe.d/kunit.conf
for m in $MODULES; do
	[[ $m == *_test ]] || continue
	# The kernel log buffer may be cleared; the console log is complete.
	dmesg -C
	run_suites $m || abort "$m stands still after $(grep -E '\] +(ok|not ok) [0-9]' $RUN/$m.dmesg | tail -n 1)"
	# A reference to the module was not dropped.
	modprobe -r $m || abort "$m cannot be unloaded"
done
modprobe -r rpcrdma_memdev
rdma_del
echo "# end of run"
