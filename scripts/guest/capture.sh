#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Captures of mounts between two hosts in one guest (see field/hosts.sh), with messages of
# each form, for Wireshark's dissector. $RUN/NAME.pcap is a capture from the connection request
# on. $RUN/NAME.connections has the counters of both ends for that time. The host decodes and
# compares them (scripts/tools/wireshark/compare.py).
#
#   capture.sh VERSIONS [PREFIX [ONLY]]
#
# VERSIONS of NFS are separated by spaces. $RUN/nfsio is nfsio.c, compiled on the host.
# shellcheck disable=SC2086,SC2119,SC2317
set -u

VERSIONS=$1
PREFIX=${2:-}
ONLY=${3:-}
# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source-path=SCRIPTDIR source=work.sh
. "$(dirname "$0")/work.sh"
# shellcheck source-path=SCRIPTDIR source=field/hosts.sh
. "$(dirname "$0")/field/hosts.sh"
# shellcheck disable=SC2034
NFSIO=$RUN/nfsio MAXSIZE=34000 ENTRIES=100
# A lease time in seconds, so that no lease is renewed before the end of a capture
LEASE=90

bring_up()
{
	hosts_up
	nfs_services_up
	client_named
	nfsd_up
}

capturing() { grep -q '^Capturing on' /tmp/dumpcap.log; }

# capture_begin NAME: set DUMPCAP to the process.
capture_begin()
{
	dumpcap -q -P -i d0 -s 0 -B 64 -f 'udp port 4791' -w $RUN/$1.pcap 2>/tmp/dumpcap.log &
	DUMPCAP=$!
	wait_for 20 capturing
}

# Read the counters, then end the capture, without a message in between.
capture_end()
{
	local i before
	for i in 1 2 3 4 5 6; do
		wait_for 30 quiet
		before=$(connections)
		[ $i -gt 1 ] || sleep 1
		if [ "$before" = "$(connections)" ]; then
			kill -INT $DUMPCAP
			wait $DUMPCAP
			[ "$before" != "$(connections)" ] || break
			complain "a message was sent while the capture ended"
		fi
	done
	echo "$before" >$RUN/$1.connections
	tail -n 2 /tmp/dumpcap.log
}

# work_captured FORMAT VERS
work_captured()
{
	local name=$1-$2
	case $1 in
	version1) echo 1 >/sys/module/rpcrdma/parameters/svc_max_version ;;
	*) set_format $1 ;;
	esac
	count_resources
	capture_begin $name
	mount_works $2
	work_sizes
	work_data 300000
	work_dir
	capture_end $name
	umount_works
	settle
	echo 2 >/sys/module/rpcrdma/parameters/svc_max_version
	set_format usual
	connections
}

SECONDS=0
t setup.hosts 300 bring_up
[ $FAILED -eq 0 ] || abort "there is no server to test with"
t setup.module 100 check_module
for format in usual special pulled continued version1; do
	for v in $VERSIONS; do
		t $format.$v 200 work_captured $format $v
	done
done
t unload.stop 100 stop_all
end_of_run
