#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# For scripts/cost.sh: mount, work, and write the data for the computation of the cost to
# $RUN: kallsyms, work (printed by nfswork), idle (memory).
#
#   cost.sh rdma|tcp NFSVERS short|long|grid [MODULE-OPTION...]
#
# With "grid" the environment's ROWS are measured, each with the number of threads and the
# security flavor that its name ends with.
# shellcheck disable=SC2086
set -eu

proto=$1
vers=$2
length=$3
shift 3
TIMEOUT_SCALE=${TIMEOUT_SCALE:-1}
# shellcheck source-path=SCRIPTDIR source=nfs.sh
. "$(dirname "$0")/nfs.sh"
# shellcheck source-path=SCRIPTDIR source=krb5.sh
. "$(dirname "$0")/krb5.sh"
# shellcheck source-path=SCRIPTDIR source=work.sh
. "$(dirname "$0")/work.sh"
# shellcheck source-path=SCRIPTDIR source=hostauth.sh
. "$(dirname "$0")/hostauth.sh"

# Drop the caches, and print the free memory in KiB.
free_memory()
{
	local i
	for i in 1 2 3; do
		echo 3 >/proc/sys/vm/drop_caches
		sleep 1
	done
	awk '$1 == "MemFree:" { print $2 }' /proc/meminfo
}

# Mount $1 with the options $2; the first messages may be lost while the device
# comes up.
mount_it()
{
	local i
	for ((i = 0; i < 3; i++)); do
		if [ $proto = tcp ]; then
			mkdir -p $MNT
			timeout 60 mount -t nfs -o vers=$1,proto=tcp,port=2049$2 $ADDR4:$3 $MNT && return
		else
			do_mount $1 $MNT "${2#,}" && return
		fi
	done
	echo "cost: the mount failed"
	return 1
}

# Measure $ROWS.
grid()
{
	local row variant dir before=
	for row in $ROWS; do
		variant=${row##*.}
		dir=$MNT
		case $variant in
		threads*|krb5i) ;;
		*) variant= ;;
		esac
		if [ "$variant" != "$before" ]; then
			case $variant in
			threads*) threads=${variant#threads} ;;
			*) threads=$NFSD_THREADS ;;
			esac
			echo $threads >/proc/fs/nfsd/threads
			case $variant in
			krb5i)
				krb5_up >$RUN/krb5.log 2>&1
				umount $MNT
				HOST=$KRB5_HOST mount_it $vers ,sec=krb5i $path
				;;
			esac
			before=$variant
		fi
		case $row in
		readdir)
			mkdir -p $EXPORT/readdir-names
			(cd $EXPORT/readdir-names && seq 0 9999 | xargs touch)
			;;
		getxattr)
			disk_up
			mkdir $EXPORT/disk/getxattr-names
			(cd $EXPORT/disk/getxattr-names && seq 0 199 | xargs touch &&
				setfattr -n user.work -v "$(head -c 2048 /dev/zero | tr '\0' w)" *)
			dir=$MNT/disk
			;;
		esac
		"$RUN/nfswork" $dir $row
	done
}

# Write the addresses of functions when the work is done, because modules may be loaded for it.
symbols()
{
	cat /proc/kallsyms >/tmp/kallsyms
	grep -E '^[0-9a-f]+ [tTwW] ' /tmp/kallsyms >$RUN/kallsyms
}

# reconnects NAME COUNT: end a mount's connection and open it again, without other work
reconnects()
{
	mount_it 3 ,nolock $EXPORT
	"$RUN/nfswork" $MNT reconnect "$(client_transports)" $ADDR4 $1 $2 >>$RUN/work
	connections >>$RUN/connections || true
	do_umount $MNT
}

# Measure connections without host authentication, with it, and with Diffie-Hellman. The
# calculations of Diffie-Hellman take most of this guest's time.
connecting()
{
	reconnects connect $1
	grep -q 'role=client .*version=2' $RUN/connections || return 0
	set_secret
	set_auth 2 2
	echo 0 >$AUTH_PARAMETERS/auth_dh
	reconnects connect+auth $1
	echo 2 >$AUTH_PARAMETERS/auth_dh
	reconnects connect+auth+dh 4
	echo 1 >$AUTH_PARAMETERS/auth_dh
	# Of a connection before, the server may not have let go yet.
	[ "$(grep -c ' auth=authenticated .* auth_dh=none .*state=open ' $RUN/connections)" -eq 2 ]
	[ "$(grep -c ' auth=authenticated .* auth_dh=ffdhe3072 .*state=open ' $RUN/connections)" -eq 2 ]
	set_auth 1 1
	drop_secret
}

rdma_up
nfs_services_up
modprobe rpcrdma "$@"
# With eight threads nfsd would close the oldest of 220.
CROWD_SIZE=300
echo $((2 * CROWD_SIZE)) >/proc/fs/nfsd/max_connections
nfsd_up
path=/
[ $vers != 3 ] || path=$EXPORT
mount_it $vers "" $path
trap symbols EXIT
if [ $length = grid ]; then
	grid >$RUN/work
else
	"$RUN/nfswork" $MNT $length >$RUN/work
fi
connections | tee $RUN/connections
do_umount $MNT
case $proto.$length in
rdma.long) connecting 100 ;;
rdma.short) connecting 24 ;;
esac
cat $RUN/work
[ $length = long ] || exit 0

# The memory of an idle connection: version 3 opens the requested number of
# connections at once.
mount_it 3 ,nolock $EXPORT
do_umount $MNT
before=$(free_memory)
mount_it 3 ,nolock,nconnect=16 $EXPORT
ls $MNT >/dev/null
for i in {1..64}; do stat -c %s $MNT/none-$i 2>/dev/null || true; done
after=$(free_memory)
echo $(((before - after) / 16)) | tee $RUN/idle
do_umount $MNT
[ -n "${CROWD:-}" ] || exit 0

# A quarter of this memory is not enough for the reservations of all clients.
[ $MODULE_KIND = in-tree ] || echo 4096 >/sys/module/rpcrdma/parameters/svc_max_memory
ulimit -n $((10 * CROWD_SIZE))
"$RUN/hostile" crowd $ADDR4 $PORT $CROWD $CROWD_SIZE | tee -a $RUN/work
