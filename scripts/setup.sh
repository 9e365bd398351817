#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Install, with apt, the Debian packages that building, "make demo" and
# "make check" need. Prints nothing and needs no network if all are installed.
#
#   scripts/setup.sh [build|demo|check|matrix|clang|deb|rpm|bench|cost|tools]
#   default: check, which includes build, demo, deb and rpm; matrix includes check and clang;
#   clang is for scripts/clang-kernel.sh
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

what=${1:-check}

# Debian's 6.1 kernel was built with gcc-12 and g++-12, and its headers depend on
# gcc-12.
build=(make gcc-12 g++-12 linux-headers-amd64 kmod)
demo=(qemu-system-x86 busybox-static cpio linux-image-amd64
      nfs-common nfs-kernel-server rpcbind rdma-core iproute2 procps
      gcc libc6-dev binutils)
deb=(make g++ dpkg-dev debhelper dh-dkms python3-sphinx nlohmann-json3-dev libibverbs-dev librdmacm-dev
     libssl-dev)
rpm=(make rpm g++ binutils python3-sphinx nlohmann-json3-dev libibverbs-dev librdmacm-dev libssl-dev)
check=(ccache g++ cmake pkg-config libgtest-dev clang libclang-rt-14-dev clang-format clang-tidy
       gcc-12-aarch64-linux-gnu g++-12-aarch64-linux-gnu
       coccinelle sparse shellcheck
       fio acl attr nfs4-acl-tools krb5-kdc krb5-admin-server krb5-user keyutils
       hostname diffutils patch python3 perl git
       libibverbs-dev librdmacm-dev ibverbs-providers
       linux-source-6.1 xz-utils bc bison flex libelf-dev libssl-dev
       lintian rpmlint man-db openssl debootstrap debian-archive-keyring pahole zstd
       systemd udev nftables iputils-ping tshark bpftrace libglib2.0-dev)
# A big-endian processor, and guests of arm64 and of powerpc64le, which has pages of 64 KiB
matrix=(g++-s390x-linux-gnu qemu-user-static qemu-system-arm libc6-dev-arm64-cross
	qemu-system-ppc gcc-12-powerpc64le-linux-gnu g++-12-powerpc64le-linux-gnu libc6-dev-ppc64el-cross)

# The release is clang_release of lib.sh.
clang=("clang-$clang_release" "lld-$clang_release" "llvm-$clang_release" make flex bison bc libelf-dev libssl-dev
       xz-utils)

cost=(python3 python3-matplotlib libibverbs-dev librdmacm-dev ibverbs-providers libssl-dev keyutils)
tools=(make g++ binutils nlohmann-json3-dev libibverbs-dev librdmacm-dev ibverbs-providers libssl-dev)
bench=(make g++ libbenchmark-dev clang libclang-rt-14-dev)

case $what in
tools) wanted=("${tools[@]}") ;;
bench) wanted=("${bench[@]}") ;;
cost) wanted=("${build[@]}" "${demo[@]}" "${cost[@]}") ;;
build) wanted=("${build[@]}") ;;
demo) wanted=("${build[@]}" "${demo[@]}") ;;
check) wanted=("${build[@]}" "${demo[@]}" "${deb[@]}" "${rpm[@]}" "${check[@]}" "${tools[@]}") ;;
matrix) wanted=("${build[@]}" "${demo[@]}" "${deb[@]}" "${rpm[@]}" "${check[@]}" "${tools[@]}" "${matrix[@]}"
	"${clang[@]}") ;;
clang) wanted=("${clang[@]}") ;;
deb) wanted=("${deb[@]}") ;;
rpm) wanted=("${rpm[@]}") ;;
*) die "unknown set of packages: $what (build, demo, check, matrix, clang, deb, rpm, bench, cost or tools)" ;;
esac

missing=()
for p in "${wanted[@]}"; do
	# shellcheck disable=SC2016
	state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null || true)
	[ "${state:0:2}" = ii ] || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0

sudo=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || die "run as root, or install: ${missing[*]}"
	sudo=sudo
fi

say "installing: ${missing[*]}"
# The NFS services are for the guests only: do not start them here. The policy file
# is Debian's interface for that; an existing policy is kept.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	# shellcheck disable=SC2064
	trap "$sudo rm -f $policy" EXIT
	printf '#!/bin/sh\nexit 101\n' | $sudo tee $policy >/dev/null
	$sudo chmod 755 $policy
fi
# noninteractive: no question may stop an unattended run
apt_get() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 "$@"; }
apt_get update >&2 || die "apt-get update failed: see above; the packages are: ${missing[*]}"
apt_get install --no-install-recommends "${missing[@]}" >&2 ||
	die "apt-get install failed: see above; the packages are: ${missing[*]}"
