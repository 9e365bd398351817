#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make deb": Debian packages, from the files of scripts/debian in a source tree
# put together for them.
#
#   scripts/deb.sh [DIR [VERSION]]
#
#   DIR       where they go (default: deb/ in this checkout)
#   VERSION   another one than Kbuild says, to try an upgrade
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

mkdir -p "${1:-$here/deb}"
to=$(cd "${1:-$here/deb}" && pwd)
cd "$here"
version=${2:-$(sed -n 's/^version := //p' Kbuild)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/rpcrdma-v2-$version
mkdir "$tree"

project_files | tar -cf - -T - | tar -C "$tree" -xf -
sed -i "s/^version := .*/version := $version/" "$tree/Kbuild"
mv "$tree/scripts/debian" "$tree/debian"

# The items of the changelog's newest section, in Debian's form
changes()
{
	sed -n '/^[0-9]/,$p' Documentation/changelog.rst | awk '
		function wrap(text,	words, n, i, line) {
			n = split(text, words, " ")
			line = "  " words[1]
			for (i = 2; i <= n; i++) {
				if (length(line " " words[i]) > 78) {
					print line
					line = "   "
				}
				line = line " " words[i]
			}
			print line
		}
		{ gsub("``", "") }
		/^===/ && ++sections > 1 { exit }
		/^[*] / { if (item) wrap(item); item = $0 }
		/^  / { item = item $0 }
		END { wrap(item) }'
}

when=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
{
	echo "rpcrdma-v2 ($version) unstable; urgency=medium"
	echo
	changes
	echo
	echo " -- $(sed -n 's/^Maintainer: //p' "$tree/debian/control")  $(LC_ALL=C date -u -R -d "@$when")"
} >"$tree/debian/changelog"

( cd "$tree" && dpkg-buildpackage -us -uc -d ) >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; die "the packages do not build"; }
rm -rf "$tree"
find "$work" -maxdepth 1 -name 'rpcrdma-v2*' -exec mv -f -t "$to" {} +
find "$to" -name "*_${version}_*.deb" | sort
