#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Interoperation: two guests with the stock kernel, joined by a virtual wire,
# one of them an NFS client and one the server, each with this module or with
# the kernel's own.
#
#   scripts/interop.sh [--module rpcrdma.ko] [--run-dir DIR] [CASE...]
#
#   CASE  in-tree:ours  ours:in-tree  ours:ours  in-tree:in-tree
#         client:server; default: the first three
#
# Prints the tests' results and a table, and fails when a test did. VERSIONS
# in the environment chooses NFS versions; TIMEOUT_SCALE multiplies time limits.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

module=$here/net/sunrpc/xprtrdma/rpcrdma.ko
[ -f "$module" ] || module=$here/rpcrdma.ko
run=
while [ $# -gt 0 ]; do
	case $1 in
	--module) module=$2; shift ;;
	--run-dir) run=$2; shift ;;
	-h|--help) sed -n '3,/^set /{/^#/{s/^# \{0,1\}//;p}}' "$0"; exit 0 ;;
	-*) die "unknown option $1" ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || set -- in-tree:ours ours:in-tree ours:ours
[ -f "$module" ] || die "rpcrdma.ko is not built: run make, or give --module"
[ -n "$run" ] || run=$(mktemp -d "${TMPDIR:-/tmp}/rpcrdma-interop.XXXXXX")
mkdir -p "$run"
run=$(cd "$run" && pwd)
: >"$run/results"
# Guests read their scripts while they run: they must not change then.
rm -rf "$run/guest"
cp -r "$here/scripts/guest" "$run/guest"

server=
# shellcheck disable=SC2317
cleanup() { [ -z "$server" ] || kill "$server" 2>/dev/null || true; }
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# guest END KIND DIR WIRE ARGUMENT...: one of the two
guest()
{
	local end=$1 kind=$2 dir=$3 wire=$4 mac=1 m=$module
	shift 4
	[ "$end" = server ] || mac=2
	[ "$kind" = ours ] || m=in-tree
	"$here/scripts/guest.sh" --module "$m" --timeout "${TIMEOUT:-1500}" \
		--run-dir "$dir/$end" --mem 1536M --quiet \
		--qemu-arg -netdev --qemu-arg "stream,id=wire,$wire,addr.type=unix,addr.path=$dir/wire" \
		--qemu-arg -device --qemu-arg "virtio-net-pci,netdev=wire,mac=52:54:00:00:00:0$mac,host_mtu=9000" \
		--qemu-arg -virtfs --qemu-arg "local,path=$dir/shared,mount_tag=shared,security_model=none" \
		-- env VERSIONS="${VERSIONS:-}" "$run/guest/interop-$end.sh" "$@"
}

# pair CLIENT SERVER: both guests of one case
pair()
{
	local client=$1 kind=$2 name=client-$1-server-$2 dir status=0 i
	local protocols=1
	dir=$run/$name
	rm -rf "$dir"
	mkdir -p "$dir/shared"
	[ "$kind" = ours ] && touch "$dir/shared/server-ours"
	[ "$client$kind" = oursours ] && protocols="2 1"
	guest server "$kind" "$dir" server=on >"$dir/server.log" 2>&1 &
	server=$!
	# The client's end of the wire needs the server's.
	for ((i = 0; i < 600; i++)); do
		[ ! -S "$dir/wire" ] || break
		sleep 0.2
	done
	# shellcheck disable=SC2086
	guest client "$client" "$dir" server=off "$name" $protocols >"$dir/client.log" 2>&1 || status=$?
	touch "$dir/shared/stop"
	wait $server || { echo "not ok $name/server - its guest ended with status $?, see $dir/server" >>"$run/results"; }
	server=
	cat "$dir/client/output.log"
	grep -E '^(ok|not ok) ' "$dir/client/output.log" >>"$run/results" || true
	if ! grep -q '^# end of run' "$dir/client/output.log"; then
		echo "not ok $name/client - the guest ended before its tests did (status $status), see $dir/client" |
			tee -a "$run/results"
	elif [ $status -ne 0 ] && [ $status -ne 1 ]; then
		echo "not ok $name/client - its guest ended with status $status, see $dir/client" | tee -a "$run/results"
	fi
}

for case in "$@"; do
	[[ $case =~ ^(ours|in-tree):(ours|in-tree)$ ]] || die "$case is not a case; --help tells them"
	pair "${case%:*}" "${case#*:}"
done

# client, server, NFS version, RPC-over-RDMA version, result
echo
printf '%-8s  %-8s  %-4s  %-13s  %s\n' client server NFS RPC-over-RDMA result
awk '
	match($0, /client-(ours|in-tree)-server-(ours|in-tree)\/rpcrdma[12]\/nfs[0-9.]+\//) {
		split(substr($0, RSTART, RLENGTH), part, "/")
		key = part[1] "/" part[2] "/" part[3]
		if (!(key in good)) { order[++n] = key; good[key] = 0; bad[key] = "" }
		if ($1 == "ok") good[key]++
		else { test = $3; sub(/.*\//, "", test); bad[key] = bad[key] " " test }
	}
	END {
		for (i = 1; i <= n; i++) {
			split(order[i], part, "/")
			ends = part[1]; sub(/^client-/, "", ends)
			client = ends; sub(/-server-.*/, "", client)
			server = ends; sub(/.*-server-/, "", server)
			rdma = part[2]; sub(/rpcrdma/, "", rdma)
			nfs = part[3]; sub(/nfs/, "", nfs)
			printf "%-8s  %-8s  %-4s  %-13s  %s\n", client, server, nfs, rdma,
				bad[order[i]] ? "FAILED:" bad[order[i]] : good[order[i]] " tests passed"
		}
	}' "$run/results"
! grep -q '^not ok' "$run/results"
