#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Test the packages that "make deb" builds with the tools of a Debian suite: lintian's
# report, and, in a system of that suite, installation, later kernels, kernels that the
# module does not build for, upgrade and purge. In this system's suite, also rpmlint's
# report on the packages of "make rpm". Prints one result line for each test.
#
#   scripts/package-test.sh DIR [SUITE]
#
#   DIR     for the packages and logs
#   SUITE   default: this system's
#
# The system, with two kernels of the archive, is kept in the cache. If the suite is not this
# system's, a system to build in is kept there, too. The changes of a run are discarded. The
# script needs root, and needs the network only the first time.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

[ $# -ge 1 ] || die "no folder given"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
suite=${2:-$(host_suite)}
[ "$(id -u)" -eq 0 ] || die "run this as root"

version=$(project_version)
next=$version.1
base=$CACHE/packages/$suite
builder=$CACHE/packages/$suite.build

ours() { [ "$suite" = "$(host_suite)" ]; }

# Disable initramfs-tools, because no kernel is booted here.
apt_in()
{
	local root=$1
	shift
	chroot "$root" env DEBIAN_FRONTEND=noninteractive INITRD=No LC_ALL=C \
		apt-get -y --no-install-recommends "$@" >>"$root.log" 2>&1 ||
		{ tail -n 5 "$root.log" >&2; die "apt-get $* failed, see $root.log"; }
}

# Build the packages in $dir, and those of the next version without documents.
make_packages()
{
	local key lock
	if ours; then
		"$here/scripts/deb.sh" "$dir"
		DEB_BUILD_PROFILES=nodoc "$here/scripts/deb.sh" "$dir" "$next"
		return
	fi
	debian_system "$suite" "$builder"
	exec {lock}>"$builder.prepare"
	flock "$lock"
	mount -t proc proc "$builder/proc"
	# Install the dependencies that debian/control lists, again after each change of it.
	key=$(sha256sum <"$here/scripts/debian/control" | cut -c1-12)
	if [ ! -e "$builder/ready-$key" ]; then
		say "what packages are built with, in $builder (log: $builder.log)"
		mkdir -p "$builder/control/debian"
		cp "$here/scripts/debian/control" "$builder/control/debian/"
		apt_in "$builder" update
		apt_in "$builder" install make g++ dpkg-dev lintian
		apt_in "$builder" build-dep /control
		rm -f "$builder"/ready*
		touch "$builder/ready-$key"
	fi
	rm -rf "$builder/packages"
	mkdir "$builder/packages"
	( cd "$here" && source_tree "$builder/packages/tree" "$version" )
	chroot "$builder" env LC_ALL=C "SOURCE_DATE_EPOCH=$(cd "$here" && source_date)" sh -ec '
		cd /packages/tree
		scripts/deb.sh /packages
		DEB_BUILD_PROFILES=nodoc scripts/deb.sh /packages "$1"
		cd /packages
		rm -r tree
		lintian --pedantic --fail-on error,warning "/packages/rpcrdma-v2_$2_"*.changes \
			>/packages/lintian.log 2>&1 || echo failed >>/packages/lintian.log' sh "$next" "$version"
	umount "$builder/proc"
	mv "$builder"/packages/* "$dir/"
	exec {lock}>&-
}

prepare()
{
	local depends key lock kernels
	# Only dependencies of the packages are installed, and the packages apt has to fetch.
	depends=$(for p in rpcrdma-v2-{dkms,doc,tools} librpcrdma2-0; do
		dpkg-deb -f "$dir/${p}_${version}"_*.deb Depends; done | paste -sd,)
	key=$(sha256sum <<<"$depends" | cut -c1-12)
	exec {lock}>"$base.prepare"
	flock "$lock"
	if [ -e "$base/ready-$key" ]; then
		exec {lock}>&-
		return
	fi
	rm -rf "$base"
	debian_system "$suite" "$base"
	say "the kernels and what the packages depend on, in $base (log: $base.log)"
	echo force-unsafe-io >"$base/etc/dpkg/dpkg.cfg.d/unsafe-io"
	# The cloud kernels are small, and have NFS/RDMA. If the archive has only one, the
	# other is the standard kernel.
	apt_in "$base" update
	mapfile -t kernels < <({
		chroot "$base" apt-cache pkgnames linux-headers- | grep -E '^linux-headers-[0-9].*[0-9]-amd64$' | sort -V | tail -n 1
		chroot "$base" apt-cache pkgnames linux-headers- | grep -E '^linux-headers-[0-9].*[0-9]-cloud-amd64$' | sort -V | tail -n 2
	} | tail -n 2 | sed 's/^linux-headers-//')
	[ ${#kernels[@]} -eq 2 ] || die "$suite does not have two kernels"
	mount -t proc proc "$base/proc"
	apt_in "$base" satisfy "$depends"
	apt_in "$base" install "linux-image-${kernels[0]}" "linux-headers-${kernels[0]}"
	apt_in "$base" clean
	apt_in "$base" --download-only install "linux-image-${kernels[1]}" "linux-headers-${kernels[1]}"
	umount "$base/proc"
	printf '%s\n' "${kernels[@]}" >"$base/kernels"
	touch "$base/ready-$key"
	exec {lock}>&-
}

# Keep the results of DKMS's compilations in that system, too. PATH has the folder of ccache's
# compilers if this system has ccache.
add_ccache()
{
	local lock
	[ -n "${CCACHE_DIR:-}" ] || return 0
	exec {lock}>"$base.prepare"
	flock "$lock"
	if [ ! -e "$base/usr/bin/ccache" ]; then
		# Without "clean", which would remove the archives of the second kernel
		( apt_in "$base" update && apt_in "$base" install ccache ) ||
			say "$base has no ccache: compilations there take longer"
	fi
	exec {lock}>&-
}

# Use separate namespaces: mounts end with this process, and the tests have no network.
mkdir -p "$(dirname "$base")"
case ${PACKAGE_TEST_STEP:-begin} in
begin)
	PACKAGE_TEST_STEP=system exec unshare --mount "$0" "$dir" "$suite" ;;
system)
	make_packages >"$dir/deb.log"
	prepare
	add_ccache
	PACKAGE_TEST_STEP=tests exec unshare --net "$0" "$dir" "$suite" ;;
esac

{ read -r old; read -r new; } <"$base/kernels"
scratch=$(mktemp -d)
trap 'umount -R "$scratch/root" 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT
mkdir "$scratch"/{root,upper,work}
mount -t overlay overlay -o "lowerdir=$base,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/root"
root=$scratch/root
mount -t proc proc "$root/proc"
mkdir -p "$root/packages"
cp "$dir"/*.deb "$root/packages/"
if [ -n "${CCACHE_DIR:-}" ]; then
	mkdir -p "$CCACHE_DIR" "$root$CCACHE_DIR"
	mount --bind "$CCACHE_DIR" "$root$CCACHE_DIR"
fi

# Run a command in that system, and keep its output for said().
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive INITRD=No LC_ALL=C "$@" >"$dir/said" 2>&1 </dev/null; }
# apt passes its own PATH to scripts of packages, which call DKMS.
install() { inside apt-get -y --no-install-recommends -o "DPkg::Path=$PATH" install "$@"; }

# picks KERNEL WHERE: check that modprobe loads the module in that folder, by each of its names
picks()
{
	local name file
	for name in rpcrdma xprtrdma svcrdma rpcrdma6; do
		file=$(modprobe -d "$root" -S "$1" --show-depends "$name" | awk '$1 == "insmod" { f = $2 } END { print f }')
		[[ $file == *"/lib/modules/$1/$2/"* ]] ||
			{ echo "modprobe $name of $1 loads ${file:-nothing}, and it should be in $2"; return 1; }
	done
}

# is VERSION KERNEL: check that modprobe loads this module, of that version
is()
{
	local found
	picks "$2" updates/dkms || return
	found=$(modinfo -b "$root" -k "$2" -F version rpcrdma)
	[ "$found" = "$1" ] || { echo "the module of $2 has version ${found:-none}, and not $1"; return 1; }
}

# Check that the package is neither half installed nor only unpacked.
whole()
{
	local audit
	audit=$(chroot "$root" dpkg --audit)
	[ -z "$audit" ] || { echo "$audit"; return 1; }
	chroot "$root" apt-get -qq check
}

# said TIMES WORDS: check that the last command printed that many lines with the words
said()
{
	local times
	times=$(grep -cF -- "$2" "$dir/said" || true)
	[ "$times" -eq "$1" ] || { echo "\"$2\" was said $times times, and not $1"; return 1; }
}

test_lintian()
{
	if ours; then
		lintian --pedantic --fail-on error,warning "$dir/rpcrdma-v2_${version}_"*.changes >"$dir/said" 2>&1
	else
		cp "$dir/lintian.log" "$dir/said"
		! grep -qx failed "$dir/said"
	fi
}

test_rpmlint()
{
	"$here/scripts/rpm.sh" "$dir/rpm" >"$dir/said" || return
	rpmlint --strict -c "$here/scripts/rpmlint.toml" "$dir"/rpm/*.{rpm,spec} >>"$dir/said" 2>&1
}

test_install()
{
	local other
	install "/packages/rpcrdma-v2-dkms_${version}_all.deb" "/packages/rpcrdma-v2-doc_${version}_all.deb" \
		"/packages/"{rpcrdma-v2-tools,librpcrdma2-0,librpcrdma2-dev}"_${version}_$(dpkg --print-architecture).deb" || return
	whole && is "$version" "$old" || return
	[ -e "$root/usr/share/man/man7/rpcrdma-v2.7.gz" ] || { echo "there is no rpcrdma-v2(7)"; return 1; }
	other=$(cd "$root/usr/src/rpcrdma-v2-$version" && find . -type f | grep -vxE '\./((net|include)/.*\.(c|cc|h|hh|mk)|.*/Makefile.core|.*/compat/probe\.sh|Makefile|Kbuild|COPYING(\.BSD)?|dkms.conf|scripts/[a-z-]*\.sh)' | head -n 1)
	[ -z "$other" ] || { echo "DKMS has $other, which is not compiled"; return 1; }
}

test_new_kernel()
{
	install --no-download "linux-image-$new" "linux-headers-$new" || return
	whole && is "$version" "$new" && is "$version" "$old"
}

# The programs, in a system without RDMA
test_tools()
{
	inside rpcrdma-ctl status || return
	said 1 'Device      none' || return
	inside rpcrdma-ping 192.0.2.1
	[ $? -eq 2 ] || { echo "rpcrdma-ping finds a device"; return 1; }
	[ -e "$root/usr/share/man/man8/rpcrdma-ctl.8.gz" ] || { echo "there is no rpcrdma-ctl(8)"; return 1; }
	test_secrets
}

# The service that loads secrets is valid, not enabled, and loads what only root can read.
test_secrets()
{
	local unit
	unit=$(cd "$root" && find lib/systemd/system usr/lib/systemd/system -name rpcrdma-secrets.service | head -n 1)
	[ -n "$unit" ] || { echo "there is no rpcrdma-secrets.service"; return 1; }
	! find "$root/etc/systemd/system" -name rpcrdma-secrets.service | grep . || { echo "the service is enabled"; return 1; }
	grep -qx 'ExecStart=/usr/bin/rpcrdma-ctl secrets' "$root/$unit" || { echo "the service calls another program"; return 1; }
	if [ -x "$root/usr/bin/systemd-analyze" ]; then
		inside systemd-analyze verify --man=no --recursive-errors=no "/$unit" || return
	elif command -v systemd-analyze >/dev/null; then
		systemd-analyze verify --man=no --recursive-errors=no --root="$root" "/$unit" >"$dir/said" 2>&1 || return
	fi
	(umask 077 && mkdir -p "$root/etc/rpcrdma/secrets")
	head -c 32 /dev/urandom >"$root/etc/rpcrdma/secrets/open.example.test"
	inside rpcrdma-ctl secrets
	said 1 'open.example.test: not loaded: others than root have access' || return
	rm -r "$root/etc/rpcrdma"
}

# Build the module as DKMS's service does at boot.
test_autoinstall()
{
	inside dkms uninstall "rpcrdma-v2/$version" -k "$new" || return
	picks "$new" kernel || return
	inside dkms autoinstall -k "$new" || return
	is "$version" "$new"
}

# Build a package of a kernel that only this module does not build for, with the hooks of
# Debian's kernels. $1: its release; $2: its in-tree module, or nothing
odd_kernel()
{
	local release=$1 own=$2 tree=$scratch/odd-$1 file
	mkdir -p "$tree"/{DEBIAN,boot,usr/src,lib/modules/"$release"/kernel/net/sunrpc/xprtrdma}
	cp -r "$root/usr/src/linux-headers-$new" "$tree/usr/src/linux-headers-$release"
	cp "$root/lib/modules/$new"/modules.{order,builtin,builtin.modinfo} "$tree/lib/modules/$release/"
	[ -z "$own" ] || cp "$own" "$tree/lib/modules/$release/kernel/net/sunrpc/xprtrdma/"
	ln -s "/usr/src/linux-headers-$release" "$tree/lib/modules/$release/build"
	for file in autoconf.h utsrelease.h; do
		sed -i "s/$new/$release/" "$tree/usr/src/linux-headers-$release/include/generated/$file"
	done
	# Let each probe of an interface fail, as if the kernel had changed all of them.
	cat >>"$tree/usr/src/linux-headers-$release/include/generated/autoconf.h" <<-'C'
		#ifdef RPCRDMA_PROBE
		#error an interface of tomorrow
		#endif
	C
	: >"$tree/boot/vmlinuz-$release"
	cat >"$tree/DEBIAN/control" <<-C
		Package: linux-image-$release
		Version: 1
		Architecture: all
		Maintainer: nobody <nobody@example.invalid>
		Description: kernel that the module does not build for
	C
	cat >"$tree/DEBIAN/postinst" <<-C
		#!/bin/sh -e
		[ "\$1" = configure ] || exit 0
		depmod $release
		DEB_MAINT_PARAMS="\$*" run-parts --report --exit-on-error --arg=$release \\
			--arg=/boot/vmlinuz-$release /etc/kernel/postinst.d
	C
	chmod 755 "$tree/DEBIAN/postinst"
	dpkg-deb --root-owner-group -Znone -b "$tree" "$root/packages/$release.deb" >/dev/null
}

test_kernel_with_its_own()
{
	# Newer DKMS has moved the in-tree module away.
	odd_kernel 9.0-own "$(find "$root/lib/modules/$new/kernel/net/sunrpc/xprtrdma" \
		"$root/var/lib/dkms/rpcrdma-v2/original_module/$new" -name 'rpcrdma.ko*' -not -name '*.origin' 2>/dev/null | head -n 1)"
	install /packages/9.0-own.deb || return
	whole && picks 9.0-own kernel || return
	said 1 'rpcrdma-v2 does not build for Linux 9.0-own, which keeps its own rpcrdma (version 1 only): rpcrdma: error: "' &&
		said 1 'of this kernel has no form that is known'
}

test_kernel_without()
{
	odd_kernel 9.0-none ""
	install /packages/9.0-none.deb || return
	whole || return
	said 1 'rpcrdma-v2 does not build for Linux 9.0-none, which has no rpcrdma of its own: ' || return
	modinfo -b "$root" -k 9.0-none -F description rpcrdma | grep -q '^Says that there is no' ||
		{ echo "9.0-none has another module than the one that only says so"; return 1; }
}

# An upgrade: DKMS builds for the newest kernel and for the running one.
test_upgrade()
{
	install "/packages/rpcrdma-v2-dkms_${next}_all.deb" || return
	whole && is "$next" "$new" && picks 9.0-own kernel || return
	[ ! -e "$root/usr/src/rpcrdma-v2-$version" ] && [ ! -e "$root/var/lib/dkms/rpcrdma-v2/$version" ] ||
		{ echo "something of version $version is left"; return 1; }
}

# Repair a kernel that the module did not build for, with the commands of installation.rst
test_kernel_mended()
{
	inside dkms autoinstall -k 9.0-own || return
	picks 9.0-own kernel || return
	sed -i '/^\t*#error an interface of tomorrow/d' "$root/usr/src/linux-headers-9.0-own/include/generated/autoconf.h"
	inside dkms build --force "rpcrdma-v2/$next" -k 9.0-own || return
	inside dkms install --force "rpcrdma-v2/$next" -k 9.0-own || return
	is "$next" 9.0-own
}

test_purge()
{
	local kernel left
	inside apt-get -y purge rpcrdma-v2-dkms rpcrdma-v2-doc rpcrdma-v2-tools librpcrdma2-0 librpcrdma2-dev || return
	whole || return
	for kernel in "$old" "$new" 9.0-own; do
		picks "$kernel" kernel || return
	done
	left=$(find "$root"/usr/src/rpcrdma* "$root"/var/lib/dkms/rpcrdma* "$root"/lib/modules/*/updates/dkms/rpcrdma* \
		"$root"/usr/share/{doc,doc-base,man/man7}/rpcrdma* 2>/dev/null | head -n 3)
	[ -z "$left" ] || { echo "left: $left"; return 1; }
}

failed=0
# t NAME: run the function test_NAME as a test. After a failure later tests are not run,
# because their results would depend on it.
t()
{
	local why
	[ $failed -eq 0 ] || { echo "not ok $1 - an earlier one failed"; return; }
	# shellcheck disable=SC2310
	if why=$("test_${1//-/_}" 2>&1); then
		echo "ok $1"
	else
		failed=1
		echo "not ok $1 - $(tail -n 1 <<<"$why")"
		{ echo "$why"; tail -n 30 "$dir/said"; } | sed 's/^/#   /'
	fi
	cp "$dir/said" "$dir/$1.log"
}

t lintian
! ours || t rpmlint
t install
t tools
t new-kernel
t autoinstall
t kernel-with-its-own
t kernel-without
t upgrade
t kernel-mended
t purge
exit $failed
