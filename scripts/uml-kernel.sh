#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build a kernel that is a program of this machine (User-Mode Linux), in which
# tests run at this machine's own speed: that of Debian's newest linux-source in a
# suite, with the configuration in scripts/uml-kernel.config.
#
#   scripts/uml-kernel.sh [SUITE]    default: trixie-backports
#
# The result is cached as scripts/debug-kernel.sh does. Which sources are the newest is
# asked once a week. Prints the path of the built tree on stdout; progress goes
# to stderr. In the tree, linux is the kernel, and modroot/ has its modules.
# A module is built for it with "make KDIR=that path ARCH=um".
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

suite=${1:-trixie-backports}
newest=$CACHE/kernels/$suite.source
log=$newest.log

# The newest sources: the package's name and version
find_newest()
{
	local apt package
	suite_apt "$suite" "$log"
	package=$(apt_depends linux-source | grep '^linux-source-' | head -n 1)
	[ -n "$package" ] || die "$suite has no linux-source: see $log"
	apt_here apt-cache show --no-all-versions "$package" |
		awk -v package="$package" '$1 == "Version:" { print package, $2 }' >"$newest.new"
	mv "$newest.new" "$newest"
}

# shellcheck disable=SC2317
unpack()
{
	local apt name version deb
	suite_apt "$suite" "$log"
	read -r name version <"$newest"
	rm -f "$apt/archives/$name"_*.deb
	(cd "$apt/archives" && apt_here apt-get download "$name=$version") || return
	deb=$(echo "$apt/archives/$name"_*.deb)
	dpkg-deb --fsys-tarfile "$deb" | tar -xOf - "./usr/src/$name.tar.xz" |
		tar -C "$1" --strip-components=1 -xJf - || return
	rm -f "$deb"
}

# shellcheck disable=SC2317
config() { grep CONFIG_ "$here/scripts/uml-kernel.config"; }

mkdir -p "$CACHE/kernels"
exec {lock}>"$newest.lock"
flock "$lock"
if [ ! -s "$newest" ] || [ -z "$(find "$newest" -mtime -7)" ]; then
	find_newest
fi
exec {lock}>&-
test_kernel uml-kernel "$(config; cat "$newest")" unpack config ARCH=um
echo "$tree"
