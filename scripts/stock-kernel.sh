#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Fetch the stock kernel of a Debian suite, with its headers, without
# installing it here. Prints the path of a folder in the cache with
#
#   version    the kernel's release
#   vmlinuz    the kernel
#   root/      its packages, unpacked: lib/modules/* and others
#   build      the kernel build folder (KDIR)
#   chroot     system to build in; absent: this system is suitable
#   make-args  further arguments of make, a line each
#
#   scripts/stock-kernel.sh SUITE[:FLAVOUR]
#
#   SUITE     e.g. bookworm-backports, trixie, trixie-security, sid
#   FLAVOUR   of the kernel, e.g. rt-amd64, arm64, arm64-16k, powerpc64le; default: amd64.
#             Kernels of other architectures are for builds with this system's cross compilers.
#
# If this system lacks the tools of the suite, modules are built in a system of that suite,
# which debootstrap creates in the cache; this needs root. The archive is the one
# configured for apt here. It is checked for a newer kernel once a week.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

[ $# -eq 1 ] || die "one suite has to be given"
suite=${1%%:*}
flavour=amd64
[[ $1 != *:* ]] || flavour=${1#*:}
arch=amd64 make_args=()
case $flavour in
arm64*) arch=arm64 make_args=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-) ;;
powerpc64le*) arch=ppc64el make_args=(ARCH=powerpc CROSS_COMPILE=powerpc64le-linux-gnu-) ;;
esac
codename=${suite%%-*}
dir=$CACHE/kernels/${1/:/.}
PATH=$PATH:/usr/sbin:/sbin

mkdir -p "$CACHE/kernels"
exec 9>"$dir.lock"
flock 9
if [ -e "$dir/.complete" ] && [ -n "$(find "$dir/.complete" -mtime -7)" ]; then
	echo "$dir"
	exit 0
fi

log=$dir.log
: >"$log"
suite_apt "$suite" "$log" "$arch"

# Print the packages of the kernel that the metapackages depend on.
depends()
{
	apt_depends "$1" | grep -E '^linux-(image|headers|kbuild|modules|binary|base-)' || true
}
packages=()
wanted=("linux-image-$flavour" "linux-headers-$flavour")
while [ ${#wanted[@]} -gt 0 ]; do
	p=${wanted[0]}
	wanted=("${wanted[@]:1}")
	case " ${packages[*]} " in *" $p "*) continue ;; esac
	packages+=("$p")
	mapfile -t more < <(depends "$p")
	wanted+=("${more[@]}")
done
kver=$(printf '%s\n' "${packages[@]}" | sed -n "s/^linux-headers-\([0-9].*-$flavour\)\$/\1/p" | head -n 1)
[ -n "$kver" ] || die "$suite has no kernel $flavour: see $log"

if [ -e "$dir/.complete" ] && [ "$(cat "$dir/version")" = "$kver" ]; then
	touch "$dir/.complete"
	echo "$dir"
	exit 0
fi

say "fetching $kver of $suite (log: $log)"
rm -rf "$dir" "$apt"/archives/*.deb
# From trixie on, packages know only usr/lib.
mkdir -p "$dir/root/usr/lib"
ln -s usr/lib "$dir/root/lib"
( cd "$apt/archives" && apt_here apt-get download "${packages[@]}" ) >>"$log" 2>&1 ||
	{ tail -n 5 "$log" >&2; die "$kver cannot be fetched from $suite"; }
for p in "$apt"/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$p" | tar -C "$dir/root" --keep-directory-symlink -xf - >>"$log" 2>&1
done
rm -f "$apt"/archives/*.deb
if [ $arch != amd64 ]; then
	# The programs of linux-kbuild run on this system, so get them for its architecture.
	mapfile -t packages < <(printf '%s\n' "${packages[@]}" | grep '^linux-kbuild-')
	suite_apt "$suite" "$log"
	rm -rf "$apt"/archives/*.deb "$dir"/root/usr/lib/linux-kbuild-*
	( cd "$apt/archives" && apt_here apt-get download "${packages[@]}" ) >>"$log" 2>&1 ||
		{ tail -n 5 "$log" >&2; die "${packages[*]} cannot be fetched from $suite"; }
	dpkg-deb --fsys-tarfile "$apt"/archives/*.deb | tar -C "$dir/root" --keep-directory-symlink -xf - >>"$log" 2>&1
	rm -f "$apt"/archives/*.deb
	printf '%s\n' "${make_args[@]}" >"$dir/make-args"
fi
for p in "boot/vmlinux-$kver" "boot/vmlinuz-$kver" "lib/modules/$kver/vmlinuz"; do
	[ ! -r "$dir/root/$p" ] || ln -sf "root/$p" "$dir/vmlinuz"
done
[ -r "$dir/vmlinuz" ] || die "the packages of $kver have no vmlinuz: see $log"
# Headers refer to each other by their installed paths.
grep -rlE '/usr/(src|lib)/linux-' "$dir/root/usr/src/linux-headers-$kver/Makefile" \
	"$dir/root/usr/src/linux-headers-$kver/.kernelvariables" 2>/dev/null |
	xargs -r sed -i -E "s,(^|[ =])/usr/(src|lib)/linux-,\1$dir/root/usr/\2/linux-,g"
ln -s "root/usr/src/linux-headers-$kver" "$dir/build"
# Perform the steps of an installation.
depmod -b "$dir/root" "$kver"
echo "$kver" >"$dir/version"

# The headers' tools are linked with the C library of their suite, and the C++ compiler
# must have the same version as the C compiler of the kernel.
if [ "$codename" != "$(host_suite)" ]; then
	chroot=$CACHE/kernels/$codename.chroot
	debian_system "$codename" "$chroot"
	cc=$(sed -n 's/^CONFIG_CC_VERSION_TEXT="[a-z0-9_-]*gcc-\([0-9]*\) .*/\1/p' "$dir/build/.config")
	[ -n "$cc" ] || die "$dir/build/.config does not name the compiler that built $kver"
	exec 8>"$chroot.lock"
	flock 8
	# Each suite has one of two names of a package.
	chroot "$chroot" sh -c "apt-get -qq update &&
		one() { apt-cache -q0 policy \$1 | grep -q 'Candidate: [0-9]' && echo \$1 || echo \$2; } &&
		DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends \
			make kmod ccache \$(one pahole dwarves) \$(one libelf1t64 libelf1) gcc-$cc g++-$cc" >>"$chroot.log" 2>&1 ||
		{ tail -n 5 "$chroot.log" >&2; die "$codename has no gcc-$cc and g++-$cc to install"; }
	exec 8>&-
	ln -s "$chroot" "$dir/chroot"
fi
touch "$dir/.complete"
echo "$dir"
