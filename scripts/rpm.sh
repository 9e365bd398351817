#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make rpm": a package of the DKMS sources for hosts that have RPM.
#
#   scripts/rpm.sh [DIR]    DIR: where it goes (default: rpm/ in this checkout)
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

mkdir -p "${1:-$here/rpm}"
to=$(cd "${1:-$here/rpm}" && pwd)
cd "$here"
version=$(sed -n 's/^version := //p' Kbuild)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

source_tree "$work/rpcrdma-v2-$version" "$version"
mkdir "$work/SOURCES"
tar -C "$work" -czf "$work/SOURCES/rpcrdma-v2-$version.tar.gz" "rpcrdma-v2-$version"
{
	sed "s/#VERSION#/$version/" scripts/rpcrdma-v2-dkms.spec
	echo "* $(LC_ALL=C date -u -d "@$(source_date)" '+%a %b %d %Y') $(sed -n 's/^Maintainer: //p' scripts/debian/control) - $version-1"
	changes "- " "  "
} >"$work/rpcrdma-v2-dkms.spec"
# What a host that has no RPM of its own does not know is installed there.
rpmbuild --nodeps --define "_topdir $work" -ba "$work/rpcrdma-v2-dkms.spec" >"$work/log" 2>&1 ||
	{ tail -n 40 "$work/log" >&2; die "the package does not build"; }
find "$work" \( -name '*.rpm' -o -name '*.spec' \) -not -path "$work/rpcrdma-v2-$version/*" -exec mv -f -t "$to" {} +
find "$to" -name '*.rpm' | sort
