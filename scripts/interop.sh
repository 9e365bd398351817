#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Interoperation: two guests with the stock kernel, joined by a virtual wire,
# an NFS client and a server, each with this module and with the in-tree one.
#
#   scripts/interop.sh [--module rpcrdma.ko] [--client DIR:rpcrdma.ko] [--server DIR:rpcrdma.ko]
#		       [--run-dir DIR] [CASE...]
#
#   --client, --server   that guest has the kernel that scripts/stock-kernel.sh left in DIR,
#         and the module built for it
#
#   CASE  CLIENT:SERVER:VERSION, e.g. ours:in-tree:1: the modules of the two, and
#         the version of RPC-over-RDMA that must result; or "switch": a server
#         restarts with the other module (only after ours:in-tree:1); or "silent"
#         or "drop": a server that ignores version 2, or closes the connection;
#         or "auth": host authentication
#         default: all useful ones
#
# Prints the tests' results and a table, and fails if a test did. The environment:
# VERSIONS chooses the versions of NFS, OURS_VERSIONS those with this module at both ends
# (default: VERSIONS), ONLY (a regular expression) the tests. With DIVIDE set, the first
# and the last version of a case divide its work, instead of doing all of it. MAXSIZE is of
# files (default: 66000).
# TIMEOUT_SCALE multiplies time limits. PREFIX is put before the tests' names.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

module=$here/rpcrdma.ko
declare -A kernel=([client]='' [server]='') module_of=()
run=
while [ $# -gt 0 ]; do
	case $1 in
	--module) module=$2; shift ;;
	--client|--server) kernel[${1#--}]=${2%%:*} module_of[${1#--}]=${2#*:}; shift ;;
	--run-dir) run=$2; shift ;;
	-h|--help) sed -n '3,/^set /{/^#/{s/^# \{0,1\}//;p}}' "$0"; exit 0 ;;
	-*) die "unknown option $1" ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || set -- in-tree:ours:1 ours:ours:2 ours:ours:1 ours:in-tree:1 switch silent drop auth
for case in "$@"; do
	[[ $case =~ ^((ours|in-tree):(ours|in-tree):[12]|switch|silent|drop|auth)$ ]] || die "$case is not a case; --help lists them"
done
for end in client server; do
	module_of[$end]=${module_of[$end]:-$module}
	[ "$(basename "${module_of[$end]}")" = rpcrdma.ko ] && [ -f "${module_of[$end]}" ] ||
		die "${module_of[$end]} is not built: run make, or name another module"
done
[ -n "$run" ] || run=$(mktemp -d "${TMPDIR:-/tmp}/rpcrdma-interop.XXXXXX")
mkdir -p "$run/shared" "$run/client" "$run/server"
run=$(cd "$run" && pwd)
build_guest_tools "$run/client" "${kernel[client]}"
build_version1_server "$run/client"
# Copy the scripts: guests read them while they run.
rm -rf "$run/guest"
cp -r "$here/scripts/guest" "$run/guest"

server=
client=
# shellcheck disable=SC2317
cleanup()
{
	[ -z "$client" ] || kill "$client" 2>/dev/null || true
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# guest END WIRE OPTION... -- ARGUMENT...: become one of the two guests, which ends when
# this shell is ended
guest()
{
	local end=$1 wire=$2 mac=1 options=()
	shift 2
	[ "$end" = server ] || mac=2
	[ -z "${kernel[$end]}" ] || options=(--kernel "${kernel[$end]}")
	if [ -e "${kernel[client]}/make-args" ] || [ -e "${kernel[server]}/make-args" ]; then
		# A guest of another architecture is slow, and the other end waits for it.
		[ -e "${kernel[$end]}/make-args" ] || export TIMEOUT_SCALE=$((TIMEOUT_SCALE * 3))
	fi
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	exec "$here/scripts/guest.sh" --module "${module_of[$end]}" --timeout 1500 --run-dir "$run/$end" --mem 1536M \
		--share "$run" \
		"${options[@]}" \
		--qemu-arg -netdev --qemu-arg "stream,id=wire,$wire,addr.type=unix,addr.path=$run/wire" \
		--qemu-arg -device --qemu-arg "virtio-net-pci,netdev=wire,mac=52:54:00:00:00:0$mac,host_mtu=9000,romfile=" \
		--qemu-arg -virtfs --qemu-arg "local,path=$run/shared,mount_tag=shared,security_model=none" \
		-- env VERSIONS="${VERSIONS:-3 4.0 4.1 4.2}" OURS_VERSIONS="${OURS_VERSIONS:-}" DIVIDE="${DIVIDE:-}" ONLY="${ONLY:-}" PREFIX="${PREFIX:-}" MAXSIZE="${MAXSIZE:-66000}" \
		"$run/guest/interop-$end.sh" "$@"
}

status=0
rm -f "$run/wire" "$run/server/booted" "$run/shared/ready" "$run/shared/stop"
guest server server=on --quiet -- >"$run/server.log" 2>&1 &
server=$!
# The wire is connected when the client's guest begins, and not again when the server's has to
# be booted a second time.
while kill -0 $server 2>/dev/null && ! [ -s "$run/server/booted" ]; do
	sleep 0.2
done
guest client server=off -- "$@" 2>"$run/client.log" &
client=$!
# Without its server, what remains of the client's tests would fail by their time limits. At the
# end of its tests the client stops the server, which may end first.
while kill -0 $client 2>/dev/null; do
	kill -0 $server 2>/dev/null || [ -e "$run/shared/stop" ] || kill $client 2>/dev/null || true
	sleep 1
done
wait $client || status=$?
client=
touch "$run/shared/stop"
server_status=0
wait $server || server_status=$?
server=

grep -E '^(ok|not ok) ' "$run/client/output.log" >"$run/results" || true
# not_ok NAME REASON: report a failure that the guests cannot report themselves
not_ok() { echo "not ok ${PREFIX:-}$1 - $2" | tee -a "$run/results"; }
if ! grep -q '^# end of run' "$run/client/output.log"; then
	not_ok client-guest "it ended before its tests did (status $status), see $run/client"
elif [ $status -eq 126 ]; then
	not_ok client-guest "the kernel complained outside of any test, see $run/client/console.log"
elif [ $status -gt 1 ]; then
	not_ok client-guest "it ended with status $status, see $run/client"
elif grep -q '^# giving up' "$run/client/output.log"; then
	not_ok client-guest "$(grep -m1 '^# giving up' "$run/client/output.log" | cut -c3-)"
fi
case $server_status in
0) ;;
126) not_ok server-guest "the kernel complained, see $run/server/console.log" ;;
*) not_ok server-guest "it ended with status $server_status, see $run/server" ;;
esac

echo
printf '%-8s  %-17s  %-4s  %-13s  %s\n' client server NFS RPC-over-RDMA result
awk '
	match($0, /client-(ours|in-tree)-server-[a-z-]+\/rpcrdma[12]\/(all|nfs[0-9.]+)\//) {
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
			server = ends; sub(/.*-server-/, "", server); gsub(/-then-/, ", ", server)
			rdma = part[2]; sub(/rpcrdma/, "", rdma)
			nfs = part[3]; sub(/nfs/, "", nfs)
			printf "%-8s  %-17s  %-4s  %-13s  %s\n", client, server, nfs, rdma,
				bad[order[i]] ? "FAILED:" bad[order[i]] : good[order[i]] " passed"
		}
	}' "$run/results"
[ -s "$run/results" ] && ! grep -q '^not ok' "$run/results"
