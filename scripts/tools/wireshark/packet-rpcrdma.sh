#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Check that the patch for Wireshark's own dissector applies to its source, and compiles
# without a warning of its own.
#
#   packet-rpcrdma.sh [SOURCE]
#
#   SOURCE   Wireshark's source tree; by default that of Debian, which apt-get has to be
#            configured for (deb-src). libglib2.0-dev and libwireshark-dev are needed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=${1:-}
if [ -z "$source" ]; then
	(cd "$work" && apt-get -q source --download-only wireshark && dpkg-source -x ./*.dsc source) >&2
	source=$work/source
fi
file=epan/dissectors/packet-rpcrdma.c
mkdir -p "$work/new/epan/dissectors" "$work/config"
cp "$source/$file" "$work/new/$file"
patch -d "$work/new" -p1 <"$here/packet-rpcrdma.patch"
# The results of Wireshark's own configuration
printf '#define VERSION "0"\n#define HAVE_PLUGINS 1\n' >"$work/config/config.h"
compile()
{
	# shellcheck disable=SC2046
	gcc -std=gnu11 -Wall -Wextra -Wno-unused-parameter -c -o "$work/object" -I"$work/config" \
		-I"$source" -I"$source/include" -I"$source/epan/dissectors" -I/usr/include/wireshark \
		$(pkg-config --cflags glib-2.0) "$1" 2>&1 | grep -c 'warning:' || true
}
[ "$(compile "$work/new/$file")" = "$(compile "$source/$file")" ] || { echo "it has warnings"; exit 1; }
[ -s "$work/object" ] || { echo "it does not compile"; exit 1; }
echo "it applies and compiles"
