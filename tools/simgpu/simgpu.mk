# SPDX-License-Identifier: Apache-2.0
# The simulated GPU: libcuda.so.1, libcudart.so.13, simcc and the header a workload needs.
simgpu_dir  := tools/simgpu
simgpu_out  := $(O)/simgpu
simgpu_obj  := $(O)/obj/simgpu
simgpu_gen  := $(simgpu_obj)/gen
simgpu_src  := $(wildcard $(simgpu_dir)/*.c) $(simgpu_dir)/fiber.S $(simgpu_gen)/unserved_stubs.c
simgpu_objs := $(patsubst $(simgpu_dir)/%,$(simgpu_obj)/%.o,$(basename $(filter $(simgpu_dir)/%,$(simgpu_src)))) \
	$(simgpu_gen)/unserved_stubs.o
simgpu_rt_objs := $(patsubst $(simgpu_dir)/rt/%.c,$(simgpu_obj)/rt/%.o,$(wildcard $(simgpu_dir)/rt/*.c)) \
	$(simgpu_gen)/per_thread.o
simgpu_cppflags := -D_GNU_SOURCE -D__CUDA_API_VERSION_INTERNAL -I$(simgpu_dir) -I$(simgpu_dir)/rt -I$(simgpu_gen) -isystem $(CUDA_INCLUDE)
simgpu_cflags   := -std=c11 -fPIC -fvisibility=hidden -fno-strict-aliasing -MMD -MP $(spill_warn)
simgpu_generated := $(simgpu_gen)/lookup_table.inc $(simgpu_gen)/error_names.inc
simgpu_headers  := $(patsubst $(simgpu_dir)/include/%,$(simgpu_out)/include/%,$(wildcard $(simgpu_dir)/include/*))

## simgpu: the simulated GPU and its compiler, simcc
simgpu: $(simgpu_out)/libcuda.so.1 $(simgpu_out)/libcudart.so.13 $(simgpu_out)/simcc \
	$(simgpu_out)/devrt.o $(simgpu_headers)

# The toolkit's headers name every driver function (symbols) and every version of it (typedefs).
$(simgpu_gen)/symbols.txt: | cuda-headers
	@mkdir -p $(@D)
	$(Q)printf '#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaProfiler.h>\n' | \
		$(CC) -E -P -I$(CUDA_INCLUDE) -xc - | tr '\n' ' ' | \
		grep -oE 'CUresult +cu[A-Za-z0-9_]+ *\(' | sed 's/CUresult *//; s/ *(//' | sort -u > $@

$(simgpu_gen)/versions.txt: | cuda-headers
	@mkdir -p $(@D)
	$(Q)cat $(CUDA_INCLUDE)/cudaTypedefs.h $(CUDA_INCLUDE)/cudaProfilerTypedefs.h | \
		grep -oE 'PFN_cu[A-Za-z0-9]+_v[0-9]+(_ptsz|_ptds)?\)' | sed 's/PFN_//; s/)//' | sort -u > $@

$(simgpu_gen)/lookup_table.inc: $(simgpu_dir)/lookup.awk $(simgpu_gen)/versions.txt $(simgpu_gen)/symbols.txt
	$(Q)awk -f $^ > $@

$(simgpu_gen)/unserved_stubs.c: $(simgpu_dir)/unserved.awk $(simgpu_gen)/symbols.txt $(simgpu_dir)/api.def
	$(Q)awk -f $^ > $@

$(simgpu_gen)/per_thread.c: $(simgpu_dir)/per_thread.awk $(simgpu_dir)/include/simgpu_runtime.def
	@mkdir -p $(@D)
	$(Q)awk -f $^ > $@

$(simgpu_gen)/error_names.inc: | cuda-headers
	@mkdir -p $(@D)
	$(Q)sed -n '/^typedef enum cudaError_enum/,/^} CUresult/s/^ *\(CUDA_[A-Z0-9_]*\) *=.*/ERROR_NAME(\1)/p' \
		$(CUDA_INCLUDE)/cuda.h > $@

$(simgpu_objs): $(simgpu_generated)

$(simgpu_obj)/%.o: $(simgpu_dir)/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(simgpu_cppflags) $(CPPFLAGS) $(simgpu_cflags) $(CFLAGS) -c -o $@ $<

$(simgpu_gen)/%.o: $(simgpu_gen)/%.c
	$(call say,CC,$<)
	$(Q)$(CC) $(simgpu_cppflags) $(CPPFLAGS) $(simgpu_cflags) $(CFLAGS) -c -o $@ $<

$(simgpu_obj)/%.o: $(simgpu_dir)/%.S
	@mkdir -p $(@D)
	$(call say,AS,$<)
	$(Q)$(CC) -c -o $@ $<

$(simgpu_out)/libcuda.so.1: $(simgpu_objs)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) -Wl,-soname,libcuda.so.1 -Wl,-z,defs -Wl,-z,now \
		-Wl,-Bsymbolic $(LDFLAGS) -ldw -lelf -lffi -ldl -lpthread

$(simgpu_out)/libcudart.so.13: $(simgpu_rt_objs)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $^ -Wl,-soname,libcudart.so.13 -Wl,-z,defs -Wl,-z,now -Wl,-Bsymbolic \
		$(LDFLAGS) -ldl -lpthread
	$(Q)ln -sf libcudart.so.13 $(@D)/libcudart.so
	$(Q)ln -sf libcuda.so.1 $(@D)/libcuda.so

$(simgpu_out)/devrt.o: $(simgpu_dir)/device/devrt.c $(simgpu_dir)/device/devrt.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=c11 -fPIC -O2 $(spill_warn) -c -o $@ $<

$(simgpu_out)/simcc: $(simgpu_dir)/simcc
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@

$(simgpu_out)/include/%: $(simgpu_dir)/include/%
	@mkdir -p $(@D)
	$(Q)install -m 644 $< $@

-include $(simgpu_objs:.o=.d) $(simgpu_rt_objs:.o=.d)
