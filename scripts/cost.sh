#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make cost": the cost of file operations, in instructions of both ends and of
# soft-RoCE, over rpcrdma.ko as built here, with version 2 and with version 1,
# over the in-tree module, and over TCP. Each runs in a guest that is both client
# and server, and in which one instruction takes one nanosecond; a plugin of
# QEMU counts them by function. See Documentation/performance.rst.
#
#   CHECK=1        compare with the committed figures of the same length, and fail if a
#                  row exceeds them by more than 2 %, or by 4 % at a depth of 4 or 16.
#                  In the short form, compare only rpcrdma.ko's instructions and posts
#   UPDATE=1       write the figures, the table and the plots of the documentation, and
#                  the figures of the short form for the level "cost" of the tests
#   LENGTH=short   a quarter of the operations, no idle memory, and no connecting clients
#   LENGTH=grid    reads and writes of many sizes, some of them chosen at random, with many
#                  numbers of outstanding operations, aligned and not, with 4, 8 and 64
#                  threads of nfsd, and with sec=krb5i; streams; READDIR; GETXATTR
#   ROWS=regex     the rows of the grid to measure. By default all
#   SEED=number    the seed of the random sizes, as a run of the grid prints it
#   ONLY="v2 own"  measure only these of: own (the in-tree module), v1, v2, tcp
#   NFSVERS=4.2    the version of NFS
#   RDMA=memdev    over the device in memory of kunit/ instead of soft-RoCE: most of the
#                  cost is then the module's. It has separate figures
#   OPTIONS=...    module options for v2, e.g. OPTIONS="max_inline_read=4096"
#   BUILT=folder   use rpcrdma.ko (and kunit/rpcrdma_memdev.ko) from there, instead of
#                  building them here
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
parameters=
built=${BUILT:-$here}
if [ -z "${BUILT:-}" ]; then
	say "building rpcrdma.ko"
	make --no-print-directory modules KVER="${KVER:-$(stock_kernel_version)}" CONFIG_RPCRDMA_MEMDEV=m >&2
fi
case $device in
rxe) ;;
memdev)
	modules=(--module "$built/kunit/rpcrdma_memdev.ko")
	# Disable the device's checks of memory. They would add to its cost, and the
	# in-tree module violates one of them with each Receive that it posts again,
	# and would reconnect.
	parameters=virt_dma=1
	;;
*) die "unknown RDMA=$device: rxe or memdev" ;;
esac
run=
new_run cost
gcc -O2 -Wall -Wextra -Werror -o "$run/nfswork" scripts/guest/nfswork.c
build_hostile "$run"
gcc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$run/insns.so" scripts/cost/insns.c

# Print the rows of the grid: OPERATION, or OPERATION.BYTES.DEPTH, or in addition .VARIANT.
grid_rows()
{
	local variant bytes depth
	RANDOM=$SEED
	local sizes=(512 1024 4096 8192 12288 16384 20480 32768 65536 131072 262144 524288 1048576
		$((1 + RANDOM % 20480)) $((20481 + RANDOM)) $((65536 + 29 * RANDOM)))
	printf '%s\n' readdir getxattr stream-read stream-write
	for variant in '' .unaligned .threads4 .threads64 .krb5i; do
		for bytes in "${sizes[@]}"; do
			for depth in 1 4 16 64; do
				printf '%s\n' "read.$bytes.$depth$variant" "write.$bytes.$depth$variant"
			done
		done
	done
}

# measure LENGTH KIND PROTO MODULE [MODULE-OPTION...]
measure()
{
	local length=$1 kind=$2 proto=$3 module=$4 dir=$run/$2 crowd=
	[ "$length" != short ] || dir=$run/$length/$kind
	shift 4
	mkdir -p "$dir"
	cp "$run/nfswork" "$run/hostile" "$dir/"
	# Clients in user space need soft-RoCE. Set the protocol of each.
	case $length.$device.$kind in
	long.rxe.own|long.rxe.v1) crowd=1 ;;
	long.rxe.v2) crowd=2 ;;
	esac
	say "$kind: booting a guest; its logs are in $dir"
	# With erms each byte that a string instruction moves counts as an
	# instruction; without it, the kernel moves eight at a time.
	scripts/guest.sh --icount --cpu max,erms=off,fsrm=off --module "$module" "${modules[@]}" --timeout $limit \
		--run-dir "$dir" --quiet --qemu-arg -plugin --qemu-arg "$run/insns.so,out=$dir/insns" -- \
		env "RDMA=$device" "MEMDEV_PARAMETERS=$parameters" "CROWD=$crowd" "ROWS=$rows" "$run/guest/cost.sh" "$proto" "${NFSVERS:-4.2}" "$length" "$@" ||
		die "$kind: the guest failed, see $dir/output.log and console.log"
}

measure_all()
{
	local length=$1 kind
	shift
	for kind in "$@"; do
		case $kind in
		own) measure $length own rdma in-tree ;;
		tcp) measure $length tcp tcp in-tree ;;
		v1) measure $length v1 rdma "$built/rpcrdma.ko" max_version=1 svc_max_version=1 ;;
		v2) measure $length v2 rdma "$built/rpcrdma.ko" "${options[@]}" ;;
		*) die "unknown kind $kind: own, v1, v2 or tcp" ;;
		esac
	done
}

rows=
limit=1200
case $length in
long|short) ;;
grid)
	SEED=${SEED:-$RANDOM}
	rows=$(grid_rows | grep -E -- "${ROWS:-.}" | tr '\n' ' ') || die "no row of the grid matches $ROWS"
	say "$(wc -w <<<"$rows") rows of the grid, of sizes by SEED=$SEED"
	limit=14400
	;;
*) die "unknown LENGTH=$length: long, short or grid" ;;
esac
arguments=(--device "$device")
[ -z "${CHECK:-}" ] || arguments+=(--check)
[ -z "${UPDATE:-}" ] || arguments+=(--update)
measure_all $length "${kinds[@]}"
if [ $length = grid ]; then
	scripts/cost/report.py "${arguments[@]}" --grid "$run" "${kinds[@]}"
	exit 0
fi
if [ $length = long ]; then
	scripts/cost/report.py "${arguments[@]}" "$run" "${kinds[@]}"
	[ -n "${UPDATE:-}" ] || exit 0
	kinds=(v2)
	measure_all short v2
fi
scripts/cost/report.py "${arguments[@]}" --short "$run/short" "${kinds[@]}"
