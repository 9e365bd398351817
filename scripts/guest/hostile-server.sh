#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Servers that violate the protocol: a user-space program on rxe is the server of the
# kernel's client. Afterwards a mount of the real server still works, a new one succeeds,
# and no object of the hostile connections is left.
#
#   hostile-server.sh SEED STEPS SECONDS [PREFIX [ONLY]]
#
# SEED and STEPS are for the random walks, SECONDS is not used. $RUN/hostile is the program,
# compiled on the host. Each of its cases is a line of the results, too.
# shellcheck disable=SC2086,SC2119,SC2317
set -u

# shellcheck source-path=SCRIPTDIR source=aftermath.sh
. "$(dirname "$0")/aftermath.sh"
# shellcheck source-path=SCRIPTDIR source=gateway.sh
. "$(dirname "$0")/gateway.sh"

servers_end()
{
	local status=0
	servers_wait || status=1
	aftermath
	[ $status -eq 0 ] || wrong_cases
}

# Most of the time is spent waiting for time limits. Several servers therefore run at once, each
# with a share of the cases. If a case's result may depend on the version of NFS, it is run with
# both versions, otherwise with one of them.
server_cases()
{
	local i shares=3
	gateway_up
	baseline
	for ((i = 1; i <= shares; i++)); do
		server_begin $i 3 $i/$shares replies errors memory stateless \
			$((2 * i - 1))/$((2 * shares)) opening properties control version1
		server_begin $((shares + i)) 4.2 $i/$shares replies errors memory sessions \
			$((2 * i))/$((2 * shares)) opening properties control version1
	done
	# On an idle machine the wait takes 8 s.
	TIMEO=40 RETRANS=6
	server_begin $((2 * shares + 1)) 3 waiting
	server_begin $((2 * shares + 2)) 3 refusals
	# On a slow machine, several concurrent Calls must not time out with a connection.
	TIMEO=600 RETRANS=2
	server_begin $((2 * shares + 3)) 3 personalities
	server_begin $((2 * shares + 4)) 4.2 personalities.ntirpc personalities.ntirpc_small \
		personalities.libevpl
	servers_end
}

# Host authentication, which the client offers
server_auth()
{
	local i shares=6 status=0
	gateway_up
	secret_for hostile
	echo hostile >/sys/module/rpcrdma/parameters/host_identity
	baseline
	for ((i = 1; i <= shares; i++)); do
		server_begin $((10 + i)) 3 $i/$shares auth
	done
	servers_end || status=$?
	echo >/sys/module/rpcrdma/parameters/host_identity
	return $status
}

# A step takes longer than one of the client's walk, because most steps wait for a time limit.
server_walk()
{
	local i walks=3 versions=(3 4.2 3)
	gateway_up
	baseline
	for ((i = 0; i < walks; i++)); do
		server_begin $((20 + i)) ${versions[i]} walk $((SEED + i)) $((STEPS / 8 / walks))
	done
	servers_end
}

hostile_begin
t server.cases 200 server_cases
case_results server
t server.auth 120 server_auth
case_results server
t server.walk 80 server_walk
case_results server
hostile_end
