#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The permanent setup that Documentation/ describes, followed by a boot with systemd. The boot
# must bring up the device, the server and the mount.
#
#   boot.sh [PREFIX]          write the files; init.sh boots systemd then
#   boot.sh check [PREFIX]    in the system that it booted: the tests
#
# shellcheck disable=SC2086,SC2119,SC2317
set -u

if [ "${1:-}" = check ]; then
	# Services of systemd do not inherit the environment.
	export RUN=/run/guest
	# shellcheck source=/dev/null
	. $RUN/env
	exec >$OUTPUT 2>&1
	cd "$GUEST_CWD" || exit
	shift
	checking=yes
else
	checking=
fi
PREFIX=${1:-}
# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source-path=SCRIPTDIR source=documents.sh
. "$(dirname "$0")/documents.sh"

UNITS=/etc/systemd/system

# The initial state of an administrator's host: a network device, and a file system
# to export. The pages call the device eth0.
host()
{
	mkdir -p $EXPORT
	echo "$ADDR4 server" >>/etc/hosts
	echo "$EXPORT *(rw,async,no_root_squash,no_subtree_check,fsid=0,insecure)" >/etc/exports
	cat >$UNITS/eth0.service <<-UNIT
		[Unit]
		DefaultDependencies=no
		Before=network.target nfs-server.service
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/sbin/modprobe dummy numdummies=0
		ExecStart=/sbin/ip link add eth0 type dummy
		ExecStart=/sbin/ip link set eth0 mtu 4200 up
		ExecStart=/sbin/ip addr add $ADDR4/24 dev eth0
		ExecStart=/bin/mount -t tmpfs -o mode=1777 export $EXPORT
		ExecStart=/bin/mkdir $EXPORT/export
		[Install]
		WantedBy=multi-user.target
	UNIT
	# Disable other services of this machine.
	local unit
	for unit in postgresql krb5-kdc krb5-admin-server e2scrub_reap systemd-timesyncd; do
		ln -sfn /dev/null $UNITS/$unit.service
	done
	rm -rf $UNITS/timers.target.wants
	# Do not clean /tmp, which may have the checkout.
	mkdir -p /etc/tmpfiles.d
	ln -sfn /dev/null /etc/tmpfiles.d/tmp.conf
	cat >$UNITS/check.service <<-UNIT
		[Unit]
		After=multi-user.target remote-fs.target
		[Service]
		Type=oneshot
		TimeoutStartSec=infinity
		ExecStart=/bin/bash "$(readlink -f "$0")" check $PREFIX
		ExecStopPost=/bin/bash /run/guest/init.sh end 1
	UNIT
	cat >$UNITS/check.target <<-UNIT
		[Unit]
		Requires=multi-user.target
		Wants=check.service
		After=multi-user.target
		AllowIsolate=yes
	UNIT
	ln -sfn check.target $UNITS/default.target
	systemctl -q enable eth0 nfs-server
}

# Follow the instructions of the pages.
for_good()
{
	documented administration '^.nfsd.$' >/etc/nfs.conf
	documented administration '/mnt  nfs  proto=rdma' >/etc/fstab
	documented administration '^Description=Soft-RoCE' >$UNITS/rxe0.service
	mkdir -p /mnt
	sed "s|@bindir@|$PWD/scripts/tools/ctl|" scripts/tools/ctl/rpcrdma-secrets.service.in >$UNITS/rpcrdma-secrets.service
	documented administration 'etc.rpcrdma.secrets.client' >/tmp/commands
	bash -e /tmp/commands
	# --now has no effect before the boot.
	systemctl -q enable rxe0 rpcrdma-secrets
}

# Check that the services were started and did not fail.
units_up()
{
	systemctl is-active rxe0 nfs-server || { systemctl status --no-pager rxe0 nfs-server; false; }
	rdma link show
	grep "^rdma $PORT$" /proc/fs/nfsd/portlist
	check_module
}

# The secret of the documents' example is loaded at boot, and others when the unit is reloaded.
# A file that all users can read is not loaded.
secrets_loaded()
{
	systemctl is-active rpcrdma-secrets || { systemctl status --no-pager rpcrdma-secrets; false; }
	keyctl search @u logon rpcrdma:client.example.test
	head -c 32 /dev/urandom >/etc/rpcrdma/secrets/another.example.test
	chmod 600 /etc/rpcrdma/secrets/another.example.test
	! keyctl search @u logon rpcrdma:another.example.test || complain "it is loaded already"
	systemctl reload rpcrdma-secrets
	keyctl search @u logon rpcrdma:another.example.test
	head -c 32 /dev/urandom >/etc/rpcrdma/secrets/open.example.test
	chmod 644 /etc/rpcrdma/secrets/open.example.test
	! systemctl reload rpcrdma-secrets || complain "the unit does not report a file that is not loaded"
	! keyctl search @u logon rpcrdma:open.example.test || complain "a secret that anybody can read is loaded"
	journalctl -u rpcrdma-secrets | grep 'open.example.test: not loaded: others than root have access'
	systemctl is-active rpcrdma-secrets
}

mounted()
{
	wait_for 60 mountpoint -q /mnt || { systemctl status --no-pager mnt.mount; return 1; }
	grep " /mnt nfs4 .*vers=4.2,.*proto=rdma," /proc/mounts
	echo hello >/mnt/hello
	[ "$(cat $EXPORT/export/hello)" = hello ]
	check_connections 1
}

# Replace the module without a reboot.
changed()
{
	umount /mnt
	systemctl stop nfs-server
	documented installation '^modprobe -r rpcrdma$' >/tmp/commands
	wait_for 60 modprobe -r rpcrdma
	modprobe rpcrdma
	bash -e /tmp/commands
	systemctl start nfs-server
	mount /mnt
	[ "$(cat /mnt/hello)" = hello ]
}

# Install a packet filter that drops all other packets. (Packets from a soft-RoCE device to itself
# bypass it.)
filtered()
{
	documented administration '^nft add rule' >/tmp/commands
	nft add table inet filter
	nft add chain inet filter input '{ type filter hook input priority 0; policy drop; }'
	nft add rule inet filter input iif lo meta l4proto tcp accept
	bash -e /tmp/commands
	nft list ruleset
	echo once more >/mnt/hello
	[ "$(cat $EXPORT/export/hello)" = "once more" ]
	nft list ruleset | grep -q 'udp dport 4791'
	nft delete table inet filter
}

stopped()
{
	umount /mnt
	systemctl stop nfs-server
	wait_for 60 modprobe -r rpcrdma
	systemctl stop rxe0
	[ -z "$(rdma link show)" ]
}

if [ -z "$checking" ]; then
	t documents 60 for_good
	[ $FAILED -eq 0 ] || abort "the pages have not what a boot needs"
	host
	ln -s /lib/systemd/systemd /run/next-init
	exit 0
fi

SECONDS=0
t units 60 units_up
t secrets 60 secrets_loaded
t mount 120 mounted
t another-module 120 changed
t firewall 60 filtered
t stop 120 stopped
trap '/bin/bash /run/guest/init.sh end $((FAILED > 0))' EXIT
end_of_run
