/* SPDX-License-Identifier: Apache-2.0 */
/* Triton asks for DEVICE_POINTER before each launch and takes an error for host memory; others ask
 * for the rest. A managed buffer answers without the driver, which may have nothing mapped there.
 */
#include "tests/hooks/life/life.h"

int main(void)
{
    void *driver = life_driver();
    PFN_cuPointerGetAttribute_v4000 one =
        (PFN_cuPointerGetAttribute_v4000)dlsym(driver, "cuPointerGetAttribute");
    PFN_cuPointerGetAttributes_v7000 many =
        (PFN_cuPointerGetAttributes_v7000)dlsym(driver, "cuPointerGetAttributes");
    unsigned long long value[4] = {99, 99, 99, 99};
    life_counts()->managed_base = 0x10000;
    life_counts()->managed_bytes = 0x4000;
    for (int a = CU_POINTER_ATTRIBUTE_CONTEXT; a <= CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE; a++) {
        CUresult result = one(value, (CUpointer_attribute)a, 0x10100);
        int none = a == CU_POINTER_ATTRIBUTE_HOST_POINTER || a == CU_POINTER_ATTRIBUTE_P2P_TOKENS;
        CHECK(result == (none ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS));
    }
    CHECK(one(value, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 0x10100) == CUDA_SUCCESS);
    CHECK(value[0] == 0x10100);
    CHECK(one(value, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 0x13fff) == CUDA_SUCCESS);
    CHECK(value[0] == 0x10000);
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                    CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *places[] = {&value[0], &value[1], &value[2]};
    value[0] = value[1] = value[2] = 99;
    CHECK(many(3, wanted, places, 0x10000) == CUDA_SUCCESS);
    CHECK((unsigned)value[0] == CU_MEMORYTYPE_DEVICE && value[1] == 0 && value[2] == 0x4000);
    CHECK(life_calls(driver, "cuPointerGetAttribute") == 0 &&
          life_calls(driver, "cuPointerGetAttributes") == 0);
    CHECK(one(value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0x14000) == CUDA_SUCCESS); /* the next */
    CHECK(life_calls(driver, "cuPointerGetAttribute") == 1);
    return 0;
}
