# SPDX-License-Identifier: GPL-2.0
# Sourced by tests in the guest: rpcrdma-ctl, and each finding of its doctor that can be
# provoked if client and server are the same host. field/ctl.sh has the findings of two hosts.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119

CTL=$RUN/ctl/rpcrdma-ctl
# The client's RDMA device and its network device
CTL_DEVICE=rxe0 CTL_NETDEV=d0
CLIENT4=${CLIENT4:-$ADDR4}
CTL_PARAMETERS=/sys/module/rpcrdma/parameters

# ctl ARG...: rpcrdma-ctl at the client's host; ctl_server ARG...: at the server's
ctl() { $CTL "$@"; }
ctl_server() { $CTL "$@"; }

# A call of rpcrdma-ctl takes seconds in a guest with checkers: look COMMAND... runs a command
# once, for several shows PATTERN, which check its output.
look()
{
	LOOKED=$*
	"$@" >/tmp/ctl.log 2>&1 || true
}

shows()
{
	grep -qE -- "$1" /tmp/ctl.log || { cat /tmp/ctl.log; complain "$LOOKED does not say: $1"; }
}

# says PATTERN COMMAND...: check that the output of the command matches the pattern
says()
{
	local pattern=$1
	shift
	look "$@"
	shows "$pattern"
}

# found CTL NAME..., not_found CTL NAME...: check that the doctor has all, or none, of these
# findings. CTL: ctl or ctl_server
found()
{
	local who=$1 name
	shift
	$who doctor >/tmp/ctl.log 2>&1 || true
	for name in "$@"; do
		grep -qF "[$name]" /tmp/ctl.log || { cat /tmp/ctl.log; complain "$who: doctor does not say $name"; }
	done
}

not_found()
{
	local who=$1 name
	shift
	$who doctor >/tmp/ctl.log 2>&1 || true
	for name in "$@"; do
		! grep -qF "[$name]" /tmp/ctl.log || { cat /tmp/ctl.log; complain "$who: doctor says $name"; }
	done
}

# numbers CTL: print the counters of all connections, a name and a number each; number NAME: of
# that output
numbers() { $1 metrics | sed -n 's/^rpcrdma_\([a-z0-9_]*\)_total /\1 /p'; }
number() { sed -n "s/^$1 //p"; }

# mark CTL...: record the counters, for growth() and raised(). Earlier tests may have raised them.
mark()
{
	local who
	for who in "$@"; do numbers $who >/tmp/numbers.$who; done
}

# growth CTL COUNTER: print how much the counter has grown since mark()
growth() { echo $(($(numbers $1 | number $2) - $(number $2 </tmp/numbers.$1))); }

# raised CTL COUNTER...: check that the counters have grown since mark(), and are findings
raised()
{
	local who=$1 name findings=()
	shift
	numbers $who >/tmp/numbers.now
	for name in "$@"; do
		[ "$(number $name </tmp/numbers.now)" -gt "$(number $name </tmp/numbers.$who)" ] ||
			complain "$who: $name has not grown" || return
		findings+=("${name//_/-}")
	done
	found $who "${findings[@]}"
}

# Keep the screens for the documents.
screen()
{
	mkdir -p $RUN/screens
	"${@:2}" >$RUN/screens/$1 2>&1 || true
}

# ---- one mount ----------------------------------------------------------------

# "status" at both ends shows the mount and its connections, and needs no privilege.
ctl_status()
{
	local before shown after
	look ctl_server status
	shows 'Module +loaded: [0-9.]+ \('
	shows "Listener +0.0.0.0:$PORT\$"
	shows "Connection +[0-9]+: server $ADDR4:$PORT - $CLIENT4:[0-9]+, version 2"
	look ctl status
	screen status cat /tmp/ctl.log
	shows "Mount +$MNT of .*NFS 4.2, rdma, connection [0-9]+"
	shows "Connection +[0-9]+: client $CLIENT4:[0-9]+ - $ADDR4:$PORT, version 2 \\(both\\)\$"
	shows "Device +$CTL_DEVICE/1 CA, Ethernet, ACTIVE.* $CTL_NETDEV \\(MTU 4200\\), RoCE v2"
	# The number is between those of debugfs, which grow when the lease is renewed.
	before=$(sum_of server sent)
	shown=$(ctl_server status --json |
		awk '/"role": "server"/ { ours = 1 } ours && /"sent":/ { gsub(/[^0-9]/, ""); print; exit }')
	after=$(sum_of server sent)
	[ $before -le $shown ] && [ $shown -le $after ] ||
		complain "$shown messages were sent, and debugfs has $before, then $after"
	says 'Connection' setpriv --reuid 65534 --regid 65534 --clear-groups $CTL status
}

# same_bytes N: check that the server has received all bytes that the client has sent, more than N
same_bytes()
{
	local sent
	sent=$(sum_of client bytes_sent)
	[ $sent -gt $1 ] && [ "$(sum_of server bytes_received)" -eq $sent ]
}

ctl_top()
{
	dd if=/dev/zero of=$MNT/top bs=64k count=64 conv=fsync 2>/dev/null
	wait_for 10 same_bytes 4194304
	load_begin 600
	look ctl top -n 1 -d 2
	load_stop
	screen top cat /tmp/ctl.log
	shows "^c $CLIENT4:[0-9]+ $ADDR4:$PORT +2 +[0-9]+ +[0-9]+ +[1-9]"
	shows "^$MNT "
	ctl metrics -o /tmp/rpcrdma.prom
	look cat /tmp/rpcrdma.prom
	screen metrics cat /tmp/ctl.log
	shows '^rpcrdma_opened_total [1-9]'
	shows "^rpcrdma_connection_version\\{role=\"client\",.*\\} 2\$"
	shows '^rpcrdma_connection_sent_total\{'
}

# ctl_trace [-i NETDEV]: check that the archive has tracepoints, the host's state, and packets
ctl_trace()
{
	ctl trace "$@" -o /tmp/ctl.tar.gz -- ls -lR $MNT >/dev/null
	rm -rf /tmp/rpcrdma-trace
	tar -C /tmp -xzf /tmp/ctl.tar.gz
	screen trace tar -tzf /tmp/ctl.tar.gz
	grep -q 'rpcrdma_send: .*xid=' /tmp/rpcrdma-trace/trace.txt ||
		{ head -n 20 /tmp/rpcrdma-trace/trace.txt; complain "no tracepoint"; }
	grep -q '"connections"' /tmp/rpcrdma-trace/status.json || complain "no status"
	[ -s /tmp/rpcrdma-trace/doctor.json ] || complain "no findings"
	grep -q rpcrdma /tmp/rpcrdma-trace/log.txt || complain "no log"
	! ls -d /sys/kernel/tracing/instances/rpcrdma-ctl.* 2>/dev/null || complain "an instance is left"
	[ $# -eq 0 ] || [ "$(stat -c %s /tmp/rpcrdma-trace/packets.pcap)" -gt 200 ] ||
		complain "no packets"
}

# ---- findings of doctor -------------------------------------------------------

# set_until_end NAME=VALUE...: set parameters of the module until restore(), or the end of the
# test
RESTORE=
set_until_end()
{
	local word name
	for word in "$@"; do
		name=$CTL_PARAMETERS/${word%%=*}
		RESTORE="echo $(cat $name) >$name; $RESTORE"
		echo ${word#*=} >$name
	done
	trap restore EXIT
}

restore()
{
	eval "$RESTORE"
	RESTORE=
}

nfsd_again()
{
	nfsd_down
	nfsd_up
}

ctl_good()
{
	not_found ctl fallback small-window small-threshold errors never-pulled \
		port-down mtu-interfaces shadowed stale in-tree-loaded no-interface
}

# The server grants few credits, and accepts only small messages.
ctl_small()
{
	set_until_end svc_max_requests=4 svc_max_req_size=4096
	mount_works 4.2
	not_found ctl small-window
	mkdir -p $MNT/many
	"$NFSIO" many $MNT/many $EXPORT/many 6 4 11
	rm -rf $MNT/many
	found ctl small-window small-threshold
	screen small cat /tmp/ctl.log
	umount_works
}

# The server refuses Calls for a list of names, because the Reply would have to be pulled and
# the settings do not permit that.
ctl_errors()
{
	set_until_end max_inline_read=4096 max_inline_write=4096 svc_max_req_size=16384 \
		max_reassembly=0 pull_replies=1 svc_expose=4096
	mount_works 4.2
	not_found ctl errors
	mkdir $EXPORT/names
	(cd $EXPORT/names && seq -f %0200.0f 300 | xargs touch)
	ls -U $MNT/names >/dev/null
	rm -rf $EXPORT/names
	found ctl errors
	found ctl_server errors
	umount_works
}

ctl_fallback()
{
	set_until_end svc_max_version=1
	nfsd_again
	mount_works 4.2
	found ctl fallback
	LOOKED='ctl doctor' shows 'uses version 1: the server has no version 2'
	screen fallback cat /tmp/ctl.log
	says '^rpcrdma_fallbacks_total [1-9]' ctl metrics
	umount_works
	restore
	nfsd_again
}

# A listener that is lost at the next start of nfsd, and no listener
ctl_listeners()
{
	found ctl_server listener-not-persistent
	mkdir -p /etc/nfs.conf.d
	printf '[nfsd]\nrdma=y\n' >/etc/nfs.conf.d/ctl.conf
	not_found ctl_server listener-missing listener-not-persistent
	rm /etc/nfs.conf.d/ctl.conf
	nfsd_down
	echo "tcp 2049" >/proc/fs/nfsd/portlist
	echo 1 >/proc/fs/nfsd/threads
	found ctl_server listener-missing
	nfsd_again
}

# A mount of a port without a listener is counted by its cause.
ctl_counters()
{
	mark ctl
	! ${NETNS:+client} mount -t nfs -o vers=4.2,proto=rdma,port=20051,soft,timeo=10,retrans=1,retry=0 $ADDR4:/ $MNT 2>/dev/null ||
		complain "it mounts"
	raised ctl rejects_no_listener connects_failed
}

# /etc/fstab has proto=rdma for a mount that uses TCP.
ctl_not_rdma()
{
	echo "tcp 2049" >/proc/fs/nfsd/portlist
	${NETNS:+client} mount -t nfs -o vers=4.2,proto=tcp,port=2049 $ADDR4:/ $MNT
	cp /etc/fstab /tmp/fstab 2>/dev/null || : >/tmp/fstab
	not_found ctl not-rdma
	echo "$ADDR4:/ $MNT nfs4 proto=rdma,port=$PORT 0 0" >>/etc/fstab
	found ctl not-rdma
	cp /tmp/fstab /etc/fstab
	umount $MNT
	nfsd_again
}

# A server that does not answer, because no device has its hardware address. The client stops
# waiting before the connection manager stops retransmitting.
ctl_unreachable()
{
	local host=${ADDR4%.*}.78 dev=${NETNS:+c0}
	mark ctl
	${NETNS:+client} ip neigh replace $host lladdr 02:00:00:00:00:78 dev ${dev:-d0} nud permanent
	mkdir -p /mnt-none
	${NETNS:+client} mount -t nfs -o vers=4.2,proto=rdma,port=$PORT $host:/ /mnt-none &
	wait_for 90 raised ctl unreachable >/dev/null
	screen unreachable cat /tmp/ctl.log
	pkill -KILL -f $host:/
	! wait $! || complain "it mounts"
	${NETNS:+client} ip neigh del $host dev ${dev:-d0}
	rmdir /mnt-none
}

# A port with GIDs of RoCE version 1 only. Soft-RoCE has no such GIDs, so other files are mounted
# over its own for the doctor.
ctl_gids()
{
	local port=/sys/class/infiniband/rxe0/ports/1 gid
	not_found ctl_server no-rocev2-gid
	mkdir /tmp/gid-types
	for gid in 0 1 2 3; do echo "IB/RoCE v1" >/tmp/gid-types/$gid; done
	mount --bind /tmp/gid-types $port/gid_attrs/types
	found ctl_server no-rocev2-gid
	umount $port/gid_attrs/types
	rm -r /tmp/gid-types
}

# Host authentication is required: without a secret, and with a secret that is too short,
# usable, or revoked.
ctl_auth()
{
	set_until_end host_auth=2 svc_host_auth=2
	drop_secret
	echo $AUTH_IDENTITY >$AUTH_PARAMETERS/host_identity
	found ctl auth-no-secret
	set_secret 15
	found ctl auth-no-secret auth-short-secret
	set_secret
	not_found ctl auth-no-secret auth-short-secret auth-revoked
	mount_works 4.2
	says "client .*, authenticated as $AUTH_IDENTITY \\(sha512\\)" ctl status
	screen auth cat /tmp/ctl.log
	says "server .*, authenticated as $AUTH_IDENTITY \\(sha512\\)" ctl_server status
	umount_works
	revoke_secret
	found ctl auth-revoked auth-no-secret
	! do_mount 4.2 2>/dev/null || complain "it mounts"
	found ctl auths-no-secret auths-failed
	screen auth-doctor cat /tmp/ctl.log
	auth_off
}

# grows COUNTER: return 0 if the counter has grown since mark(). rpcrdma-ctl uses a processor for
# a second in an emulated guest, and what is waited for needs the processor, too.
grows()
{
	sleep 1
	[ "$(growth ctl $1)" -gt 0 ]
}

DEVICE_HOST=203.0.113.9

# device_does WHAT N: make the device in memory of kunit/ fail
device_does() { echo "$1 $2" >/sys/module/rpcrdma_memdev/parameters/control; }

device_mount() { HOST=$DEVICE_HOST NETNS='' do_mount 4.2 /mnt-device; }
device_written() { dd if=/dev/zero of=/mnt-device/device bs=64k count=1 oflag=direct 2>/dev/null; }

device_up()
{
	modprobe dummy numdummies=0
	ip link add m0 type dummy
	ip link set m0 mtu 4200 up
	ip addr add $DEVICE_HOST/24 dev m0
	modprobe rpcrdma_memdev netdevs=m0
}

device_down()
{
	rm $EXPORT/device
	modprobe -r rpcrdma_memdev
	ip link del m0
}

# The device has only one more queue pair, for the client's end of a connection. Once it has one
# for the server's end, too, the mount succeeds.
ctl_accepts()
{
	device_up
	mark ctl
	device_does max_qps 1
	device_mount &
	wait_for 60 grows accepts_failed
	device_does max_qps 0
	wait $! || complain "the mount has failed"
	raised ctl accepts_failed
	screen accepts cat /tmp/ctl.log
	device_written
	umount /mnt-device
	device_down
}

# If a device fails to post, to map, to allocate MRs or to stop a queue pair, this is counted,
# and the mount works again afterwards.
ctl_device()
{
	device_up
	device_mount
	mark ctl
	device_does fail_at 1
	device_written
	device_does maps_gone 1
	device_written &
	wait_for 60 grows map_failures
	device_does maps_gone 0
	wait $!
	umount /mnt-device

	device_does mrs_gone 1
	device_mount
	device_written &
	wait_for 60 grows mr_shortages
	device_does mrs_gone 0
	wait $!

	device_does refuse_err 1000000
	umount /mnt-device
	wait_for 60 grows drains_failed
	device_does refuse_err 0
	raised ctl posts_refused map_failures mr_shortages drains_failed
	screen device cat /tmp/ctl.log
	device_mount
	device_written
	umount /mnt-device
	device_down
}

# "reload" replaces the module, and restores the server's listeners.
ctl_reload()
{
	says "$MNT is mounted: umount $MNT" ctl_server reload
	umount_works
	says 'loaded: ' ctl_server reload
	screen reload cat /tmp/ctl.log
	says "rdma $PORT" cat /proc/fs/nfsd/portlist
	mount_works 4.2
}

# ---- modules: none is loaded before or after these tests ---------------------------

ctl_modules()
{
	local base dir installed srcversion in_tree
	base=/lib/modules/$(uname -r)
	installed=$(modinfo -n rpcrdma)
	dir=${installed%/*}
	found ctl not-loaded
	# A second copy of the module, and any file with the name of another RDMA stack's module
	mkdir -p $dir/dkms
	cp $installed $dir/dkms/
	cp $installed $dir/ib_core.ko
	depmod -a
	found ctl shadowed foreign-stack
	screen shadowed cat /tmp/ctl.log
	rm -r $dir/dkms $dir/ib_core.ko
	depmod -a
	not_found ctl shadowed foreign-stack

	# A module without the netlink family, because the family has another name
	LC_ALL=C sed 's/rpcrdma\(\x00\{9\}\x01\)/rpcrdm0\1/' $installed >/tmp/old.ko
	insmod /tmp/old.ko
	found ctl no-interface
	rmmod rpcrdma

	# The installed module differs from the loaded one.
	modprobe rpcrdma
	not_found ctl stale not-loaded
	cp $installed /tmp/rpcrdma.ko
	srcversion=$(modinfo -F srcversion rpcrdma)
	LC_ALL=C sed -i "s/srcversion=$srcversion/srcversion=${srcversion//[0-9A-F]/0}/" $installed
	found ctl stale
	cp /tmp/rpcrdma.ko $installed
	modprobe -r rpcrdma

	in_tree=$(find $base/kernel -name 'rpcrdma.ko*')
	if [ -n "$in_tree" ]; then
		insmod $in_tree
		found ctl in-tree-loaded
		rmmod rpcrdma
	fi
	rm $installed
	depmod -a
	if [ -n "$in_tree" ]; then
		found ctl in-tree-installed
	else
		found ctl not-installed
	fi
	mkdir -p /usr/src/rpcrdma-v2-0
	found ctl missing-headers
	rmdir /usr/src/rpcrdma-v2-0
	cp /tmp/rpcrdma.ko $installed
	depmod -a
	not_found ctl in-tree-installed not-installed missing-headers
}
