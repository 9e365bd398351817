# SPDX-License-Identifier: GPL-2.0
# Sourced by the test programs: run the administrators' steps of Documentation/.
# shellcheck shell=bash disable=SC2086,SC2154

# documented PAGE REGEX: the first block of PAGE.rst with a line that matches
documented()
{
	local block
	block=$(awk -v regex="$2" '
		/^   / { sub(/^   /, ""); if ($0 ~ regex) found = 1; block = block $0 "\n"; next }
		/^$/ && block { block = block "\n"; next }
		found { exit }
		{ block = "" }
		END { if (found) printf "%s", block }' "$PWD/Documentation/$1.rst")
	[ -n "$block" ] || complain "$1.rst has no block with $2"
	echo "$block"
}

# Set up nfs.conf, a mount and fstab, for "server:/export" as in the pages.
documented_server()
{
	grep -q ' server$' /etc/hosts || echo "$ADDR4 server" >>/etc/hosts
	mkdir -p $EXPORT/export $MNT
	nfsd_down
	documented administration '^.nfsd.$' >/etc/nfs.conf
	rpc.nfsd
	grep "^rdma $PORT$" /proc/fs/nfsd/portlist
	# Add the listener manually as well, although it exists.
	documented administration '^echo rdma' >/tmp/commands
	! bash -e /tmp/commands 2>/dev/null || complain "the port was added twice"

	documented administration '^mount -o' >/tmp/commands
	bash -e /tmp/commands
	grep " /mnt nfs4 .*vers=4.2,.*proto=rdma," /proc/mounts
	echo hello >/mnt/hello
	[ "$(cat $EXPORT/export/hello)" = hello ]
	rm /mnt/hello
	do_umount /mnt
	documented administration '/mnt  nfs  proto=rdma' >/etc/fstab
	mount /mnt
	grep " /mnt nfs4 .*vers=4.2,.*proto=rdma," /proc/mounts
	documented_looks
	do_umount /mnt
	rmdir $EXPORT/export
}

# Read the files for diagnosis that the pages name.
documented_looks()
{
	modinfo -n rpcrdma
	rdma link show
	rdma resource show
	[ $MODULE_KIND = ours ] || return 0
	[ "$(cat /sys/module/rpcrdma/version)" = "$(modinfo -F version rpcrdma)" ]
	grep -q version= /sys/kernel/debug/rpcrdma/connections
	dmesg | grep -E 'rpcrdma|svcrdma|xprtrdma' | tail -n 3
	documented_events
}

# Check that each tracepoint is described, and that no format has a constant without a value.
documented_events()
{
	local event events=/sys/kernel/tracing/events/rpcrdma
	! grep -l RPCRDMA_ $events/*/format || complain "a format has a constant that programs cannot resolve"
	for event in $events/rpcrdma_*; do
		grep -qF "\`\`${event##*/}\`\`" "$PWD/Documentation/settings.rst" ||
			complain "settings.rst does not have ${event##*/}"
	done
}

# Replace the module and its settings while no mount or export uses it.
documented_change()
{
	nfsd_down
	documented installation '^modprobe -r rpcrdma$' >/tmp/commands
	wait_for 30 modprobe -r rpcrdma
	modprobe rpcrdma
	bash -e /tmp/commands
	[ $MODULE_KIND = ours ] || return 0
	documented settings '^echo options' >/tmp/commands
	# Each line is an alternative.
	cat /tmp/commands
	grep '^echo' /tmp/commands | bash -e
	modprobe -r rpcrdma
	modprobe rpcrdma
	[ "$(cat /sys/module/rpcrdma/parameters/svc_max_requests)" = 128 ]
	rm /etc/modprobe.d/rpcrdma.conf
	modprobe -r rpcrdma
	grep '^modprobe' /tmp/commands | bash -e
	[ "$(cat /sys/module/rpcrdma/parameters/svc_max_requests)" = 128 ]
	grep '^sysctl' /tmp/commands | sed 's/128/64/' | bash -e
	[ "$(cat /sys/module/rpcrdma/parameters/svc_max_requests)" = 64 ]
}
