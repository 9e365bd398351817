#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Print the folder of a root file system for guests: the files of this machine's packages
# that guests need, as hard links, or as copies if the cache is on another file system.
#
#   scripts/guest-root.sh [ARCH]
#
# dpkg replaces a file by renaming the new one, so that the old one stays here. A package that is
# installed or upgraded on this machine therefore cannot break a guest that runs: a guest sees
# the versions with which it began. A snapshot is in the cache and serves until one of its
# packages has another version. Snapshots that no guest has used for a week are removed.
#
# ARCH: the architecture of the guest, e.g. arm64, if it is another one. The packages are then those
# of this system's suite; they are downloaded and unpacked, and their scripts do not run.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"

# Maximum time for which a running dpkg is waited for
patience=$((300 * TIMEOUT_SCALE))

# Print the installed packages of guest_packages, those of a minimal system, and those that
# they depend on. A dependency on a name that several packages provide, as awk, is not followed:
# these packages are part of a minimal system.
closure()
{
	# shellcheck disable=SC2016
	{
		dpkg-query -W -f '${Priority} ${Package}\n' | sed -n 's/^\(required\|important\) //p'
		{ dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${guest_packages[@]}" 2>/dev/null || true; } |
			sed -n 's/^ii *//p'
	} | sort -u | xargs apt-cache depends --recurse --installed --no-suggests --no-conflicts \
		--no-breaks --no-replaces --no-enhances | sed -n '/^[a-z0-9]/p' | sort -u
}

# Print the version and the state of each package in the list $1. A package of which only the name
# or the configuration is known is not installed.
versions()
{
	# shellcheck disable=SC2016
	xargs dpkg-query -W -f '${db:Status-Abbrev} ${binary:Package} ${Version}\n' <"$1" 2>/dev/null |
		grep -v '^.[nc]' || true
}

# Print the paths of all files of the packages in the list $1, and of what their scripts made:
# alternatives, configuration and state. Documents for people are left out.
files()
{
	local merged=
	[ ! -L /bin ] || merged='s,^/\(bin\|sbin\|lib\|lib32\|lib64\|libx32\)/,/usr/&,; s,^/usr//,/usr/,'
	{
		# The list may have names of which no package is installed.
		{ xargs dpkg-query -L <"$1" || true; } |
			sed -n 's/^\(diverted by\|locally diverted\).* to: //; /^\//p' | sed "$merged" |
			grep -v '^/\(etc\|usr/share/\(doc\|man\|info\|locale\|lintian\)\|boot\)/' || true
		find /bin /sbin /lib* /var/run /var/lock -maxdepth 0 -type l || true
		find /usr/bin /usr/sbin /usr/lib -lname '/etc/alternatives/*' || true
		find /var/lib/nfs -xdev ! -type s || true
	} 2>/dev/null | sort -u | perl -lne 'print if -l || -d _ || -r _ && -f _ and lstat'
}

# make_root LIST TO: make the folder TO from the packages in LIST.
make_root()
{
	local list=$1 to=$2
	mkdir -p "$to"
	files "$list" | (cd / && sed 's,^/,,' | cpio --quiet -pdulm "$to" 2>/dev/null) || true
	# Configuration is changed in place, so it is copied.
	(cd / && find etc -xdev \( -type l -o -type d -readable -executable -o -type f -readable \) -print0 2>/dev/null |
		cpio --quiet -0 -pdum "$to" 2>/dev/null) || true
	finish_root "$to"
}

# Add the folders that belong to no package, and check the result.
finish_root()
{
	local to=$1
	(cd "$to" && mkdir -p dev proc sys run tmp root home mnt srv opt media var/tmp var/log var/cache)
	chmod 1777 "$to/tmp" "$to/var/tmp"
	# An essential program, and one that is an alternative
	[ -x "$to/bin/bash" ] && [ -x "$to$(readlink "$to/etc/alternatives/awk")" ] ||
		die "$to has no shell or no awk"
}

# The packages that a guest of another architecture lacks, because the smoke test does not use them
unused="bpftrace|tshark|krb5-.*|linux-image-.*|systemd|binutils"

# foreign_root ARCH TO: make the folder TO from packages of that architecture.
foreign_root()
{
	local arch=$1 to=$2 log=$2.log deb apt apt_arch d
	local packages=()
	: >"$log"
	suite_apt "$(host_suite)" "$log" "$arch"
	mapfile -t packages < <(printf '%s\n' "${guest_packages[@]}" | grep -vxE "$unused")
	rm -f "$apt"/archives/*.deb
	apt_here apt-get install -y --no-install-recommends --download-only '?essential' "${packages[@]}" \
		>>"$log" 2>&1 || { tail -n 5 "$log" >&2; die "the packages for $arch cannot be downloaded: see $log"; }
	mkdir -p "$to"/usr/{bin,sbin,lib}
	for d in bin sbin lib; do
		ln -s "usr/$d" "$to/$d"
	done
	# tar keeps these links to folders; dpkg-deb --extract would replace them.
	for deb in "$apt"/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -C "$to" --keep-directory-symlink \
			--exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale -xf - ||
			die "$deb cannot be unpacked"
	done
	rm -f "$apt"/archives/*.deb
	# What the scripts of packages make: configuration and alternatives. None of it depends on
	# the architecture, except the cache of libraries, which the loader does not need.
	(cd / && find etc -xdev \( -type l -o -type d -readable -executable -o -type f -readable \) \
		! -name ld.so.cache -print0 2>/dev/null | cpio --quiet -0 -pdum "$to" 2>/dev/null) || true
	(cd / && find usr/bin usr/sbin -lname '/etc/alternatives/*' | cpio --quiet -pdm "$to" 2>/dev/null) || true
	# This machine's awk may be another one.
	ln -sf /usr/bin/gawk "$to/etc/alternatives/awk"
	(cd / && find var/lib/nfs -xdev ! -type s | cpio --quiet -pdum "$to" 2>/dev/null) || true
	finish_root "$to"
}

roots=$CACHE/guest-root
mkdir -p "$roots"
exec 9>"$roots/lock"
flock 9
find "$roots" -maxdepth 1 -name 'root-*' -mtime +7 -exec rm -rf {} +

if [ $# -gt 0 ]; then
	root=$roots/root-$1-$({ cat "$0"; printf '%s\n' "${guest_packages[@]}"; } | sha256sum | cut -c1-12)
	if [ ! -d "$root" ]; then
		rm -rf "$root.new"
		foreign_root "$1" "$root.new"
		mv "$root.new" "$root"
	fi
	touch "$root"
	echo "$root"
	exit
fi

list=$roots/packages
for ((waited = 0; ; waited++)); do
	closure >"$list"
	found=$(versions "$list")
	names=$(cat "$list" "$0" | sha256sum | cut -c1-12)
	root=$roots/root-$names-$(sha256sum <<<"$found" | cut -c1-12)
	[ ! -d "$root" ] || break
	# The files of a package that is neither installed nor waits for triggers are changing.
	if ! grep -v '^[ih][iWt]' <<<"$found" >"$roots/unfinished"; then
		rm -rf "$root.new"
		make_root "$list" "$root.new"
		if [ "$(versions "$list")" = "$found" ]; then
			mv "$root.new" "$root"
			break
		fi
		rm -rf "$root.new"
	else
		# A snapshot of the same packages, in older versions
		older=$(find "$roots" -maxdepth 1 -name "root-$names-*" ! -name '*.new' -printf '%T@ %p\n' |
			sort -n | tail -n 1 | cut -d' ' -f2-)
		[ -z "$older" ] || { root=$older; break; }
	fi
	[ $waited -lt $patience ] || die "packages are not installed completely: $(head -n 1 "$roots/unfinished")"
	sleep 1
done
touch "$root"
echo "$root"
