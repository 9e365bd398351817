# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: a host that must refuse connections, and rpcrdma-ctl's findings there.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119

# RPCRDMA_MAX_PENDING
MAX_PENDING=1024

crowd_waits() { grep -q '^here' /tmp/crowd.log || ! runs $CROWD; }

# More connections than permitted wait for nfsd, because its only thread waits for a frozen disk.
ctl_too_many()
{
	local threads status=0 input hung=/proc/sys/kernel/hung_task_timeout_secs limit
	threads=$(cat /proc/fs/nfsd/threads)
	# The thread is blocked for minutes on a slow machine.
	limit=$(cat $hung)
	echo 0 >$hung
	mark ctl_server
	echo 1 >/proc/fs/nfsd/threads
	mount_works 4.2
	fsfreeze -f $EXPORT/disk
	timeout 300 touch $MNT/disk/frozen &
	rm -f /tmp/crowd
	mkfifo /tmp/crowd
	exec {input}<>/tmp/crowd
	client $HOSTILE crowd $ADDR4 20049 2 $MAX_PENDING wait </tmp/crowd >/tmp/crowd.log 2>&1 &
	CROWD=$!
	# Thaw the disk even if the test fails.
	wait_for 300 crowd_waits && runs $CROWD && refused_one_more || {
		cat /tmp/crowd.log
		status=1
	}
	screen too-many cat /tmp/ctl.log
	# The clients leave before the thread is free: nfsd would close all but 64 of them at once,
	# and Linux 7.x does not send so many requests to disconnect.
	echo >/tmp/crowd
	exec {input}>&-
	wait $CROWD || status=1
	fsfreeze -u $EXPORT/disk
	wait
	echo $limit >$hung
	echo $threads >/proc/fs/nfsd/threads
	umount_works
	settle
	return $status
}

refused_one_more()
{
	ping_says 4 'has refused the connection' $ADDR4
	raised ctl_server refused_too_many
}

NOT_OFFERED='rpcrdma: connection to .* closed: host authentication is required, and the peer does not take part'

names_identity()
{
	ping_fails "--identity=$1" --secret=/tmp/ping.secret
	dmesg | grep "rpcrdma: connection to .* closed: .*$1" >/dev/null
}

# A failed authentication is logged with the identity, in at most 10 lines in 5 seconds. Each
# failure is counted. With more than 128 clients, Linux 7.x sends some requests to disconnect
# late, or never if the id is destroyed first.
auth_log()
{
	local many=100 me=p.example.test began lines before
	head -c 32 /dev/urandom >/tmp/ping.secret
	set_until_end svc_host_auth=2
	# Lines of earlier tests may have used up the limit.
	wait_for 30 names_identity $me
	mark ctl_server
	before=$(dmesg | grep -c "$NOT_OFFERED" || true)
	began=$SECONDS
	client $HOSTILE crowd $ADDR4 20049 2 $many refused
	lines=$(($(dmesg | grep -c "$NOT_OFFERED") - before))
	echo "$lines lines in $((SECONDS - began)) s"
	restore
	raised ctl_server auths_not_offered auths_failed
	[ "$(growth ctl_server auths_not_offered)" -eq $many ] || complain "not all failures are counted"
	[ $lines -gt 0 ] || complain "the log has no failure"
	[ $lines -le $((10 * (2 + (SECONDS - began) / 5))) ] || complain "the log has $lines lines"
	[ $lines -lt $many ] || complain "no line was left out"
}

# If a client requires an identity of a server and version 2 gets no answer, the client does not
# try version 1, which has no authentication: neither at once nor from its version cache.
auth_peer_version_1()
{
	# Use a separate port, because versions are learned for each port.
	local port=$((PING_PORT + 1)) log=/tmp/version1-server.log server first
	# Without a secret, an attempt fails before the version matters.
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
