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
# Folders of code that touches no memory of RPCs or RDMA devices, except through the functions
# of mm/, lib/ and fs/. KASAN and UBSAN check the rest: for these 30 % of the objects, they cost
# compile time and find nothing that concerns this module.
unchecked=(block crypto drivers/{base,char,dma-buf,net/bonding,pci,tty} fs/{configfs,ext4,jbd2}
	fs/{kernfs,notify,overlayfs,proc,sysfs} ipc kernel/{bpf,cgroup,futex,irq,module,printk,trace}
	lib/{crypto,crypto/mpi,kunit,math,xz,zlib_inflate} security security/keys)

# shellcheck disable=SC2317
unpack()
{
	local folder
	unpack_source "$suite" "$1" || return
	fit_patch "$1" "$fix" || return
	for folder in "${unchecked[@]}"; do
		printf 'KASAN_SANITIZE := n\nUBSAN_SANITIZE := n\n' >>"$1/$folder/Makefile"
	done
}

# shellcheck disable=SC2317
config() { grep CONFIG_ "$here/scripts/uml-kernel.config"; }

test_kernel uml-kernel "$(config; echo "${unchecked[@]}"; cat "$fix"; newest_source "$suite")" unpack config ARCH=um
echo "$tree"
