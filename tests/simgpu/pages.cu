// SPDX-License-Identifier: Apache-2.0
// pages ORDER COUNT: that many one-page handles mapped at as many addresses, a few of them written
// and read.
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define DO(call)                                                                                   \
    do {                                                                                           \
        CUresult r_ = (call);                                                                      \
        if (r_ != CUDA_SUCCESS) {                                                                  \
            printf("%s gives %d\n", #call, (int)r_);                                               \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(int, char **argv)
{
    const size_t page = 2 << 20, count = strtoul(argv[2], nullptr, 10);
    bool scattered = strcmp(argv[1], "scattered") == 0;
    CUcontext ctx;
    DO(cuInit(0));
    DO(cuDevicePrimaryCtxRetain(&ctx, 0));
    DO(cuCtxSetCurrent(ctx));
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr va;
    DO(cuMemAddressReserve(&va, count * page, 0, 0, 0));
    std::vector<CUmemGenericAllocationHandle> handles(count);
    for (auto &h : handles)
        DO(cuMemCreate(&h, page, &prop, 0));
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        at = scattered ? (at + 15013) % count : i; // a step that visits every page once
        DO(cuMemMap(va + at * page, page, 0, handles[i], 0));
    }
    DO(cuMemSetAccess(va, count * page, &access, 1));
    for (size_t i = 0; i < count; i += count / 50)
        DO(cuMemsetD32(va + i * page + 64, (unsigned int)i, 1));
    for (size_t i = 0; i < count; i += count / 50) {
        unsigned int x;
        DO(cuMemcpyDtoH(&x, va + i * page + 64, 4));
        if (x != i) {
            printf("page %zu holds %u\n", i, x);
            return 1;
        }
    }
    for (size_t i = 0; i < count; i++)
        DO(cuMemUnmap(va + i * page, page));
    for (auto h : handles)
        DO(cuMemRelease(h));
    puts("fine");
}
