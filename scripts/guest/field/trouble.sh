# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: a server that cannot accept connections, and a host that has to refuse
# them, until rpcrdma-ctl says so.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119

MAX_PENDING=1024

server_opened() { connections | grep -c '^role=server .* state=open '; }
opened_at_least() { [ "$(server_opened)" -ge $1 ]; }

# More connections wait for nfsd than may: its only thread waits for a frozen disk.
ctl_too_many()
{
	local crowds=() threads n hung=/proc/sys/kernel/hung_task_timeout_secs limit
	threads=$(cat /proc/fs/nfsd/threads)
	# The thread is blocked for minutes on a slow machine.
	limit=$(cat $hung)
	echo 0 >$hung
	mark ctl_server
	echo 1 >/proc/fs/nfsd/threads
	mkdir -p $MNT
	mount_works 4.2
	fsfreeze -f $EXPORT/disk
	timeout 300 touch $MNT/disk/frozen &
	# Groups, so that none waits for longer than its time limit
	for ((n = 128; n <= MAX_PENDING + 1; n += 128)); do
		client $HOSTILE crowd $ADDR4 20049 2 128 >/dev/null 2>&1 &
		crowds+=($!)
		wait_for 60 opened_at_least $n || break
	done
	client $HOSTILE crowd $ADDR4 20049 2 16 >/tmp/crowd.log 2>&1 || true
	raised ctl_server refused_too_many || { cat /tmp/crowd.log; server_opened; }
	screen too-many cat /tmp/ctl.log
	fsfreeze -u $EXPORT/disk
	kill "${crowds[@]}" 2>/dev/null || true
	wait
	echo $limit >$hung
	echo $threads >/proc/fs/nfsd/threads
	umount_works
	settle
}

# set_failing PERCENT: so many of the allocations of kernel threads fail.
set_failing()
{
	local d=/sys/kernel/debug/failslab process
	echo $1 >$d/probability
	echo -1 >$d/times
	echo 0 >$d/verbose
	echo Y >$d/task-filter
	echo N >$d/ignore-gfp-wait
	for process in /proc/[0-9]*; do
		[ -n "$(readlink $process/exe 2>/dev/null)" ] || echo $(($1 > 0)) >$process/make-it-fail
	done 2>/dev/null
}

accept_fails()
{
	client timeout -s KILL 10 $PING -t 1 -c 1 $ADDR4 >/dev/null 2>&1 || true
	[ "$(growth ctl_server accepts_failed)" -gt 0 ]
}

# Connections that the server cannot allocate
ctl_accepts_failed()
{
	local status=0
	mark ctl_server
	set_failing 2
	wait_for 60 accept_fails || status=1
	set_failing 0
	[ $status -eq 0 ] || complain "no connection failed for lack of memory" || return
	raised ctl_server accepts_failed
	screen accepts-failed cat /tmp/ctl.log
	wait_for 60 ping_says 0 'version     2' -c 2 $ADDR4
}

closings() { dmesg | grep -c 'rpcrdma: connection to .* closed: ' || true; }

# The log has no more than 10 lines in 5 seconds, however many clients fail to authenticate, and
# each of them is counted.
auth_log()
{
	local me=p.example.test i began lines pids=() before
	drop_secret $me
	head -c 32 /dev/urandom >/tmp/ping.secret
	set_until_end svc_host_auth=2
	mark ctl_server
	before=$(closings)
	began=$SECONDS
	for i in {1..60}; do
		client_begin timeout -s KILL 60 $PING -t 20 -c 1 --identity=$me --secret=/tmp/ping.secret $ADDR4 >/dev/null 2>&1
		pids+=("$CLIENT_PID")
	done
	wait "${pids[@]}" || true
	lines=$(($(closings) - before))
	echo "$lines lines in $((SECONDS - began)) s"
	dmesg | tail -n 12
	raised ctl_server auths_unknown auths_failed
	[ "$(growth ctl_server auths_unknown)" -eq 60 ] || complain "not all failures are counted"
	[ $lines -gt 0 ] || complain "the log has no failure"
	[ $lines -le $((10 * (2 + (SECONDS - began) / 5))) ] || complain "the log has $lines lines"
	[ $lines -lt 60 ] || complain "no line was left out"
	dmesg | grep "rpcrdma: connection to .* closed: .*$me" >/dev/null || complain "the log does not have the identity"
	restore
}

# A client that requires an identity of a server does not try version 1, to which it would not
# agree, when version 2 gets no answer: neither at once nor as what it has learned.
auth_peer_version_1()
{
	# Of its own: versions are learned for each port.
	local port=$((PING_PORT + 1)) log=/tmp/version1-server.log server first
	# Without a secret, no attempt gets as far as the version.
	set_secret
	client keyctl padd rpcrdma rpcrdma-peer:$ADDR4 @u <<<server.example.test >/dev/null
	"$RUN/version1-server" $port drop $ADDR4 >$log 2>&1 &
	server=$!
	wait_for 20 grep -q listening $log || complain "the server does not listen"
	first=$(dmesg | wc -l)
	cannot_mount $ADDR4 port=$port
	cannot_mount $ADDR4 port=$port
	kill $server
	wait $server 2>/dev/null || true
	client keyctl unlink "$(client keyctl search @u rpcrdma rpcrdma-peer:$ADDR4)" @u
	drop_secret
	cat $log
	dmesg | tail -n +$((first + 1))
	grep -q 'begins with version 2' $log || complain "no connection began with version 2"
	! grep 'begins with version 1' $log || complain "it began with version 1"
	! dmesg | tail -n +$((first + 1)) | grep 'trying version 1' || complain "it tried version 1"
}
