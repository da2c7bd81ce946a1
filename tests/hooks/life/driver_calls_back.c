/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that calls a hooked function of its own from within one: that call passes through. */
#include "tests/hooks/life/life.h"

static PFN_cuMemsetD8_v3020 set;

static void driver_call(const char *name)
{
    if (strcmp(name, "cuMemcpy") == 0)
        CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS);
}

int main(void)
{
    void *driver = life_driver();
    PFN_cuMemcpy_v4000 copy = (PFN_cuMemcpy_v4000)dlsym(driver, "cuMemcpy");
    set = (PFN_cuMemsetD8_v3020)dlsym(driver, "cuMemsetD8_v2");
    *(void (**)(const char *))dlsym(driver, "fake_hook") = driver_call;
    CHECK(copy(0x1000, 0x2000, 16) == CUDA_SUCCESS);
    CHECK(life_calls(driver, "cuMemsetD8_v2") == 1 && life_counts()->before == 1);
    return 0;
}
