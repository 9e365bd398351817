# SPDX-License-Identifier: GPL-2.0
# For people; what is built, and how, is in Kbuild.
#
#   make                  build rpcrdma.ko for the newest installed stock
#                         Debian 6.1 kernel that has its headers
#   make KVER=...         ... for this installed kernel version
#   make KDIR=...         ... for this kernel build folder
#
# "make help" tells the rest.

SHELL := /bin/bash

ifneq ($(origin KDIR),undefined)
# The release that folder builds for; a variable set by hand is believed.
KVER ?= $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
else
ifeq ($(origin KVER),undefined)
KVER := $(shell . scripts/lib.sh && stock_kernel_version)
endif
KDIR := $(firstword $(wildcard /lib/modules/$(KVER)/build /usr/src/linux-headers-$(KVER)))
endif

ENGINE_TEST := net/sunrpc/xprtrdma/engine-test
in_kdir = -C $(KDIR) M=$(CURDIR)

all: modules

have-kdir:
	@[ -n "$(KDIR)" ] && [ -d "$(KDIR)" ] || { \
		echo "No headers of a Debian 6.1 kernel$(if $(KVER), ($(KVER))) found:" \
		     "install linux-headers-amd64, run scripts/setup.sh, or give KDIR=." >&2; exit 1; }

modules: have-kdir
	$(MAKE) $(in_kdir) modules

# Under updates/, which depmod's search order puts before the kernel's own.
# The headers of a stock kernel have no signing key and no System.map: do not
# try to sign, and run depmod here.
modules_install: modules
	$(MAKE) $(in_kdir) modules_install INSTALL_MOD_DIR=updates INSTALL_MOD_STRIP=1 CONFIG_MODULE_SIG_ALL=
	PATH=$$PATH:/usr/sbin:/sbin depmod -a $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $(KVER)

# DKMS wants the sources under /usr/src, and builds them for each new kernel.
DKMS_VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' scripts/dkms.conf)
DKMS_SRC := /usr/src/rpcrdma-v2-$(DKMS_VERSION)
dkms_install:
	@command -v dkms >/dev/null || { echo "dkms is not installed: apt-get install dkms" >&2; exit 1; }
	rm -rf $(DKMS_SRC)
	mkdir -p $(DKMS_SRC)
	cp -r Makefile Kbuild COPYING README include net scripts $(DKMS_SRC)
	cp scripts/dkms.conf $(DKMS_SRC)
	dkms install --force rpcrdma-v2/$(DKMS_VERSION) $(if $(KVER),-k $(KVER))

clean: have-kdir
	$(MAKE) $(in_kdir) clean
	@if [ -e $(ENGINE_TEST)/Makefile ]; then $(MAKE) -C $(ENGINE_TEST) clean; fi

# These two install what they need first, so the kernel headers may appear
# only now: what follows is left to a new make.
demo:
	scripts/setup.sh demo
	scripts/demo.sh

check:
	scripts/setup.sh check
	scripts/check.sh $(LEVELS)

interop:
	scripts/setup.sh check
	scripts/check.sh interop

fuzz:
	scripts/setup.sh bench
	$(MAKE) -C $(ENGINE_TEST) fuzz

bench-engine:
	scripts/setup.sh bench
	$(MAKE) -C $(ENGINE_TEST) bench

bench-kernel:
	scripts/setup.sh demo
	scripts/bench.sh

help:
	@echo '  make                  build rpcrdma.ko ($(or $(KVER),no kernel headers found))'
	@echo '  make modules_install  install it under updates/ and run depmod (INSTALL_MOD_PATH= is honoured)'
	@echo '  make dkms_install     install it through DKMS, for future kernels, too'
	@echo '  make clean            remove what was built in this folder'
	@echo '  make demo             see it at work: boots a guest, mounts, copies, compares'
	@echo '  make check            all tests; LEVELS="engine build" chooses some'
	@echo '  make interop          two guests, this module and the kernel'"'"'s own: a table'
	@echo '  make fuzz             fuzz the protocol engine'
	@echo '  make bench-engine     measure the protocol engine'
	@echo '  make bench-kernel     measure this module against the kernel'"'"'s own'
	@echo
	@echo '  KVER=version or KDIR=folder choose the kernel to build for.'
	@echo '  demo and check install the Debian packages they need (scripts/setup.sh).'
	@echo '  MODULE=in-tree runs the guests of demo and check with the kernel'"'"'s own rpcrdma.ko.'

.PHONY: all have-kdir modules modules_install dkms_install clean demo check interop fuzz bench-engine bench-kernel help
