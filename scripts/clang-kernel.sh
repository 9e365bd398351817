#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Prepare kernel sources for x86-64 with clang, control-flow integrity (kCFI, IBT) and ThinLTO:
# those of Debian's newest linux-source in a suite, with the configuration in
# scripts/clang-kernel.config.
#
#   scripts/clang-kernel.sh [SUITE]    default: trixie-backports
#
# Modules can be built for them. The kernel itself is not built, so there is none to boot.
#
# The result is cached as by scripts/debug-kernel.sh. Prints the path of the tree on stdout,
# with the files build, version and make-args as scripts/stock-kernel.sh describes them.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

suite=${1:-trixie-backports}
for tool in clang clang++ ld.lld llvm-nm; do
	command -v $tool-$clang_release >/dev/null ||
		die "$tool-$clang_release is missing: run scripts/setup.sh clang"
done

# shellcheck disable=SC2317
unpack()
{
	unpack_source "$suite" "$1" || return
	# modpost reads the exported symbols, which only a whole build lists.
	: >"$1/Module.symvers"
}

# shellcheck disable=SC2317
config() { grep CONFIG_ "$here/scripts/clang-kernel.config"; }

# shellcheck disable=SC2034
kernel_goal=modules_prepare
test_kernel clang-headers "$(config; newest_source "$suite"; clang-$clang_release --version | head -n 1)" \
	unpack config LLVM=-$clang_release
if [ ! -e "$tree/version" ]; then
	printf '%s\n' "LLVM=-$clang_release" KBUILD_MODPOST_WARN=1 >"$tree/make-args"
	ln -sfn . "$tree/build"
	cp "$tree/include/config/kernel.release" "$tree/version"
fi
echo "$tree"
