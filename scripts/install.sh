#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The steps of "make install" and "make uninstall" except the build. They refuse an action
# that would fail, and print one sentence with the remedy.
#
#   scripts/install.sh check KVER KDIR   check that the module can be built and installed
#   scripts/install.sh done KVER         print how to load the new module
#   scripts/install.sh uninstall KVER    remove what "make install" installed
#   scripts/install.sh dkms VERSION      check that these sources can be added to DKMS
#   scripts/install.sh core KVER         fail, with a message, if that kernel does not
#                                        use its in-tree RDMA core
#
# INSTALL_MOD_PATH=folder is used instead of /, as in the kernel's modules_install.
# FORCE=1 answers all questions with yes.
set -euo pipefail

PATH=$PATH:/usr/sbin:/sbin
root=${INSTALL_MOD_PATH:-}
what=$1
kver=${2:-}
kdir=${3:-}
modules=$root/lib/modules/$kver

die() { echo "rpcrdma-v2: $*" >&2; exit 1; }

root_only()
{
	[ -n "$root" ] || [ "$(id -u)" -eq 0 ] || die "this writes to /lib/modules: run it as root, e.g. sudo make $1"
}

# ask QUESTION: succeed if FORCE is set or the user answers yes
ask()
{
	local answer
	[ "${FORCE:-}" != 1 ] || return 0
	[ -t 0 ] || die "$1 Set FORCE=1 to continue."
	read -r -p "rpcrdma-v2: $1 Continue? [y/N] " answer
	[[ $answer == [yY]* ]] || die "nothing was changed"
}

# Print copies of the module that are neither in-tree nor from "make install".
other_copies()
{
	find "$modules" -path "$modules/kernel" -prune -o -name 'rpcrdma.ko*' -print 2>/dev/null |
		grep -vxE "$modules/updates/rpcrdma\.ko(\.(xz|zst|gz))?" || true
}

core()
{
	local file
	file=$(modinfo ${root:+-b "$root"} -k "$kver" -n ib_core 2>/dev/null || true)
	case $file in
	''|*/kernel/*|'(builtin)') ;;
	*) die "the RDMA core is not the in-tree one ($file: OFED?), for which this module is built: uninstall the other stack's kernel modules first (OFED: ofed_uninstall.sh, or mlnx-ofed-kernel-dkms)" ;;
	esac
}

dkms_()
{
	local version=$kver copy
	[ -n "$root" ] || [ "$(id -u)" -eq 0 ] || die "this writes to /usr/src and /lib/modules: run it as root, e.g. sudo make dkms_install"
	command -v dkms >/dev/null || die "dkms is not installed: apt-get install dkms"
	! dpkg -S "/usr/src/rpcrdma-v2-$version" >/dev/null 2>&1 ||
		die "the package rpcrdma-v2-dkms has these sources: upgrade it, or purge it first"
	for copy in "$root"/lib/modules/*/updates/rpcrdma.ko*; do
		[ ! -e "$copy" ] || die "make install has installed $copy, which modprobe prefers: run make uninstall first (KVER= for another kernel)"
	done
}

check()
{
	local running cc llvm tool other
	[ -n "$kver" ] || die "no kernel to build for: install linux-headers-amd64, or set KVER= or KDIR="
	[ -e "$kdir/Makefile" ] && [ -e "$kdir/include/generated/utsrelease.h" ] ||
		die "KDIR=$kdir is no kernel build folder: set it to the folder of the headers package, e.g. /lib/modules/$kver/build"
	root_only install
	[ -d "$modules" ] || die "$modules is missing, so the kernel $kver is not installed here: install its package, or set KVER="

	if grep -qs '^CONFIG_CC_IS_CLANG=y' "$kdir/.config"; then
		# shellcheck source=scripts/lib.sh
		llvm=$(. "$(dirname "$0")/lib.sh" && kernel_llvm "$kdir")
		for tool in clang clang++ ld.lld llvm-nm; do
			command -v "$tool${llvm#1}" >/dev/null ||
				die "$tool${llvm#1} is missing: clang built this kernel, so install clang, lld and llvm of its release ($(sed -n 's/^CONFIG_CC_VERSION_TEXT=//p' "$kdir/.config"))"
		done
	else
		cc=$(sed -n 's/.*CROSS_COMPILE)\(gcc[-0-9]*\).*/\1/p' "$kdir/.kernelvariables" 2>/dev/null | head -n 1)
		cc=${cc:-gcc}
		for tool in "$cc" "${cc/gcc/g++}"; do
			command -v "$tool" >/dev/null || die "$tool is missing: apt-get install $tool"
		done
	fi
	command -v make >/dev/null || die "make is missing: apt-get install make"

	other=$(other_copies | head -n 1)
	case $other in
	'') ;;
	*/dkms/*) die "DKMS has already installed the module ($other), and modprobe would prefer a second copy: remove the first one (dkms remove rpcrdma-v2/VERSION --all, or apt-get purge rpcrdma-v2-dkms), or keep it and do not install this one" ;;
	*) die "$other exists, and it is undefined which of two copies is loaded: remove it, or the package that owns it (dpkg -S or rpm -qf prints the name), run depmod, and try again" ;;
	esac

	core
	running=$(uname -r)
	[ "$kver" = "$running" ] ||
		ask "This builds for $kver, and the running kernel is $running."
}

done_()
{
	local file
	file=$(modinfo ${root:+-b "$root"} -k "$kver" -n rpcrdma)
	case $file in
	*/updates/rpcrdma.ko*) ;;
	*) die "modprobe would load $file instead of the installed module: look for an override in /etc/depmod.d" ;;
	esac
	echo "rpcrdma-v2: installed $file"
	[ -n "$root" ] || [ ! -e /sys/module/rpcrdma ] || [ "$kver" != "$(uname -r)" ] ||
		echo "rpcrdma-v2: another rpcrdma is loaded; with nothing mounted or exported over RDMA: modprobe -r rpcrdma; modprobe rpcrdma"
}

uninstall()
{
	local found=no f
	[ -n "$kver" ] || die "no kernel to uninstall from: set KVER="
	root_only uninstall
	for f in "$modules"/updates/rpcrdma.ko{,.xz,.zst,.gz}; do
		[ -e "$f" ] || continue
		rm "$f"
		echo "rpcrdma-v2: removed $f"
		found=yes
	done
	[ $found = yes ] || echo "rpcrdma-v2: $modules/updates/rpcrdma.ko does not exist, nothing was removed"
	depmod -a ${root:+-b "$root"} "$kver"
	f=$(other_copies | head -n 1)
	[ -z "$f" ] || echo "rpcrdma-v2: $f was not removed, because make install has not installed it"
	echo "rpcrdma-v2: modprobe loads $(modinfo ${root:+-b "$root"} -k "$kver" -n rpcrdma 2>/dev/null || echo nothing) from now on"
}

case $what in
check) check ;;
done) done_ ;;
uninstall) uninstall ;;
dkms) dkms_ ;;
core) core ;;
*) die "unknown action $what: check, done, uninstall, dkms or core" ;;
esac
