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

[ -f "$tarball" ] || die "$tarball is missing: run scripts/setup.sh first"

# shellcheck disable=SC2016
version=$(dpkg-query -W -f '${Version}' linux-source-6.1)
fix=$here/scripts/debug-kernel.patch
key=$({ config; cat "$fix"; echo "$version"; } | sha256sum | cut -c1-16)
tree=$CACHE/debug-kernel-$key

if [ -f "$tree/.complete" ] && [ -d "$tree/modroot" ]; then
	echo "$tree"
	exit 0
fi

log=$CACHE/debug-kernel-build.log

# Where a guest takes the kernel's modules from.
install_modules()
{
	rm -rf "$tree/modroot" "$tree/modroot.new"
	make -C "$tree" modules_install INSTALL_MOD_PATH="$tree/modroot.new" \
		INSTALL_MOD_STRIP=1 >>"$log" 2>&1 ||
		{ tail -30 "$log" >&2; die "installing the debug kernel's modules failed, see $log"; }
	# Links to the build tree, which nobody follows here.
	rm -f "$tree"/modroot.new/lib/modules/*/{build,source}
	mv "$tree/modroot.new" "$tree/modroot"
}

# One builder at a time; a second one waits and finds the tree complete.
mkdir -p "$CACHE"
exec 9>"$CACHE/debug-kernel.lock"
flock 9
if [ -f "$tree/.complete" ]; then
	[ -d "$tree/modroot" ] || install_modules
	echo "$tree"
	exit 0
fi

say "building the debug kernel in $tree (about 15 minutes on two cores; log: $log)"
rm -rf "$tree" "$tree.src"
mkdir -p "$tree.src"
{
	tar -C "$tree.src" --strip-components=1 -xf "$tarball"
	if patch -d "$tree.src" -p1 --dry-run <"$fix"; then
		patch -d "$tree.src" -p1 <"$fix"
	fi
	config >"$tree.src/.config"
	make -C "$tree.src" olddefconfig
} >"$log" 2>&1 || { tail -30 "$log" >&2; die "configuring the debug kernel failed"; }

# olddefconfig silently drops what does not fit together: a test kernel
# without its checkers would pass everything.
lost=$(config | grep '^CONFIG_' | grep -Fxv -f "$tree.src/.config" || true)
[ -z "$lost" ] || die "the configuration lost these requested lines:
$lost"

make -C "$tree.src" -j"$(nproc)" bzImage modules >>"$log" 2>&1 ||
	{ tail -30 "$log" >&2; die "building the debug kernel failed, see $log"; }
# Only what external modules, a guest and a reader of its traces need is kept:
# no objects.
find "$tree.src" \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' \) \
	-not -path '*/scripts/*' -not -path '*/tools/*' -delete
mv "$tree.src" "$tree"
install_modules
touch "$tree/.complete"
say "debug kernel complete"
echo "$tree"
