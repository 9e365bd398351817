#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make matrix": build the module and the KUnit modules for the stock kernels of
# several Debian suites, each with the tools of its suite. Run a short smoke test in a guest
# with it, and repeat the test with the in-tree module as a control. A guest of another
# architecture is emulated in full. For Debian's releases also install, upgrade and remove
# the packages.
# Print a result line for each, and a table at the end; fail if one failed. KUnit is off in
# stock kernels: those modules are only compiled, except in the rows kunit:SUITE[:FLAVOUR]. There
# KUnit is a module (scripts/kunit-module.sh), and a guest runs the suites. Run the engine's
# tests and the simulation for a big-endian processor, too. The row clang does all of this with
# the kernel of scripts/clang-kernel.sh, which clang builds with control-flow integrity and
# ThinLTO, and which has KUnit. It also checks what control-flow integrity requires of the module,
# and that the kernel in the guest enforces it.
#
# A suite is skipped if its archive does not exist any more.
#
#   scripts/matrix.sh [[kunit:]SUITE[:FLAVOUR]|big-endian|clang|pages...]    default: all that
#                     are named below. Only on request: pages, two guests with pages of
#                     4 KiB and of 64 KiB.
#
#   KUNIT_SUITES="GLOB..."   the suites that the rows kunit:... run. Default: all
#   BUILD_ONLY=1      no guests, no packages
#   SHORT=1           a shorter smoke test, without the in-tree module and the
#                     packages, as in make check
#   TIMEOUT_SCALE=n   multiplies every time limit
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"
cd "$here"

suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(big-endian bullseye bookworm bookworm:rt-amd64 bookworm:arm64
	bookworm:powerpc64le bookworm-backports bookworm-backports:arm64-16k
	trixie trixie-security trixie-backports sid
	kunit:bookworm kunit:bookworm-backports:arm64-16k kunit:bookworm:powerpc64le clang)

# Warnings of the build in the log $1, except those that headers cause in every module,
# and those for unresolved symbols: modpost prints only ten, so compile() checks
# them itself.
warnings()
{
	grep -E 'warning:|WARNING|objtool:|modpost:' "$1" |
		grep -vE 'warning: the compiler differs from the one used to build the kernel|Skipping BTF generation' |
		grep -vE 'modpost: .* undefined!|suppressed [0-9]* unresolved symbol warnings'
}

# compile DIR TO NAME ARG...: make modules for the kernel in DIR in the folder
# TO, without a warning; NAME is that of the result. KUnit's symbols may be
# missing.
compile()
{
	local dir=$1 to=$2 name=$3 log=$2.${3##*/}.log reason args=() defined=("$1/build" "$2")
	shift 3
	[ ! -e "$dir/kunit/Module.symvers" ] || defined+=("$dir/kunit")
	[ ! -e "$dir/make-args" ] || mapfile -t args <"$dir/make-args"
	if ! in_suite "$dir" make --no-print-directory -C "$to" -j"$(nproc)" modules \
		KDIR="$(readlink -f "$dir/build")" "${args[@]}" "$@" >"$log" 2>&1; then
		reason="$(grep -m1 -E 'error:|\*\*\*' "$log"), see $log"
	elif reason=$(warnings "$log"); then
		reason=$(head -n 1 <<<"$reason")
	elif [ -s "$dir/build/Module.symvers" ] && reason=$(find "$to" -name '*.ko' -exec nm -u {} + | unresolved "${defined[@]}" | grep -vE '^(_*kunit_|\.TOC\.$)'); then
		reason="no definition of $(paste -sd' ' <<<"$reason")"
	else
		echo "ok $name"
		return 0
	fi
	echo "not ok $name - $reason"
	return 1
}

# The modules built in the folder $2 for the kernel in $1 meet what control-flow integrity
# requires, and the build refuses a C++ compiler that does not.
control_flow()
{
	local dir=$1 to=$2 core=net/sunrpc/xprtrdma/core/endpoint.o output llvm
	llvm=$(sed -n 's/^LLVM=//p' "$dir/make-args")
	if "ld.lld$llvm" -m elf_x86_64 -r -o "$to/core-native.o" "$to/$core" &&
	   output=$(scripts/indirect-calls.py "$to/rpcrdma.ko" "$to/core-native.o"); then
		echo "ok $suite/indirect-calls ($output)"
	else
		echo "not ok $suite/indirect-calls - $(head -n 1 <<<"$output")"
		return 1
	fi
	if ! output=$(make --no-print-directory -C "$to" config-report KDIR="$(readlink -f "$dir/build")" \
			"LLVM=$llvm" CXX_FOR_KERNEL=g++ 2>&1) &&
	   grep -q 'g++ is not clang' <<<"$output"; then
		echo "ok $suite/other-compiler"
	else
		echo "not ok $suite/other-compiler - $(tail -n 1 <<<"$output")"
		return 1
	fi
}

# Copy the sources to the folder $1, which only that kernel uses.
copy()
{
	rm -rf "$1"
	mkdir -p "$1"
	module_files | tar -cf - -T - | tar -C "$1" -xf -
}

# Run the smoke test with the module $3 on the kernel in $1; $2: ours or in-tree. Set
# counts, for the table.
guest()
{
	local dir=$1 which=$2 module=$3 run
	new_run "matrix-${suite/:/.}-$which"
	build_guest_tools "$run" "$dir"
	scripts/guest.sh --kernel "$dir" --module "$module" --mem 3G --timeout 900 --run-dir "$run" --quiet -- \
		"$run/guest/kernels.sh" "$suite/$which/" ${SHORT:+short} >&2 || true
	{
		grep -E '^(ok|not ok) ' "$run/output.log"
		if grep -q '^# end of run' "$run/output.log"; then
			echo "ok $suite/$which/end-of-run"
		else
			echo "not ok $suite/$which/end-of-run - the guest ended before its tests did, see $run/console.log"
		fi
	} >"$run/results"
	count "$run/results"
	grep -A8 '^not ok ' "$run/output.log" >&2 || true
	# The control shows what the kernel can do. Its failure is not one of this module.
	[ "$which" = own ] || cat "$run/results"
}

# Test the life cycle of the packages in that suite. Set counts.
packages()
{
	new_run "matrix-$suite-packages"
	scripts/package-test.sh "$run" "$suite" >"$run/results" 2>"$run/log" ||
		tail -n 20 "$run/log" >&2
	sed "s,^\(ok\|not ok\) ,&$suite/packages/," "$run/results"
	count "$run/results"
}

# The tests that need no kernel, on an emulated big-endian processor. Set counts.
big_endian()
{
	local what
	new_run matrix-big-endian
	for what in core simulation; do
		if make --no-print-directory -C "kunit/$what" -j"$(nproc)" check-big-endian \
			TEST_XML_DIR="$run" >"$run/$what.log" 2>&1; then
			echo "ok $suite/$what"
		else
			tail -n 20 "$run/$what.log" >&2
			echo "not ok $suite/$what - see $run/$what.log"
		fi
	done >"$run/results"
	[ ! -e "$run/big-endian.xml" ] ||
		scripts/count-junit.py "$run/big-endian.xml" | sed "s,^\(ok\|not ok\) ,&$suite/," >>"$run/results"
	cat "$run/results"
	count "$run/results"
}

# An NFS client with pages of 64 KiB and a server with pages of 4 KiB, and the reverse, with
# both versions of RPC-over-RDMA. Set counts.
pages()
{
	local dirs=() all=() dir name end status
	new_run matrix-pages
	for name in bookworm bookworm:powerpc64le; do
		dir=$(scripts/stock-kernel.sh $name) || { echo "not ok $suite/$name/kernel - not to be had"; break; }
		to=$CACHE/matrix/$suite.${name/:/.}
		copy "$to"
		compile "$dir" "$to" "$suite/$name/build" || break
		dirs+=("$dir:$to/rpcrdma.ko")
	done >"$run/results"
	all=("$run/results")
	for end in client server; do
		[ -z "${BUILD_ONLY:-}" ] && [ ${#dirs[@]} -eq 2 ] || break
		new_run "matrix-pages-64k-$end"
		status=0
		PREFIX=$suite/64k-$end/ VERSIONS="3 4.2" DIVIDE=yes MAXSIZE=132000 \
			ONLY='/(modules|mount|sizes|fio-.*|many-processes|directories|acl|limits|umount)$' \
			scripts/interop.sh --client "${dirs[0]}" --server "${dirs[0]}" "--$end" "${dirs[1]}" \
			--run-dir "$run" ours:ours:2 ours:ours:1 >"$run/interop.log" 2>&1 || status=$?
		[ -s "$run/results" ] || echo "not ok $suite/64k-$end/run - no test ran (status $status), see $run" >"$run/results"
		all+=("$run/results")
	done
	cat "${all[@]}" | tee "$run/all"
	count "$run/all"
}

# kunit_guest DIR TO SOURCES PREFIX KO...: run the KUnit suites that were built in the folder TO in
# a guest with the kernel in DIR and the further modules KO. Print their results with PREFIX. The
# parser of results is that of the kernel's SOURCES. Uses run.
kunit_guest()
{
	local dir=$1 to=$2 sources=$3 prefix=$4 ko tests=() globs=() status=0
	shift 4
	for ko in "$to"/kunit/*.ko "$@"; do
		tests+=(--module "$ko")
	done
	read -ra globs <<<"${KUNIT_SUITES:-}"
	scripts/guest.sh --kernel "$dir" "${tests[@]}" --mem 3G --timeout 3600 --run-dir "$run" --quiet -- \
		"$run/guest/kunit.sh" "${globs[@]}" >&2 || status=$?
	for ko in "$to"/kunit/*_test.ko; do
		kunit_results "$run" "$ko" "$sources"
	done | sed -E "s,^(ok|not ok) ,&$prefix,"
	if ! grep -q '^# end of run' "$run/output.log"; then
		echo "not ok ${prefix}end-of-run - the guest ended before its tests did, see $run/console.log"
	elif grep -q '^# giving up' "$run/output.log"; then
		echo "not ok ${prefix}end-of-run - $(grep -m1 '^# giving up' "$run/output.log" | cut -c3-)"
	elif [ $status -ge 124 ]; then
		echo "not ok ${prefix}end-of-run - the guest ended with status $status, see $run/console.log"
	else
		echo "ok ${prefix}end-of-run"
	fi
}

# Run the KUnit suites in a guest with the stock kernel in $1, with KUnit as a module. Set counts.
kunit()
{
	local dir=$1 to=$CACHE/matrix/${suite//:/.} kunit run
	new_run "matrix-${suite//:/.}"
	copy "$to"
	if ! kunit=$(scripts/kunit-module.sh "$dir"); then
		echo "not ok $suite/module - KUnit does not build as a module"
	elif compile "$dir" "$to" "$suite/build" CONFIG_RPCRDMA_KUNIT_TEST=m KUNIT_MODULE="$kunit" &&
	     [ -z "${BUILD_ONLY:-}" ]; then
		kunit_guest "$dir" "$to" "$kunit" "$suite/" "$kunit/kunit.ko"
	fi >"$run/results"
	cat "$run/results"
	count "$run/results"
}

# The kernel of clang in $1: check that it ends at an indirect call of a function of another type,
# and run the KUnit suites that were built in the folder $2. Set counts.
clang_guests()
{
	local dir=$1 to=$2 run enforced
	new_run matrix-clang-enforced
	enforced=$run
	# shellcheck disable=SC2016
	scripts/guest.sh --kernel "$dir" --module in-tree --run-dir "$run" --quiet -- bash -c '
		modprobe lkdtm && echo CFI_FORWARD_PROTO >/sys/kernel/debug/provoke-crash/DIRECT' >/dev/null 2>&1 || true
	new_run matrix-clang-kunit
	{
		if grep -q 'CFI: Using .*kCFI' "$enforced/console.log" &&
		   grep -q 'CFI failure at lkdtm_indirect_call' "$enforced/console.log"; then
			echo "ok $suite/enforced"
		else
			echo "not ok $suite/enforced - the kernel does not check indirect calls, see $enforced/console.log"
		fi
		kunit_guest "$dir" "$to" "$dir" "$suite/kunit/"
	} >"$run/results"
	cat "$run/results"
	count "$run/results"
}

# count FILE: set counts to the sums of the results in it.
count() { counts="$(grep -c '^ok ' "$1" || true) passed, $(grep -c '^not ok ' "$1" || true) failed"; }

# Fail the run if counts has a failure, or no success.
all_passed() { [[ $counts =~ ^[1-9][0-9]*\ passed,\ 0\ failed$ ]] || bad=1; }

table=()
bad=0
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
for suite in "${suites[@]}"; do
	if [ "$suite" = big-endian ]; then
		say "the engine and the simulation on a big-endian processor"
		big_endian
		all_passed
		table+=("$suite|s390x, no kernel|$counts|-|-|-|-")
		continue
	elif [ "$suite" = pages ]; then
		say "guests with pages of 4 KiB and of 64 KiB"
		pages
		all_passed
		table+=("$suite|6.1, 4 and 64 KiB|built|-|$counts|-|-")
		continue
	fi
	status=0
	case $suite in
	clang) dir=$(scripts/clang-kernel.sh 2> >(tee "$errors" >&2)) || status=$? ;;
	*) dir=$(scripts/stock-kernel.sh "${suite#kunit:}" 2> >(tee "$errors" >&2)) || status=$? ;;
	esac
	if [ $status -eq $NO_ARCHIVE ]; then
		echo "ok $suite/kernel # SKIP $(tail -n 1 "$errors")"
		table+=("$suite|-|skipped|-|-|-|-")
		continue
	elif [ $status -ne 0 ]; then
		echo "not ok $suite/kernel - $(tail -n 1 "$errors")"
		table+=("$suite|-|not to be had|-|-|-|-")
		bad=1
		continue
	fi
	kver=$(cat "$dir/version")
	say "$suite: building for $kver"
	if [[ $suite = kunit:* ]]; then
		kunit "$dir"
		all_passed
		table+=("$suite|$kver|built|$counts|-|-|-")
		continue
	fi
	to=$CACHE/matrix/${suite/:/.}
	copy "$to"
	built="does not build" kunit=- ours=- own=- packages=-
	if compile "$dir" "$to" "$suite/build"; then
		built=built
		# The suites and their device are written for 6.1 and later.
		if [[ $suite != bullseye* ]]; then
			kunit=compiled
			compile "$dir" "$to" "$suite/kunit" CONFIG_RPCRDMA_KUNIT_TEST=m KBUILD_MODPOST_WARN=1 ||
				{ kunit=failed; bad=1; }
		fi
	else
		bad=1
	fi
	if [ "$suite" = clang ] && [ "$built" = built ]; then
		control_flow "$dir" "$to" || bad=1
	fi
	if [ -f "$to/rpcrdma.ko" ] && [ -z "${BUILD_ONLY:-}" ]; then
		if [ "$suite" = clang ] && [ "$kunit" = compiled ]; then
			say "$suite: a guest with the KUnit suites"
			clang_guests "$dir" "$to"
			kunit=$counts
			all_passed
		fi
		say "$suite: a guest with this module"
		guest "$dir" ours "$to/rpcrdma.ko"
		ours=$counts
		all_passed
		if [ -z "${SHORT:-}" ]; then
			say "$suite: a guest with the in-tree module"
			guest "$dir" own in-tree
			own=$counts
		fi
	fi
	if [[ $suite != *[-:]* && $suite != sid && $suite != clang && -z "${BUILD_ONLY:-}${SHORT:-}" ]]; then
		say "$suite: the packages"
		packages
		packages=$counts
		all_passed
	fi
	table+=("$suite|$kver|$built|$kunit|$ours|$own|$packages")
done

row='%-36s %-24s %-14s %-22s %-20s %-24s %s\n'
# shellcheck disable=SC2059
printf "$row" suite kernel module KUnit "guest, this module" "guest, in-tree module" packages
for line in "${table[@]}"; do
	IFS='|' read -ra columns <<<"$line"
	# shellcheck disable=SC2059
	printf "$row" "${columns[@]}"
done
exit $bad
