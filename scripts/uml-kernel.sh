#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build a kernel for User-Mode Linux, in which tests run at this machine's native speed,
# from Debian's newest linux-source in a suite, with the configuration in
# scripts/uml-kernel.config. scripts/uml-kernel.patch is applied if it fits: it fixes
# problems that keep tests from running, and changes no code under test.
#
#   scripts/uml-kernel.sh [SUITE]    default: trixie-backports
#
# The result is cached as by scripts/debug-kernel.sh. The archive is checked for newer
# sources once a week. Prints the path of the built tree on stdout; progress goes
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
