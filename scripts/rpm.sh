#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make rpm": a package of the DKMS sources for hosts that have RPM.
#
#   scripts/rpm.sh [DIR]    DIR: where it goes (default: rpm/ in this checkout)
#
#   DEBEMAIL=address DEBFULLNAME=name   the maintainer named in it
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

begin_package "${1:-$here/rpm}"
mkdir "$work/SOURCES"
tar -C "$work" -czf "$work/SOURCES/rpcrdma-v2-$version.tar.gz" "rpcrdma-v2-$version"
{
	sed "s/#VERSION#/$version/" scripts/rpcrdma-v2-dkms.spec
	echo "* $(LC_ALL=C date -u -d "@$(source_date)" '+%a %b %d %Y') $(maintainer) - $version-1"
	changes "- " "  "
} >"$work/rpcrdma-v2-dkms.spec"
# On a host without RPM packages, rpm does not know the build dependencies installed.
rpmbuild --nodeps --define "_topdir $work" -ba "$work/rpcrdma-v2-dkms.spec" >"$work/log" 2>&1 ||
	{ tail -n 40 "$work/log" >&2; die "the package does not build"; }
find "$work" \( -name '*.rpm' -o -name '*.spec' \) -not -path "$tree/*" -exec mv -f -t "$to" {} +
find "$to" -name '*.rpm' | sort
