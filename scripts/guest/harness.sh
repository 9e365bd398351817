# SPDX-License-Identifier: GPL-2.0
# Sourced by the test programs that run in the guest. They print
#
#   ok NAME
#   ok NAME # SKIP reason
#   not ok NAME - reason
#
# and at the end "# end of run", for which the host waits: a guest that ends without it has
# failed.
# shellcheck shell=bash disable=SC2086,SC2119

# shellcheck source-path=SCRIPTDIR source=complaints.sh
. "$(dirname "${BASH_SOURCE[0]}")/complaints.sh"
# shellcheck source-path=SCRIPTDIR source=nfs.sh
. "$(dirname "${BASH_SOURCE[0]}")/nfs.sh"

# The prefix of every name, e.g. "stock/"
PREFIX=${PREFIX:-}
# Regular expression of the names to run; empty: all.
ONLY=${ONLY:-}
FAILED=0
# Number of lines of the kernel log that have been checked.
LOG_SEEN=0
TESTLOG=/tmp/test.log

end_of_run()
{
	echo "# end of run"
	[ $FAILED -eq 0 ]
	exit
}

# Stop: later results would be meaningless.
abort()
{
	echo "# giving up: $*"
	end_of_run
}

# Set COMPLAINT to the kernel's complaints since the last call.
new_complaints()
{
	local log=/tmp/dmesg.now lines
	# The kernel log buffer is large enough never to wrap (log_buf_len).
	mapfile -s $LOG_SEEN -t lines < <(dmesg)
	LOG_SEEN=$((LOG_SEEN + ${#lines[@]}))
	printf '%s\n' "${lines[@]}" >$log
	COMPLAINT=
	[ -e /tmp/complaints ] || complaint_patterns >/tmp/complaints
	# Fast path: no line resembles a complaint.
	! grep -qaE -f /tmp/complaints $log || COMPLAINT=$(complaints <$log)
}

# Print the reason why a test may take too long.
what_hangs()
{
	local f
	echo "--- processes"
	ps -eo pid,ppid,stat,pcpu,wchan:32,args --sort=-pcpu | grep -v '\]$' | head -n 40
	for f in /sys/kernel/debug/sunrpc/rpc_clnt/*/tasks; do
		[ ! -s "$f" ] || { echo "--- $f"; head -n 10 "$f"; }
	done
	echo "--- transports"
	xprt_lines $MNT
	connections
	sleep 2
	echo "--- two seconds later"
	connections
}

# Return 0 if the child $1 is running, and not a zombie.
runs()
{
	local line
	read -r line 2>/dev/null <"/proc/$1/stat" || return
	# The state follows the name, which is in parentheses.
	line=${line##*) }
	[ "${line:0:1}" != Z ]
}

# skip NAME REASON
skip()
{
	[[ -z $ONLY || $1 =~ $ONLY ]] || return 0
	echo "ok $PREFIX$1 # SKIP $2"
}

# t NAME SECONDS COMMAND...: run one test. The command runs in a subshell with -e. It must
# succeed in time without a complaint of the kernel; if it fails, the last line that it printed
# is the reason.
t()
{
	local name=$1 limit=$(($2 * TIMEOUT_SCALE)) started=$SECONDS pid status reason
	shift 2
	[[ -z $ONLY || $name =~ $ONLY ]] || return 0
	# The debug kernel is several times slower.
	[ $KIND = stock ] || limit=$((limit * 4))
	echo "test: $PREFIX$name" >/dev/kmsg
	: >$TESTLOG
	set -m
	( set -e; "$@" ) >$TESTLOG 2>&1 &
	pid=$!
	set +m
	status=
	while [ -z "$status" ]; do
		if ! runs $pid; then
			wait $pid && status=0 || status=$?
		elif [ $((SECONDS - started)) -ge $limit ]; then
			status=hung
			echo "test: $PREFIX$name takes too long; blocked tasks follow" >/dev/kmsg
			echo w >/proc/sysrq-trigger
			echo l >/proc/sysrq-trigger
			what_hangs >>$TESTLOG 2>&1
			kill -KILL -- -$pid
		else
			pause
		fi
	done
	new_complaints
	reason=
	if [ "$status" = hung ]; then
		reason="not done after $limit s"
	elif [ -n "$COMPLAINT" ]; then
		reason="the kernel complained: $(head -n 1 <<<"$COMPLAINT")"
	elif [ $status -ne 0 ]; then
		reason=$(tail -n 1 $TESTLOG)
		reason=${reason:-"exit status $status"}
	fi
	if [ -z "$reason" ]; then
		echo "ok $PREFIX$name ($((SECONDS - started)) s)"
		tail -n 6 $TESTLOG | sed 's/^/#   /'
		return 0
	fi
	echo "not ok $PREFIX$name - $reason"
	tail -n 60 $TESTLOG | sed 's/^/#   /'
	[ -z "$COMPLAINT" ] || head -n 20 <<<"$COMPLAINT" | sed 's/^/#   kernel: /'
	FAILED=$((FAILED + 1))
	# After a hang, results are meaningless; after a report, the debug kernel's checkers
	# are off.
	[ "$status" != hung ] || abort "$name hangs"
	! grep -qE 'BUG:|Oops' <<<"$COMPLAINT" || abort "the kernel is not to be trusted any more"
	[ -z "$COMPLAINT" ] || [ $KIND = stock ] || abort "the kernel's checkers stop at the first report"
	return 1
}

# complain MESSAGE: print the reason for which a test fails.
complain()
{
	echo "$*"
	return 1
}

# Check that the module under test is loaded, and not the in-tree one.
check_module()
{
	local file
	file=$(modinfo -n rpcrdma)
	case $MODULE_KIND in
	ours) [[ $file == */updates/* ]] || complain "modprobe would load $file" ;;
	*) [[ $file == */kernel/* ]] || complain "modprobe would load $file" ;;
	esac
	[ -d /sys/module/rpcrdma ] || complain "rpcrdma is not loaded"
	if [ -e /sys/module/rpcrdma/srcversion ]; then
		[ "$(modinfo -F srcversion rpcrdma)" = "$(cat /sys/module/rpcrdma/srcversion)" ] ||
			complain "another rpcrdma is loaded than $file"
	fi
}

# Check the connections of which both ends are in this guest: COUNT of the client
# and no fewer of the server, open, of version 2, without protocol errors, and
# within their credits.
# check_connections COUNT [KEY[:N]...]: the sum of each KEY over the client's
# connections must be above zero, or above N.
check_connections()
{
	local lines
	[ $MODULE_KIND = ours ] || return 0
	lines=$(connections) || complain "/sys/kernel/debug/rpcrdma/connections does not exist"
	echo "$lines"
	# All in one process: each process takes long in the debug kernel.
	awk -v count="$1" -v wanted="${*:2}" '
		function complain(what) { if (!bad++) print what }
		{
			split("", f)
			for (i = 1; i <= NF; i++)
				f[substr($i, 1, index($i, "=") - 1)] = substr($i, index($i, "=") + 1)
		}
		f["state"] != "open" { next }
		{
			open[f["role"]]++
			if (f["version"] != 2)
				complain("a connection is not of version 2")
			if (f["limit"] - f["sent"] < 0)
				complain("a connection exceeded the limit of its peer")
			if (f["errors_sent"] != 0 || f["errors_received"] != 0)
				complain("a connection has errors")
		}
		f["role"] == "client" { for (key in f) sum[key] += f[key] }
		END {
			if (open["client"] != count)
				complain("there should be " count " open connections of the client")
			if (open["server"] + 0 < count)
				complain("the server shows fewer than " count " open connections")
			for (i = split(wanted, keys, " "); i > 0; i--) {
				split(keys[i], k, ":")
				if (sum[k[1]] + 0 <= k[2] + 0)
					complain(k[1] " is " (sum[k[1]] + 0) ", not above " (k[2] + 0))
			}
			exit bad > 0
		}' <<<"$lines"
}

# Print the objects that the devices count. The number of a device is left out, because it
# changes when the device is created again.
resources()
{
	rdma resource show | sed 's/^[0-9]*: //; s/ mr [0-9]*//' | sort
}

# Print how many connections there are, without starting a process.
count_connections()
{
	local lines=()
	[ ! -r $CONNECTION_LINES ] || mapfile -t lines <$CONNECTION_LINES
	echo ${#lines[@]}
}

count_resources()
{
	CONNECTIONS=$(count_connections)
	RESOURCES=$(resources)
}

settled()
{
	[ "$(count_connections)" -eq $CONNECTIONS ] && [ "$(resources)" = "$RESOURCES" ]
}

# Wait until connections and devices are as count_resources() found them.
settle()
{
	if ! wait_for 30 settled; then
		connections
		echo "$CONNECTIONS connections, $RESOURCES; and now:"
		resources
		complain "resources of closed connections are left"
	fi
}

# Check that no objects of the RDMA transports are left.
check_unloaded()
{
	local f
	[ ! -d /sys/module/rpcrdma ] || complain "rpcrdma is still loaded"
	[ ! -d /sys/kernel/debug/rpcrdma ] || complain "/sys/kernel/debug/rpcrdma still exists"
	! ls /proc/sys/sunrpc/rdma_* /proc/sys/sunrpc/svc_rdma 2>/dev/null || complain "sysctls are left"
	# The in-tree module leaks the connections of the reverse direction, and
	# reading their state is an oops.
	[ $MODULE_KIND = ours ] || return 0
	for f in /sys/kernel/debug/sunrpc/rpc_xprt/*/info; do
		[ -e "$f" ] || continue
		if grep -q rdma "$f"; then
			cat "$f"
			complain "$f is left"
		fi
	done
}

# mount_works VERS [OPTION,...]: mount on $MNT, and check that a file written there exists at
# the server
mount_works()
{
	local vers=$1 line
	do_mount $vers $MNT ${2:-}
	line=$(grep " $MNT nfs" /proc/mounts)
	echo "$line"
	[[ $line =~ proto=rdma6?, ]] || complain "the mount is not over RDMA"
	case $vers in 3lock) vers=3 ;; esac
	[[ $line == *vers=$vers,* ]] || complain "the mount is not of version $vers"
	echo hello >$MNT/hello
	read -r line <$EXPORT/hello
	[ "$line" = hello ] || complain "the file has another content"
}

umount_works()
{
	do_umount $MNT
	! grep " $MNT nfs" /proc/mounts || complain "$MNT is still mounted"
}

stop_all()
{
	! grep ' nfs4\? .*proto=rdma' /proc/mounts || complain "a mount over RDMA is left"
	nfsd_down
	rmmod_works
}

rmmod_works()
{
	# the last transports are destroyed by a work queue
	wait_for 30 modprobe -r rpcrdma
	check_unloaded
}

# Check for slab objects of this module, and for reports of kmemleak.
no_slab_left()
{
	! grep -iE 'rpcrdma|xprtrdma|svcrdma' /proc/slabinfo || complain "slab caches are left"
}

# A kernel parameter may have disabled it.
have_kmemleak()
{
	echo stack=on 2>/dev/null >/sys/kernel/debug/kmemleak
}

no_leaks()
{
	# An object must be unreferenced in two scans, and old enough.
	echo scan >/sys/kernel/debug/kmemleak
	sleep 6
	echo scan >/sys/kernel/debug/kmemleak
	cat /sys/kernel/debug/kmemleak
	[ -z "$(cat /sys/kernel/debug/kmemleak)" ] || complain "memory was leaked"
}
