# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: mounts over iWARP (siw). The destination of a Read must be registered,
# and completions of Sends and Reads arrive in another order. siw works only in the initial
# network namespace, so both ends are outside $NETNS.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119,SC2154

siw_up()
{
	modprobe dummy numdummies=0
	modprobe siw
	ip link add s0 type dummy
	ip link set s0 mtu 4200 up
	ip addr add 192.0.2.1/24 dev s0
	# See rdma_add().
	tc qdisc replace dev lo root netem limit 100000 delay 1ms
	rdma link add siw0 type siw netdev s0
}

siw_down()
{
	rdma link delete siw0
	tc qdisc del dev lo root
	ip link del s0
}

# siw_form FORM VERS: convey all large messages in this form, and check their number
siw_form()
{
	local NETNS='' SYSFS=/sys ADDR4=192.0.2.1
	set_format $1
	case $1 in
	usual) mounted $2 work_siw_usual $2 ;;
	*) mounted $2 work_format $2 $1 work_all ;;
	esac
	set_format usual
}

work_siw_usual()
{
	work_all $1
	work_counted 1 read_chunks write_chunks calls_inline replies_inline
}
