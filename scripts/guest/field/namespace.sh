# SPDX-License-Identifier: GPL-2.0
# Sourced by field.sh: mounts in a network namespace, as containers have them. By
# default their RPCs end with an error when the network is gone (fatal_neterrors).
# What a mount outside survives is no such case.
# shellcheck shell=bash disable=SC2034,SC2086,SC2119,SC2154

# The server's address does not resolve for a while.
work_address_gone()
{
	local before
	before=$(connects)
	load_begin 600
	# The server keeps the address: soft-RoCE ends for good what the connection
	# manager sends from an address that is not there.
	ip link set d0 arp off
	impair server loss 100%
	wait_for 60 no_transport
	ip -n $NETNS neigh flush dev c0
	heal
	wait_for 60 unresolved $ADDR4
	ip link set d0 arp on
	reconnected $before
	goes_on 300
	load_stop 1
}

# The client asks for the hardware address of $1, in vain.
unresolved() { ip -n $NETNS neigh show to $1 | grep -qE 'INCOMPLETE|FAILED'; }
