#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make demo": build rpcrdma.ko, boot a stock Debian kernel with it in a guest,
# and show it at work. Exits 0 only if every check passed.
#
#   MODULE=in-tree    show the in-tree module instead
#   MODULE=path.ko    show this module; nothing is built
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"
cd "$here"

module=${MODULE:-}
if [ -z "$module" ]; then
	say "building rpcrdma.ko"
	make --no-print-directory modules KVER="${KVER:-$(stock_kernel_version)}" >&2
	module=$here/rpcrdma.ko
fi

run=
new_run demo
build_guest_tools "$run"
say "booting a guest; its logs are in $run"
status=0
# 2500 small files and two large ones; the size of the second one is odd.
scripts/guest.sh --module "$module" --mem 3G --timeout 1500 --run-dir "$run" -- \
	"$run/guest/demo.sh" 2500 67108864 68157443 || status=$?

passed=$(grep -c '^ok ' "$run/output.log" || true)
failed=$(grep -c '^not ok ' "$run/output.log" || true)
echo
if [ "$status" -eq 0 ] && [ "$failed" -eq 0 ] && grep -q '^# end of run' "$run/output.log"; then
	echo "demo: all $passed steps held"
	exit 0
fi
echo "demo: $failed of $((passed + failed)) steps failed; the guest's status is $status, its kernel log $run/console.log"
exit 1
