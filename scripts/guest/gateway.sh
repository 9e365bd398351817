# SPDX-License-Identifier: GPL-2.0
# Sourced by tests in the guest: servers of the program $HOSTILE. Each writes its results to a
# separate file. At the end the results are collected in $RESULTS.
# shellcheck shell=bash disable=SC2086,SC2119

# The hostile server is a gateway to nfsd's TCP socket, and mounts itself. An attempt of an
# RPC times out after TIMEO tenths of a second, and the RPC fails after RETRANS more attempts.
# server_begin NUMBER VERS WHAT...
SERVERS=()
SERVER_VERSIONS=()
TIMEO=80
RETRANS=2
server_begin()
{
	local i=$1 vers=$2 port=$((20100 + $1)) dir=/mnt-hostile$1 path=/
	local opts=vers=$vers,proto=rdma,port=$port,noac,soft,timeo=$TIMEO,retrans=$RETRANS,retry=0
	shift 2
	[ $vers != 3 ] || { path=$EXPORT; opts=$opts,nolock; }
	mkdir -p $dir
	"$HOSTILE" server $ADDR4 $port 2049 $dir $EXPORT \
		"mount -t nfs -o $opts,rsize=32768,wsize=32768 $ADDR4:$path $dir" \
		"umount $dir" "$@" >$RESULTS.$i 2>&1 &
	SERVERS+=($!)
	SERVER_VERSIONS[i]=$vers
}

gateway_up()
{
	grep -q '^tcp 2049' /proc/fs/nfsd/portlist || echo tcp 2049 >/proc/fs/nfsd/portlist
}

# Wait for the servers, and collect their results. Return 1 if a case failed.
servers_wait()
{
	local p dir status=0
	for p in "${SERVERS[@]}"; do
		wait $p || status=1
	done
	for p in "${!SERVER_VERSIONS[@]}"; do
		sed -E "s,^((not )?ok) ,\1 ${SERVER_VERSIONS[p]}.," $RESULTS.$p
	done >$RESULTS
	rm -f $RESULTS.*
	SERVERS=()
	SERVER_VERSIONS=()
	# of servers that ended early
	for dir in /mnt-hostile*; do
		! grep -q " $dir nfs" /proc/mounts || umount -f $dir || umount -l $dir
	done
	return $status
}
