#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The end-to-end tests: real mounts over soft-RoCE from a real nfsd in the same
# guest. One boot, many tests; see harness.sh for what is printed.
#
#   e2e.sh everything|full|reduced [PREFIX [ONLY]]
#
# "reduced" is for kernels with checkers, which are slower: less load, and iWARP. Slow tests are
# divided between "full" and "reduced": faults, forms of large messages and flavours of Kerberos
# are in one of them each. "everything" has all tests except iWARP. The tests that neither of
# the other two has make no difference to the transport, or the simulation covers them in
# seconds. $RUN/nfsio is nfsio.c, compiled on the host.
# shellcheck disable=SC2012,SC2086,SC2119,SC2120,SC2317
set -u

PROFILE=$1
PREFIX=${2:-}
ONLY=${3:-}
# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source-path=SCRIPTDIR source=work.sh
. "$(dirname "$0")/work.sh"
# shellcheck source-path=SCRIPTDIR source=krb5.sh
. "$(dirname "$0")/krb5.sh"
# shellcheck source-path=SCRIPTDIR source=hostauth.sh
. "$(dirname "$0")/hostauth.sh"
# shellcheck source-path=SCRIPTDIR source=ctl.sh
. "$(dirname "$0")/ctl.sh"
# shellcheck source-path=SCRIPTDIR source=gateway.sh
. "$(dirname "$0")/gateway.sh"
# shellcheck source-path=SCRIPTDIR source=documents.sh
. "$(dirname "$0")/documents.sh"
NFSIO=$RUN/nfsio

case $PROFILE in
everything|full)
	MAXSIZE=1100000 FIO_SIZE=8m MANY='24 12' ENTRIES=3000
	LINKS=500 BULK=24 REFUSED='3 4.0 4.1 4.2'
	ROUNDS=3 KILLS=12 RELOADS=5
	AUTH='3 4.0 4.1 4.2'
	VERSIONS='3 4.0 4.1 4.2' TROUBLE='3 4.2' IPV6='3 4.2' HUGE='3 4.2' LOCKS='3lock 4.0 4.1'
	FORMATS='special.3 special.4.2 pulled.3 pulled.4.2 continued.3 continued.4.2'
	RSIZES='1048576 32768 4096' KRB5='krb5 krb5i krb5p' FORM_WORK=work_all
	KRB5_FORMATS='special.3 special.4.2 continued.3 continued.4.2'
	if [ $PROFILE = full ]; then
		VERSIONS='3 4.2' TROUBLE=3 IPV6=4.2 HUGE=4.2
		FORMATS='special.4.2 pulled.3 continued.4.2'
		RSIZES=4096 KRB5=krb5i KRB5_FORMATS='special.4.2 continued.3'
	fi ;;
reduced)
	MAXSIZE=70000 FIO_SIZE=1m MANY='6 4' ENTRIES=400
	LINKS=60 BULK=12 REFUSED=''
	ROUNDS=2 KILLS=4 RELOADS=3
	AUTH=4.2
	VERSIONS=4.2 TROUBLE=4.2 IPV6='' HUGE='' LOCKS=''
	FORMATS=pulled.4.2 RSIZES='' KRB5=krb5p KRB5_FORMATS='' FORM_WORK='' ;;
*) echo "unknown profile: $PROFILE"; exit 2 ;;
esac

# Return true if the debug kernel would find nothing new: this is the stock kernel with the
# profile of the other.
whole() { [ $PROFILE != reduced ]; }

# The guest must not run the programs of a host on which packages are being changed: it has its
# own root, without the emulator that each such host has.
root_is_its_own()
{
	! command -v qemu-system-x86_64
	[ ! -e /var/lib/dpkg/lock ]
	command -v awk
	[ -x "$0" ]
}

# ---- work in the mount $MNT that only this program has -----------------------

# Return true when all clients of $CROWD have printed a line or ended.
crowd_is_here()
{
	grep -q '^here' /tmp/crowd.log || ! runs $CROWD
}

# with_threads N COMMAND...: run it with N threads of nfsd, which accepts 20 connections for
# each thread and 60 more.
with_threads()
{
	local threads status=0
	threads=$(cat /proc/fs/nfsd/threads)
	echo $1 >/proc/fs/nfsd/threads
	shift
	"$@" || status=$?
	echo $threads >/proc/fs/nfsd/threads
	return $status
}

# Connect $1 clients at once to a server with the memory limit of a machine with 2 GiB. All
# get an answer, and no connection is refused or closed.
crowd_at_once()
{
	local status=0
	echo 491 >/sys/module/rpcrdma/parameters/svc_max_memory
	"$RUN/hostile" crowd $ADDR4 $PORT 2 $1 || status=$?
	echo 0 >/sys/module/rpcrdma/parameters/svc_max_memory
	return $status
}

# Keep $1 clients connected and idle. A mount continues to work, and then each client gets
# another answer on its connection.
work_idle_clients()
{
	local input status=0
	rm -f /tmp/crowd
	mkfifo /tmp/crowd
	exec {input}<>/tmp/crowd
	"$RUN/hostile" crowd $ADDR4 $PORT 2 $1 stay </tmp/crowd >/tmp/crowd.log 2>&1 &
	CROWD=$!
	wait_for 120 crowd_is_here
	cat /tmp/crowd.log
	runs $CROWD
	[ "$(connections | grep -c '^role=server.* state=open ')" -gt $1 ]
	work_sizes
	echo >&$input
	wait $CROWD || status=$?
	exec {input}>&-
	tail -n 2 /tmp/crowd.log
	return $status
}

# Many entries. They are removed at the server, which is faster.
work_huge()
{
	mkdir -p $MNT/dir
	"$NFSIO" dir $MNT/dir $EXPORT/dir $1
	rm -rf $EXPORT/dir
}

# Several connections: each has conveyed messages. (6.1 opens them for NFS 3 only, and one for
# NFS 4.)
work_nconnect()
{
	local unused
	"$NFSIO" many $MNT $EXPORT 8 4 5
	[ "$(xprt_lines $MNT | wc -l)" -eq $1 ] || complain "there should be $1 transports"
	# the eighth word is the number of messages sent
	unused=$(xprt_lines $MNT | awk '$8 == 0' | wc -l)
	[ $unused -eq 0 ] || complain "$unused of the transports were not used"
}

# Replies that the server refuses after it has executed the Call: the client sends the Call
# again in a form that succeeds, and keeps its connection.
work_refused()
{
	local names before
	mkdir $EXPORT/names
	(cd $EXPORT/names && seq -f %0200.0f 3000 | xargs touch)
	before=$(connects)
	names=$(ls -U $MNT/names | wc -l)
	rm -rf $EXPORT/names
	[ "$names" -eq 3000 ] || complain "$names names were listed, not 3000"
	[ "$(connects)" -eq $before ] || complain "the client reconnected $(($(connects) - before)) times"
	connections
	[ "$(sum_of server errors_sent)" -gt 0 ] || complain "no Call was refused"
}

# With integrity and privacy, no item may be reduced, so that large messages use the formats for
# them. rsize and wsize are such that there are thousands of these. A connection may end, see
# unbroken(). If two connections with continued Calls end soon after each other, the client
# avoids such Calls for five minutes, unless the server is mounted again.
work_bulk()
{
	local megs=$1 format=$2 least=$(($1 * 100)) before
	shift 2
	for _ in 1 2 3 4 5 6; do
		before=$(connects)
		work_data $((megs << 20))
		[ "$(connects)" -ne $before ] || break
		umount_works
		mount_works "$@"
	done
	check_connections 1 calls_$format:$least replies_$format:$least
}

work_protected()
{
	work_sizes
	work_many
	! whole || work_dir
	check_connections 1
}

over_tcp()
{
	local dir=/mnt-tcp
	mkdir -p $dir
	timeout $((60 * TIMEOUT_SCALE)) mount -t nfs -o vers=4.2,proto=tcp,port=2049,sec=$1 \
		"$HOST:/" $dir || { krb5_messages; return 1; }
	ls $dir >/dev/null && umount $dir
}

# ---- faults -----------------------------------------------------------------

trouble_restart()
{
	local i before
	load_begin
	for ((i = 0; i < ROUNDS; i++)); do
		goes_on 100
		before=$(connects)
		nfsd_down
		sleep 1
		nfsd_up
		wait_for 60 connected_again $before
	done
	load_end $ROUNDS
}

# A write to a client's server address, even of the same address, makes it reconnect. A
# connection that is open is dropped, and the next one when it is open: with iWARP the second
# may be needed. siw loses data that arrives while it passes on the socket, so that neither end
# hears of the other until the time limit of the opening.
trouble_client_drop()
{
	local i f before made found=0
	load_begin
	for ((i = 0; i < ROUNDS * 2; i++)); do
		goes_on 50
		before=$(connects)
		made=$(mrs_made)
		for f in $(client_transports); do
			drop_transport $f || continue
			found=1
			wait_for 60 connected_again $before
		done
		# The counts of a transport continue with its next connection.
		wait_for 60 made_more $made || complain "mountstats had $made MRs and then $(mrs_made)"
	done
	load_end ${1:-$ROUNDS}
	[ $found -eq 1 ] || complain "no transport was found to drop"
}

# Delegations are recalled while the connection is busy with other work.
trouble_delegation()
{
	local i
	load_begin
	for ((i = 0; i < ROUNDS; i++)); do
		# The client has cached that a name did not exist.
		work_delegation -$i-
	done
	load_end
}

# The server drops the client's state and its connection.
trouble_server_drop()
{
	local i f
	load_begin
	for ((i = 0; i < ROUNDS; i++)); do
		goes_on 100
		for f in /proc/fs/nfsd/clients/*/ctl; do
			[ ! -e $f ] || timeout $((30 * TIMEOUT_SCALE)) bash -c "echo expire >$f" || true
		done
	done
	load_end
}

# Return true if $2 of the 20 faults in the folder $1 were injected.
were_injected() { [ "$(cat $1/times)" -le $((20 - $2)) ]; }

# Faults that sunrpc injects, on kernels with that: both ends drop connections at random.
trouble_injected()
{
	local d=/sys/kernel/debug/fail_sunrpc
	echo $1 >$d/ignore-client-disconnect
	echo $2 >$d/ignore-server-disconnect
	echo 1 >$d/ignore-cache-wait
	echo 0 >$d/verbose
	echo 100 >$d/interval
	echo 100 >$d/probability
	echo 20 >$d/times
	load_begin
	wait_for 60 were_injected $d 7
	echo 0 >$d/probability
	echo "$((20 - $(cat $d/times))) faults were injected"
	load_end
}

trouble_link()
{
	local i before
	load_begin
	for ((i = 0; i < ROUNDS; i++)); do
		goes_on 100
		before=$(connects)
		rdma_del
		sleep 1
		rdma_add
		# The listeners were removed with the device: nfsd creates new ones.
		nfsd_down
		nfsd_up
		wait_for 60 connected_again $before
	done
	load_end $ROUNDS
}

# The callers of RPCs in progress are killed; other data must not change.
trouble_kill()
{
	local i pids p
	load_begin
	for ((i = 0; i < KILLS; i++)); do
		pids=
		for p in 1 2 3 4; do
			if [ "${LOAD_KIND:-}" = links ]; then
				"$NFSIO" links $MNT/burn$p $EXPORT/burn$p 50 1000 $p >/dev/null 2>&1 &
			else
				"$NFSIO" burn $MNT/burn$p >/dev/null 2>&1 &
			fi
			pids="$pids $!"
		done
		sleep 0.$((RANDOM % 9 + 1))
		kill -KILL $pids
		wait $pids 2>/dev/null || true
	done
	load_end
	rm -rf $MNT/burn*
}

# A soft mount of a server that is down fails in bounded time, and works again when the server
# is up.
trouble_soft()
{
	local dir=/mnt-soft started=$SECONDS
	do_mount $1 $dir soft,timeo=20,retrans=1,noac
	echo there >$dir/soft
	nfsd_down
	if timeout -s KILL $((60 * TIMEOUT_SCALE)) stat $dir/soft >/dev/null 2>&1; then
		nfsd_up
		complain "stat succeeded without a server"
	fi
	echo "gave up after $((SECONDS - started)) s"
	nfsd_up
	wait_for 60 grep -q there $dir/soft 2>/dev/null
	umount $dir
}

# Mount while the server is down, and start it then.
trouble_late_server()
{
	local pid dir=/mnt-late
	nfsd_down
	mkdir -p $dir
	do_mount $1 $dir &
	pid=$!
	sleep 3
	nfsd_up
	# mount.nfs itself may have given up: then a second attempt has to succeed
	wait $pid || do_mount $1 $dir
	umount $dir
}

trouble_mount_loop()
{
	local i
	for ((i = 0; i < ROUNDS * 2; i++)); do
		do_mount ${1:-4.2} /mnt-loop
		echo $i >/mnt-loop/loop
		[ "$(cat $EXPORT/loop)" = $i ]
		umount /mnt-loop
	done
}

# One pool of nfsd threads for each processor, and no thread in one of them
trouble_pools()
{
	local f threads before
	nfsd_down
	echo percpu >/sys/module/sunrpc/parameters/pool_mode
	nfsd_up 4
	[ "$(wc -w </proc/fs/nfsd/pool_threads)" -gt 1 ] || complain "nfsd has one pool only"
	for threads in '0 4' '4 0'; do
		echo $threads >/proc/fs/nfsd/pool_threads
		mount_works $1
		"$NFSIO" many $MNT $EXPORT 8 4 5
		before=$(connects)
		for f in $(client_transports); do drop_transport $f; done
		"$NFSIO" many $MNT $EXPORT 8 4 6
		[ "$(connects)" -gt $before ] || complain "the connection was not dropped"
		umount_works
	done
	nfsd_down
	echo global >/sys/module/sunrpc/parameters/pool_mode
	nfsd_up
}

# ---- loading and unloading --------------------------------------------------

reload()
{
	local i
	for ((i = 0; i < RELOADS; i++)); do
		modprobe rpcrdma
		check_module
		nfsd_up
		do_mount 4.1 $MNT
		echo $i >$MNT/reload
		[ "$(cat $EXPORT/reload)" = $i ]
		dd if=/dev/zero of=$MNT/reload bs=256k count=4 status=none
		[ "$(stat -c %s $EXPORT/reload)" -eq 1048576 ]
		umount $MNT
		nfsd_down
		rmmod_works
	done
}

# Replace the device $1 by another one, $RDMA
change_device()
{
	nfsd_down
	RDMA=$1 rdma_del
	rdma_add
	nfsd_up
}

# The device is removed while nothing is mounted and nfsd listens on it.
device_goes_idle()
{
	modprobe rpcrdma
	nfsd_up
	rdma_del
	rdma_add
	nfsd_down
	rmmod_works
}

# ---- the run ----------------------------------------------------------------

bring_up()
{
	rdma_up
	nfs_services_up
	! whole || disk_up
	[ ! -d /sys/module/rpcrdma ] || complain "rpcrdma is loaded before its first use"
	nfsd_up
	grep rdma /proc/fs/nfsd/portlist
}

SECONDS=0
t setup.root 30 root_is_its_own
t setup.server 120 bring_up
[ $FAILED -eq 0 ] || abort "there is no server to test with"
t setup.module 60 check_module

for v in $VERSIONS; do
	t $v.mount 90 mount_works $v
	mountpoint -q $MNT || continue
	t $v.sizes 120 work_sizes
	t $v.fio-buffered 240 work_fio buffered 0 1k-256k
	t $v.fio-direct 240 work_fio direct 1 512-300k
	t $v.many-processes 120 work_many
	t $v.directories 120 work_dir
	if whole; then
		t $v.acl 60 work_acl $v
		case $v in 4.*) t $v.delegation 90 work_delegation ;; esac
	fi
	t $v.connection 60 work_counted 1 read_chunks write_chunks calls_inline replies_inline remote_inv
	t $v.umount 60 umount_works
done

if [ $MODULE_KIND = ours ]; then
	for format in $FORMATS; do
		v=${format#*.}
		set_format ${format%%.*}
		t $format.mount 90 mount_works $v
		mountpoint -q $MNT || continue
		t $format.all 240 work_format $v ${format%%.*} $FORM_WORK
		if [ $format = pulled.4.2 ]; then
			LOAD_KIND=links
			if [ $PROFILE = everything ]; then
				t $format.callers-killed 120 trouble_kill
				t $format.after-kill 60 check_pulled 1
				t $format.client-reconnects 120 trouble_client_drop 1
			fi
			t $format.link-replaced 180 trouble_link
			LOAD_KIND=
		fi
		t $format.umount 60 umount_works
	done
	set_format refused
	for v in $REFUSED; do
		t refused.$v.mount 90 mount_works $v
		mountpoint -q $MNT || continue
		t refused.$v.list 120 work_refused
		t refused.$v.umount 60 umount_works
	done
	set_format usual
fi

for v in $IPV6; do
	HOST=[$ADDR6]
	t ipv6.$v.mount 90 mount_works $v
	if mountpoint -q $MNT; then
		t ipv6.$v.many-processes 60 work_many
		t ipv6.$v.connection 60 check_connections 1
		t ipv6.$v.umount 60 umount_works
	fi
	unset HOST
done

! whole || t nconnect.mount 90 mount_works 3 nconnect=4
if mountpoint -q $MNT; then
	t nconnect.all-used 90 work_nconnect 4
	t nconnect.connections 60 check_connections 4
	t nconnect.umount 60 umount_works
fi

if whole && [ $MODULE_KIND = ours ]; then
	t idle.mount 90 mount_works 4.2
	if mountpoint -q $MNT; then
		t idle.clients 240 with_threads 128 work_idle_clients 2000
		t idle.umount 60 umount_works
	fi
	t idle.crowd 120 with_threads 64 crowd_at_once 600
fi

for size in $RSIZES; do
	t rsize.$size.mount 90 mount_works 4.2 rsize=$size,wsize=$size,sec=sys
	if mountpoint -q $MNT; then
		t rsize.$size.fio-direct 240 work_fio rsize 1 1k-1100k
		t rsize.$size.fio-buffered 240 work_fio rsize 0 4k-1m
		t rsize.$size.umount 60 umount_works
	fi
done

# A directory of 50,000 entries, in Replies of each form.
for v in $HUGE; do
	t huge.$v.mount 90 mount_works $v
	mountpoint -q $MNT || continue
	t huge.$v.directory 240 work_huge 50000
	t huge.$v.umount 60 umount_works
done

t krb5.setup 90 krb5_up
HOST=$KRB5_HOST
# Without them a mount waits until the daemons run.
pidof krb5kdc >/dev/null || KRB5=
for sec in $KRB5; do
	# The server of Debian's 6.1.192 refuses all Calls with privacy, over TCP as well
	# (scripts/debug-kernel.patch): the test is skipped there.
	if [ $sec != krb5p ]; then
		t $sec.tcp 90 over_tcp $sec
	elif ! over_tcp $sec >/dev/null; then
		skip $sec.mount "this kernel does not mount with sec=$sec over TCP either"
		continue
	fi
	t $sec.mount 90 mount_works 4.2 sec=$sec
	mountpoint -q $MNT || continue
	t $sec.all 240 work_protected
	! whole || t $sec.delegation 90 work_delegation
	t $sec.umount 60 umount_works
	if [ $MODULE_KIND = ours ] && [ $sec != krb5p ]; then
		set_format refused
		t $sec.refused.mount 90 mount_works 3 sec=$sec
		if mountpoint -q $MNT; then
			t $sec.refused.list 60 work_refused
			t $sec.refused.umount 60 umount_works
		fi
		set_format usual
	fi
	[ $MODULE_KIND = ours ] && [ $sec != krb5 ] || continue
	for format in $KRB5_FORMATS; do
		v=${format#*.}
		set_format ${format%%.*}
		how=("$v" "sec=$sec,rsize=8192,wsize=8192")
		t $sec.$format.mount 90 mount_works "${how[@]}"
		mountpoint -q $MNT || continue
		t $sec.$format.bulk 240 work_bulk $BULK ${format%%.*} "${how[@]}"
		t $sec.$format.directories 120 work_dir
		t $sec.$format.umount 60 umount_works
	done
	set_format usual
done
unset HOST
krb5_down

for v in $LOCKS; do
	t lock.$v.mount 90 mount_works $v
	if mountpoint -q $MNT; then
		t lock.$v.conflicts 90 "$NFSIO" lock $MNT/lock $EXPORT/lock
		t lock.$v.umount 60 umount_works
	fi
done

for v in $TROUBLE; do
	t trouble.$v.mount 90 mount_works $v
	mountpoint -q $MNT || continue
	t trouble.$v.callers-killed 120 trouble_kill
	! whole || t trouble.$v.client-reconnects 120 trouble_client_drop
	case $v in 4.*) t trouble.$v.delegation-under-load 150 trouble_delegation ;; esac
	case $v in 4.*) t trouble.$v.server-expires-client 150 trouble_server_drop ;; esac
	t trouble.$v.server-restarts 180 trouble_restart
	t trouble.$v.link-replaced 180 trouble_link
	if [ -d /sys/kernel/debug/fail_sunrpc ]; then
		t trouble.$v.injected-client-drops 150 trouble_injected 0 1
		t trouble.$v.injected-server-drops 150 trouble_injected 1 0
	fi
	t trouble.$v.works-after 60 work_many
	t trouble.$v.umount 60 umount_works
	if whole; then
		t trouble.$v.mount-loop 120 trouble_mount_loop $v
		t trouble.$v.server-late 120 trouble_late_server $v
		t trouble.$v.pools-without-threads 120 trouble_pools $v
	fi
	t trouble.$v.server-gone-soft-mount 180 trouble_soft $v
done

# iWARP, in kernels that have it: memory that a Read fills is registered there, and completions
# of Sends and Reads arrive in another order.
if ! whole; then
	RDMA=siw
	t siw.device 60 change_device rxe
	for v in 3 4.2; do
		t siw.$v.mount 90 mount_works $v
		mountpoint -q $MNT || continue
		t siw.$v.fio-direct 240 work_fio direct 1 512-300k
		case $v in
		3)
			t siw.$v.sizes 120 work_sizes
			t siw.$v.many-processes 120 work_many
			t siw.$v.directories 120 work_dir ;;
		*) t siw.$v.delegation 90 work_delegation ;;
		esac
		t siw.$v.connection 60 work_counted 1 read_chunks write_chunks calls_inline replies_inline
		t siw.$v.umount 60 umount_works
	done
	for v in $TROUBLE; do
		t siw.trouble.$v.mount 90 mount_works $v
		mountpoint -q $MNT || continue
		t siw.trouble.$v.callers-killed 120 trouble_kill
		t siw.trouble.$v.client-reconnects 120 trouble_client_drop
		# Linux 7.3 frees a GID of siw's after the device's table of GIDs: a NULL
		# pointer in free_gid_work(), in ib_core. The device of rxe is
		# replaced under load above.
		[[ $(uname -r) == 7.3.*uml ]] ||
			t siw.trouble.$v.link-replaced 180 trouble_link
		t siw.trouble.$v.umount 60 umount_works
	done
	RDMA=rxe
	t siw.over 60 change_device siw
fi

if [ $MODULE_KIND = ours ]; then
	for v in $AUTH; do t auth.$v.secret 60 auth_secret $v; done
	for how in missing revoked expired short own not_offered version_1; do
		t auth.$how 90 auth_$how
	done
	t auth.revoked-under-load 180 auth_revoked_under_load
	t auth.groups 90 auth_groups
	if grep -qx 'name *: dh' /proc/crypto; then
		# The checkers of the other kernel find more.
		if [ $PROFILE != full ]; then
			t auth.hostile-clients 180 auth_hostile_clients
			t auth.hostile-servers 240 auth_hostile_servers
		fi
		t auth.ping 60 auth_ping
	fi
	t auth.reconnects 120 auth_reconnects
	if [[ $(uname -r) == [7-9].* ]]; then
		for how in up client server down; do
			t auth.namespace-$how 120 auth_namespace_$how
		done
	fi
	t auth.off 20 auth_off
	# Virtual DMA, which User-Mode Linux has, maps nothing.
	if whole && [[ $(uname -r) != *uml ]] && modinfo rpcrdma_memdev >/dev/null 2>&1; then
		t ctl.device 240 ctl_device
		t ctl.accepts-failed 120 ctl_accepts
	fi
fi

# Slow commands, whatever the kernel
if whole; then
	t documents.server 120 documented_server
	t documents.change 120 documented_change
fi
t unload.stop 60 stop_all
t unload.repeated 240 reload
t unload.device-removed 60 device_goes_idle
t unload.slab 60 no_slab_left
if have_kmemleak; then
	t unload.kmemleak 120 no_leaks
fi
end_of_run
