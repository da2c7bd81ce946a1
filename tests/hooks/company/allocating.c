/* SPDX-License-Identifier: Apache-2.0 */
/* A library that allocates device memory. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>

CUdeviceptr library_buffer(void);
CUdeviceptr library_buffer(void)
{
    CUdeviceptr addr = 0;
    (void)cuMemAlloc_v2(&addr, (size_t)4 << 20);
    return addr + 0;
}
