# SPDX-License-Identifier: GPL-2.0
#
# Find the forms of the kernel's interfaces, for compat.h. Included by the module's Kbuild
# file.
#
# Each file compat/*.c uses one interface and lists its known forms. compat/probe.sh
# compiles it against the kernel's headers, as the module is compiled. A search for a
# pattern would find names in comments, and would miss a changed type. The answers are
# collected in compat/config.h in the build folder. They are probed again if a compiler
# flag or the kernel's configuration has changed.

compat-flags = $(LINUXINCLUDE) $(KBUILD_CPPFLAGS) $(KBUILD_CFLAGS) \
	       $(KBUILD_CFLAGS_MODULE) $(NOSTDINC_FLAGS) \
	       -DKBUILD_MODNAME='"rpcrdma"' -DKBUILD_BASENAME='"probe"'

quiet_cmd_compat = PROBE   $@
      cmd_compat = REPORT=$(RPCRDMA_REPORT) \
		   $(CONFIG_SHELL) $(src)/$(xprtrdma)/compat/probe.sh $< $@ \
		   $(CC) $(compat-flags)

quiet_cmd_compat_config = GEN     $@
      cmd_compat_config = cat $(real-prereqs) >$@

compat-kernel := $(wildcard $(objtree)/include/generated/autoconf.h \
			    $(objtree)/include/generated/utsrelease.h)

# $(eval $(call compat-probes,FOLDER)): make FOLDER/config.h from FOLDER/*.c
define compat-probes
compat-answers-$(1) := $$(patsubst $$(src)/%.c,%.answer,$$(wildcard $$(src)/$(1)/*.c))
targets += $$(compat-answers-$(1)) $(1)/config.h
clean-files += $$(compat-answers-$(1)) $(1)/config.h

$$(obj)/$(1)/%.answer: $$(src)/$(1)/%.c $$(src)/$$(xprtrdma)/compat/probe.sh \
		       $$(compat-kernel) FORCE
	$$(call if_changed,compat)

$$(obj)/$(1)/config.h: $$(addprefix $$(obj)/,$$(compat-answers-$(1))) FORCE
	$$(call if_changed,compat_config)
endef

$(eval $(call compat-probes,$(xprtrdma)/compat))
