#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Load each KUnit test module by itself and keep what the kernel logs meanwhile:
# the results are read on the host.
# shellcheck source-path=SCRIPTDIR disable=SC2086
set -u
. "$(dirname "$0")/nfs.sh"
# The suites of the endpoint connect over soft-RoCE.
rdma_up || exit
for m in $MODULES; do
	[[ $m == *_test ]] || continue
	# The kernel's own log buffer may be cleared; the console log is whole.
	dmesg -C
	modprobe $m || echo "modprobe $m failed"
	dmesg >$RUN/$m.dmesg
	modprobe -r $m || echo "modprobe -r $m failed"
done
rxe_del
echo "# end of run"
