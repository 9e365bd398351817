# SPDX-License-Identifier: GPL-2.0
# Sourced by the test programs: work in the mount $MNT, one function for each kind of work, and
# checks of reconnects. $EXPORT shows the server's files in another way than the mount under
# test: it is the export itself, or the export mounted over another transport. MAXSIZE,
# FIO_SIZE, MANY, ENTRIES and LINKS set the amount of work; NFSIO is the program built from
# nfsio.c.
# shellcheck shell=bash disable=SC2012,SC2086,SC2154

# at_server COMMAND: run it at the server, with a time limit
at_server()
{
	timeout $((30 * TIMEOUT_SCALE)) bash -c "$1"
}

work_sizes()
{
	"$NFSIO" sizes $MNT $EXPORT $MAXSIZE
}

# work_fio NAME DIRECT BLOCKSIZES: write at random offsets, read back and verify. Then drop the
# caches, and compare the server's copy with the mount's content.
work_fio()
{
	local file=fio-$1
	fio --name=$file --filename=$MNT/$file --rw=randwrite --bs=$3 \
		--size=$FIO_SIZE --direct=$2 --ioengine=libaio --iodepth=8 \
		--verify=crc32c --verify_fatal=1 --randseed=7 --do_verify=1 \
		--output-format=terse --output=/tmp/fio.out || complain "fio failed"
	echo 3 >/proc/sys/vm/drop_caches
	cmp $MNT/$file $EXPORT/$file
	rm $MNT/$file
}

work_many()
{
	mkdir -p $MNT/many
	"$NFSIO" many $MNT/many $EXPORT/many $MANY 11
	rm -rf $MNT/many
}

work_dir()
{
	mkdir -p $MNT/dir
	"$NFSIO" dir $MNT/dir $EXPORT/dir $ENTRIES
	[ "$(ls -A $EXPORT/dir | wc -l)" -gt $ENTRIES ]
	rm -rf $MNT/dir
	[ ! -e $EXPORT/dir ] || complain "rm -rf left files"
}

# Set and read ACLs and extended attributes. NFS 3 conveys POSIX ACLs in a side protocol, 4 has
# its own ACLs, and 4.2 has extended attributes. Long ones need chunks.
work_acl()
{
	local f=acl$1 i value
	: >$MNT/$f
	case $1 in
	3)
		for ((i = 0; i < 300; i++)); do echo "u:$((10000 + i)):r-x"; done >/tmp/acl
		setfacl -M /tmp/acl $MNT/$f
		[ "$(getfacl -cnp $EXPORT/$f | md5sum)" = "$(getfacl -cnp $MNT/$f | md5sum)" ] ||
			complain "the mount and the export show different ACLs"
		[ "$(getfacl -cnp $MNT/$f | grep -c '^user:1')" -eq 300 ] || complain "the ACL is not complete"
		;;
	*)
		for ((i = 0; i < 60; i++)); do echo "A::$((10000 + i)):rx"; done >/tmp/acl
		nfs4_setfacl -A /tmp/acl $MNT/$f
		nfs4_getfacl $MNT/$f >/tmp/acl.out
		[ "$(grep -c '^A::10' /tmp/acl.out)" -eq 60 ] || complain "the ACL is not complete"
		[ "$(getfacl -cnp $EXPORT/$f | grep -c '^user:10')" -eq 60 ] ||
			complain "the server has another ACL"
		;;
	esac
	# Extended attributes need a disk file system, which some of the servers lack.
	if [ $1 = 4.2 ] && mountpoint -q $EXPORT/disk; then
		f=disk/xattr
		: >$MNT/$f
		for ((i = 1; i < 4000; i = i * 2 + 1)); do
			value=$(head -c $i /dev/zero | tr '\0' x)
			setfattr -n user.a$i -v "$value" $MNT/$f
			[ "$(getfattr --absolute-names --only-values -n user.a$i $EXPORT/$f)" = "$value" ] ||
				complain "an attribute of $i bytes did not reach the server"
			setfattr -x user.a$i $MNT/$f
			# Use a name that the client has not cached.
			setfattr -n user.b$i -v "$value" $EXPORT/$f
			echo 2 >/proc/sys/vm/drop_caches
			[ "$(getfattr --absolute-names --only-values -n user.b$i $MNT/$f)" = "$value" ] ||
				complain "an attribute of $i bytes was read back with another value"
			getfattr --absolute-names $MNT/$f | grep -q user.b$i || complain "listing the attributes failed"
			setfattr -x user.b$i $EXPORT/$f
		done
	fi
	rm -f $MNT/$f $MNT/acl$1
}

# delegations NAME: print how many the server has granted for the file
delegations()
{
	at_server "cat /proc/fs/nfsd/clients/*/states 2>/dev/null | grep -c 'type: deleg.*[/\"]$1\"'"
}

# Print how often the client returned a delegation.
delegreturns()
{
	awk '$1 == "DELEGRETURN:" { n += $2 } END { print n + 0 }' /proc/self/mountstats
}

returned_more() { [ "$(delegreturns)" -gt $1 ]; }

# Get a read delegation, and recall it by a write at the server, over the reverse direction. The
# client returns it and reads the new data.
work_delegation()
{
	local i returned name=deleg${1:-}
	returned=$(delegreturns)
	# The server grants no delegation while it checks the callback's path, nor for a file
	# with a recent conflict.
	for ((i = 0; i < 20; i++)); do
		at_server "echo before >$EXPORT/$name$i"
		sleep 0.5
		exec 7<$MNT/$name$i
		[ "$(cat <&7)" = before ]
		[ "$(delegations $name$i)" -eq 0 ] || break
		exec 7<&-
	done
	[ "$(delegations $name$i)" -gt 0 ] || complain "the server granted no delegation"
	at_server "echo after >$EXPORT/$name$i" ||
		complain "the conflicting write failed"
	[ "$(delegations $name$i)" -eq 0 ] || complain "the delegation remains after the conflicting write"
	# The server completes the recall before the client counts its DELEGRETURN.
	wait_for 20 returned_more $returned || complain "the client did not return the delegation"
	[ "$(cat $MNT/$name$i)" = after ] || complain "the client shows the old content"
	exec 7<&-
	rm -f $MNT/$name*
	echo "recalled and returned; DELEGRETURN $returned -> $(delegreturns)"
}

# xprt_sum N: the sum of word N of the mount's "xprt: rdma" lines, counted from 1. No process is
# started.
xprt_sum()
{
	local w mine='' n=0
	while read -r -a w; do
		case ${w[0]:-} in
		device) [ ${w[4]} = $MNT ] && mine=1 || mine= ;;
		xprt:) [ -z "$mine" ] || [ ${w[1]} != rdma ] || n=$((n + ${w[$1 - 1]})) ;;
		esac
	done </proc/self/mountstats
	echo $n
}

# Print how often the mount's transports have connected.
connects() { xprt_sum 5; }

# Print how many MRs the mount's transports have allocated.
mrs_made() { xprt_sum 26; }
made_more() { [ "$(mrs_made)" -gt $1 ]; }

# Return true if the mount has connected more than $1 times. A client that was rejected waits
# for 5 s and more: send a request, so that it tries.
connected_again()
{
	[ "$(connects)" -le "$1" ] || return 0
	timeout -s KILL 5 stat -f $MNT >/dev/null 2>&1 || true
	[ "$(connects)" -gt "$1" ]
}

# Print the number of Replies that the mount has received.
answered() { xprt_sum 9; }
answered_more() { [ "$(answered)" -gt $1 ]; }

# goes_on COUNT: wait until the mount has received COUNT more Replies.
goes_on()
{
	wait_for 60 answered_more $(($(answered) + $1)) || { what_hangs; complain "the mount gets no Replies"; }
}

# unbroken COMMAND...: run it again if a connection ended meanwhile, which happens occasionally
# on a busy machine. When rxe retransmits, it executes registrations again; and when a Call is
# overtaken by 128 others, in transit or in nfsd's threads, nfsd's RPCSEC_GSS drops it and
# closes the connection. The counts of a new connection start at 0.
unbroken()
{
	local before
	for _ in 1 2 3 4 5 6; do
		before=$(connects)
		"$@"
		[ "$(connects)" -ne $before ] || break
	done
}

# work_data BYTES: read and write files of that many bytes that the client has not cached
work_data()
{
	# Create the files at the server, so that the client has not cached them.
	"$NFSIO" tree $EXPORT/data-in 3 0 $1
	cp -r $EXPORT/data-in $MNT/data-out
	diff -r $EXPORT/data-in $EXPORT/data-out
	diff -r $EXPORT/data-in $MNT/data-in
	rm -rf $MNT/data-in $MNT/data-out
}

# Call check_connections for a connection that has conveyed at least this work.
work_counted()
{
	unbroken work_data 400000
	check_connections "$@"
}

# Print the sum of field $2 over the open connections of role $1.
sum_of()
{
	local n=0 v
	for v in $(connections | grep "^role=$1 .* state=open " | field $2); do n=$((n + v)); done
	echo $n
}

# Set how the next connections convey large messages. "special", "pulled" and "continued" also
# set the smallest inline threshold, so that most messages are large. "refused": the client
# relies on pulling Replies that are larger than the server exposes. "usual": the defaults.
set_format()
{
	local p=/sys/module/rpcrdma/parameters inline=1024 reassembly=262144 pull=1
	local expose=16777216
	case $1 in
	special) reassembly=0 pull=0 ;;
	pulled) reassembly=0 ;;
	continued) ;;
	refused) inline=4096 reassembly=0 expose=4096 ;;
	usual) inline=20480 ;;
	*) complain "unknown format: $1" ;;
	esac
	set_inline $inline 20480
	echo $reassembly >$p/max_reassembly
	echo $pull >$p/pull_replies
	echo $expose >$p/svc_expose
}

# Read links with long targets in several processes. The maximum length of each Reply is large,
# but few Replies are large.
work_links()
{
	local i bad='' pids=()
	for i in 1 2 3 4; do
		"$NFSIO" links $MNT/links$i $EXPORT/links$i $LINKS 0 $i &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait $i || bad=1; done
	rm -rf $EXPORT/links*
	[ -z "$bad" ] || complain "symbolic links were not read correctly"
}

none_exposed() { [ "$(sum_of server exposed_octets)" -eq 0 ]; }

# Check that at least $1 Replies were pulled, and that none is still exposed.
check_pulled()
{
	local pulled
	wait_for 20 none_exposed
	connections
	pulled=$(sum_of client replies_to_pull)
	[ $pulled -ge $1 ] || complain "only $pulled Replies were pulled, not $1"
	[ "$(sum_of client dones_sent)" -eq $pulled ] || complain "not every Reply that was pulled got a DONE"
	[ "$(sum_of server dones_received)" -eq $pulled ] || complain "DONEs were lost"
	[ "$(sum_of server replies_exposed)" -eq $pulled ] || complain "the server exposed Replies that were not pulled"
	[ "$(sum_of server dones_overdue)" -eq 0 ] || complain "the server ended exposures without DONE"
	[ "$(sum_of server remote_inv)" -ge $pulled ] || complain "DONE was sent without remote invalidation"
}

work_all()
{
	work_sizes
	work_dir
	work_acl $1
}

# work_format VERS FORMAT [WORK]: test a format of large messages. With small thresholds and
# without continuation, they are conveyed by Position Zero Read chunk and Reply chunk, or are
# pulled from the server. With continuation, they are continued. WORK has large Calls and
# precedes the links, which have large Replies.
work_format()
{
	[ -z "${3:-}" ] || unbroken $3 $1
	case $2 in
	special) check_connections 1 calls_special replies_special reply_chunks ;;
	pulled)
		[ -z "${3:-}" ] || check_connections 1 calls_special
		unbroken work_links
		check_connections 1 replies_special replies_to_pull dones_sent
		[ "$(sum_of client reply_chunks)" -eq 0 ] || complain "Reply chunks were provided"
		check_pulled $((LINKS * 4)) ;;
	*) check_connections 1 calls_$2 replies_$2 ;;
	esac
}

# has FILE WORDS: return 0 if the file exists and has these words. No process is started.
has()
{
	local text=
	{ read -r -d '' text <$1; } 2>/dev/null || true
	[[ $text == *$2* ]]
}

# Print the sysfs folders of the connected transports to the server. SYSFS is the mount point
# of sysfs of the client's network namespace.
client_transports()
{
	local f
	for f in ${SYSFS:-/sys}/kernel/sunrpc/xprt-switches/switch-*/xprt-*-rdma; do
		# Transports of the reverse direction have another port.
		! has $f/xprt_info dst_port=$PORT || ! has $f/xprt_state CONNECTED || echo $f
	done
}

# Drop the connection of the transport in the folder $1. Fail if its lock was never free,
# because the transport is then still connected.
drop_transport()
{
	"$NFSIO" drop $1/dstaddr $ADDR4 $((10 * TIMEOUT_SCALE)) ||
		! has $1/xprt_state CONNECTED
}

# Start loads in the mount, which run until load_end, or for $1 seconds at most. LOAD_KIND is
# "links" for Replies that are pulled, or NAMES or XATTRS for random operations on names and on
# extended attributes.
LOADS=()
load_begin()
{
	local seconds=${1:-600} i load
	CONNECTS=$(connects)
	LOADS=()
	for i in 1 2 3; do
		case ${LOAD_KIND:-} in
		links) load="links $MNT/load$i $EXPORT/load$i 50 $seconds $i" ;;
		?*) load="stress $MNT/load$i $EXPORT/load$i $seconds $i $LOAD_KIND" ;;
		*) load="load $MNT/load$i $EXPORT/load$i $seconds $i" ;;
		esac
		"$NFSIO" $load >/tmp/load$i.log 2>&1 &
		LOADS+=($!)
	done
	# If the test fails, they must not disturb the next one.
	trap 'kill "${LOADS[@]}" 2>/dev/null || true' EXIT
	goes_on 50
}

# load_end [N]: wait until the loads have gone on after the last fault, and stop them.
load_end()
{
	goes_on 50
	load_stop "$@"
}

# load_stop [N]: stop the loads, and wait for their verification. The client must have reconnected
# N times since they began.
load_stop()
{
	local i bad=
	kill -TERM "${LOADS[@]}" 2>/dev/null || true
	for i in 1 2 3; do
		wait ${LOADS[i - 1]} || bad="$bad $i"
		echo "load $i: $(</tmp/load$i.log)"
	done
	LOADS=()
	rm -rf $MNT/load*
	[ -z "$bad" ] || complain "load$bad: $(cat /tmp/load${bad##* }.log)"
	i=$(($(connects) - CONNECTS))
	echo "reconnected $i times"
	[ $i -ge ${1:-0} ] || complain "the client should have reconnected $1 times, but did $i times"
}
