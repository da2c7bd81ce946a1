/* SPDX-License-Identifier: Apache-2.0 */
/* Linked into every device image by simcc. Hidden, so that device code addresses it directly. */
#include "devrt.h"

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN struct simgpu_dim3 threadIdx, blockIdx, blockDim, gridDim;
HIDDEN unsigned int __simgpu_dynamic_shared_bytes;
HIDDEN char __simgpu_dynamic_shared[SIMGPU_SHARED_MAX] __attribute__((aligned(128)));

extern struct simgpu_devrt __simgpu_devrt;
__attribute__((visibility("default"))) struct simgpu_devrt __simgpu_devrt = {
    .version = SIMGPU_DEVRT_VERSION,
    .thread = &threadIdx,
    .block = &blockIdx,
    .block_dim = &blockDim,
    .grid_dim = &gridDim,
    .dynamic_shared = __simgpu_dynamic_shared,
    .dynamic_shared_bytes = &__simgpu_dynamic_shared_bytes,
};

HIDDEN void __syncthreads(void);
HIDDEN void __syncthreads(void)
{
    __simgpu_devrt.barrier();
}

HIDDEN void __simgpu_stop(int error);
HIDDEN void __simgpu_stop(int error)
{
    __simgpu_devrt.stop(error);
}
