#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Called by DKMS to build the module, in the folder of the sources:
#   dkms-make.sh KVER KDIR
# and after the installation, where TREE is DKMS's folder of this package:
#   dkms-make.sh installed KVER ARCH TREE VERSION
#
# A build that fails would leave the kernel package that is being installed
# unconfigured, and apt with it. Therefore, if this module cannot be built for
# a kernel, the result is a copy of its in-tree rpcrdma.ko. Older DKMS (3.0) then
# finds that this module is already installed, and does nothing. Newer DKMS (3.2)
# moves the in-tree module away and installs the copy, which this script undoes.
set -uo pipefail

installed()
{
	local kver=$1 arch=$2 tree=$3 version=$4 said origin
	# DKMS writes the output of the build only to this file.
	said=$(grep -m1 '^rpcrdma-v2 does not build for ' "$tree/$version/$kver/$arch/log/make.log" 2>/dev/null) || return 0
	# Use stderr, because stdout is discarded while a package is installed.
	echo "$said" >&2
	[[ $said == *', which keeps its own '* ]] || return 0
	for origin in "$tree/original_module/$kver/$arch"/rpcrdma.ko*.origin; do
		[ -f "${origin%.origin}" ] || continue
		mv "${origin%.origin}" "$(head -n 1 "$origin")" && rm "$origin"
	done
	rm -f "/lib/modules/$kver"/{updates/dkms,extra}/rpcrdma.ko*
}

if [ "$1" = installed ]; then
	shift
	installed "$@"
	exit 0
fi
kver=$1
kdir=$2
log=dkms-make.log

if scripts/install.sh core "$kver" >$log 2>&1 &&
   make -j"$(nproc)" KVER="$kver" KDIR="$kdir" modules >>$log 2>&1; then
	cat $log
	exit 0
fi
cat $log
rm -f rpcrdma.ko
own=$(echo "/lib/modules/$kver"/kernel/net/sunrpc/xprtrdma/rpcrdma.ko*)
case $own in
*'*') instead="has no rpcrdma of its own" ;;
*) instead="keeps its own rpcrdma (version 1 only)" ;;
esac
# The first error message of the compiler or of make
why=$(grep -m1 -E "error:|\*\*\*|is missing|not found|is not the in-tree one" $log)
echo "rpcrdma-v2 does not build for Linux $kver, which $instead: ${why:-see make.log}"

case $own in
*.ko) cp "$own" rpcrdma.ko ;;
*.xz) xz -dc "$own" >rpcrdma.ko ;;
*.zst) zstd -qdc "$own" >rpcrdma.ko ;;
*.gz) gzip -dc "$own" >rpcrdma.ko ;;
esac
if [ -s rpcrdma.ko ]; then
	# Newer DKMS fails if the two modules are equal byte for byte.
	echo "$kver" >dkms-make.copy
	objcopy --add-section .rpcrdma_v2_copy=dkms-make.copy rpcrdma.ko
	exit 0
fi

# For a kernel without NFS/RDMA, such as a cloud kernel, build a module that only reports this.
dir=none
mkdir -p $dir
cat >$dir/rpcrdma.c <<'C'
#include <linux/module.h>
MODULE_DESCRIPTION("Says that there is no RPC-over-RDMA for this kernel");
MODULE_LICENSE("GPL");
static int __init rpcrdma_none_init(void)
{
	pr_err("rpcrdma: rpcrdma-v2 does not build for this kernel, which has no RPC-over-RDMA of its own\n");
	return -EOPNOTSUPP;
}
module_init(rpcrdma_none_init);
C
echo 'obj-m := rpcrdma.o' >$dir/Makefile
make -C "$kdir" M="$PWD/$dir" modules >>$log 2>&1 && mv $dir/rpcrdma.ko . && rm -r $dir && exit 0
cat $log
exit 1
