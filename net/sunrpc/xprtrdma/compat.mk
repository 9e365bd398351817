# SPDX-License-Identifier: GPL-2.0
#
# Examines the headers of the kernel that the module is built for, and defines the
# HAVE_* macros of compat.h. Included by the module's Kbuild file.

# $(call compat-has,header below include/,pattern,macro)
compat-has = $(shell grep -qs '$(2)' $(srctree)/include/$(1) && echo -D$(3))

ccflags-y += $(call compat-has,linux/sysctl.h,register_sysctl_sz,HAVE_REGISTER_SYSCTL_SZ)
ccflags-y += $(call compat-has,linux/unaligned.h,get_unaligned,HAVE_LINUX_UNALIGNED_H)
ccflags-y += $(call compat-has,linux/sysctl.h,proc_handler.const struct ctl_table,HAVE_CTL_TABLE_CONST_HANDLER)
ccflags-y += $(call compat-has,linux/sunrpc/svc.h,struct lwq.*sv_cb_list,HAVE_SVC_CB_LWQ)
ccflags-y += $(call compat-has,linux/sunrpc/bc_xprt.h,xprt_enqueue_bc_request,HAVE_XPRT_ENQUEUE_BC_REQUEST)
ccflags-y += $(call compat-has,linux/sunrpc/svc_xprt.h,xpo_secure_port,HAVE_XPO_SECURE_PORT)
ccflags-y += $(call compat-has,linux/sunrpc/svc.h,rq_pages_nfree;,HAVE_RQ_PAGES_NFREE)
