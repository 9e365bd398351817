# SPDX-License-Identifier: GPL-2.0
# Shared by the scripts in this folder; sourced, not run.
# shellcheck shell=bash

# shellcheck disable=SC2034

# Everything large that can be made again lives here, outside the checkout.
CACHE=${RPCRDMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rpcrdma-v2}

# Emulated guests on a busy machine are slow: every time limit is multiplied
# by this.
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

# The newest installed stock Debian 6.1 kernel that has its headers installed.
# Not "uname -r": the machine itself may run something else altogether.
stock_kernel_version()
{
	local d v
	for d in /usr/src/linux-headers-6.1.*-amd64; do
		v=${d#/usr/src/linux-headers-}
		[[ $v =~ ^6\.1\.[0-9]+-[0-9]+-amd64$ && -d $d ]] && echo "$v"
	done | sort -V | tail -n 1
}

# What "make" builds for: the running kernel, if that can be, or else the newest
# one with headers. Those of 6.1 come first: the tests are of them.
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

# The project's files in this folder: with git what is not ignored, or else all.
project_files()
{
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -co --exclude-standard
	else
		find . -type f -printf '%P\n'
	fi | while read -r f; do [ ! -f "$f" ] || echo "$f"; done | sort
}

# Those of them that the module and its KUnit suites are built from
module_files()
{
	project_files | grep -E '^(Makefile|Kbuild|net/|include/|kunit/|scripts/(lib|install)\.sh)'
}

# The project's files in the folder $1, with the version $2
source_tree()
{
	mkdir "$1"
	project_files | tar -cf - -T - | tar -C "$1" -xf -
	sed -i "s/^version := .*/version := $2/" "$1/Kbuild"
}

project_version() { sed -n 's/^version := //p' "$(dirname "${BASH_SOURCE[0]}")/../Kbuild"; }

# Who answers for packages: whoever builds them, where that is said as Debian's
# tools have it said, or else an address that is nobody's.
maintainer()
{
	if [ -n "${DEBEMAIL:-}" ]; then
		echo "${DEBFULLNAME:-$DEBEMAIL} <$DEBEMAIL>"
	else
		echo "The rpcrdma-v2 maintainers <maintainers@rpcrdma-v2.invalid>"
	fi
}

# begin_package DIR [VERSION]: in this checkout, which becomes the current folder,
# set to: DIR, made if need be; version; work: a folder for this script alone; and
# tree: the project's files in it, with that version.
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
}

# When they changed: packages that are made again are the same.
source_date() { echo "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}"; }

# The items of the changelog's newest section, in the form of packages: $1 is
# before each, and $2 before its further lines.
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
		/^===/ && ++sections > 1 { exit }
		/^[*] / { if (item) wrap(item); item = $0 }
		/^  / { item = item $0 }
		END { wrap(item) }'
}

# Where apt here takes the suite $1 from
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

# A minimal system of the Debian suite $1 in the folder $2, unless it is there
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
		# An old mirror is as good there as it is here.
		valid=$(apt-config dump --format '%v' Acquire::Check-Valid-Until)
		echo "Acquire::Check-Valid-Until \"${valid:-true}\";" >"$to/etc/apt/apt.conf.d/90mirror"
		# Nothing is started there.
		printf '#!/bin/sh\nexit 101\n' >"$to/usr/sbin/policy-rc.d"
		chmod 755 "$to/usr/sbin/policy-rc.d"
		touch "$to/.complete"
	fi
	exec {lock}>&-
}

# What the guests' tests use, compiled for them into the folder $1.
build_guest_tools()
{
	gcc -O2 -Wall -Wextra -Werror -o "$1/nfsio" \
		"$(dirname "${BASH_SOURCE[0]}")/guest/nfsio.c"
}

# The hostile peer, which needs the libraries of user-space RDMA.
build_hostile()
{
	gcc -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$1/hostile" \
		"$(dirname "${BASH_SOURCE[0]}")"/guest/hostile/*.c -lrdmacm -libverbs
}

# Where the logs of runs are kept until the next run of the same name.
RUNS=${RPCRDMA_RUNS:-$CACHE/runs}

# A fresh folder for the run called $1: set run to it. Another one that is
# under way by the same name keeps its own.
new_run()
{
	run=$RUNS/$1
	mkdir -p "$RUNS"
	exec {run_lock}>"$run.lock"
	flock -n "$run_lock" || run=$run-$$
	rm -rf "$run"
	mkdir -p "$run"
	run=$(cd "$run" && pwd)
	# A script that is edited while a guest reads it is two halves.
	cp -r "$(dirname "${BASH_SOURCE[0]}")/guest" "$run/guest"
}
