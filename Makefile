# SPDX-License-Identifier: Apache-2.0
# Spillway: one Makefile for the library, the command, the simulated GPU and the tests.
#   make O=dir     build elsewhere        make V=1     show commands
#   make CC=clang  another compiler       make WERROR=1  warnings are errors (CI)
VERSION := 0.1.0
O       ?= build
CC      ?= cc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
DESTDIR ?=
PYTHON3 ?= python3

ifeq ($(V),1)
Q :=
else
Q := @
endif
say = @printf '  %-7s %s\n' '$(1)' '$(2)'

# The CUDA Toolkit's headers: the only thing that is probed.
CUDA_PLACES := $(CUDA_HOME) $(CUDA_PATH) /usr/local/cuda /opt/cuda /usr/lib/cuda /usr
CUDA_INCLUDE := $(firstword $(foreach d,$(CUDA_PLACES),$(if $(wildcard $(d)/include/cudaTypedefs.h),$(d)/include)))

spill_warn := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith \
	-Wcast-qual -Wformat=2 $(if $(WERROR),-Werror)
spill_cppflags := -I. -D_GNU_SOURCE -DSPILL_VERSION='"$(VERSION)"' $(if $(CUDA_INCLUDE),-isystem $(CUDA_INCLUDE))
spill_cflags := -std=c11 '-ffile-prefix-map=$(CURDIR)=.' -fPIC -fvisibility=hidden -fno-strict-aliasing \
	-fno-omit-frame-pointer -MMD -MP $(spill_warn)

base_src     := $(sort $(wildcard preload/base/*.c))
solver_src   := $(sort $(wildcard solver/*.c))
lib_src      := $(base_src) $(sort $(wildcard preload/*.c preload/*.S profiler/*.c replay/*.c)) $(solver_src)
tool_src     := $(sort $(wildcard tools/spillway/*.c tools/spillway/*.S)) $(base_src) $(solver_src) profiler/tracefile.c
objs          = $(patsubst %,$(O)/obj/%.o,$(basename $(1)))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

## all: the library, the command and the simulated GPU
all: $(O)/libspillway.so $(O)/spillway simgpu

$(O)/libspillway.so: $(call objs,$(lib_src)) $(O)/libspillway.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) -Wl,-z,defs -Wl,-z,text -Wl,-z,now -Wl,-z,relro -Wl,-Bsymbolic-functions \
		-Wl,--version-script=$(O)/libspillway.map -Wl,-soname,libspillway.so $(LDFLAGS) -ldl -lpthread

# The library exports exactly the hooked names, plus dlsym at glibc's two versions.
$(O)/libspillway.map: preload/hooks.def preload/exports.awk
	@mkdir -p $(@D)
	$(Q)awk -f preload/exports.awk preload/hooks.def > $@

$(O)/spillway: $(call objs,$(tool_src))
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS) -ldl -lpthread

$(O)/obj/%.o: %.c | cuda-headers
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(spill_cppflags) $(CPPFLAGS) $(spill_cflags) $(CFLAGS) -c -o $@ $<

$(O)/obj/%.o: %.S
	@mkdir -p $(@D)
	$(call say,AS,$<)
	$(Q)$(CC) $(spill_cppflags) -c -o $@ $<

# The report page's files become part of the command.
$(O)/obj/tools/spillway/page_assets.o: $(wildcard tools/page/*.* tools/page/vendor/*)

.PHONY: all cuda-headers clean help simgpu deps demo check
cuda-headers:
ifeq ($(CUDA_INCLUDE),)
	@echo "spillway: CUDA headers (cuda.h, cudaTypedefs.h) not found in \$$CUDA_HOME, \$$CUDA_PATH, /usr/local/cuda, /opt/cuda, /usr/lib/cuda or /usr: install the CUDA Toolkit 12.4 or newer, or say make CUDA_HOME=DIR" >&2; exit 1
endif

include tools/simgpu/simgpu.mk
include tests/tests.mk
include tools/install.mk

## deps: install the Debian packages that building and testing need
deps:
	@CC='$(CC)' tools/deps.sh

# A second make, because what deps installs decides what this one could have found.
again = @+$(MAKE) --no-print-directory

## demo: a training run that does not fit, made to fit (on a simulated GPU if there is no real one)
demo: deps cuda-headers
	$(again) all workloads
	@BUILD='$(abspath $(O))' CUDA_INCLUDE='$(CUDA_INCLUDE)' tools/demo.sh

## check: all tests; T='PATTERN...' for some of them
check: deps cuda-headers
	@tools/deps.sh --browser
	$(again) all test-programs
	@BUILD='$(abspath $(O))' CC='$(CC)' CUDA_INCLUDE='$(CUDA_INCLUDE)' tests/run.sh $(T)

## clean: remove the build folder
clean:
	rm -rf $(O)

## help: this list
help:
	@awk -F': ' '/^## [a-z-]+:/ { sub(/^## /, ""); printf "  %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST)) $(filter %.mk,$(MAKEFILE_LIST))
	@echo "  variables: O=DIR V=1 WERROR=1 CC= CFLAGS= CUDA_HOME= PREFIX= DESTDIR="

-include $(patsubst %.o,%.d,$(call objs,$(lib_src) $(tool_src)))
