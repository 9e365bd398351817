#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guest's init, after the switch to the host's file system: set up the machine, run
# the script that this guest was started for, write its status to a file for the host,
# and stop.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb
export RUN=/run/guest
# shellcheck source=/dev/null
. $RUN/env

# end STATUS: the end of the guest
end()
{
	dmesg >$RUN/dmesg.txt
	echo $1 >$RUN/status
	sync
	# User-Mode Linux must not end during a write.
	[ $KIND != uml ] || busybox poweroff -f
	echo b >/proc/sysrq-trigger
	sleep 60
}

# "init.sh end STATUS", where another init has taken over
[ "${1:-}" != end ] || end "$2"

exec </dev/null
echo yes >$RUN/booted
stty -F $OUTPUT raw 2>/dev/null
exec >$OUTPUT 2>&1

mkdir -p /dev/pts /dev/shm /run/lock
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
ln -sf /proc/self/fd /dev/fd
[ -d /var/lock ] || mkdir -p /var/lock 2>/dev/null
hostname guest
ip link set lo up
sysctl -qw kernel.sysrq=1 kernel.printk='7 4 1 7' 2>/dev/null
# An emulated processor that the host does not schedule for a while is no lockup.
sysctl -qw kernel.watchdog_thresh=30 2>/dev/null

# The modules under test, installed as by an administrator. The module index was made on the
# host: under emulation that would take a minute.
if [ -d $RUN/modules ]; then
	mkdir -p "/lib/modules/$(uname -r)"
	cp -a $RUN/modules/. "/lib/modules/$(uname -r)/"
fi

# Shortly before the host's timeout, print the state of all processes.
[ $TIMEOUT -eq 0 ] || (
	sleep $((TIMEOUT > 60 ? TIMEOUT - 20 : TIMEOUT * 2 / 3))
	echo "guest: time is nearly up; blocked tasks and running CPUs follow" >/dev/kmsg
	echo w >/proc/sysrq-trigger
	echo l >/proc/sysrq-trigger
) &

# Each processor shows every few seconds that it runs. The host ends a guest in which one does
# not: in the others, all that remains would fail by its time limit.
show_life()
{
	local n=0
	while :; do
		n=$((n + 1))
		echo $n >"$RUN/alive.$1"
		sleep 5
	done
}
LIFE=()
if [ $TIMEOUT -ne 0 ]; then
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		show_life $cpu &
		LIFE+=($!)
		taskset -p -c $cpu $! >/dev/null
	done
fi

cd "$GUEST_CWD" 2>/dev/null || cd /
"${GUEST_ARGV[@]}"
status=$?
# A program may leave another init, which continues from here, without signs of life.
if [ $status -eq 0 ] && [ -x /run/next-init ]; then
	[ ${#LIFE[@]} -eq 0 ] || kill "${LIFE[@]}"
	wait "${LIFE[@]}" 2>/dev/null
	rm -f $RUN/alive.*
	exec /run/next-init
fi
end $status
