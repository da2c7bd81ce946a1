/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is told of memory before and after it allocates 4 MiB, in MiB, and whether that
 * can be shared. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>
#include <stdio.h>

int main(void)
{
    CUcontext context;
    CUdeviceptr addr;
    CUipcMemHandle handle;
    size_t left[2], total[2];
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS ||
        cuMemGetInfo_v2(&left[0], &total[0]) != CUDA_SUCCESS ||
        cuMemAlloc_v2(&addr, (size_t)4 << 20) != CUDA_SUCCESS ||
        cuMemGetInfo_v2(&left[1], &total[1]) != CUDA_SUCCESS)
        return 1;
    printf("before %zu %zu, after %zu %zu, ipc %d\n", left[0] >> 20, total[0] >> 20, left[1] >> 20,
           total[1] >> 20, cuIpcGetMemHandle(&handle, addr) != CUDA_SUCCESS);
    return 0;
}
