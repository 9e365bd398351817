#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build a kernel for x86-64 with clang, control-flow integrity (kCFI, IBT) and ThinLTO, from
# Debian's newest linux-source in a suite, with the configuration in
# scripts/clang-kernel.config.
#
#   scripts/clang-kernel.sh [SUITE]    default: trixie-backports
#
# The result is cached as by scripts/debug-kernel.sh. Prints the path of the tree on stdout,
# with the files that scripts/stock-kernel.sh describes, so that scripts/guest.sh --kernel
# boots it.
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
unpack() { unpack_source "$suite" "$1"; }

# shellcheck disable=SC2317
config() { grep CONFIG_ "$here/scripts/clang-kernel.config"; }

test_kernel clang-kernel "$(config; newest_source "$suite"; clang-$clang_release --version | head -n 1)" \
	unpack config LLVM=-$clang_release
if [ ! -e "$tree/version" ]; then
	# The linker's cache is of no use for modules.
	rm -rf "$tree/.thinlto-cache"
	echo "LLVM=-$clang_release" >"$tree/make-args"
	ln -sfn . "$tree/build"
	ln -sfn modroot "$tree/root"
	ln -sfn arch/x86/boot/bzImage "$tree/vmlinuz"
	cp "$tree/include/config/kernel.release" "$tree/version"
fi
echo "$tree"
