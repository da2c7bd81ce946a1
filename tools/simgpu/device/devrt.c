/* SPDX-License-Identifier: Apache-2.0 */
/* Linked into every device image by simcc. Hidden, so that device code addresses it directly. */
#include <stdio.h>
#include <stdlib.h>

#include "devrt.h"

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN struct simgpu_dim3 threadIdx, blockIdx, blockDim, gridDim;
HIDDEN unsigned int __simgpu_dynamic_shared_bytes;
HIDDEN char __simgpu_dynamic_shared[SIMGPU_SHARED_MAX] __attribute__((aligned(128)));

/* The linker makes these of the section that the header puts __shared__ variables in. */
extern char __start_simgpu_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_simgpu_shared[] __attribute__((weak, visibility("hidden")));

extern struct simgpu_devrt __simgpu_devrt;
__attribute__((visibility("default"))) struct simgpu_devrt __simgpu_devrt = {
    .version = SIMGPU_DEVRT_VERSION,
    .thread = &threadIdx,
    .block = &blockIdx,
    .block_dim = &blockDim,
    .grid_dim = &gridDim,
    .dynamic_shared = __simgpu_dynamic_shared,
    .dynamic_shared_bytes = &__simgpu_dynamic_shared_bytes,
    .shared = __start_simgpu_shared,
    .shared_end = __stop_simgpu_shared,
};

HIDDEN void __syncthreads(void);
HIDDEN int __syncthreads_count(int predicate);
HIDDEN int __syncthreads_and(int predicate);
HIDDEN int __syncthreads_or(int predicate);
HIDDEN const struct simgpu_exchange *__simgpu_exchange(unsigned int mask, unsigned long long value);
HIDDEN unsigned int __activemask(void);
HIDDEN void __simgpu_grid_barrier(void);
HIDDEN void __simgpu_stop(int error);
HIDDEN unsigned long long __simgpu_clock(void);
HIDDEN void __assert_fail(const char *text, const char *file, unsigned int line,
                          const char *function);

HIDDEN void __syncthreads(void)
{
    __simgpu_devrt.barrier(0);
}

HIDDEN int __syncthreads_count(int predicate)
{
    return (int)__simgpu_devrt.barrier(predicate).count;
}

HIDDEN int __syncthreads_and(int predicate)
{
    struct simgpu_tally t = __simgpu_devrt.barrier(predicate);
    return t.count == t.threads;
}

HIDDEN int __syncthreads_or(int predicate)
{
    return __simgpu_devrt.barrier(predicate).count != 0;
}

HIDDEN const struct simgpu_exchange *__simgpu_exchange(unsigned int mask, unsigned long long value)
{
    return __simgpu_devrt.exchange(mask, value);
}

HIDDEN unsigned int __activemask(void)
{
    return __simgpu_devrt.active();
}

HIDDEN void __simgpu_grid_barrier(void)
{
    __simgpu_devrt.grid_barrier();
}

HIDDEN void __simgpu_stop(int error)
{
    __simgpu_devrt.stop(error);
}

HIDDEN unsigned long long __simgpu_clock(void)
{
    return __simgpu_devrt.clock();
}

/* Takes the place of libc's in device code: ends the launch, not the process. */
HIDDEN void __assert_fail(const char *text, const char *file, unsigned int line,
                          const char *function)
{
    fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
            file, line, function, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
            threadIdx.z, text);
    __simgpu_devrt.stop(710);
    abort();
}
