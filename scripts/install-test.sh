#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Test the refusals and removals of scripts/install.sh, in a folder used as the root:
# install-test.sh KVER
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
kver=$1
kdir=$(readlink -f "/lib/modules/$kver/build")
PATH=$PATH:/usr/sbin:/sbin
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
modules=$root/lib/modules/$kver
mkdir -p "$modules/updates/dkms"
ln -s "/lib/modules/$kver/kernel" "$modules/kernel"
cp "/lib/modules/$kver"/modules.{order,builtin,builtin.modinfo} "$modules/"
own=/lib/modules/$kver/kernel/net/sunrpc/xprtrdma/rpcrdma.ko
export INSTALL_MOD_PATH=$root

install_sh() { "$here/scripts/install.sh" "$@" </dev/null; }

# refuses WORDS COMMAND...: check that COMMAND fails, with one line that has these words
refuses()
{
	local words=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "not refused: $*"
		exit 1
	fi
	[ "$(wc -l <<<"$out")" -eq 1 ] && grep -qE -- "$words" <<<"$out" ||
		{ echo "refused, but not as it should be: $out"; exit 1; }
}

# says WORDS COMMAND...: check that COMMAND succeeds, and prints these words
says()
{
	local words=$1 out
	shift
	out=$("$@") || exit
	grep -qE -- "$words" <<<"$out" || { echo "it did not say \"$words\": $out"; exit 1; }
}

# Missing or wrong prerequisites
refuses 'no kernel build folder' install_sh check "$kver" /usr
refuses 'is not installed here' install_sh check 1.2.3-none "$kdir"
mkdir "$root/kdir"
cp -r "$kdir/Makefile" "$kdir/include" "$root/kdir/"
echo "CC = \$(CROSS_COMPILE)gcc-1" >"$root/kdir/.kernelvariables"
refuses 'gcc-1 is missing: apt-get install' install_sh check "$kver" "$root/kdir"
# A kernel that clang has built, whose release is only partly installed
printf '%s\n' CONFIG_CC_IS_CLANG=y CONFIG_CLANG_VERSION=980102 'CONFIG_CC_VERSION_TEXT="clang version 98.1.2"' >"$root/kdir/.config"
mkdir "$root/bin"
for tool in clang clang++ ld.lld; do ln -s /bin/true "$root/bin/$tool-98"; done
refuses 'llvm-nm-98 is missing: .*clang version 98.1.2' env PATH="$root/bin:$PATH" bash "$here/scripts/install.sh" check "$kver" "$root/kdir"
rm "$root/kdir/.config"

# Another kernel than the running one
if [ "$kver" != "$(uname -r)" ]; then
	refuses 'Set FORCE=1 to continue' install_sh check "$kver" "$kdir"
fi
export FORCE=1
install_sh check "$kver" "$kdir"

# DKMS, while a copy from make install exists
if command -v dkms >/dev/null; then
	touch "$modules/updates/rpcrdma.ko"
	refuses 'make uninstall first' install_sh dkms 0.0
	rm "$modules/updates/rpcrdma.ko"
	install_sh dkms 0.0
fi

# Second copies of the module, also compressed ones
for copy in updates/dkms/rpcrdma.ko updates/dkms/rpcrdma.ko.xz extra/rpcrdma.ko.zst; do
	mkdir -p "$(dirname "$modules/$copy")"
	: >"$modules/$copy"
	refuses "$copy" install_sh check "$kver" "$kdir"
	rm "$modules/$copy"
done

# A foreign RDMA core
cp "/lib/modules/$kver/kernel/drivers/infiniband/core/ib_core.ko" "$modules/updates/"
depmod -b "$root" "$kver"
refuses 'RDMA core is not the in-tree one' install_sh check "$kver" "$kdir"
# The checks of DKMS before it builds
refuses 'RDMA core is not the in-tree one' install_sh core "$kver"
rm "$modules/updates/ib_core.ko"

# Install, install again, and remove; also a compressed module
depmod -b "$root" "$kver"
refuses 'modprobe would load' install_sh "done" "$kver"
for ext in '' .xz; do
	case $ext in
	.xz) xz -c "$own" >"$modules/updates/rpcrdma.ko.xz" ;;
	*) cp "$own" "$modules/updates/rpcrdma.ko" ;;
	esac
	depmod -b "$root" "$kver"
	install_sh check "$kver" "$kdir"
	says "/updates/rpcrdma.ko$ext" install_sh "done" "$kver"
	says 'modprobe loads .*/kernel/net/' install_sh uninstall "$kver"
	[ -z "$(find "$modules/updates" -name 'rpcrdma.ko*')" ]
done
says 'does not exist, nothing was removed' install_sh uninstall "$kver"

# Sign the module with a local key, by the commands of installation.rst
mkdir "$root/sign"
strip -g -o "$root/sign/rpcrdma.ko" "$own"
commands=$(sed -n '/^   openssl req/,/^   depmod/p' "$here/Documentation/installation.rst" |
	grep -vE '^   (mokutil|cd|unxz|xz|depmod)( |$)' |
	sed "s,/lib/modules/\$(uname -r)/build,$kdir,; s,~/,,g")
out=$(cd "$root/sign" && bash -e <<<"$commands" 2>&1) || { echo "signing failed: $out"; exit 1; }
[ "$(modinfo -F signer "$root/sign/rpcrdma.ko")" = rpcrdma ] || { echo "the module is not signed"; exit 1; }

# Run without root, as user 65534, which has no write permission here.
unset INSTALL_MOD_PATH
if [ "$(id -u)" -eq 0 ]; then
	refuses 'run it as root' setpriv --reuid 65534 --clear-groups bash -s check "$kver" "$kdir" <"$here/scripts/install.sh"
	refuses 'run it as root' setpriv --reuid 65534 --clear-groups bash -s uninstall "$kver" <"$here/scripts/install.sh"
fi
echo "every case that must be refused was refused"
