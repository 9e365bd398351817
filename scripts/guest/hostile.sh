#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Clients that keep no rule: a user-space program on rxe plays the client of the
# kernel's server. After each group of cases a mount that was there all the time
# still works, another one can be made, and nothing of the hostile connections is
# left.
#
#   hostile.sh SEED STEPS [PREFIX [ONLY]]
#
# SEED and STEPS are the random walk's. $RUN/hostile is the program, compiled
# on the host; each of its cases is a line of results, too.
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

# Beside those who hoard, one who was there before works on. Its slowest round is
# shown, and has a bound that is none of the machine's.
client_pressure()
{
	local status=0 peer rounds=0 begun took slowest=0
	baseline
	cp /proc/sys/kernel/random/uuid /tmp/good
	"$HOSTILE" client $ADDR4 $PORT pressure >$RESULTS &
	peer=$!
	while runs $peer || [ $rounds -eq 0 ]; do
		begun=$SECONDS
		cp /tmp/good $MNT/beside
		echo 3 >/proc/sys/vm/drop_caches
		cmp $MNT/beside /tmp/good
		took=$((SECONDS - begun))
		[ $took -le $slowest ] || slowest=$took
		rounds=$((rounds + 1))
	done
	wait $peer || status=$?
	rm -f $MNT/beside
	echo "$rounds rounds of a mount beside it, the slowest took $slowest s"
	[ $slowest -lt $((30 * TIMEOUT_SCALE)) ] || complain "a mount stood still for $slowest s"
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
	t client.$group 120 client_cases $group
	case_results client
done
t client.pressure 60 client_pressure
case_results client
t client.walk 180 client_walk
hostile_end
