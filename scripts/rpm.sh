#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make rpm": build packages for hosts with RPM: the DKMS sources; programs, library and
# documents.
#
#   scripts/rpm.sh [DIR]    DIR: where they go (default: rpm/ in this checkout)
#
#   DEBEMAIL=address DEBFULLNAME=name   the maintainer named in them
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

begin_package "${1:-$here/rpm}"
mkdir "$work/SOURCES"
tar -C "$work" -czf "$work/SOURCES/rpcrdma-v2-$version.tar.gz" "rpcrdma-v2-$version"
# Packages of debuginfo need tools that only a host with RPM packages has.
for name in rpcrdma-v2-dkms rpcrdma-v2; do
	{
		sed "s/#VERSION#/$version/" scripts/$name.spec
		echo "* $(LC_ALL=C date -u -d "@$(source_date)" '+%a %b %d %Y') $(maintainer) - $version-1"
		changes "- " "  "
	} >"$work/$name.spec"
	# On a host without RPM packages, rpm cannot find the installed build dependencies.
	rpmbuild --nodeps --define "_topdir $work" --define 'debug_package %{nil}' \
		--define '_build_id_links none' \
		-ba "$work/$name.spec" >"$work/log" 2>&1 ||
		{ tail -n 40 "$work/log" >&2; die "the packages of $name.spec do not build"; }
done
find "$work" \( -name '*.rpm' -o -name '*.spec' \) -not -path "$tree/*" -exec mv -f -t "$to" {} +
find "$to" -name '*.rpm' | sort
