#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Test the detection of interfaces for kernels that are not available: compile the fragment of
# the callbacks' queue with small headers that have the declarations of each kind of kernel. Check
# which form is chosen, and that a kernel without a known form is refused with the interface's
# name.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/linux/sunrpc"
bad=0

# Write the declarations that the fragment uses: a queue of the type $1, further members $2 of the
# service, and the functions $3.
headers()
{
	cat >"$dir/linux/sunrpc/svc.h" <<-EOF
		#define CONFIG_SUNRPC_BACKCHANNEL 1
		struct list { int n; };
		struct lwq { int n; };
		struct svc_pool { int id; };
		struct svc_serv { struct svc_pool *sv_pools; struct $1 sv_cb_list; int sv_cb_lock; $2 };
		struct rpc_rqst { struct list rq_bc_list; };
		void lwq_enqueue(struct list *n, struct lwq *q);
		void list_add_tail(struct list *n, struct list *q);
		void spin_lock_bh(int *lock);
		void spin_unlock_bh(int *lock);
		$3
	EOF
	: >"$dir/linux/sunrpc/xprt.h"
}

probe()
{
	rm -f "$dir/answer"
	"$here/net/sunrpc/xprtrdma/compat/probe.sh" \
		"$here/net/sunrpc/xprtrdma/compat/bc_queue.c" "$dir/answer" gcc -I "$dir"
}

# chooses FORM KERNEL: check that FORM is chosen with the headers, which are like KERNEL's
chooses()
{
	probe && grep -q "^#define $1 1 " "$dir/answer" && return
	echo "the headers of $2 do not lead to $1, but to: $(cat "$dir/answer" 2>&1 || true)"
	bad=1
}

wait='void wake_up(int *q);'
pool='void svc_pool_wake_idle_thread(struct svc_pool *pool);'
headers list 'int sv_cb_waitq;' "$wait"
chooses HAVE_SVC_CB_LIST 6.1
headers list 'int sv_cb_waitq;' "$wait $pool"
chooses HAVE_SVC_CB_LIST "EL 9.4, which wakes the threads that wait on sv_cb_waitq"
headers list '' "$wait $pool"
chooses HAVE_SVC_CB_LIST_OF_POOL "EL 9.5"
headers lwq '' "$wait $pool"
chooses HAVE_SVC_CB_LWQ 6.12

headers list '' "$wait"
if output=$(probe 2>&1); then
	echo "a kernel with no known form was accepted: $(cat "$dir/answer")"
	bad=1
elif ! grep -q '"bc_queue" of this kernel has no form that is known .* please report it' <<<"$output"; then
	echo "a kernel with no known form was refused with: $output"
	bad=1
fi
exit $bad
