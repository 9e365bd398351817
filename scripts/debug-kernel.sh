#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the debug kernel (KUnit, KASAN, lockdep, kmemleak) that GUEST=debug boots in
# QEMU instead of User-Mode Linux, from Debian's linux-source-6.1. The configuration is
# .kunitconfig, overridden by scripts/debug-kernel.config.
# scripts/debug-kernel.patch is applied if it fits: it fixes problems that keep tests
# from running, and changes no code under test.
#
#   scripts/debug-kernel.sh
#
#   DEBUG_SUITE=suite   build from the newest linux-source of that suite instead, e.g.
#               bookworm-backports (6.12) or trixie-backports (7.x). Options that
#               those sources lack are left out
#
# The result is cached outside the checkout, keyed by the configuration, the
# patch and the version of the sources. Prints the path of the built tree on stdout;
# progress goes to stderr. In the tree, modroot/ has its modules installed.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

tarball=/usr/src/linux-source-6.1.tar.xz
suite=${DEBUG_SUITE:-}

# The requested options: those of the second file take precedence.
options()
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
	# Newer names of CONFIG_EMBEDDED and CONFIG_NFS_V4_1
	[ -z "$suite" ] || printf '%s\n' CONFIG_EXPERT=y CONFIG_NFS_V4_0=y
}

# Print the requested options that exist in the sources.
config()
{
	if [ -z "$suite" ]; then
		options
	else
		options | awk '
			NR == FNR { has["CONFIG_" $NF] = 1; next }
			{ name = $1 == "#" ? $2 : $1; sub(/=.*/, "", name) }
			name in has' <(grep -rhoE '^\s*(menu)?config [A-Z0-9_a-z]+' --include='Kconfig*' "$tree.src") -
	fi
}

fix=$here/scripts/debug-kernel.patch

# shellcheck disable=SC2317
unpack()
{
	if [ -z "$suite" ]; then
		tar -C "$1" --strip-components=1 -xf "$tarball" || return
	else
		unpack_source "$suite" "$1" || return
	fi
	fit_patch "$1" "$fix"
}

if [ -z "$suite" ]; then
	[ -f "$tarball" ] || die "$tarball is missing: run scripts/setup.sh first"
	# shellcheck disable=SC2016
	version=$(dpkg-query -W -f '${Version}' linux-source-6.1)
else
	version=$(newest_source "$suite")
fi
test_kernel "debug-kernel${suite:+-$suite}" "$(options; cat "$fix"; echo "$version")" unpack config
echo "$tree"
