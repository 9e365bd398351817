# SPDX-License-Identifier: GPL-2.0
# Shared by the scripts in this folder; sourced, not run.
# shellcheck shell=bash

# shellcheck disable=SC2034

# The folder, outside the checkout, of all large files that can be built again
CACHE=${RPCRDMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rpcrdma-v2}

# ccache reuses the results of this and other checkouts. The folder of a compilation is not
# part of a result, so that results are the same for each checkout. Debuggers then look for
# sources below the current folder. Headers are found in the list of dependencies, which each
# compilation here writes: to preprocess each file first would cost a third more with nothing
# cached.
if [ -d /usr/lib/ccache ] && [ -z "${CCACHE_BASEDIR:-}" ]; then
	PATH=/usr/lib/ccache:$PATH
	export CCACHE_DIR=${CCACHE_DIR:-$CACHE/ccache} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
	CCACHE_BASEDIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
	export CCACHE_BASEDIR
fi

# Packages with programs that run in guests (scripts/guest-root.sh)
guest_packages=(bash coreutils gawk util-linux mount kmod hostname procps iproute2 busybox-static
	nfs-common nfs-kernel-server rpcbind rdma-core ibverbs-providers
	acl attr binutils bpftrace diffutils fio keyutils krb5-admin-server krb5-kdc krb5-user
	nfs4-acl-tools nftables openssl perl python3 systemd tshark udev linux-image-amd64)

# The release of clang that builds the kernel of scripts/clang-kernel.sh, and modules for it
clang_release=19

# Factor of each time limit, because emulated guests on a busy machine are slow
TIMEOUT_SCALE=${TIMEOUT_SCALE:-1}

say()
{
	echo "[$(date +%H:%M:%S)] $*" >&2
}

die()
{
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# Print the newest installed stock Debian 6.1 kernel that has its headers installed. Not "uname
# -r": this machine may run a different kernel.
stock_kernel_version()
{
	local d v
	for d in /usr/src/linux-headers-6.1.*-amd64; do
		v=${d#/usr/src/linux-headers-}
		[[ $v =~ ^6\.1\.[0-9]+-[0-9]+-amd64$ && -d $d ]] && echo "$v"
	done | sort -V | tail -n 1
}

# Print the kernel that "make" builds for: the running kernel if possible, otherwise the newest
# one with headers. 6.1 is preferred, because the tests are for it.
kernel_version()
{
	local v
	v=$(uname -r)
	if [ ! -e "/lib/modules/$v/build/Makefile" ]; then
		v=$(stock_kernel_version)
		[ -n "$v" ] || v=$(find /lib/modules/*/build/Makefile 2>/dev/null |
			sed 's,^/lib/modules/,,; s,/build/Makefile$,,' | sort -V | tail -n 1)
	fi
	echo "$v"
}

# If clang built the kernel with the build folder $1, print the value of LLVM for which its
# makefiles use that release, or the default release if that one is not installed.
kernel_llvm()
{
	local release
	grep -qs '^CONFIG_CC_IS_CLANG=y' "$1/.config" || return 0
	release=$(sed -n 's/^CONFIG_CLANG_VERSION=\([0-9]*\)[0-9]\{4\}$/\1/p' "$1/.config")
	if command -v "clang-$release" >/dev/null; then
		echo "-$release"
	else
		echo 1
	fi
}

# Print the project's files in this folder: those that git does not ignore, or all without git.
project_files()
{
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -co --exclude-standard
	else
		find . -type f -printf '%P\n'
	fi | while read -r f; do [ ! -f "$f" ] || echo "$f"; done | sort
}

# Print the files from which the module and its KUnit suites are built.
module_files()
{
	project_files | grep -E '^(Makefile|Kbuild|net/|include/|kunit/|scripts/(lib|install)\.sh)' |
		grep -vE '^kunit/(core|simulation)/|/README$'
}

# Copy the project's files to the folder $1, with the version $2.
source_tree()
{
	mkdir "$1"
	project_files | tar -cf - -T - | tar -C "$1" -xf -
	sed -i "s/^version := .*/version := $2/" "$1/Kbuild"
}

project_version() { sed -n 's/^version := //p' "$(dirname "${BASH_SOURCE[0]}")/../Kbuild"; }

# Print the maintainer named in packages: the builder, as set for Debian's tools, otherwise an
# address that does not exist.
maintainer()
{
	if [ -n "${DEBEMAIL:-}" ]; then
		echo "${DEBFULLNAME:-$DEBEMAIL} <$DEBEMAIL>"
	else
		echo "The rpcrdma-v2 maintainers <maintainers@rpcrdma-v2.invalid>"
	fi
}

# begin_package DIR [VERSION]: create DIR and change to this checkout. Sets "to" to the absolute
# path of DIR, "version", "work" to a temporary folder, and "tree" to a copy of the project's
# files in it, with that version.
begin_package()
{
	mkdir -p "$1"
	to=$(cd "$1" && pwd)
	cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
	version=${2:-$(project_version)}
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	tree=$work/rpcrdma-v2-$version
	source_tree "$tree" "$version"
	# For ccache: files in another temporary folder are the same.
	[ -z "${CCACHE_BASEDIR:-}" ] || CCACHE_BASEDIR=$work
}

# Print the time of the last change, so that packages are reproducible.
source_date() { echo "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}"; }

# Print the items of the changelog's newest section for a package: $1 precedes each item, and $2
# each of its further lines.
changes()
{
	sed -n '/^[0-9]/,$p' Documentation/changelog.rst | awk -v first="$1" -v next_="$2" '
		function wrap(text,	words, n, i, line) {
			n = split(text, words, " ")
			line = first words[2]
			for (i = 3; i <= n; i++) {
				if (length(line " " words[i]) > 78) {
					print line
					line = next_ words[i]
				} else {
					line = line " " words[i]
				}
			}
			print line
		}
		{ gsub("``", "") }
		# Read to the end, because the writer would otherwise get SIGPIPE.
		/^===/ { sections++ }
		sections > 1 { next }
		/^[*] / { if (item) wrap(item); item = $0 }
		/^  / { item = item $0 }
		END { wrap(item) }'
}

# unresolved FOLDER...: print the symbols in the output of "nm -u" on the standard input that
# neither the kernel nor the modules built in these folders define
unresolved()
{
	awk '$1 == "U" { print $2 }' | LC_ALL=C sort -u |
		LC_ALL=C comm -23 - <(awk '{ print $2 }' "${@/%//Module.symvers}" | LC_ALL=C sort -u)
}

# Print the archive from which apt here gets the suite $1.
archive()
{
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(RELEASE) $(CODENAME) $(REPO_URI)' \
		'Created-By: Packages' 'Component: main' |
		awk -v suite="$1" '$1 == suite || $2 == suite { print $3; exit }'
}

# shellcheck source=/dev/null
host_suite() { (. /etc/os-release && echo "$VERSION_CODENAME"); }

debian_key=/usr/share/keyrings/debian-archive-keyring.gpg

# Exit status of scripts if an archive no longer exists, or was never configured
NO_ARCHIVE=3
no_archive() { echo "$(basename "$0"): $*" >&2; exit $NO_ARCHIVE; }

# Set apt to the folder of a separate apt configuration in the cache's kernels/, which has only
# the suite $1 and no installed package. Output goes to the file $2. The packages are those of
# the architecture $3 (default: amd64).
suite_apt()
{
	local suite=$1 log=$2 host like uri
	apt_arch=${3:-amd64}
	apt=$CACHE/kernels/$suite.$apt_arch.apt
	host=$(host_suite)
	case $suite in
	*-security) like=$host-security ;;
	*) like=$host ;;
	esac
	uri=$(archive "$like")
	[ -n "$uri" ] || no_archive "apt is not configured here for $like, or 'apt-get update' never ran: $suite cannot be found"
	mkdir -p "$apt"/{parts,lists/partial,archives/partial}
	: >"$apt/status"
	echo "deb [signed-by=$debian_key] $uri $suite main" >"$apt/sources.list"
	if ! apt_here apt-get update >>"$log" 2>&1 || grep -q '^\(E\|W: Failed\)' "$log"; then
		grep '^[EW]:' "$log" >&2 || true
		no_archive "the suite $suite cannot be reached at $uri"
	fi
}

# apt_here TOOL ARG...: run a tool with that configuration
apt_here()
{
	local tool=$1
	shift
	"$tool" -q -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts="$apt/parts" \
		-o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status" \
		-o Dir::Cache="$apt" -o Dir::Cache::archives="$apt/archives" \
		-o APT::Architecture="$apt_arch" -o APT::Architectures="$apt_arch" \
		-o APT::Sandbox::User=root -o APT::Default-Release= "$@"
}

# Print the names of the packages in the field Depends of the package $1.
apt_depends()
{
	apt_here apt-cache show --no-all-versions "$1" | sed -n 's/^\(Pre-\)\?Depends: //p' |
		tr ',|' '\n\n' | sed 's/^ *//; s/ .*//'
}

# Print package and version of the newest kernel sources in the suite $1. The archive is checked
# once a week.
newest_source()
{
	local newest=$CACHE/kernels/$1.source lock apt apt_arch package
	mkdir -p "$CACHE/kernels"
	exec {lock}>"$newest.lock"
	flock "$lock"
	if [ ! -s "$newest" ] || [ -z "$(find "$newest" -mtime -7)" ]; then
		suite_apt "$1" "$newest.log"
		package=$(apt_depends linux-source | grep '^linux-source-' | head -n 1)
		[ -n "$package" ] || die "$1 has no linux-source: see $newest.log"
		apt_here apt-cache show --no-all-versions "$package" |
			awk -v package="$package" '$1 == "Version:" { print package, $2 }' >"$newest.new"
		mv "$newest.new" "$newest"
	fi
	exec {lock}>&-
	cat "$newest"
}

# unpack_source SUITE TO [FOLDER...]: unpack the sources that newest_source() printed, or only
# these folders of them, into the folder TO.
unpack_source()
{
	local apt apt_arch name version deb suite=$1 to=$2
	shift 2
	read -r name version < <(newest_source "$suite")
	suite_apt "$suite" "$CACHE/kernels/$suite.source.log"
	rm -f "$apt/archives/$name"_*.deb
	(cd "$apt/archives" && apt_here apt-get download "$name=$version") || return
	deb=$(echo "$apt/archives/$name"_*.deb)
	dpkg-deb --fsys-tarfile "$deb" | tar -xOf - "./usr/src/$name.tar.xz" |
		tar -C "$to" --strip-components=1 -xJf - --wildcards "${@/#/*/}" || return
	rm -f "$deb"
}

# in_suite DIR COMMAND...: run with the tools of the suite of the kernel in DIR. A
# system of that suite sees the copy of this checkout and the kernel at the same
# paths as here; the mounts for that end with the process.
in_suite()
{
	local dir=$1 root
	shift
	if [ ! -e "$dir/chroot" ]; then
		"$@"
		return
	fi
	root=$(readlink -f "$dir/chroot")
	# shellcheck disable=SC2016
	unshare --mount sh -c '
		root=$1 cache=$2
		shift 2
		mkdir -p "$root/proc" "$root$cache"
		mount --bind "$cache" "$root$cache" && mount -t proc proc "$root/proc" &&
			exec chroot "$root" "$@"' sh "$root" "$(readlink -f "$CACHE")" "$@"
}

# kunit_results RUN KO TREE: print a result for each case of the test module KO whose kernel log
# scripts/guest/kunit.sh left in the folder RUN. The parser is that of the kernel sources in TREE.
kunit_results()
{
	local name log suites chosen
	name=$(basename "$2" .ko)
	log=$1/$name.dmesg
	if [ ! -f "$log" ]; then
		echo "not ok $name - the module was not loaded"
		return
	fi
	# one pointer for each suite
	suites=$((16#$(objdump -h "$2" | awk '$2 == ".kunit_test_suites" { print $3 }') / 8))
	# The module of scripts/kunit-module.sh runs those that were asked for.
	chosen=$(sed -n "s/.*kunit: \([0-9]*\) of $suites suites of $name\$/\1/p" "$log")
	[ "$chosen" = 0 ] ||
		"$(dirname "${BASH_SOURCE[0]}")/kunit-results.py" "$3/tools/testing/kunit" "$log" "${chosen:-$suites}" ||
		echo "not ok $name - its results cannot be read"
}

# Apply the patch $2 to the sources in the folder $1 if all of it applies.
fit_patch()
{
	if patch -d "$1" -p1 --dry-run <"$2"; then
		patch -d "$1" -p1 <"$2"
	fi
}

# test_kernel NAME KEY UNPACK CONFIG [MAKE-ARGUMENT...]: build a kernel for tests
# from sources and keep it in the cache, outside the checkout. Set tree to its
# folder, in which modroot/ has its modules installed.
#
# NAME is the name of the folder. KEY is derived from the sources: each key has a
# separate kernel. The command UNPACK writes the sources to the folder in its argument,
# and the command CONFIG prints the options to set. Both run only if the kernel is not
# in the cache. MAKE-ARGUMENTs are passed to each make.
test_kernel()
{
	local name=$1 unpack=$3 config=$4 log=$CACHE/$1-build.log lost lock
	tree=$CACHE/$1-$(sha256sum <<<"$2" | cut -c1-16)
	shift 4
	[ ! -f "$tree/.complete" ] || return 0
	# Only one process builds. A second one waits, and then finds the complete tree.
	mkdir -p "$CACHE"
	exec {lock}>"$CACHE/$name.lock"
	flock "$lock"
	if [ ! -f "$tree/.complete" ]; then
		say "building the $name in $tree (about 15 minutes on two cores; log: $log)"
		rm -rf "$tree" "$tree.src"
		mkdir -p "$tree.src"
		{
			"$unpack" "$tree.src" && "$config" >"$tree.src/.config" &&
				make -C "$tree.src" "$@" olddefconfig
		} >"$log" 2>&1 || { tail -30 "$log" >&2; die "configuring the $name failed, see $log"; }
		# olddefconfig silently drops an option if a dependency is missing. A test
		# kernel without its checkers would pass every test.
		lost=$("$config" | grep '^CONFIG_' | grep -Fxv -f "$tree.src/.config" || true)
		[ -z "$lost" ] || die "the configuration lost these requested lines:
$lost"
		# The path of the kernel depends on its makefiles; "all" builds its modules.
		make -C "$tree.src" -j"$(nproc)" "$@" all >>"$log" 2>&1 ||
			{ tail -30 "$log" >&2; die "building the $name failed, see $log"; }
		make -C "$tree.src" "$@" modules_install INSTALL_MOD_PATH="$tree.src/modroot" \
			INSTALL_MOD_STRIP=1 >>"$log" 2>&1 ||
			{ tail -30 "$log" >&2; die "installing the modules of the $name failed, see $log"; }
		# Remove links to the build tree, which is not needed here.
		rm -f "$tree.src"/modroot/lib/modules/*/{build,source}
		# Remove the objects. Keep the files that are needed to build external modules, to
		# boot a guest and to read its stack traces.
		find "$tree.src" \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' \) \
			-not -path '*/scripts/*' -not -path '*/tools/*' -delete
		mv "$tree.src" "$tree"
		touch "$tree/.complete"
		say "the $name is complete"
	fi
	exec {lock}>&-
}

# Create a minimal system of the Debian suite $1 in the folder $2, unless it exists.
debian_system()
{
	local suite=$1 to=$2 lock valid
	exec {lock}>"$to.lock"
	flock "$lock"
	if [ ! -e "$to/.complete" ]; then
		[ "$(id -u)" -eq 0 ] || die "a $suite in $to is needed: run this as root"
		command -v debootstrap >/dev/null || die "debootstrap is missing: run scripts/setup.sh check"
		say "making a $suite in $to (log: $to.log)"
		rm -rf "$to"
		debootstrap --variant=minbase --keyring=$debian_key "$suite" "$to" "$(archive "$(host_suite)")" >"$to.log" 2>&1 ||
			{ tail -n 5 "$to.log" >&2; die "debootstrap cannot make a $suite"; }
		# Use this system's setting for expired indexes, because it uses the same archive.
		valid=$(apt-config dump --format '%v' Acquire::Check-Valid-Until)
		echo "Acquire::Check-Valid-Until \"${valid:-true}\";" >"$to/etc/apt/apt.conf.d/90mirror"
		# Start no services in this system.
		printf '#!/bin/sh\nexit 101\n' >"$to/usr/sbin/policy-rc.d"
		chmod 755 "$to/usr/sbin/policy-rc.d"
		touch "$to/.complete"
	fi
	exec {lock}>&-
}

# Build the programs of the guests' tests in the folder $1, for guests with the kernel that
# scripts/stock-kernel.sh left in $2 (default: one of this architecture).
build_guest_tools()
{
	local from cc
	from=$(dirname "${BASH_SOURCE[0]}")/guest
	cc=$(sed -n 's/^CROSS_COMPILE=\(.*\)/\1gcc-12/p' "${2:-}/make-args" 2>/dev/null || true)
	cc=${cc:-gcc}
	$cc -O2 -Wall -Wextra -Werror -o "$1/nfsio" "$from"/nfsio{,-stress,-field}.c
	$cc -O2 -Wall -Wextra -Werror -o "$1/nfsdlisten" "$from/nfsdlisten.c"
	cp -r "$(dirname "${BASH_SOURCE[0]}")/tools/ctl" "$1/ctl"
}

# Build the hostile peer, which needs the libraries of user-space RDMA and of OpenSSL.
build_hostile()
{
	local from
	from=$(dirname "${BASH_SOURCE[0]}")/guest/hostile
	gcc -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$1/hostile" \
		"$from"/*.c "$from"/{lib,client,server}/*.c -lrdmacm -libverbs -lcrypto
}

# Build rpcrdma-ping in the folder $1.
build_ping()
{
	local from
	from=$(dirname "${BASH_SOURCE[0]}")/tools/ping
	make --no-print-directory -C "$from" >"$1/ping.log" 2>&1 || { tail -n 30 "$1/ping.log" >&2; return 1; }
	cp "$(make -s -C "$from" build-dir)/rpcrdma-ping" "$1"
}

# Build the server of version 1 that does not refuse version 2 in the folder $1.
build_version1_server()
{
	gcc -O2 -Wall -Wextra -Werror -o "$1/version1-server" \
		"$(dirname "${BASH_SOURCE[0]}")/guest/version1-server.c" -lrdmacm -libverbs -lpthread
}

# Folder of the logs of runs, which are kept until the next run of the same name
RUNS=${RPCRDMA_RUNS:-$CACHE/runs}

# Create a new folder for the run called $1, and set run to it. A run of the same name in
# progress keeps its own.
new_run()
{
	run=$RUNS/$1
	mkdir -p "$RUNS"
	exec {run_lock}>"$run.lock"
	flock -n "$run_lock" || run=$run-$$
	rm -rf "$run"
	mkdir -p "$run"
	run=$(cd "$run" && pwd)
	# Copy the scripts, because a guest would misread one that is edited while it runs.
	cp -r "$(dirname "${BASH_SOURCE[0]}")/guest" "$run/guest"
}
