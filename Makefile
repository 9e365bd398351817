# SPDX-License-Identifier: GPL-2.0
# Commands for users and developers. Kbuild has the objects of the module.
#
#   make                  build rpcrdma.ko for the running kernel if its
#                         headers are installed, or else for the newest
#                         kernel with installed headers
#   make KVER=...         ... for this installed kernel version
#   make KDIR=...         ... for this kernel build folder
#
# "make help" prints all commands.

SHELL := /bin/bash

ifneq ($(origin KDIR),undefined)
# The kernel release of that folder, unless the user has set KVER
KVER ?= $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
else
ifeq ($(origin KVER),undefined)
KVER := $(shell . scripts/lib.sh && kernel_version)
endif
KDIR := $(firstword $(wildcard /lib/modules/$(KVER)/build /usr/src/linux-headers-$(KVER)))
endif

CORE_TEST := kunit/core
SIMULATION := kunit/simulation
LIBRARY := scripts/tools/lib
PING := scripts/tools/ping
CTL := scripts/tools/ctl
LIBRARY_TEST := kunit/library
# The compilers have to be those of the kernel: clang if it was built with clang. LLVM=1 or
# LLVM=-19 chooses another clang.
ifneq ($(wildcard $(KDIR)/.config),)
ifeq ($(origin LLVM)$(filter command environment,$(origin CC)),undefined)
LLVM := $(shell . scripts/lib.sh && kernel_llvm $(KDIR))
endif
endif
in_kdir = -C $(KDIR) M=$(CURDIR) $(addprefix LLVM=,$(LLVM))

all: modules

have-kdir:
	@[ -n "$(KDIR)" ] && [ -d "$(KDIR)" ] || { \
		echo "No kernel headers$(if $(KVER), of $(KVER)) found:" \
		     "install linux-headers-amd64, run scripts/setup.sh, or set KDIR=." >&2; exit 1; }

modules: have-kdir
	$(MAKE) $(in_kdir) modules

# Print the forms of the kernel's interfaces that the build has found, for a report.
config-report: have-kdir
	@echo "rpcrdma-v2 $(VERSION), kernel $(KVER), $$($${CC:-gcc} --version | head -n 1)"
	@$(MAKE) --no-print-directory $(in_kdir) modules RPCRDMA_REPORT=1 >config-report.log 2>&1 || \
		{ cat config-report.log >&2; exit 1; }
	@rm -f config-report.log
	@cat net/sunrpc/xprtrdma/compat/config.h
	@rm -f net/sunrpc/xprtrdma/compat/{config.h,*.answer,.*.cmd}

# Install under updates/, which precedes the in-tree module in depmod's search order.
# The headers of a stock kernel have no signing key and no System.map, so do not sign, and
# run depmod here.
modules_install: modules
	$(MAKE) $(in_kdir) modules_install INSTALL_MOD_DIR=updates INSTALL_MOD_STRIP=1 CONFIG_MODULE_SIG_ALL=
	PATH=$$PATH:/usr/sbin:/sbin depmod -a $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $(KVER)

# Check the prerequisites, then install.
install:
	@scripts/install.sh check '$(KVER)' '$(KDIR)'
	$(MAKE) modules_install KVER=$(KVER) KDIR=$(KDIR)
	@scripts/install.sh done '$(KVER)'

# Uninstall from the running kernel, even if its headers are not installed, or from KVER.
uninstall:
	@scripts/install.sh uninstall '$(if $(filter command% environment%,$(origin KVER) $(origin KDIR)),$(KVER),$(shell uname -r))'

# Copy the sources of the module to /usr/src, from where DKMS builds them for each new kernel.
VERSION := $(shell sed -n 's/^version := //p' Kbuild)
DKMS_SRC := $(DESTDIR)/usr/src/rpcrdma-v2-$(VERSION)
dkms_source:
	rm -rf $(DKMS_SRC)
	mkdir -p $(DKMS_SRC)/scripts
	cp -r Makefile Kbuild COPYING include net $(LIBRARY)/COPYING.BSD $(DKMS_SRC)
	find $(DKMS_SRC) -name '*.o' -delete -o -name '.*.cmd' -delete -o -name '.*.d' -delete -o -name README -delete -o -name '*.answer' -delete
	rm -f $(DKMS_SRC)/net/sunrpc/xprtrdma/compat/config.h
	cp scripts/lib.sh scripts/dkms-make.sh scripts/install.sh $(DKMS_SRC)/scripts
	sed 's/#MODULE_VERSION#/$(VERSION)/' scripts/dkms.conf >$(DKMS_SRC)/dkms.conf

dkms_install:
	@scripts/install.sh dkms '$(VERSION)'
	@# Remove an earlier build of this version, because DKMS would not build it again.
	-@dkms remove rpcrdma-v2/$(VERSION) --all >/dev/null 2>&1
	$(MAKE) dkms_source
	dkms install rpcrdma-v2/$(VERSION) $(if $(KVER),-k $(KVER))

# Debian packages, in deb/
deb:
	scripts/setup.sh deb
	scripts/deb.sh

# The same packages for hosts that have RPM, in rpm/
rpm:
	scripts/setup.sh rpm
	scripts/rpm.sh

# The protocol engine as a library for programs
lib:
	@$(MAKE) --no-print-directory -C $(LIBRARY)
	@echo "librpcrdma2 is in $$($(MAKE) -s -C $(LIBRARY) build-dir)"

lib-install:
	$(MAKE) -C $(LIBRARY) install

# Programs for administrators
tools:
	scripts/setup.sh tools
	@$(MAKE) --no-print-directory -C $(PING)
	@echo "rpcrdma-ping is in $$($(MAKE) -s -C $(PING) build-dir)"

tools-install:
	$(MAKE) -C $(PING) install
	$(MAKE) -C $(CTL) install

# HTML and man pages, in Documentation/_build
docs:
	@command -v sphinx-build >/dev/null || { echo "sphinx-build is missing: apt-get install python3-sphinx" >&2; exit 1; }
	sphinx-build -q -W --keep-going -b html Documentation Documentation/_build/html
	sphinx-build -q -W --keep-going -b man Documentation Documentation/_build/man

# Install the dissector in the folder that Wireshark and tshark search.
dissector_install:
	install -D -m 644 scripts/tools/wireshark/rpcrdma2.lua "$(DESTDIR)$$(tshark -G folders 2>/dev/null | sed -n 's/^Global Lua Plugins:[[:space:]]*//p')/rpcrdma2.lua"

clean: have-kdir
	$(MAKE) $(in_kdir) clean
	@if [ -e $(CORE_TEST)/Makefile ]; then $(MAKE) -C $(CORE_TEST) clean; fi
	@if [ -e $(SIMULATION)/Makefile ]; then $(MAKE) -C $(SIMULATION) clean; fi
	@if [ -e $(LIBRARY)/Makefile ]; then $(MAKE) -C $(LIBRARY) clean; $(MAKE) -C $(PING) clean; $(MAKE) -C $(LIBRARY_TEST) clean; fi

# These targets first install the packages that they need. The kernel headers may be among
# these, so the scripts start a new make.
demo:
	scripts/setup.sh demo
	scripts/demo.sh

check:
	scripts/setup.sh check
	scripts/check.sh $(LEVELS)

interop:
	scripts/setup.sh check
	VERSIONS="$${VERSIONS:-3 4.0 4.1 4.2}" scripts/check.sh interop

matrix:
	scripts/setup.sh matrix
	scripts/matrix.sh $(SUITES)

fuzz:
	scripts/setup.sh bench
	$(MAKE) -C $(CORE_TEST) fuzz

simulate:
	scripts/setup.sh bench
	$(MAKE) -C $(SIMULATION) simulate

bench-engine:
	scripts/setup.sh bench
	$(MAKE) -C $(CORE_TEST) bench

cost:
	scripts/setup.sh cost
	scripts/cost.sh

help:
	@echo '  make                  build rpcrdma.ko ($(or $(KVER),no kernel headers found))'
	@echo '  make config-report    print the forms of the kernel'"'"'s interfaces, for a report'
	@echo '  make modules_install  install it under updates/ and run depmod (INSTALL_MOD_PATH= is honoured)'
	@echo '  make install          the same for a running system, with checks before it; make uninstall'
	@echo '  make dkms_install     install it through DKMS, for future kernels, too'
	@echo '  make deb              Debian packages, in deb/: DKMS sources, programs, library, documents'
	@echo '  make rpm              the same as RPM packages, in rpm/'
	@echo '  make lib              librpcrdma2, the protocol engine for programs; make lib-install (PREFIX=, DESTDIR=)'
	@echo '  make tools            rpcrdma-ping; make tools-install, which installs rpcrdma-ctl, too (PREFIX=, DESTDIR=)'
	@echo '  make docs             HTML and man pages, with a reference of the core, in Documentation/_build'
	@echo '  make dissector_install   install a dissector for Wireshark and tshark'
	@echo '  make clean            remove what was built in this folder'
	@echo '  make demo             boot a guest, mount, copy and compare files'
	@echo '  make check            all tests; LEVELS="engine build" chooses some'
	@echo '  make interop          two guests, this module and the in-tree one; prints a table'
	@echo '  make matrix           build and smoke-test for the stock kernels of SUITES="trixie sid ..."'
	@echo '  make fuzz             fuzz the protocol engine'
	@echo '  make simulate         two ends in a model of their environment (SEEDS=a-b, SECONDS=n)'
	@echo '  make bench-engine     measure the protocol engine'
	@echo '  make cost             cost of operations, relative to the in-tree module; CHECK=1 compares'
	@echo '                        with the committed figures'
	@echo
	@echo '  KVER=version or KDIR=folder choose the kernel to build for.'
	@echo '  demo and check install the Debian packages they need (scripts/setup.sh).'
	@echo '  MODULE=in-tree runs the guests of demo and check with the in-tree rpcrdma.ko.'

.PHONY: all have-kdir modules config-report modules_install install uninstall dkms_source dkms_install deb rpm lib lib-install tools tools-install docs dissector_install clean demo check interop matrix fuzz simulate bench-engine cost help
