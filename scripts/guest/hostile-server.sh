#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Servers that keep no rule: a user-space program on rxe plays the server of the
# kernel's client. Afterwards a mount of the real one still works, another one
# can be made, and nothing of the hostile connections is left.
#
#   hostile-server.sh SEED STEPS [PREFIX [ONLY]]
#
# SEED and STEPS are the random walk's. $RUN/hostile is the program, compiled
# on the host; each of its cases is a line of results, too.
# shellcheck disable=SC2086,SC2119,SC2317
set -u

SEED=$1
STEPS=$2
PREFIX=${3:-}
ONLY=${4:-}
# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source-path=SCRIPTDIR source=aftermath.sh
. "$(dirname "$0")/aftermath.sh"

# The hostile server is a gateway to nfsd's TCP socket, and makes its mount
# itself. server_begin NUMBER WHAT...
server_begin()
{
	local i=$1 port=$((20100 + $1)) dir=/mnt-hostile$1
	local opts=vers=3,proto=rdma,port=$port,nolock,noac,soft,timeo=$((20 * TIMEOUT_SCALE)),retrans=2,retry=0
	shift
	mkdir -p $dir
	"$HOSTILE" server $ADDR4 $port 2049 $dir $EXPORT \
		"mount -t nfs -o $opts,rsize=32768,wsize=32768 $ADDR4:$EXPORT $dir" \
		"umount $dir" "$@" >$RESULTS.$i 2>&1 &
	SERVERS+=($!)
}

# Wait for all of them. True when they all went well.
servers_end()
{
	local p status=0
	for p in "${SERVERS[@]}"; do
		wait $p || status=1
	done
	SERVERS=()
	cat $RESULTS.* >$RESULTS
	rm -f $RESULTS.*
	return $status
}

# Most of the time is spent waiting for time limits: all at once.
server_cases()
{
	local status=0
	grep -q '^tcp 2049' /proc/fs/nfsd/portlist || echo tcp 2049 >/proc/fs/nfsd/portlist
	baseline
	server_begin 1 opening
	server_begin 2 properties control
	server_begin 3 replies
	server_begin 4 errors memory
	server_begin 5 version1
	servers_end || status=1
	aftermath
	[ $status -eq 0 ] || complain "$(grep -c '^not ok' $RESULTS) cases went wrong, the first: $(grep -m1 -v '^ok' $RESULTS)"
}

server_walk()
{
	local status=0
	baseline
	server_begin 1 walk $SEED $((STEPS / 6))
	servers_end || status=1
	cat $RESULTS
	aftermath
	[ $status -eq 0 ]
}

SERVERS=()
SECONDS=0
t setup 120 bring_up
[ $FAILED -eq 0 ] || abort "there is no server to test with"
t setup.module 60 check_module

t server.cases 400 server_cases
case_results server
t server.walk 180 server_walk

t umount 60 umount_works
t unload.stop 60 stop_all
t unload.slab 60 no_slab_left
if [ -e /sys/kernel/debug/kmemleak ]; then
	t unload.kmemleak 120 no_leaks
fi
end_of_run
