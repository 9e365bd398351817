#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make bench-kernel": what file operations cost over rpcrdma.ko as built here
# and over the kernel's own, in the same guest, which is both client and server.
# In that guest one instruction is one nanosecond, so the numbers are
# instructions of both ends and of soft-RoCE, whatever this machine does
# besides. They are good for comparing, and say nothing of real devices.
#
#   NFSVERS=4.2    the version of NFS
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"
cd "$here"

say "building rpcrdma.ko"
make --no-print-directory modules >&2
run=
new_run bench
gcc -O2 -Wall -Wextra -Werror -pthread -o "$run/nfsbench" scripts/guest/nfsbench.c
say "booting a guest; its logs are in $run"
scripts/guest.sh --icount --module "$here/rpcrdma.ko" --timeout 1200 --run-dir "$run" --quiet -- \
	"$run/guest/bench.sh" "${NFSVERS:-4.2}" || die "the guest failed, see $run/output.log and console.log"
join <(sort "$run/ours") <(sort "$run/in-tree") >"$run/both"
[ -s "$run/both" ] || die "nothing was measured, see $run"
# In the order in which they were measured
awk -v vers="${NFSVERS:-4.2}" '
	BEGIN {
		printf "NFS %s, microseconds (1 us = 1000 instructions)\n\n", vers
		printf "%-24s %10s %10s %7s\n", "operation.octets.depth", "this", "in-tree", "ratio"
	}
	FNR == NR { ours[$1] = $2; intree[$1] = $3; next }
	$1 in ours { printf "%-24s %10.1f %10.1f %7.3f\n", $1, ours[$1] / 1000, intree[$1] / 1000, ours[$1] / intree[$1] }
' "$run/both" "$run/ours"
