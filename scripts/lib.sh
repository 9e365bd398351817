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
