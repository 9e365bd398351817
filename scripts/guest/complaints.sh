# SPDX-License-Identifier: GPL-2.0
# The patterns of complaints in the kernel log. Sourced on the host (for a whole
# console log) and in the guest (after each test).
# shellcheck shell=bash

# One extended regular expression per line; any matching line of a kernel log
# fails the test during which it was logged.
complaint_patterns()
{
	cat <<-'PATTERNS'
	WARNING:
	BUG:
	Oops
	kernel BUG at
	Kernel panic
	general protection fault
	[Uu]nable to handle
	KASAN
	UBSAN
	RIP: [0-9]+:
	Call Trace:
	possible (circular|recursive|irq|deadlock)
	inconsistent lock state
	inconsistent \{
	bad unlock balance
	lock held when returning
	held lock freed
	nested lock was not taken
	suspicious RCU usage
	sleeping function called from invalid context
	scheduling while atomic
	refcount_t:
	DMA-API:
	list_(add|del) corruption
	kmemleak: .*(suspected memory leaks|[Dd]isabl|[Cc]annot)
	memory leak
	blocked for more than
	soft lockup
	hard LOCKUP
	workqueue lockup
	detected stall
	rcu: INFO:
	Bad page
	bad_page
	page allocation failure
	Out of memory
	oom-kill
	Objects remaining
	Slab cache still has objects
	(memory|reference) leak
	ODEBUG
	Voluntary context switch within RCU
	unregister_netdevice: waiting
	module: .* init symbol|Unknown symbol
	PATTERNS
}

# Lines that match a pattern above but are not complaints. Each of these patterns is as narrow
# as possible, and has a reason.
allowed_patterns()
{
	cat <<-'PATTERNS'
	DMA-API: preallocated [0-9]+ debug entries$
	DMA-API: debugging enabled by kernel config$
	kmemleak: Kernel memory leak detector initialized
	^\[ +0\.0+\] kmemleak: Kernel memory leak detector disabled$
	kasan: KernelAddressSanitizer initialized
	PATTERNS
	# DMA debugging, kmemleak and KASAN print these when they start, or when
	# they are disabled by a kernel parameter.
}

# Print the complaints in the log on stdin. Return 0 if there is one.
complaints()
{
	tr -d '\r' | grep -aE -f <(complaint_patterns) | grep -avE -f <(allowed_patterns)
}
