#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build a kernel that is a program of this machine (User-Mode Linux), in which
# tests run at this machine's own speed: that of Debian's newest linux-source in a
# suite, with the configuration in scripts/uml-kernel.config. scripts/uml-kernel.patch
# goes in where it fits: it mends what keeps tests from running, nothing of what is tested.
#
#   scripts/uml-kernel.sh [SUITE]    default: trixie-backports
#
# The result is cached as scripts/debug-kernel.sh does. Which sources are the newest is
# asked once a week. Prints the path of the built tree on stdout; progress goes
# to stderr. In the tree, linux is the kernel, and modroot/ has its modules.
# A module is built for it with "make KDIR=that path ARCH=um".
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

suite=${1:-trixie-backports}
fix=$here/scripts/uml-kernel.patch

# shellcheck disable=SC2317
unpack()
{
	unpack_source "$suite" "$1" || return
	fit_patch "$1" "$fix"
}

# shellcheck disable=SC2317
config() { grep CONFIG_ "$here/scripts/uml-kernel.config"; }

test_kernel uml-kernel "$(config; cat "$fix"; newest_source "$suite")" unpack config ARCH=um
echo "$tree"
