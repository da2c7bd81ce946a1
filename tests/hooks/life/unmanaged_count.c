/* SPDX-License-Identifier: Apache-2.0 */
/* HAMi#1181: "17592186044134 MiB used". HAMi-core#169: a hook of cuMemCreate that takes every
 * location for a device. Here: what is counted comes back to zero and never below; host memory does
 * not count. */
#include "tests/hooks/life/life.h"

int main(void)
{
    void *driver = life_driver();
    PFN_cuMemCreate_v10020 create = (PFN_cuMemCreate_v10020)dlsym(driver, "cuMemCreate");
    PFN_cuMemRelease_v10020 release = (PFN_cuMemRelease_v10020)dlsym(driver, "cuMemRelease");
    PFN_cuMemRetainAllocationHandle_v11000 retain =
        (PFN_cuMemRetainAllocationHandle_v11000)dlsym(driver, "cuMemRetainAllocationHandle");
    PFN_cuMemAllocAsync_v11020 alloc = (PFN_cuMemAllocAsync_v11020)dlsym(driver, "cuMemAllocAsync");
    PFN_cuMemFree_v3020 release_plain = (PFN_cuMemFree_v3020)dlsym(driver, "cuMemFree_v2");
    const int64_t *counted = &life_counts()->unmanaged;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    CUmemGenericAllocationHandle handle = 5;
    CUdeviceptr addr = 0x7000; /* the driver that does nothing leaves these as they are */

    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    CHECK(create(&handle, 1 << 20, &prop, 0) == CUDA_SUCCESS && *counted == 0);
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK(create(&handle, 1 << 20, &prop, 0) == CUDA_SUCCESS && *counted == 1 << 20);
    CHECK(retain(&handle, (void *)0x123000) == CUDA_SUCCESS);
    CHECK(release(handle) == CUDA_SUCCESS && *counted == 1 << 20);
    CHECK(release(handle) == CUDA_SUCCESS && *counted == 0);
    CHECK(release(handle) == CUDA_SUCCESS && *counted == 0);
    CHECK(alloc(&addr, 4096, NULL) == CUDA_SUCCESS && *counted == 4096);
    CHECK(release_plain(addr) == CUDA_SUCCESS && *counted == 0);
    CHECK(release_plain(addr) == CUDA_SUCCESS && *counted == 0);
    return 0;
}
