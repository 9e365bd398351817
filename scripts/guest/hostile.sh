#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Clients that violate the protocol: a user-space program on rxe is the client of the
# kernel's server. After each group of cases, a mount that existed throughout still works,
# a new one succeeds, and no object of the hostile connections is left.
#
#   hostile.sh SEED STEPS SECONDS [PREFIX [ONLY]]
#
# SEED and STEPS are for the random walk. SECONDS is the duration of each load with
# hoarders, and of each load that it is compared with; 0 skips these. $RUN/hostile is
# the program, compiled on the host. Each of its cases is a line of the results, too.
# shellcheck disable=SC2086,SC2119,SC2317
set -u

# shellcheck source-path=SCRIPTDIR source=aftermath.sh
. "$(dirname "$0")/aftermath.sh"

client_cases()
{
	local status=0
	baseline
	"$HOSTILE" client $ADDR4 $PORT $1 >$RESULTS || status=$?
	aftermath
	[ $status -eq 0 ] || wrong_cases
}

# While hoarders connect, an existing client continues to work. Print its slowest round;
# the bound does not depend on the machine.
client_pressure()
{
	local status=0 peer rounds=0 begun took slowest=0
	baseline
	cp /proc/sys/kernel/random/uuid /tmp/good
	"$HOSTILE" client $ADDR4 $PORT pressure >$RESULTS &
	peer=$!
	while runs $peer || [ $rounds -eq 0 ]; do
		begun=$SECONDS
		cp /tmp/good $MNT/bystander
		echo 3 >/proc/sys/vm/drop_caches
		cmp $MNT/bystander /tmp/good
		took=$((SECONDS - begun))
		[ $took -le $slowest ] || slowest=$took
		rounds=$((rounds + 1))
	done
	wait $peer || status=$?
	rm -f $MNT/bystander
	echo "$rounds rounds of work in another mount, the slowest took $slowest s"
	[ $slowest -lt $((30 * TIMEOUT_SCALE)) ] || complain "the other mount made no progress for $slowest s"
	aftermath
	[ $status -eq 0 ] || wrong_cases
}

# load_of NAME takes|hoards [RATE]: measure the latency of a mount's operations while other
# clients load the server in this manner, with RATE Calls per second if given. Sets FIGURES to
# the median and the 95th percentile in microseconds, the bytes held by the server, the bytes
# by which the slab has grown, and the Calls per second.
load_of()
{
	local peer slab latency words status=0
	slab=$(slab_objects)
	"$HOSTILE" client $ADDR4 $PORT load "$@" >$RESULTS.load &
	peer=$!
	sleep 1
	latency=$("$HOSTILE" bystander $MNT $PRESSURE) || status=$?
	slab=$(($(slab_objects) - slab))
	kill $peer || status=$?
	wait $peer || status=$?
	[ $status -eq 0 ] || complain "$1, $2: $latency $(cat $RESULTS.load)"
	read -ra words <<<"$latency $(cat $RESULTS.load)"
	FIGURES=("${words[3]}" "${words[5]}" "${words[7]}" $((slab * 4096)) "${words[17]}")
	echo "# $1, $2: $latency us, $(cat $RESULTS.load), slab ${FIGURES[3]}" >>$RESULTS
	rm -f $RESULTS.load
}

# With clients that receive none of their Replies, another mount is at most half as fast as with
# clients that receive them and have the same number of Calls, in all and outstanding. One
# success in three attempts is sufficient, because this machine may have become busy meanwhile.
no_slower()
{
	local good _
	for _ in 1 2 3; do
		load_of $1 takes
		good=${FIGURES[0]}
		load_of $1 hoards ${FIGURES[4]}
		[ ${FIGURES[2]} -le $((LIMIT << 20)) ] || complain "$1: the server holds ${FIGURES[2]} bytes"
		[ ${FIGURES[3]} -le $((LIMIT << 20)) ] || complain "$1: slab objects have ${FIGURES[3]} bytes"
		[ ${FIGURES[0]} -gt $((2 * good)) ] || return 0
	done
	complain "$1: ${FIGURES[0]} us with hoarders, and $good with other clients"
}

# Here svc_max_memory is LIMIT MiB.
LIMIT=128
client_latency()
{
	local load
	baseline
	echo $LIMIT >/sys/module/rpcrdma/parameters/svc_max_memory
	echo "# alone: $("$HOSTILE" bystander $MNT $PRESSURE) us" >$RESULTS
	for load in replies exposed parts chunks windows; do
		no_slower $load
	done
	echo 0 >/sys/module/rpcrdma/parameters/svc_max_memory
	rm -f $MNT/bystander
	aftermath
}

# Host authentication, required of the program's clients
client_auth()
{
	local status=0
	secret_for hostile
	baseline
	echo 2 >/sys/module/rpcrdma/parameters/svc_host_auth
	"$HOSTILE" client $ADDR4 $PORT auth >$RESULTS || status=$?
	echo 1 >/sys/module/rpcrdma/parameters/svc_host_auth
	aftermath
	[ $status -eq 0 ] || wrong_cases
}

client_walk()
{
	baseline
	"$HOSTILE" client $ADDR4 $PORT walk $SEED $STEPS
	aftermath
}

hostile_begin
for group in prefix opening properties messages credits chunks placing pulling continuation version1 leaving; do
	t client.$group 40 client_cases $group
	case_results client
done
t client.auth 60 client_auth
case_results client
t client.pressure 60 client_pressure
case_results client
if [ $PRESSURE -gt 0 ]; then
	t client.latency $((120 + 30 * PRESSURE)) client_latency
	case_results client
fi
t client.walk 60 client_walk
hostile_end
