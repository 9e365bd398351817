#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# install.sh FOLDER: check the library that "make lib-install" with PREFIX=/usr installs
# under FOLDER/root: its symbols, its headers, and programs in C and C++ that are built
# with pkg-config and linked with the shared and the static library.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
lib=$here/../../scripts/tools/lib
build=${1:?usage: install.sh FOLDER}
root=$build/root
usr=$root/usr

die()
{
	echo "library: $*" >&2
	exit 1
}

# Check that only functions of the interface are exported, and only libc is needed.
shared=$(readlink -f "$usr/lib/librpcrdma2.so")
names=$(nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' | sed 's/@.*//')
! grep -v '^rpcrdma2_' <<<"$names" || die "the shared library exports these"
names_a=$(nm -g --defined-only "$usr/lib/librpcrdma2.a" | awk 'NF == 3 { print $3 }')
! grep -v '^rpcrdma2_' <<<"$names_a" || die "the static library defines these"
[ "$(sort <<<"$names")" = "$(sort <<<"$names_a")" ] || die "the two forms differ in their names"
needed=$(readelf -d "$shared" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
! grep -v '^libc\.so' <<<"$needed" || die "the shared library needs these"
readelf -d "$shared" | grep -q 'SONAME.*\[librpcrdma2\.so\.0\]' || die "the soname is wrong"

# Check that the functions in the headers are exactly the exported ones.
declared=$(cat "$usr"/include/rpcrdma2/*.h | tr '\n\t' '  ' | grep -oE 'RPCRDMA2_EXPORT [^;]*;' |
	grep -oE 'rpcrdma2_[a-z_0-9]+\(' | tr -d '(' | sort -u)
[ "$(sort <<<"$names")" = "$declared" ] ||
	die "declared and exported functions differ: $(diff <(sort <<<"$names") - <<<"$declared")"

# Check that each header compiles alone, without a kernel header.
for header in "$usr"/include/rpcrdma2/*.h; do
	for compiler in "gcc -x c -std=c11" "g++ -x c++ -std=c++11" "g++ -x c++ -std=c++20"; do
		read=$($compiler -Wall -Wextra -Wpedantic -Werror -fsyntax-only -H "$header" 2>&1) ||
			die "$header does not compile alone: $compiler
$read"
		! grep -E '^\.+ .*/(linux|asm|asm-generic|uapi)/' <<<"$read" | grep -v 'bits/' ||
			die "$header needs a header of the kernel"
	done
done

export PKG_CONFIG_PATH=$usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
pkg-config --exact-version="$(sed -n 's/^#define RPCRDMA2_VERSION "\(.*\)"/\1/p' \
	"$lib/include/rpcrdma2/version.h")" librpcrdma2 || die "pkg-config has another version"
# Check that the library and the module have the same release.
release=$(sed -n 's/^version := //p' "$here/../../Kbuild")
[ "$(pkg-config --modversion librpcrdma2)" = "$release.0" ] ||
	die "Kbuild has version $release, and version.h another one"
cat >"$build/linked.cc" <<-C
	#include <rpcrdma2/rpcrdma2.h>
	int main() { return !rpcrdma2_version(RPCRDMA2_VERSION_NUM) || rpcrdma2_version(1 << 30); }
C
# The files are not under /usr here: pass the folder to the linker.
# shellcheck disable=SC2046
g++ -std=c++11 $(pkg-config --cflags librpcrdma2) -o "$build/linked" "$build/linked.cc" \
	-L"$usr/lib" $(pkg-config --libs-only-l librpcrdma2)
LD_LIBRARY_PATH=$usr/lib "$build/linked" || die "the shared library has another version"
# shellcheck disable=SC2046
gcc -std=c11 $(pkg-config --cflags librpcrdma2) -o "$build/example" "$lib/example.c" \
	"$usr/lib/librpcrdma2.a"
"$build/example" >"$build/example.log" || die "the example fails with the installed library"
