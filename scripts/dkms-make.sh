#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How DKMS builds the module: dkms-make.sh KVER KDIR, in the sources' folder;
# then "dkms-make.sh said" prints the one line that there may be to say, for
# what is printed by the build itself only goes to make.log.
#
# A build that fails would leave the kernel package that is being installed
# unconfigured, and apt with it. So, for a kernel that this module cannot be
# built for, the result is that kernel's own rpcrdma.ko: DKMS finds that it is
# what is installed already, and leaves it at that.
set -uo pipefail

if [ "$1" = said ]; then
	# A package's installation throws away what is not an error.
	[ ! -e dkms-make.said ] || cat dkms-make.said >&2
	exit 0
fi
kver=$1
kdir=$2
log=dkms-make.log

rm -f dkms-make.said
if make -j"$(nproc)" KVER="$kver" KDIR="$kdir" modules >$log 2>&1; then
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
# The reason, as the compiler or make gave it first
why=$(grep -m1 -E 'error:|\*\*\*|is missing|not found' $log)
echo "rpcrdma-v2 does not build for Linux $kver, which $instead: ${why:-see make.log}" |
	tee dkms-make.said

case $own in
*.ko) cp "$own" rpcrdma.ko ;;
*.xz) xz -dc "$own" >rpcrdma.ko ;;
*.zst) zstd -qdc "$own" >rpcrdma.ko ;;
*.gz) gzip -dc "$own" >rpcrdma.ko ;;
esac
[ ! -s rpcrdma.ko ] || exit 0

# A kernel without NFS/RDMA, such as one for clouds: a module that only says so
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
