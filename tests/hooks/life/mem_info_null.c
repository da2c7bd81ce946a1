/* SPDX-License-Identifier: Apache-2.0 */
/* HAMi-core#333: OptiX calls cuMemGetInfo without a place for the answer; a hook that writes there
 * crashes. */
#include "tests/hooks/life/life.h"

int main(void)
{
    void *driver = life_driver();
    PFN_cuMemGetInfo_v3020 info = (PFN_cuMemGetInfo_v3020)dlsym(driver, "cuMemGetInfo_v2");
    PFN_cuMemGetAddressRange_v3020 range =
        (PFN_cuMemGetAddressRange_v3020)dlsym(driver, "cuMemGetAddressRange_v2");
    PFN_cuPointerGetAttribute_v4000 attribute =
        (PFN_cuPointerGetAttribute_v4000)dlsym(driver, "cuPointerGetAttribute");
    CHECK(info(NULL, NULL) == CUDA_SUCCESS && range(NULL, NULL, 0x1000) == CUDA_SUCCESS);
    life_counts()->managed_base = 0x1000;
    life_counts()->managed_bytes = 0x1000;
    CHECK(range(NULL, NULL, 0x1000) == CUDA_SUCCESS);
    CHECK(attribute(NULL, CU_POINTER_ATTRIBUTE_CONTEXT, 0x1000) == CUDA_SUCCESS);
    return 0;
}
