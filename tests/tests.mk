# SPDX-License-Identifier: Apache-2.0
# The programs that the tests run. A unit test is one file, linked with everything that needs no CUDA
# driver; workloads and victims are ordinary .cu files, built for the simulated GPU.
SIMCC     ?= $(O)/simgpu/simcc
unit_src  := $(wildcard tests/unit/*.c)
cu_src    := $(wildcard tests/workloads/*.cu tests/victims/*.cu)
unit_bin  := $(patsubst %.c,$(O)/%,$(unit_src))
cu_bin    := $(patsubst %.cu,$(O)/%,$(cu_src))
tested_src = $(base_src) $(solver_src) $(wildcard profiler/*.c) $(filter-out tools/spillway/main.c,$(wildcard tools/spillway/*.c tools/spillway/*.S)) \
	replay/freeorder.c replay/span.c replay/script.c replay/ordering.c replay/waits.c replay/hostslots.c replay/verify.c replay/hostpool.c \
	replay/hosttouch.c replay/captures.c replay/freepoints.c replay/threadorder.c replay/steptime.c

.PHONY: workloads test-programs
workloads: $(filter $(O)/tests/workloads/%,$(cu_bin))
test-programs: $(unit_bin) $(cu_bin)

$(O)/libspilltest.a: $(call objs,$(tested_src))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rc $@ $^

$(unit_bin): $(O)/%: $(O)/obj/%.o $(O)/libspilltest.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS) -lcmocka -ldl -lpthread -lm

$(cu_bin): $(O)/%: %.cu $(O)/simgpu/simcc $(O)/simgpu/devrt.o | simgpu
	@mkdir -p $(@D)
	$(call say,SIMCC,$@)
	$(Q)$(SIMCC) -O2 $(SIMCC_DRIVER) -o $@ $<

$(filter $(O)/tests/victims/%,$(cu_bin)): $(wildcard tests/victims/*.h)

# Programs that call the driver themselves.
$(O)/tests/victims/multi_device $(O)/tests/victims/graph_train $(O)/tests/victims/pools: SIMCC_DRIVER = -isystem$(CUDA_INCLUDE) -lcuda
# A stream of 0 is the thread's own.
$(O)/tests/victims/tangle_own: SIMCC_DRIVER = -default-stream per-thread
$(O)/tests/victims/tangle_own: tests/victims/tangle.cu

-include $(patsubst %.c,$(O)/obj/%.d,$(unit_src))

## fuzz: the readers of files, by libFuzzer, FUZZ_SECONDS=3600 each; goes on where it stopped
.PHONY: fuzz
FUZZ_SECONDS ?= 3600
fuzz: $(O)/libspilltest.a
	@BUILD='$(abspath $(O))' CUDA_INCLUDE='$(CUDA_INCLUDE)' tests/fuzz/run $(FUZZ_SECONDS) $(T)

## check-gpu: on this machine's GPU; T='PART...' for some (tests/gpu/README.md)
.PHONY: check-gpu
check-gpu: $(O)/libspillway.so $(O)/spillway
	@BUILD='$(abspath $(O))' tests/gpu/run $(T) || [ $$? -eq 77 ]
