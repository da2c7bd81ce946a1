/* SPDX-License-Identifier: Apache-2.0 */
/* Two places that allocate memory of the same size, one in this program, one in a library: prints
 * of each whether it can be shared with another process, which what is managed cannot. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdio.h>

#define BYTES ((size_t)4 << 20)

CUdeviceptr plain_weights(void);
CUdeviceptr shared_cache(void);

__attribute__((noinline)) CUdeviceptr plain_weights(void)
{
    CUdeviceptr addr = 0;
    (void)cuMemAlloc_v2(&addr, BYTES);
    return addr + 0; /* not a tail call, which would leave no frame */
}

__attribute__((noinline)) CUdeviceptr shared_cache(void)
{
    CUdeviceptr addr = 0;
    (void)cuMemAlloc_v2(&addr, BYTES);
    return addr + 0;
}

static int shareable(CUdeviceptr addr)
{
    CUipcMemHandle handle;
    return cuIpcGetMemHandle(&handle, addr) == CUDA_SUCCESS;
}

/* Usage: sites [LIBRARY] */
int main(int argc, char **argv)
{
    CUcontext context;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return 1;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    CUdeviceptr (*theirs)(void) =
        library == NULL ? NULL : (CUdeviceptr(*)(void))dlsym(library, "library_buffer");
    printf("%d %d", shareable(plain_weights()), shareable(shared_cache()));
    printf(" %d\n", theirs == NULL ? -1 : shareable(theirs()));
    return 0;
}
