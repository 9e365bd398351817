#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build KUnit as a module for a stock kernel, which has it switched off, from lib/kunit of the
# same suite's linux-source and kunit/module/ here.
#
#   scripts/kunit-module.sh DIR
#
#   DIR   what scripts/stock-kernel.sh printed
#
# Prints the path of a folder in DIR with kunit.ko and Module.symvers. In its tools/testing/kunit
# is the parser of results. It is built again if the kernel, the sources or kunit/module/
# change. The test modules are built for it with
#
#   make KDIR=DIR/build CONFIG_RPCRDMA_KUNIT_TEST=m KUNIT_MODULE=that folder
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

[ $# -eq 1 ] && [ -e "$1/version" ] || die "a folder of scripts/stock-kernel.sh has to be given"
dir=$(readlink -f "$1")
suite=$(basename "$dir")
suite=${suite%%.*}
! grep -q '^CONFIG_KUNIT=' "$dir/build/.config" || die "$(cat "$dir/version") has KUnit"
to=$dir/kunit
log=$dir.kunit.log

exec 9>"$dir.kunit.lock"
flock 9
source=$(newest_source "$suite")
key=$(cat "$here"/kunit/module/* "$0" - <<<"$source" | sha256sum)
if [ "$(cat "$to/.complete" 2>/dev/null)" = "$key" ]; then
	echo "$to"
	exit 0
fi

# All flavours of a suite have the same sources.
sources=$CACHE/kernels/$suite.kunit-source
exec 8>"$sources.lock"
flock 8
if [ "$(cat "$sources/.complete" 2>/dev/null)" != "$source" ]; then
	say "unpacking KUnit from $source (log: $log)"
	rm -rf "$sources"
	mkdir -p "$sources"
	unpack_source "$suite" "$sources" lib/kunit include/kunit tools/testing/kunit >"$log" 2>&1 ||
		{ tail -n 5 "$log" >&2; die "the sources of $suite cannot be unpacked"; }
	echo "$source" >"$sources/.complete"
fi
exec 8>&-

rm -rf "$to"
mkdir -p "$to/tools/testing"
cp "$here"/kunit/module/* "$to"
cp -r "$sources"/{lib,include} "$to"
cp -r "$sources/tools/testing/kunit" "$to/tools/testing"
# See kunit/module/kunit.h.
sed -i 's/current->kunit_test/kunit_current_test/g; s/\<struct module \*/struct kunit_module */g' \
	"$to"/lib/kunit/*.[ch] "$to/include/kunit/test-bug.h"
args=()
[ ! -e "$dir/make-args" ] || mapfile -t args <"$dir/make-args"
in_suite "$dir" make --no-print-directory -C "$(readlink -f "$dir/build")" M="$to" CONFIG_KUNIT=m \
	"${args[@]}" modules >"$log" 2>&1 ||
	{ grep -m 5 -E 'error:|\*\*\*|undefined!' "$log" >&2; die "KUnit does not build for $(cat "$dir/version"), see $log"; }
echo "$key" >"$to/.complete"
echo "$to"
