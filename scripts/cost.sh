#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make cost": what file operations cost, in instructions of both ends and of
# soft-RoCE, over rpcrdma.ko as built here, with version 2 and with version 1,
# over the kernel's own, and over TCP. Each has a guest, which is both client
# and server, and in which one instruction takes one nanosecond; a plugin of
# QEMU counts them by function. Documentation/performance.rst says more.
#
#   CHECK=1        compare with the committed figures, and fail when a row is
#                  more than 2 % above them
#   UPDATE=1       write the figures, the table and the plots of the documentation
#   LENGTH=short   a quarter of the operations, and no idle memory
#   ONLY="v2 own"  some of: own (the kernel's own), v1, v2, tcp
#   NFSVERS=4.2    the version of NFS
#   RDMA=memdev    over the device in memory of kunit/ instead of soft-RoCE: the
#                  modules' own cost stands nearly alone. Figures of its own
#   OPTIONS=...    module options for v2, e.g. OPTIONS="max_inline_read=16384"
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"
cd "$here"

length=${LENGTH:-long}
read -ra kinds <<<"${ONLY:-own v1 v2 tcp}"
read -ra options <<<"${OPTIONS:-}"

device=${RDMA:-rxe}
modules=()
say "building rpcrdma.ko"
make --no-print-directory modules KVER="${KVER:-$(stock_kernel_version)}" CONFIG_RPCRDMA_MEMDEV=m >&2
case $device in
rxe) ;;
memdev) modules=(--module "$here/kunit/rpcrdma_memdev.ko") ;;
*) die "RDMA=$device is no device to measure with: rxe or memdev" ;;
esac
run=
new_run cost
gcc -O2 -Wall -Wextra -Werror -o "$run/nfswork" scripts/guest/nfswork.c
gcc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$run/insns.so" scripts/cost/insns.c

# measure KIND PROTO MODULE [MODULE-OPTION...]
measure()
{
	local kind=$1 proto=$2 module=$3 dir=$run/$1
	shift 3
	mkdir -p "$dir"
	cp "$run/nfswork" "$dir/"
	say "$kind: booting a guest; its logs are in $dir"
	# With erms each octet that a string instruction moves counts as an
	# instruction; without, the kernel moves eight at a time.
	scripts/guest.sh --icount --cpu max,erms=off,fsrm=off --module "$module" "${modules[@]}" --timeout 1200 \
		--run-dir "$dir" --quiet --qemu-arg -plugin --qemu-arg "$run/insns.so,out=$dir/insns" -- \
		env "RDMA=$device" "$run/guest/cost.sh" "$proto" "${NFSVERS:-4.2}" "$length" "$@" ||
		die "$kind: the guest failed, see $dir/output.log and console.log"
}

for kind in "${kinds[@]}"; do
	case $kind in
	own) measure own rdma in-tree ;;
	tcp) measure tcp tcp in-tree ;;
	v1) measure v1 rdma "$here/rpcrdma.ko" max_version=1 svc_max_version=1 ;;
	v2) measure v2 rdma "$here/rpcrdma.ko" "${options[@]}" ;;
	*) die "there is nothing called $kind to measure: own, v1, v2, tcp" ;;
	esac
done

arguments=(--device "$device")
[ -z "${CHECK:-}" ] || arguments+=(--check)
[ -z "${UPDATE:-}" ] || arguments+=(--update)
scripts/cost/report.py "${arguments[@]}" "$run" "${kinds[@]}"
