#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the debug kernel (KUnit, KASAN, lockdep, kmemleak) that the KUnit
# suites and one of the end-to-end runs use, from Debian's linux-source-6.1
# and the configuration in .kunitconfig, with scripts/debug-kernel.config over it.
# scripts/debug-kernel.patch goes in where it fits: it mends what keeps tests
# from running, nothing of what is tested.
#
# The result is cached outside the checkout, keyed by the configuration, the
# patch and the version of the sources. Prints the path of the built tree on stdout;
# progress goes to stderr. In the tree, modroot/ has its modules installed.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

tarball=/usr/src/linux-source-6.1.tar.xz

# The options asked for: what the second file sets wins.
config()
{
	awk '
		/^(# )?CONFIG_[A-Za-z0-9_]+(=| is not set)/ {
			name = $1 == "#" ? $2 : $1
			sub(/=.*/, "", name)
			if (!(name in line))
				order[++n] = name
			line[name] = $0
		}
		END { for (i = 1; i <= n; i++) print line[order[i]] }' \
		"$here/.kunitconfig" "$here/scripts/debug-kernel.config"
}

fix=$here/scripts/debug-kernel.patch

# shellcheck disable=SC2317
unpack()
{
	tar -C "$1" --strip-components=1 -xf "$tarball" || return
	if patch -d "$1" -p1 --dry-run <"$fix"; then
		patch -d "$1" -p1 <"$fix"
	fi
}

[ -f "$tarball" ] || die "$tarball is missing: run scripts/setup.sh first"
# shellcheck disable=SC2016
version=$(dpkg-query -W -f '${Version}' linux-source-6.1)
test_kernel debug-kernel "$(config; cat "$fix"; echo "$version")" unpack config
echo "$tree"
