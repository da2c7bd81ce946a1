/* SPDX-License-Identifier: Apache-2.0 */
/* TMS#33: several preloads. Each call passes through both, once, in either order. */
#include "tests/hooks/life/life.h"

int main(void)
{
    void *driver = life_driver();
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(driver, "cuMemsetD8_v2");
    unsigned *other = dlsym(RTLD_DEFAULT, "other_calls");
    CHECK(set != NULL && other != NULL);
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS);
    CHECK(life_calls(driver, "cuMemsetD8_v2") == 1 && life_counts()->before == 1 && *other == 1);
    return 0;
}
