#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make deb": build the Debian packages, from a copy of the sources with the files of
# scripts/debian.
#
#   scripts/deb.sh [DIR [VERSION]]
#
#   DIR       folder for the packages (default: deb/ in this checkout)
#   VERSION   another version than Kbuild's, to try an upgrade
#
#   DEBEMAIL=address DEBFULLNAME=name   the maintainer named in them
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

begin_package "${1:-$here/deb}" "${2:-}"
mv "$tree/scripts/debian" "$tree/debian"
sed -i '/^Source:/r /dev/stdin' "$tree/debian/control" <<<"Maintainer: $(maintainer)"

{
	echo "rpcrdma-v2 ($version) unstable; urgency=medium"
	echo
	changes "  * " "    "
	echo
	echo " -- $(maintainer)  $(LC_ALL=C date -u -R -d "@$(source_date)")"
} >"$tree/debian/changelog"

( cd "$tree" && dpkg-buildpackage -us -uc -d ) >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; die "the packages do not build"; }
rm -rf "$tree"
find "$work" -maxdepth 1 \( -name 'rpcrdma-v2*' -o -name 'librpcrdma2*' \) -exec mv -f -t "$to" {} +
find "$to" -name "*_${version}_*.deb" | sort
