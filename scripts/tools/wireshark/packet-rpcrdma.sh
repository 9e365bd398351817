#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Check that the patch for Wireshark's built-in dissector applies to its source, and adds no
# compiler warning.
#
#   packet-rpcrdma.sh [SOURCE [OUTPUT]]
#
#   SOURCE   Wireshark's source tree. The default is the source of this host's Debian
#            release, which is downloaded once (46 MB) and cached.
#   OUTPUT   path for the patched packet-rpcrdma.c
#
# The patch is written for Wireshark's master branch. If SOURCE is an earlier release, this
# script adapts the patched file to it. Needs libglib2.0-dev.
#
# Exit status: 3 if the archive cannot be reached.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/../../lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
file=epan/dissectors/packet-rpcrdma.c

# Download Debian's source, and keep in the folder $1 the files that compile the dissector. A
# separate apt configuration has the source repository, which the host's may lack.
fetch()
{
	local to=$1 suite uri apt=$work/apt apt_arch
	apt_arch=$(dpkg --print-architecture)
	mkdir -p "$apt"/{parts,lists/partial,archives/partial}
	: >"$apt/status"
	for suite in "$(host_suite)" "$(host_suite)-security"; do
		uri=$(archive "$suite")
		[ -z "$uri" ] || echo "deb-src [signed-by=$debian_key] $uri $suite main"
	done >"$apt/sources.list"
	[ -s "$apt/sources.list" ] || no_archive "apt is not configured here, or 'apt-get update' never ran"
	apt_here apt-get update >&2 || no_archive "the archive cannot be reached"
	(cd "$work" && apt_here apt-get source --tar-only --download-only wireshark) >&2 ||
		no_archive "the source cannot be downloaded"
	mkdir -p "$work/source"
	tar -C "$work/source" --strip-components=1 --wildcards -xf "$work"/wireshark_*.orig.tar.* \
		'*/epan/*.h' '*/include/*.h' '*/wiretap/*.h' '*/wsutil/*.h' "*/$file"
	mkdir -p "$(dirname "$to")"
	rm -rf "$to"
	mv "$work/source" "$to"
}

pkg-config --exists glib-2.0 || { echo "libglib2.0-dev or pkg-config is missing"; exit 1; }
source=${1:-$CACHE/wireshark}
[ $# -gt 0 ] || [ -f "$source/$file" ] || fetch "$source"
mkdir -p "$work/new/epan/dissectors" "$work/config"
cp "$source/$file" "$work/new/$file"
patch -d "$work/new" -p1 <"$here/packet-rpcrdma.patch"
# In earlier releases an identifier is -1 until it is registered: otherwise Wireshark ends.
if grep -q '^static int proto_rpcordma = -1;' "$source/$file"; then
	sed -i 's/^\(static int \(hf\|ett\)_rpcordma2_[a-z_]*\);$/\1 = -1;/' "$work/new/$file"
fi
# The results of Wireshark's own configuration
printf '#define VERSION "0"\n#define HAVE_PLUGINS 1\n' >"$work/config/config.h"
printf '#define WIRESHARK_VERSION_MAJOR 0\n#define WIRESHARK_VERSION_MINOR 0\n' >"$work/config/ws_version.h"

# compile FILE: compile it, and write the number of warnings to $work/warnings
compile()
{
	# shellcheck disable=SC2046
	gcc -std=gnu11 -Wall -Wextra -Wno-unused-parameter -c -o "$work/object" -I"$work/config" \
		-I"$source" -I"$source/include" -I"$source/epan/dissectors" \
		$(pkg-config --cflags glib-2.0) "$1" 2>"$work/said" || { tail -n 20 "$work/said" >&2; return 1; }
	grep -c 'warning:' "$work/said" >"$work/warnings" || true
}
compile "$source/$file" || { echo "it does not compile without the patch"; exit 1; }
before=$(cat "$work/warnings")
compile "$work/new/$file" || { echo "it does not compile"; exit 1; }
[ "$(cat "$work/warnings")" = "$before" ] || { grep 'warning:' "$work/said" >&2; echo "it has warnings"; exit 1; }
[ $# -lt 2 ] || cp "$work/new/$file" "$2"
echo "it applies and compiles"
