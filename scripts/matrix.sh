#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make matrix": the module built for the stock kernels of several Debian
# suites, each with the tools of its suite, and the main job in short in a guest
# with that kernel; then the same with the kernel's own module, as a control.
# A table at the end; fails when something did.
#
#   scripts/matrix.sh [SUITE...]    default: bookworm-backports trixie
#                                   trixie-security trixie-backports sid
#
#   BUILD_ONLY=1      no guests
#   TIMEOUT_SCALE=n   multiplies every time limit
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"
cd "$here"

suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(bookworm-backports trixie trixie-security trixie-backports sid)

# in_suite DIR COMMAND...: with the tools of the suite whose kernel is in DIR. A
# system of that suite sees this checkout's copy and the kernel where they are
# here; what is mounted for that goes with the process.
in_suite()
{
	local dir=$1 root
	shift
	if [ ! -e "$dir/chroot" ]; then
		"$@"
		return
	fi
	root=$(readlink -f "$dir/chroot")
	# shellcheck disable=SC2016
	unshare --mount sh -c '
		root=$1 cache=$2
		shift 2
		mkdir -p "$root/proc" "$root$cache"
		mount --bind "$cache" "$root$cache" && mount -t proc proc "$root/proc" &&
			exec chroot "$root" "$@"' sh "$root" "$(readlink -f "$CACHE")" "$@"
}

# Warnings of the build in the log $1, but for what headers say to every module
warnings()
{
	grep -E 'warning:|WARNING|objtool:|modpost:' "$1" |
		grep -vE 'warning: the compiler differs from the one used to build the kernel|Skipping BTF generation'
}

# Build for the kernel in $1 in the folder $2; says what it came to.
build()
{
	local dir=$1 to=$2 log=$2.log
	rm -rf "$to"
	mkdir -p "$to"
	cp -r Makefile Kbuild net include "$to/"
	mkdir -p "$to/scripts"
	cp scripts/lib.sh "$to/scripts/"
	if ! in_suite "$dir" make --no-print-directory -C "$to" -j"$(nproc)" modules \
		KDIR="$(readlink -f "$dir/build")" >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		echo "does not build"
	elif warnings "$log" >&2; then
		echo "warnings"
	else
		echo "built"
	fi
}

# Run the short main job with the module $3 on the kernel in $1; $2: which one
guest()
{
	local dir=$1 which=$2 module=$3 run counts
	new_run "matrix-$suite-$which" >&2
	build_guest_tools "$run"
	scripts/guest.sh --kernel "$dir" --module "$module" --mem 3G --timeout 900 --run-dir "$run" --quiet -- \
		"$run/guest/kernels.sh" "$suite/$which/" >&2 || true
	counts="$(grep -c '^ok ' "$run/output.log" || true) passed, $(grep -c '^not ok ' "$run/output.log" || true) failed"
	grep -A8 '^not ok ' "$run/output.log" >&2 || true
	grep -q '^# end of run' "$run/output.log" || counts="$counts, not ended"
	echo "$counts"
}

table=()
bad=0
for suite in "${suites[@]}"; do
	if ! dir=$(scripts/stock-kernel.sh "$suite"); then
		table+=("$suite|-|not to be had||")
		bad=1
		continue
	fi
	kver=$(cat "$dir/version")
	say "$suite: building for $kver"
	built=$(build "$dir" "$CACHE/matrix/$suite")
	ours='' own=''
	[ "$built" = built ] || bad=1
	if [ "$built" != "does not build" ] && [ -z "${BUILD_ONLY:-}" ]; then
		say "$suite: a guest with this module, and one with the kernel's own"
		ours=$(guest "$dir" ours "$CACHE/matrix/$suite/rpcrdma.ko")
		own=$(guest "$dir" own in-tree)
		[[ $ours =~ ^[1-9][0-9]*\ passed,\ 0\ failed$ ]] || bad=1
	fi
	table+=("$suite|$kver|$built|$ours|$own")
done

printf '%-20s %-28s %-15s %-30s %s\n' suite kernel module "guest, this module" "guest, the kernel's own"
for row in "${table[@]}"; do
	IFS='|' read -r a b c d e <<<"$row"
	printf '%-20s %-28s %-15s %-30s %s\n' "$a" "$b" "$c" "$d" "$e"
done
exit $bad
