#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make matrix": the module and the KUnit modules built for the stock kernels of
# several Debian suites, each with the tools of its suite, and the main job in
# short in a guest with that kernel; then the same with the kernel's own module,
# as a control. A result line for each, and a table at the end; fails when
# something did. KUnit is off in stock kernels: those modules are only compiled.
#
#   scripts/matrix.sh [SUITE...]    default: bookworm-backports trixie
#                                   trixie-security trixie-backports sid
#
#   BUILD_ONLY=1      no guests
#   CONTROL=no        not the kernel's own module
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

# Warnings of the build in the log $1, but for what headers say to every module,
# and for what a kernel without KUnit lacks
warnings()
{
	grep -E 'warning:|WARNING|objtool:|modpost:' "$1" |
		grep -vE 'warning: the compiler differs from the one used to build the kernel|Skipping BTF generation' |
		grep -vE 'modpost: .*(kunit|__kunit).* undefined|suppressed [0-9]* unresolved symbol warnings'
}

# compile DIR TO NAME ARG...: make modules for the kernel in DIR in the folder
# TO, without a warning; NAME is that of the result
compile()
{
	local dir=$1 to=$2 name=$3 log=$2.${3##*/}.log reason
	shift 3
	if ! in_suite "$dir" make --no-print-directory -C "$to" -j"$(nproc)" modules \
		KDIR="$(readlink -f "$dir/build")" "$@" >"$log" 2>&1; then
		reason="$(grep -m1 -E 'error:|\*\*\*' "$log"), see $log"
	elif reason=$(warnings "$log"); then
		reason=$(head -n 1 <<<"$reason")
	else
		echo "ok $name"
		return 0
	fi
	echo "not ok $name - $reason"
	return 1
}

# The sources, in the folder $1 of that kernel's own
copy()
{
	rm -rf "$1"
	mkdir -p "$1"
	module_files | tar -cf - -T - | tar -C "$1" -xf -
}

# Run the short main job with the module $3 on the kernel in $1; $2: which one.
# Set counts, for the table.
guest()
{
	local dir=$1 which=$2 module=$3 run
	new_run "matrix-$suite-$which"
	build_guest_tools "$run"
	scripts/guest.sh --kernel "$dir" --module "$module" --mem 3G --timeout 900 --run-dir "$run" --quiet -- \
		"$run/guest/kernels.sh" "$suite/$which/" >&2 || true
	{
		grep -E '^(ok|not ok) ' "$run/output.log"
		if grep -q '^# end of run' "$run/output.log"; then
			echo "ok $suite/$which/end-of-run"
		else
			echo "not ok $suite/$which/end-of-run - the guest ended before its tests did, see $run/console.log"
		fi
	} >"$run/results"
	counts="$(grep -c '^ok ' "$run/results" || true) passed, $(grep -c '^not ok ' "$run/results" || true) failed"
	grep -A8 '^not ok ' "$run/output.log" >&2 || true
	# The control says what to expect of the kernel, and is no test of ours.
	[ "$which" = own ] || cat "$run/results"
}

table=()
bad=0
for suite in "${suites[@]}"; do
	if ! dir=$(scripts/stock-kernel.sh "$suite"); then
		echo "not ok $suite/kernel - it cannot be had"
		table+=("$suite|-|not to be had|||")
		bad=1
		continue
	fi
	kver=$(cat "$dir/version")
	say "$suite: building for $kver"
	to=$CACHE/matrix/$suite
	copy "$to"
	built="does not build" kunit='' ours='' own=''
	if compile "$dir" "$to" "$suite/build"; then
		built=built kunit=compiled
		compile "$dir" "$to" "$suite/kunit" CONFIG_RPCRDMA_KUNIT_TEST=m KBUILD_MODPOST_WARN=1 ||
			{ kunit=failed; bad=1; }
	else
		bad=1
	fi
	if [ -f "$to/rpcrdma.ko" ] && [ -z "${BUILD_ONLY:-}" ]; then
		say "$suite: a guest with this module"
		guest "$dir" ours "$to/rpcrdma.ko"
		ours=$counts
		[[ $ours =~ ^[1-9][0-9]*\ passed,\ 0\ failed$ ]] || bad=1
		if [ "${CONTROL:-}" != no ]; then
			say "$suite: a guest with the kernel's own"
			guest "$dir" own in-tree
			own=$counts
		fi
	fi
	table+=("$suite|$kver|$built|$kunit|$ours|$own")
done

printf '%-20s %-28s %-15s %-10s %-22s %s\n' suite kernel module "KUnit" "guest, this module" "guest, the kernel's own"
for row in "${table[@]}"; do
	IFS='|' read -r a b c d e f <<<"$row"
	printf '%-20s %-28s %-15s %-10s %-22s %s\n' "$a" "$b" "$c" "$d" "$e" "$f"
done
exit $bad
