#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/layers.sh [FOLDER]: check that no object of the module that was built in FOLDER,
# by default in this checkout, uses a symbol of a higher object. Kbuild lists the objects in
# order, lowest first: those of core/, of verbs/ and of sunrpc/. If an object uses a higher
# one, fail and print the symbols with both objects.
# Lower objects call higher ones through hooks and work items. Only the core calls the
# functions of its port (core/port.h), which higher objects define.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
built=${1:-$here}/net/sunrpc/xprtrdma

# Print the objects of the list $1 in Kbuild, in order.
objects()
{
	sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' "$here/Kbuild" | sed -n "s/^$1-objs := *//p"
}

# layer NUMBER OBJECT: print the symbols that OBJECT defines and lacks, with its number
layer()
{
	nm -g --defined-only "$2" | awk -v n="$1" -v o="${2#"$built/"}" '{ print "has", n, o, $3 }'
	nm -u "$2" | awk -v n="$1" -v o="${2#"$built/"}" '{ print "lacks", n, o, $2 }'
}

number=0
for name in core verbs sunrpc; do
	list=$(objects "$name")
	[ -n "$list" ] || { echo >&2 "Kbuild has no $name-objs"; exit 1; }
	for object in $list; do
		number=$((number + 1))
		[ -f "$built/$name/$object" ] || { echo >&2 "$name/$object was not built"; exit 1; }
		layer $number "$built/$name/$object"
	done
done | awk '
	$1 == "has" { layer[$4] = $2; home[$4] = $3 }
	$1 == "lacks" { lacks[++count] = $0 }
	END {
		for (i = 1; i <= count; i++) {
			split(lacks[i], use, " ")
			if (!(use[4] in layer))
				continue
			known++
			port = use[4] ~ /^rpcrdma_port_/
			if (layer[use[4]] <= use[2] ? !port : port && use[2] == 1)
				continue
			print use[3] " uses " use[4] " of " home[use[4]]
			bad++
		}
		if (known < 100) {
			print "only " known + 0 " uses of one object by another were found"
			bad++
		}
		exit bad > 0
	}'
