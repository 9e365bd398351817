#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Check that no source file exceeds the maximum number of lines of its kind: a header of
# the interface 350, a source of the product 600, a test 800. A longer file has more than
# one subject: split it by subject, not at a line.
#
#   sizes.sh		print each file that is too long; exit status 1 if there is one
#
# The files in LONGER are still too long. Do not add files to it, and remove a file that has
# become short enough.
set -u
cd "$(dirname "$0")/.." || exit

LONGER="
"

bad=0
complain()
{
	echo "$*"
	bad=1
}

# too_long MOST FOLDER: print the sources in this folder that have more than MOST lines.
too_long()
{
	local most=$1 folder=$2 file lines
	git ls-files -co --exclude-standard -- "$folder"/{'*.c','*.h','*.cc','*.hh','*.sh','*.py'} |
		while read -r file; do
			[ -f "$file" ] || continue
			lines=$(wc -l <"$file")
			[ "$lines" -le "$most" ] || echo "$file has $lines lines, of at most $most"
		done
}

found=$(too_long 350 include; too_long 600 net; too_long 800 kunit; too_long 800 scripts/guest;
	too_long 600 scripts/tools/lib; too_long 800 scripts/tools/ctl; too_long 800 scripts/tools/wireshark)
while read -r file rest; do
	[ -z "$file" ] || grep -qxF "$file" <<<"$LONGER" || complain "$file $rest"
done <<<"$found"
for file in $LONGER; do
	grep -q "^$file " <<<"$found" ||
		complain "$file is not too long any more: remove it from LONGER in scripts/sizes.sh"
done
exit $bad
