#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The parts of "make install" and "make uninstall" other than building. They refuse
# an action that would fail, with one sentence that describes the remedy.
#
#   scripts/install.sh check KVER KDIR   check that the module can be built and installed
#   scripts/install.sh done KVER         print how to put it to use
#   scripts/install.sh uninstall KVER    remove what "make install" installed
#   scripts/install.sh dkms VERSION      check that DKMS may get the sources of this version
#   scripts/install.sh core KVER         fail, with a message, if that kernel does not
#                                        use its in-tree RDMA core
#
# INSTALL_MOD_PATH=folder stands for / as with the kernel's modules_install.
# FORCE=1 answers questions with yes.
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
	[ -t 0 ] || die "$1 Nobody is there to ask; FORCE=1 goes on."
	read -r -p "rpcrdma-v2: $1 Go on? [y/N] " answer
	[[ $answer == [yY]* ]] || die "nothing was done"
}

# Copies that are neither in-tree nor installed by "make install"
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
	*) die "the RDMA core is not the kernel's own ($file: OFED?), and this module is built for the kernel's: uninstall that stack's kernel modules first (OFED: ofed_uninstall.sh, or mlnx-ofed-kernel-dkms)" ;;
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
		[ ! -e "$copy" ] || die "make install has installed $copy, which would win: make uninstall first (KVER= for another kernel)"
	done
}

check()
{
	local running cc cxx other
	[ -n "$kver" ] || die "no kernel to build for: install linux-headers-amd64, or give KVER= or KDIR="
	[ -e "$kdir/Makefile" ] && [ -e "$kdir/include/generated/utsrelease.h" ] ||
		die "KDIR=$kdir is no kernel build folder: give the one of the headers package, e.g. /lib/modules/$kver/build"
	root_only install
	[ -d "$modules" ] || die "$modules is missing: the kernel $kver is not installed here; install its package, or give KVER="

	cc=$(sed -n 's/.*CROSS_COMPILE)\(gcc[-0-9]*\).*/\1/p' "$kdir/.kernelvariables" 2>/dev/null | head -n 1)
	cc=${cc:-gcc}
	cxx=${cc/gcc/g++}
	for tool in "$cc" "$cxx" make; do
		command -v "$tool" >/dev/null || die "$tool is missing: apt-get install $tool"
	done

	other=$(other_copies | head -n 1)
	case $other in
	'') ;;
	*/dkms/*) die "DKMS has installed the module already ($other), and a second copy would win over it: remove that one (dkms remove rpcrdma-v2/VERSION --all, or apt-get purge rpcrdma-v2-dkms) or keep it and do not install this one" ;;
	*) die "$other is there already, and which of the two is loaded would be left to chance: remove it, or the package that owns it (dpkg -S or rpm -qf tells), run depmod, and try again" ;;
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
	*) die "modprobe would load $file all the same: see /etc/depmod.d" ;;
	esac
	echo "rpcrdma-v2: installed $file"
	[ -n "$root" ] || [ ! -e /sys/module/rpcrdma ] || [ "$kver" != "$(uname -r)" ] ||
		echo "rpcrdma-v2: another rpcrdma is loaded; with nothing mounted or exported over RDMA: modprobe -r rpcrdma; modprobe rpcrdma"
}

uninstall()
{
	local found=no f
	[ -n "$kver" ] || die "no kernel to uninstall from: give KVER="
	root_only uninstall
	for f in "$modules"/updates/rpcrdma.ko{,.xz,.zst,.gz}; do
		[ -e "$f" ] || continue
		rm "$f"
		echo "rpcrdma-v2: removed $f"
		found=yes
	done
	[ $found = yes ] || echo "rpcrdma-v2: there is no $modules/updates/rpcrdma.ko"
	depmod -a ${root:+-b "$root"} "$kver"
	f=$(other_copies | head -n 1)
	[ -z "$f" ] || echo "rpcrdma-v2: $f stays: it is not of make install"
	echo "rpcrdma-v2: modprobe loads $(modinfo ${root:+-b "$root"} -k "$kver" -n rpcrdma 2>/dev/null || echo nothing) from now on"
}

case $what in
check) check ;;
done) done_ ;;
uninstall) uninstall ;;
dkms) dkms_ ;;
core) core ;;
*) die "check, done, uninstall, dkms or core?" ;;
esac
