#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Find which of its known forms an interface has in the kernel that is built for:
# compile a fragment that uses it, with each of the forms that its head lists, and write
# the macro of the first one that compiles.
#
#   probe.sh FRAGMENT ANSWER COMPILER FLAG...
#
# A kernel with none of the forms stops the build here, with the interface's name, and
# not with the errors that would follow. With REPORT set, the answer says so instead.
set -u

fragment=$1
answer=$2
shift 2

name=$(basename "$fragment" .c)
log=$answer.log
: >"$log"
for form in $(sed -n 's/^ \* Forms: *//p' "$fragment"); do
	echo "$form:" >>"$log"
	if "$@" -DRPCRDMA_PROBE "-D$form" -Werror=incompatible-pointer-types \
		-Werror=implicit-function-declaration -Werror=int-conversion \
		-fsyntax-only -x c "$fragment" >>"$log" 2>&1; then
		echo "#define $form 1 /* $name */" >"$answer"
		rm -f "$log"
		exit 0
	fi
done
if [ -n "${REPORT:-}" ]; then
	{
		echo "/* $name: no known form"
		grep -E '^[A-Z_]+:$|error:' "$log" | head -n 12
		echo "*/"
	} >"$answer"
	rm -f "$log"
	exit 0
fi
echo "rpcrdma: error: \"$name\" of this kernel has no form that is known (see $log); please report it with what \"make config-report\" prints" >&2
exit 1
