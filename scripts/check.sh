#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make check": all tests. The last line is "N passed, N failed" (", N skipped" may
# follow). The exit status is 1 if a test failed.
#
#   scripts/check.sh [LEVEL...]
#
#   engine      the protocol engine on this machine, under sanitizers, and the library
#               built from it; if it fails, no guest is booted
#   simulation  two ends in a model of the engine's environment, with a fixed set of seeds
#   build       the module's build for the stock kernel; style and static checks of the
#               sources; a test for each rule of the documents; Wireshark's dissector
#   packages    the Debian packages: installation, upgrade, purge, and kernels that are
#               installed later, in a separate system
#   kunit       KUnit suites in User-Mode Linux (scripts/uml-kernel.sh), with KASAN,
#               lockdep and kmemleak
#   e2e         mounts and fault injection in a guest with the stock kernel
#   kernels     Linux 6.12, that of bookworm-backports: the module and the KUnit
#               modules are built, and a smoke test runs in a guest; builds for Linux 5.10
#               and for arm64
#   boot        the permanent configuration of the documents, and a boot by systemd, in a
#               guest with the stock kernel
#   e2e-debug   most of e2e with less load, in User-Mode Linux
#   hostile     clients that violate the protocol, in User-Mode Linux
#   hostile-server  servers that violate the protocol, in User-Mode Linux
#   interop     two guests, client and server, each with this module and with
#               the in-tree rpcrdma.ko
#   field       reports of users, between two hosts in one guest; always in User-Mode
#               Linux, and only if it is named
#   tools       the recipes of field that use rpcrdma-ping and rpcrdma-ctl with the
#               module; only if it is named
#   capture     a mount's packets, decoded by Wireshark's dissector and compared with the
#               connection's counters; always in User-Mode Linux
#   wireshark   the patch for Wireshark's built-in dissector applies to its source, which
#               is downloaded once, and compiles; only if it is named
#   latency     the histograms of scripts/tools/bpftrace/, only if it is named
#   signed      a kernel with lockdown, which loads only signed modules, and UEFI firmware
#               with the module's key; needs the package ovmf, and only if it is named
#   demo        "make demo", with few files
#   cost        no operation costs more instructions than the committed figures
#               (RDMA=memdev scripts/cost.sh, its short form)
#
#   VERSIONS="3 4.0 4.1 4.2"   of NFS, for interop (default 3 and 4.2) and capture
#               (default 4.2)
#   PROFILE=everything   e2e also runs the tests that e2e-debug or the simulation cover
#   MODULE=in-tree    the guests run the in-tree rpcrdma.ko (e2e levels)
#   GUEST=uml         all levels with a guest, except interop, run in User-Mode Linux
#   GUEST=debug       these levels run in QEMU with the kernel of scripts/debug-kernel.sh:
#               Linux 6.1 with the same checkers, and with a real DMA layer
#   ONLY=regex        run only the tests in guests that match, setup and mounts included
#   HOSTILE_SEED=n HOSTILE_STEPS=n   seed and steps of the random walks (hostile levels)
#   PRESSURE_SECONDS=n   duration of each load of client.latency (hostile); without it that
#               test is skipped
#   TIMEOUT_SCALE=n   multiplies every time limit
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"
cd "$here"
PATH=$PATH:/usr/sbin:/sbin

levels=("$@")
# The longest levels begin first.
[ ${#levels[@]} -gt 0 ] || levels=(engine e2e interop kernels demo cost boot e2e-debug kunit hostile-server hostile capture build packages simulation)

# Where each level's results are kept for the page at the end
report=$(mktemp -d)
trap 'rm -rf "$report"' EXIT
report_level=

# Record one result line of a test program.
result()
{
	case $1 in
	'ok '*|'not ok '*) echo "$1" >>"$report/$report_level.results" ;;
	esac
}

ok() { echo "ok $1"; result "ok $1"; }
not_ok() { echo "not ok $1 - $2"; result "not ok $1 - $2"; }
skip() { echo "ok $1 # SKIP $2"; result "ok $1 # SKIP $2"; }

# Record the results in the file $1, with $2 prefixed to their names.
results()
{
	local line
	while read -r line; do
		case $line in
		'ok '*) line="ok $2${line#ok }" ;;
		'not ok '*) line="not ok $2${line#not ok }"; echo "$line" ;;
		esac
		result "$line"
	done <"$1"
}

# try NAME COMMAND...: run a test that is one command. If it fails, its output is the reason.
try()
{
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		ok "$name"
	else
		not_ok "$name" "$(grep -v '^$' <<<"$out" | tail -n 1)"
		tail -n 40 <<<"$out" | sed 's/^/#   /'
	fi
}

# Copy the sources to $1, so that each kernel has a separate build folder and the checkout does
# not change. Modification times are kept, so that unchanged files are not built again. Files
# that no longer exist are removed.
mirror()
{
	local to=$1 list=$1.list
	mkdir -p "$to"
	module_files >"$list.new"
	if [ -f "$list" ]; then
		comm -23 "$list" "$list.new" | (cd "$to" && xargs -r -d '\n' rm -f)
	fi
	mv "$list.new" "$list"
	tar -cf - -T "$list" | tar -C "$to" -xf -
}

# Each checkout and each concurrent run has a separate folder. The number of a run does not
# depend on its checkout, so that ccache finds the results of other checkouts.
build_root=
i=0
while [ -z "$build_root" ]; do
	i=$((i + 1))
	mkdir -p "$CACHE/build/$i"
	exec {build_root_lock}>"$CACHE/build/$i.lock"
	if flock -n "$build_root_lock"; then
		build_root=$CACHE/build/$i
	else
		exec {build_root_lock}>&-
	fi
done
if [ "$(cat "$build_root/checkout" 2>/dev/null)" != "$here" ]; then
	rm -rf "$build_root"
	mkdir -p "$build_root"
	echo "$here" >"$build_root/checkout"
fi

# build_for KIND MAKE-ARGUMENT...: build in the folder of that kind, one build at a time, and set
# build to it. A failed build is reported once, as a test of the level that needs it.
build_for()
{
	local kind=$1 log=$build_root/$1.log status=0 build_lock
	build=$build_root/$kind
	shift
	mkdir -p "$build_root"
	exec {build_lock}>"$build.lock"
	flock "$build_lock"
	mirror "$build"
	say "building the modules for the $kind kernel (log: $log)"
	make --no-print-directory -C "$build" -j"$(nproc)" modules "$@" >"$log" 2>&1 || status=$?
	exec {build_lock}>&-
	return $status
}

engine()
{
	local dir=$1 status=0 f
	make --no-print-directory -C kunit/core -j"$(nproc)" check \
		TEST_XML_DIR="$dir/xml" >"$dir/make.log" 2>&1 || status=$?
	mkdir -p "$dir/xml"
	f=$(find "$dir/xml" -name '*.xml' | sort)
	if [ -z "$f" ]; then
		tail -n 30 "$dir/make.log" | sed 's/^/#   /'
		not_ok engine/build "make -C kunit/core check left no results"
		return
	fi
	# shellcheck disable=SC2086
	scripts/count-junit.py $f >"$dir/results"
	results "$dir/results" engine/
	# A sanitizer's report ends the program, without naming a test.
	if [ $status -eq 0 ]; then
		ok engine/ends-well
	else
		tail -n 60 "$dir/make.log" | sed 's/^/#   /'
		not_ok engine/ends-well "make check in kunit/core failed with status $status"
	fi
}

# The library that is built from the engine
library()
{
	local dir=$1 status=0
	make --no-print-directory -C kunit/library -j"$(nproc)" check-suites \
		TEST_XML_DIR="$dir/library" >"$dir/library.log" 2>&1 || status=$?
	if [ ! -e "$dir/library/library.xml" ]; then
		tail -n 30 "$dir/library.log" | sed 's/^/#   /'
		not_ok lib/build "make -C kunit/library check-suites left no results"
		return
	fi
	scripts/count-junit.py "$dir/library/library.xml" >"$dir/library.results"
	results "$dir/library.results" lib/
	if [ $status -eq 0 ]; then
		ok lib/ends-well
	else
		tail -n 60 "$dir/library.log" | sed 's/^/#   /'
		not_ok lib/ends-well "make check-suites in kunit/library failed with status $status"
	fi
	try lib/example make --no-print-directory -C kunit/library check-example
	try lib/install make --no-print-directory -C kunit/library check-install
}

level_engine()
{
	engine "$1"
	library "$1"
}

# Two ends and a model of their environment, with a fixed set of seeds
level_simulation()
{
	local dir=$1 sort
	if ! make --no-print-directory -C kunit/simulation -j"$(nproc)" \
		build >"$dir/simulation.log" 2>&1; then
		tail -n 30 "$dir/simulation.log" | sed 's/^/#   /'
		not_ok simulation/build "make build in simulation failed"
		return
	fi
	for sort in fast sanitized; do
		# Each run of the simulation must end with "ok".
		if make --no-print-directory -C kunit/simulation check-$sort \
			>"$dir/simulation-$sort.log" 2>&1; then
			ok simulation/$sort
		else
			tail -n 60 "$dir/simulation-$sort.log" | sed 's/^/#   /'
			not_ok simulation/$sort "see the seed and the story above"
		fi
	done
}

no_warnings()
{
	# A message that Debian's headers cause for every external module
	! grep -E 'warning:|WARNING|objtool:|modpost:' "$1" |
		grep -vE 'warning: the compiler differs from the one used to build the kernel'
}

no_cxx_runtime()
{
	[ -f "$1" ] || { echo "$1 is missing"; return 1; }
	! nm -u "$1" | grep -E '[ _](_Z|__cxa_|__gxx_|_Unwind_|__dso_handle|__stack_chk_fail_local|atexit)'
}

no_constructors()
{
	! readelf -SW "$1" | grep -E '\.(init_array|fini_array|ctors|dtors)'
}

# Two objects that both have a function in a COMDAT group do not link, or the
# kernel warns when the module is loaded.
no_code_groups()
{
	local source object count=0
	while read -r source; do
		object=${source%.cc}.o
		[ -f "$object" ] || continue
		count=$((count + 1))
		if readelf -gW "$object" | grep -E '\.text'; then
			echo "$object has code in a section group: mark the function static or always_inline"
			return 1
		fi
	done < <(find "$1" -name '*.cc')
	[ $count -gt 0 ] || { echo "no C++ object was found in $1"; return 1; }
}

# "make matrix" builds KUnit modules for kernels without KUnit, for which modpost reports few
# of the other missing symbols. Check that unresolved() reports them.
unresolved_seen()
{
	local seen
	gcc -c -x c -o "$1/wants.o" - <<-C || return
		extern void _printk(void), ib_register_client(void), kunit_log_append(void), rpcrdma_nobody(void);
		void (*wants[])(void) = { _printk, ib_register_client, kunit_log_append, rpcrdma_nobody };
	C
	seen=$(nm -u "$1/wants.o" | unresolved "/usr/src/linux-headers-$kver" | paste -sd' ')
	[ "$seen" = "kunit_log_append rpcrdma_nobody" ] || { echo "these were found: $seen"; return 1; }
	seen=$(nm -u "$build/rpcrdma.ko" | unresolved "/usr/src/linux-headers-$kver" | paste -sd' ')
	[ -z "$seen" ] || { echo "no module exports $seen"; return 1; }
}

installs()
{
	local root=$1/root file
	rm -rf "$root"
	mkdir -p "$root/lib/modules/$kver"
	# depmod must find the in-tree module, which this one overrides.
	ln -s "/lib/modules/$kver/kernel" "$root/lib/modules/$kver/kernel"
	make --no-print-directory -C "$build" modules_install INSTALL_MOD_PATH="$root" KVER="$kver" || return
	file=$(find "$root/lib/modules/$kver/updates" -name rpcrdma.ko)
	[ -n "$file" ] || { echo "rpcrdma.ko was not installed under updates/"; return 1; }
	for name in rpcrdma xprtrdma svcrdma rpcrdma6; do
		modprobe -d "$root" -S "$kver" --show-depends "$name" | tail -n 1 | grep -q '/updates/.*rpcrdma.ko' ||
			{ echo "modprobe $name would not load the module under updates/"; return 1; }
	done
}

# Set kernel_scripts: the folder of checkpatch, kernel-doc and coccinelle's scripts. Neither
# the headers nor linux-kbuild has them.
kernel_scripts()
{
	local version dir
	# shellcheck disable=SC2016
	version=$(dpkg-query -W -f '${Version}' linux-source-6.1)
	dir=$CACHE/checkpatch-$version
	if [ ! -d "$dir/scripts/coccinelle" ] || [ ! -f "$dir/scripts/kernel-doc" ]; then
		rm -rf "$dir.new"
		mkdir -p "$dir.new"
		tar -C "$dir.new" --strip-components=1 --wildcards -xf /usr/src/linux-source-6.1.tar.xz \
			'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch' \
			'*/scripts/coccinelle' '*/scripts/kernel-doc'
		rm -rf "$dir"
		mv "$dir.new" "$dir"
	fi
	kernel_scripts=$dir/scripts
}

sources() { git ls-files -co --exclude-standard -- "$@" 2>/dev/null | while read -r f; do [ ! -f "$f" ] || echo "$f"; done; }

# Read the names of files, and set files to those that have changed since the check $1, a
# function, has passed with the version $2 of its tool. passed_now() records that it has passed.
not_passed()
{
	passed=$CACHE/passed/$1-$({ declare -f "$1"; echo "$2"; } | sha256sum | cut -c1-16)
	mkdir -p "$CACHE/passed"
	touch "$passed"
	sums=$(xargs -d '\n' sha256sum) || return
	[ "$(wc -l <<<"$sums")" -gt 50 ] || { echo "too few files were found"; return 1; }
	mapfile -t files < <(grep -Fxv -f "$passed" <<<"$sums" | cut -c67-)
}

passed_now() { echo "$sums" >"$passed.$$" && mv "$passed.$$" "$passed"; }

checkpatch()
{
	local out kernel_scripts passed sums files
	kernel_scripts
	# clang-format checks the C++, and the C in the same folders.
	not_passed checkpatch "$kernel_scripts" < <(sources 'net/*.[ch]' 'include/*.h' 'kunit/*.[ch]' |
		grep -vE '^kunit/(core|simulation)/') || return
	if [ ${#files[@]} -gt 0 ]; then
		out=$(perl "$kernel_scripts/checkpatch.pl" --no-tree --terse --no-summary --show-types -f \
			"${files[@]}" || true)
		echo "$out" | grep -c 'WARNING' | sed 's/$/ warnings/'
		! grep -E ': ERROR:' <<<"$out" || return
	fi
	passed_now
}

# Each kernel-doc comment describes all parameters and members; those of the interfaces in the
# reference also describe the returned values.
kernel_doc()
{
	local out header kernel_scripts
	kernel_scripts
	out=$(
		# shellcheck disable=SC2046
		perl "$kernel_scripts/kernel-doc" -Werror -none $(sources 'net/*.[ch]') 2>&1 || echo failed
		# shellcheck disable=SC2046
		perl "$kernel_scripts/kernel-doc" -v -Werror -none \
			$(sources 'include/*.h' 'net/*/core/port*.h' 'scripts/tools/lib/include/*.h') 2>&1 || echo failed
	)
	! grep -v ' info: Scanning doc for' <<<"$out" || return
	for header in $(grep -l '^/\*\*$' include/rpcrdma/*.h net/*/*/core/*.h); do
		grep -qx ".. kernel-doc:: $header" Documentation/reference.rst ||
			{ echo "Documentation/reference.rst does not have $header"; return 1; }
	done
	grep -c 'Scanning' <<<"$out" | sed 's/$/ comments/'
}

# Check that the core in the objects below the folder $1 clears no large variable, except to set
# up objects. Kernels clear all variables that are not initialized. One instruction clears any
# number of bytes, so that counts of instructions do not show it.
clears_little()
{
	objdump -d --no-show-raw-insn "$1/net/sunrpc/xprtrdma/core/endpoint.o" | awk '
		/>:$/ { name = $2; quads = ""; functions++ }
		/mov +\$0x[0-9a-f]+,%ecx/ { split($0, part, /0x|,/); quads = part[2] }
		/rep stos %rax/ && length(quads) + (quads >= "40") > 2 && name !~ /_init>|_params>/ {
			print name " clears 0x" quads " times 8 bytes"
			bad = 1
		}
		END { if (!functions) print "nothing was checked"; exit bad || !functions }'
}

# sparse on all C of the build
sparse_clean()
{
	local out
	out=$(make --no-print-directory -C "$build" -j"$(nproc)" modules C=2 CHECK=sparse KVER="$kver" 2>&1) ||
		{ echo "$out"; return 1; }
	grep -q '^  CHECK ' <<<"$out" || { echo "nothing was checked"; return 1; }
	! grep -E 'warning:|error:' <<<"$out"
}

# The kernel's scripts for known kinds of errors; a few have no "report" mode.
coccinelle()
{
	local out kernel_scripts passed sums files dir=$1/coccinelle headers
	kernel_scripts
	mapfile -t headers < <(sources 'net/*.h')
	not_passed coccinelle "$kernel_scripts $(spatch --version 2>&1)" < <(sources 'net/*.[ch]') || return
	# A changed header may matter to each file.
	[[ " ${files[*]} " != *.h\ * ]] || mapfile -t files < <(sources 'net/*.c')
	[ ${#files[@]} -gt 0 ] || return 0
	mkdir "$dir"
	tar -cf - "${files[@]}" "${headers[@]}" | tar -C "$dir" -xf -
	# shellcheck disable=SC2016
	out=$(cd "$dir" && find "$kernel_scripts/coccinelle" -name '*.cocci' | sort |
		xargs -P"$(nproc)" -n 1 sh -c 'if spatch --very-quiet -D report --no-includes \
			--include-headers-for-types --dir net/sunrpc/xprtrdma --cocci-file "$0" 2>/dev/null
			then echo "#ran"; fi')
	[ "$(grep -c '^#ran' <<<"$out")" -gt 50 ] || { echo "too few scripts could be run"; return 1; }
	! grep -v '^#ran' <<<"$out" || return
	passed_now
}

formatted()
{
	# shellcheck disable=SC2046
	clang-format --dry-run -Werror $(sources '*.cc' '*.hh')
}

# Run clang-tidy on one file that includes all others, as the kernel's build compiles it.
tidy()
{
	clang-tidy --quiet net/sunrpc/xprtrdma/core/endpoint.cc -- -std=c++20 -ffreestanding \
		-nostdinc++ -fno-exceptions -fno-rtti -Iinclude
}

shell_clean()
{
	local passed sums files all=(scripts/*.sh scripts/guest/*.sh scripts/guest/*/*.sh .ci/run)
	not_passed shell_clean "$(shellcheck --version)" < <(printf '%s\n' "${all[@]}") || return
	# A changed file may matter to those that source it.
	[ ${#files[@]} -eq 0 ] || shellcheck -x -S warning -- "${all[@]}" || return
	passed_now
}

# compat.mk finds differences between kernels by features, not by versions.
no_kernel_versions() { ! grep -rnE 'LINUX_VERSION_CODE|KERNEL_VERSION' net include kunit Kbuild; }

licensed()
{
	local f bad=0
	while read -r f; do
		head -n 4 "$f" | grep -q 'SPDX-License-Identifier: ' || { echo "$f has no SPDX line"; bad=1; }
	done < <(sources '*.c' '*.h' '*.cc' '*.hh' '*.sh' '*.py' '*.lua' Makefile Kbuild)
	# The library consists of these, and programs under either licence may use it.
	while read -r f; do
		head -n 4 "$f" | grep -q 'GPL-2.0 OR BSD-3-Clause' || { echo "$f has another licence"; bad=1; }
	done < <(sources 'net/sunrpc/xprtrdma/core/*.[ch]*' 'include/rpcrdma/*.h' 'scripts/tools/lib/*.[ch]*')
	return $bad
}

# Each interface of the stock kernel has a known form.
known_kernel()
{
	local report
	mirror "$build_root/report"
	report=$(make --no-print-directory -C "$build_root/report" config-report KVER="$1") || return
	echo "$report"
	! grep -q 'no known form' <<<"$report" &&
		[ "$(grep -c '^#define HAVE_' <<<"$report")" -eq "$(sources 'net/sunrpc/xprtrdma/compat/*.c' | wc -l)" ]
}

# A kernel with the configuration $3 is refused with the sentence $1.
refuses_kernel()
{
	local output
	mirror "$build_root/report"
	if output=$(make --no-print-directory -C "$build_root/report" config-report KVER="$2" "$3" 2>&1); then
		echo "a kernel with $3 was accepted"
		return 1
	fi
	echo "$output"
	grep -q "$1" <<<"$output"
}

# Check that the code map names each file of the product.
mapped()
{
	local f bad=0
	while read -r f; do
		f=${f##*/}
		grep -qE "(^ +|[ /])${f%.*}(\.(c|cc|h|hh))?( |\$)" Documentation/code-map.rst ||
			{ echo "code-map.rst does not name $f"; bad=1; }
	done < <(sources 'include/*.h' 'include/*.hh' 'net/*.c' 'net/*.h' 'net/*.cc' 'net/*.hh' | grep -vE '/compat(\.h$|/)')
	return $bad
}

# Check that building HTML and man pages causes no warning, and that man displays each page
# without one.
documents()
{
	local page said
	sphinx-build -q -W --keep-going -b html Documentation "$1/html" || return
	sphinx-build -q -W --keep-going -b man Documentation "$1/man" || return
	[ -f "$1/man/rpcrdma-v2.7" ] || { echo "rpcrdma-v2.7 was not made"; return 1; }
	for page in "$1"/man/*.[78]; do
		said=$(MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
		[ -z "$said" ] || { echo "$page: $said"; return 1; }
	done
}

# Wireshark's dissector, with generated captures
test_dissector()
{
	local dir=$1/dissector status=0
	mkdir -p "$dir"
	make --no-print-directory -C kunit/core decode >"$dir/log" 2>&1 &&
		scripts/tools/wireshark/test.py "$(make -s -C kunit/core build-dir)/decode" "$dir" \
			>"$dir/results" 2>>"$dir/log" || status=$?
	[ ! -e "$dir/results" ] || results "$dir/results" dissector/
	if [ $status -ne 0 ] && ! grep -qs '^not ok ' "$dir/results"; then
		tail -n 20 "$dir/log" | sed 's/^/#   /'
		not_ok dissector/run "it ended with status $status"
	fi
}

# rpcrdma-ctl on a simulated host
test_ctl()
{
	local dir=$1 status=0
	/usr/bin/python3 -B scripts/tools/ctl/test.py >"$dir/ctl.results" 2>"$dir/ctl.log" || status=$?
	results "$dir/ctl.results" ctl/
	[ $status -eq 0 ] || grep -q '^not ok ' "$dir/ctl.results" ||
		not_ok ctl/run "$(tail -n 1 "$dir/ctl.log")"
}

level_build()
{
	local dir=$1 log=$build_root/clean.log
	# Compile every file, because a warning is shown only when its file is compiled. Use
	# a separate folder, because other levels boot guests with the stock kernel's.
	rm -rf "$build_root/clean" "$build_root/clean.list"
	if ! build_for clean KVER="$kver"; then
		tail -n 40 "$log" | sed 's/^/#   /'
		not_ok build/modules "rpcrdma.ko does not build for $kver, see $log"
	else
		ok build/modules
		try build/no-warnings no_warnings "$log"
		try build/no-c++-runtime no_cxx_runtime "$build/rpcrdma.ko"
		try build/no-constructors no_constructors "$build/rpcrdma.ko"
		try build/layers scripts/layers.sh "$build"
		try build/clears-little clears_little "$build"
		try build/no-code-in-groups no_code_groups "$build/net"
		try build/unresolved-symbols unresolved_seen "$dir"
		try build/modules-install installs "$dir"
		try build/sparse sparse_clean
	fi
	try build/checkpatch checkpatch
	try build/kernel-doc kernel_doc
	try build/coccinelle coccinelle "$dir"
	[ ! -f .clang-format ] || try build/clang-format formatted
	try build/clang-tidy tidy
	try build/shellcheck shell_clean
	try build/headers scripts/headers.sh
	try build/no-kernel-versions no_kernel_versions
	try build/file-sizes scripts/sizes.sh
	try build/spdx licensed
	try build/documents documents "$dir"
	try build/code-map mapped
	try build/bpftrace scripts/tools/bpftrace/test.py "/usr/src/linux-headers-${kver%-*}-common/include/trace/events/sunrpc.h"
	try build/config-report known_kernel "$kver"
	try build/32-bit refuses_kernel '32-bit kernels are not supported' "$kver" CONFIG_64BIT=
	# The C++ compiler is gcc's, which cannot emit what control-flow integrity compares.
	try build/kcfi refuses_kernel 'g++[-0-9]* is not clang' "$kver" CONFIG_CFI_CLANG=y
	try build/compat scripts/compat-test.sh
	try build/install scripts/install-test.sh "$kver"
	try build/conformance-check scripts/conformance-test.py
	try build/conformance scripts/conformance.py
	try build/reasons scripts/reasons.py
	try build/mutants scripts/mutants.py --check
	# Build one mutant, to check that the tool builds its mutants
	try build/mutant scripts/mutants.py 'suites:SendQueue #1'
	test_dissector "$dir"
	test_ctl "$dir"
	scripts/conformance.py --counts | sed 's/^/#   /'
}

# script_level LEVEL DIR COMMAND...: a level that is a script, which prints results and fails if
# one of them failed
script_level()
{
	local level=$1 dir=$2 status=0
	shift 2
	"$@" >"$dir/results" 2>"$dir/log" || status=$?
	results "$dir/results" "$level/"
	[ $status -eq 0 ] || tail -n 60 "$dir/log" | sed 's/^/#   /'
	if [ $status -ne 0 ] && ! grep -q '^not ok ' "$dir/results"; then
		not_ok "$level/run" "it ended with status $status, see $dir/log"
	elif ! grep -q '^ok ' "$dir/results"; then
		not_ok "$level/run" "nothing was tried, see $dir/log"
	fi
}

level_packages()
{
	if ! unshare --mount --net true 2>/dev/null; then
		skip packages "packages are installed in a separate system, which needs root"
		return
	fi
	script_level packages "$1" scripts/package-test.sh "$1"
}

level_kunit()
{
	local dir=$1 module guest tree tests=() ko name status=0
	MODULE='' guest_module kunit uml || return 0
	while read -r ko; do
		tests+=(--module "$ko")
	done < <(find "$build/kunit" -name '*_test.ko' -o -name '*_memdev.ko' | sort)
	if [ ${#tests[@]} -eq 0 ]; then
		not_ok kunit/modules "no kunit/*_test.ko was built"
		return
	fi
	scripts/guest.sh "${guest[@]}" --module "$module" "${tests[@]}" --timeout 1800 \
		--run-dir "$dir" --quiet -- "$dir/guest/kunit.sh" || status=$?
	while read -r ko; do
		name=$(basename "$ko" .ko)
		kunit_results "$dir" "$ko" "$tree" >"$dir/$name.results"
		results "$dir/$name.results" "kunit/"
	done < <(find "$build/kunit" -name '*_test.ko' | sort)
	guest_ended kunit $status "$dir"
}

# Report a test for the end of the guest: it ended after its tests, and the kernel complained
# about nothing between them.
guest_ended()
{
	local level=$1 status=$2 dir=$3
	if ! grep -q '^# end of run' "$dir/output.log"; then
		not_ok "$level/end-of-run" "the guest ended before its tests did (status $status), see $dir/console.log"
	elif [ "$status" -eq 126 ]; then
		not_ok "$level/end-of-run" "the kernel complained outside of any test, see $dir/console.log"
	elif [ "$status" -ge 124 ]; then
		not_ok "$level/end-of-run" "the guest ended with status $status, see $dir/console.log"
	elif grep -q '^# giving up' "$dir/output.log"; then
		not_ok "$level/end-of-run" "$(grep -m1 '^# giving up' "$dir/output.log" | cut -c3-)"
	else
		ok "$level/end-of-run"
	fi
}

run_e2e()
{
	local level=$1 dir=$2 status=0
	shift 2
	build_guest_tools "$dir"
	scripts/guest.sh --mem 3G --run-dir "$dir" "$@" "$level/" "${ONLY:-}" || status=$?
	results "$dir/output.log" "" >/dev/null
	guest_ended "$level" $status "$dir"
}

# guest_module LEVEL stock|uml: build the module for the kernel of that kind, unless MODULE
# names one. Sets module to its path, guest to the arguments of scripts/guest.sh for that
# kernel, and tree to the kernel's build folder if it is not Debian's. Fails if the build has
# failed.
guest_module()
{
	local kind=${GUEST:-$2} args
	case $kind in
	stock)
		guest=()
		args=(KVER="$kver" CONFIG_RPCRDMA_MEMDEV=m)
		;;
	debug)
		tree=$(scripts/debug-kernel.sh) || { not_ok "$1/kernel" "the debug kernel does not build"; return 1; }
		guest=(--debug-kernel)
		args=(KDIR="$tree" CONFIG_RPCRDMA_KUNIT_TEST=m)
		;;
	uml)
		tree=$(scripts/uml-kernel.sh) || { not_ok "$1/kernel" "the kernel that is a program does not build"; return 1; }
		guest=(--uml)
		args=(KDIR="$tree" ARCH=um CONFIG_RPCRDMA_KUNIT_TEST=m)
		;;
	esac
	module=${MODULE:-}
	[ -z "$module" ] || return 0
	if ! build_for "$kind" "${args[@]}"; then
		tail -n 40 "$build_root/$kind.log" | sed 's/^/#   /'
		not_ok "$1/module" "rpcrdma.ko does not build for the $kind kernel, see $build_root/$kind.log"
		return 1
	fi
	module=$build/rpcrdma.ko
}

level_e2e()
{
	local module guest tree device
	guest_module e2e stock || return 0
	build_hostile "$1"
	build_ping "$1" || { not_ok e2e/ping "rpcrdma-ping does not build"; return; }
	# The device in memory, which can fail
	device=${module%/*}/kunit/rpcrdma_memdev.ko
	[ ! -f "$device" ] || guest+=(--module "$device")
	run_e2e e2e "$1" "${guest[@]}" --module "$module" --timeout 2400 -- "$1/guest/e2e.sh" "${PROFILE:-full}"
}

# "make matrix" with one kernel
level_kernels()
{
	SHORT=1 script_level kernels "$1" scripts/matrix.sh bookworm-backports
	mkdir "$1/builds"
	BUILD_ONLY=1 script_level kernels "$1/builds" scripts/matrix.sh bullseye bookworm:arm64
}

# A system with systemd, booted with the files that the documents describe
level_boot()
{
	local status=0 module guest tree
	guest_module boot stock || return 0
	scripts/guest.sh "${guest[@]}" --module "$module" --timeout 400 --run-dir "$1" --quiet -- \
		"$1/guest/boot.sh" || status=$?
	results "$1/output.log" boot/
	guest_ended boot $status "$1"
}

# "make demo" with few files
level_demo()
{
	local status=0 module guest tree
	MODULE='' guest_module demo stock || return 0
	build_guest_tools "$1"
	scripts/guest.sh "${guest[@]}" --module "$module" --mem 2G --timeout 600 --run-dir "$1" --quiet -- \
		"$1/guest/demo.sh" 60 1000003 || status=$?
	results "$1/output.log" demo/
	guest_ended demo $status "$1"
}

# Over the device in memory, most of the cost is the module's own.
level_cost()
{
	local dir=$1 status=0 module guest tree
	if [ -n "${GUEST:-}" ]; then
		skip cost/instructions "only QEMU counts instructions"
		return
	fi
	if [ ! -e Documentation/performance/figures-short-memdev.json ]; then
		skip cost/instructions "RDMA=memdev make cost UPDATE=1 was never run"
		return
	fi
	MODULE='' guest_module cost stock || return 0
	BUILT=$build RDMA=memdev LENGTH=short CHECK=1 UPDATE='' ONLY=v2 OPTIONS='' NFSVERS=4.2 \
		scripts/cost.sh >"$dir/table" 2>"$dir/cost.log" || status=$?
	if [ $status -eq 0 ]; then
		ok cost/instructions
	elif grep -q '^worse: ' "$dir/table"; then
		sed -n 's/^worse: /#   /p' "$dir/table"
		not_ok cost/instructions "operations cost more than the committed figures; RDMA=memdev make cost UPDATE=1 writes new ones"
	else
		tail -n 20 "$dir/cost.log" | sed 's/^/#   /'
		not_ok cost/instructions "nothing was measured (status $status)"
	fi
}

level_interop()
{
	local status=0 module guest tree
	MODULE='' guest_module interop stock || return 0
	# NFS 4.0 and 4.1 do not differ from 4.2 for the transport. e2e tests two ends of this
	# module, and the simulation tests two ends of version 1.
	[ -n "${VERSIONS:-}" ] || local -x VERSIONS='3 4.2' OURS_VERSIONS=4.2 DIVIDE=yes
	PREFIX=interop/ scripts/interop.sh --module "$module" --run-dir "$1" \
		in-tree:ours:1 ours:ours:2 ours:in-tree:1 switch silent drop auth || status=$?
	results "$1/results" "" >/dev/null
	[ -s "$1/results" ] || not_ok interop/run "no test ran (status $status), see $1"
}

level_e2e-debug()
{
	local module guest tree
	guest_module e2e-debug uml || return 0
	build_hostile "$1"
	build_ping "$1" || { not_ok e2e-debug/ping "rpcrdma-ping does not build"; return; }
	run_e2e e2e-debug "$1" "${guest[@]}" --module "$module" --timeout 3000 -- "$1/guest/e2e.sh" reduced
}

# run_hostile LEVEL DIR SCRIPT
run_hostile()
{
	local module guest tree
	guest_module "$1" uml || return 0
	build_hostile "$2"
	run_e2e "$1" "$2" "${guest[@]}" --smp 1 --module "$module" --timeout 1500 -- \
		"$3" "${HOSTILE_SEED:-1}" "${HOSTILE_STEPS:-600}" "${PRESSURE_SECONDS:-0}"
}

level_hostile()
{
	run_hostile hostile "$1" "$1/guest/hostile.sh"
}

level_hostile-server()
{
	run_hostile hostile-server "$1" "$1/guest/hostile-server.sh"
}

# Two hosts in one guest: soft-RoCE in network namespaces, which Linux 7.x has.
# run_field LEVEL DIR
run_field()
{
	local module guest tree
	GUEST=uml guest_module "$1" uml || return 0
	build_hostile "$2"
	build_version1_server "$2"
	build_ping "$2" || { not_ok "$1/ping" "rpcrdma-ping does not build"; return; }
	# The device in memory, which can refuse queue pairs
	run_e2e "$1" "$2" "${guest[@]}" --module "$module" --module "${module%/*}/kunit/rpcrdma_memdev.ko" \
		--timeout 1500 -- "$2/guest/field.sh"
}

level_field() { run_field field "$1"; }

# The fewest recipes of field that show that the tools and the module work together
level_tools() { ONLY=${ONLY:-'^(setup|ping.nfsd|ctl.causes)'} run_field tools "$1"; }

# Mounts between two hosts in one guest: captured there, decoded and compared here
level_capture()
{
	local module guest tree capture name
	GUEST=uml guest_module capture uml || return 0
	run_e2e capture "$1" "${guest[@]}" --module "$module" --timeout 1500 -- "$1/guest/capture.sh" "${VERSIONS:-4.2}"
	for capture in "$1"/*.connections; do
		name=${capture%.connections}
		try "capture/decoded.${name##*/}" scripts/tools/wireshark/compare.py "$name.pcap" "$capture"
	done
}

level_wireshark() { try wireshark/patch scripts/tools/wireshark/packet-rpcrdma.sh; }

# scripts/tools/bpftrace/, in a guest with the stock kernel
level_latency()
{
	local module guest tree
	GUEST='' guest_module latency stock || return 0
	run_e2e latency "$1" "${guest[@]}" --module "$module" --timeout 900 -- "$1/guest/latency.sh"
}

# Signed modules, with the module's key in the database of UEFI firmware (package ovmf, or the
# folder OVMF)
level_signed()
{
	local dir=$1 module guest tree key firmware=${OVMF:-/usr/share/OVMF} sign
	GUEST='' guest_module signed stock || return 0
	sign=$(readlink -f "/lib/modules/$kver/build/scripts")/sign-file
	if [ ! -e "$firmware/OVMF_CODE_4M.fd" ]; then
		skip signed "the package ovmf is not installed"
		return
	fi
	strip --strip-debug -o "$dir/unsigned.ko" "$module"
	for key in other signed; do
		openssl req -new -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=$key/" \
			-keyout "$dir/$key.key" -outform DER -out "$dir/$key.der" 2>/dev/null &&
			"$sign" sha256 "$dir/$key.key" "$dir/$key.der" "$dir/unsigned.ko" "$dir/$key.ko" ||
			{ not_ok signed/keys "the module cannot be signed"; return; }
	done
	scripts/guest/uefi-db.py "$firmware/OVMF_VARS_4M.fd" "$dir/variables" "$dir/signed.der"
	run_e2e signed "$dir" "${guest[@]}" --module in-tree --timeout 600 \
		--qemu-arg -drive --qemu-arg "if=pflash,format=raw,unit=0,readonly=on,file=$firmware/OVMF_CODE_4M.fd" \
		--qemu-arg -drive --qemu-arg "if=pflash,format=raw,unit=1,file=$dir/variables" -- "$dir/guest/signed.sh"
}

kver=${KVER:-$(stock_kernel_version)}
[ -n "$kver" ] || die "no stock Debian 6.1 kernel with headers is installed: run scripts/setup.sh"

case ${GUEST:-} in
''|uml|debug) ;;
*) die "unknown GUEST=$GUEST: uml or debug" ;;
esac
for level in "${levels[@]}"; do
	[ "$level" != interop ] || [ -z "${GUEST:-}" ] || die "interop needs two guests in QEMU: unset GUEST"
	declare -F "level_$level" >/dev/null || die "unknown level $level"
done

# Set processor to the ticks of processor time that this shell and its ended children have used.
read_processor()
{
	local stat
	read -r -a stat <"/proc/$BASHPID/stat"
	processor=$((stat[13] + stat[14] + stat[15] + stat[16]))
}

# Run one level, and record its duration, its processor time, and the tests that were retried.
run_level()
{
	local started=$SECONDS run='' processor used
	read_processor
	used=$processor
	report_level=$1
	echo "== $1"
	: >"$report/$1.results"
	new_run "check-$1"
	"level_$1" "$run"
	[ ! -e "$run/console-first-boot.log" ] || echo "the guest's boot" >"$report/$1.retried"
	echo $((SECONDS - started)) >"$report/$1.seconds"
	read_processor
	echo $(((processor - used) / $(getconf CLK_TCK))) >"$report/$1.processor"
	echo "== $1: $(grep -c '^ok ' "$report/$1.results") passed or skipped," \
		"$(grep -c '^not ok ' "$report/$1.results") failed, $((SECONDS - started)) s"
}

# Return true if this level boots no guest. The time of a guest continues while it has no
# processor.
on_host() { [[ $1 =~ ^(engine|build|simulation|packages|wireshark)$ ]]; }

# Return true if this level boots User-Mode Linux unless GUEST names another kernel.
uses_uml() { [[ ${GUEST:-uml} = uml && $1 =~ ^(kunit|e2e-debug|field|tools|capture|hostile|hostile-server)$ ]]; }

# Remove the next level from the file $1, which has one on each line, and set level to it.
next_level()
{
	local lock
	exec {lock}<"$report"
	flock "$lock"
	level=$(head -n 1 "$1")
	sed -i 1d "$1"
	exec {lock}>&-
	[ -n "$level" ]
}

# Run the levels in the files $@, those of the first file first, concurrently with other lanes.
# The output of a level is shown when it has ended.
run_lane()
{
	local out level queue
	out=$(mktemp "$report/out.XXXXXX")
	for queue in "$@"; do
		while next_level "$queue"; do
			echo "== $level begins" >&2
			run_level "$level" >"$out" 2>&1
			flock "$report" cat "$out"
		done
	done
}

# Print the number of guests that run at a time: guests wait often, so there is one more than
# processors if each has 4 GiB of memory.
guest_lanes()
{
	local memory lanes
	memory=$(awk '$1 == "MemAvailable:" { print int($2 / 1024 / 1024 / 4) }' /proc/meminfo)
	lanes=$(($(nproc) + 1))
	[ $lanes -le $memory ] || lanes=$memory
	[ $lanes -ge 2 ] || lanes=2
	echo $lanes
}

# Run these levels: several guests at a time, and the levels without a guest on the processor
# time that remains. One lane begins with the levels in User-Mode Linux, which wait often, and
# the others with those in QEMU, whose guests keep a processor busy. The two longest of these
# thus begin at once. If the kernel for User-Mode Linux is still being built, which takes both
# processors for minutes and delays the longest level, only one lane has guests in QEMU.
run_lanes()
{
	local pids=() level i lanes
	lanes=$(guest_lanes)
	# Each has less processor time.
	export TIMEOUT_SCALE=$((TIMEOUT_SCALE * 3))
	touch "$report"/{qemu,uml,host}
	for level in "$@"; do
		if on_host "$level"; then
			echo "$level" >>"$report/host"
		elif uses_uml "$level"; then
			echo "$level" >>"$report/uml"
		else
			echo "$level" >>"$report/qemu"
		fi
	done
	( trap - EXIT; run_lane "$report"/{uml,qemu} ) &
	pids+=($!)
	for ((i = 1; i < lanes; i++)); do
		( trap - EXIT; [ $i -eq 1 ] || kernel_ended; run_lane "$report"/{qemu,uml} ) &
		pids+=($!)
	done
	( trap - EXIT; renice -n 5 $BASHPID >/dev/null; run_lane "$report/host" ) &
	pids+=($!)
	for i in "${pids[@]}"; do
		wait "$i" || true
	done
}

# Build the kernel that one of the levels $@ needs, and set kernel_build to the id of the process.
# This runs concurrently with the levels without a guest, because it takes longer than all of
# these, and at a lower priority than guests, whose time continues while they have no processor.
# A level that needs the kernel waits for its build.
kernel_build=
prepare_kernel()
{
	local level
	for level in "$@"; do
		if uses_uml "$level"; then
			( trap - EXIT; renice -n 5 $BASHPID >/dev/null; scripts/uml-kernel.sh >/dev/null ) &
			kernel_build=$!
			return
		fi
	done
}

# Wait until the kernel's build has ended.
kernel_ended() { [ -z "$kernel_build" ] || tail --pid="$kernel_build" -f /dev/null; }

for level in "${levels[@]}"; do
	on_host "$level" && continue
	# All guests of a run have the same programs.
	GUEST_ROOT=${GUEST_ROOT:-$(scripts/guest-root.sh)}
	export GUEST_ROOT
	break
done

# Print the ticks of all processors: busy, idle.
processors() { awk '$1 == "cpu" { printf "%.0f %.0f\n", $2 + $3 + $4 + $7 + $8, $5 + $6 }' /proc/stat; }

read -r busy idle < <(processors)
first=("${levels[@]}")
if [ ${#levels[@]} -gt 1 ]; then
	prepare_kernel "${levels[@]}"
	first=()
	[ "${levels[0]}" != engine ] || first=(engine)
fi
for level in "${first[@]}"; do
	run_level "$level"
done
if [ ${#levels[@]} -gt ${#first[@]} ]; then
	levels=("${levels[@]:${#first[@]}}")
	# A commit that breaks the engine is detected within minutes.
	if ! grep -q '^not ok ' "$report"/*.results 2>/dev/null; then
		run_lanes "${levels[@]}"
	else
		echo "== not begun, because the engine's tests failed: ${levels[*]}"
		levels=()
	fi
fi

# If a lane was killed, some levels have no result.
for level in "${levels[@]}"; do
	[ -e "$report/$level.seconds" ] ||
		echo "not ok $level/run - the level did not end" >>"$report/$level.results"
done
# Processor time of all programs on this machine, and the share in which no program ran
read -r busy_now idle_now < <(processors)
echo "$(((busy_now - busy) / $(getconf CLK_TCK))) $((100 * (idle_now - idle) / (busy_now - busy + idle_now - idle + 1)))" >"$report/processors"
echo
status=0
"$here/scripts/check-report.py" "$report" "${JUNIT_XML:-$RUNS/check.xml}" >"$report/page" || status=$?
cat "$report/page"
[ -z "${CLOSING_LINE_FILE:-}" ] || tail -n 1 "$report/page" >"$CLOSING_LINE_FILE"
exit $status
