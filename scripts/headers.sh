#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/headers.sh: check the interface of the core, include/rpcrdma/. Each header compiles
# alone, in C11 and in C++20, without a kernel header. No header includes itself, directly or
# through others. engine.h includes all of them.
set -uo pipefail

cd "$(dirname "$0")/../include/rpcrdma" || exit
bad=0

complain()
{
	echo "$*"
	bad=1
}

# alone HEADER COMPILER FLAG...: check that HEADER compiles and includes no kernel header
alone()
{
	local header=$1 read
	shift
	read=$("$@" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -H "$header" 2>&1) ||
		{ complain "include/rpcrdma/$header does not compile alone: $*"; grep -m 3 'error:' <<<"$read"; }
	! grep -E '^\.+ .*/(linux|asm|asm-generic|uapi)/' <<<"$read" ||
		complain "include/rpcrdma/$header needs a header of the kernel"
}

for header in *.h; do
	alone "$header" "${CC:-gcc}" -x c -std=c11
	alone "$header" "${CXX:-g++}" -x c++ -std=c++20 -nostdinc
	[ "$header" = engine.h ] || grep -qx "#include \"$header\"" engine.h ||
		complain "include/rpcrdma/engine.h does not include $header"
done

# tsort prints the headers of a cycle.
circle=$(for header in *.h *.hh; do
	sed -n "s/^#include \"\(.*\)\"/$header \1/p" "$header"
done | tsort 2>&1 >/dev/null) || complain "headers in include/rpcrdma include each other:
$circle"
exit $bad
