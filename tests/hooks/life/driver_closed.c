/* SPDX-License-Identifier: Apache-2.0 */
/* A program may close its driver, keep a function of it, and open it again. */
#include "tests/hooks/life/life.h"

int main(void)
{
    void *driver = life_driver();
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(driver, "cuMemsetD8_v2");
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS);
    dlclose(driver);
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS);
    CHECK((PFN_cuMemsetD8_v3020)dlsym(life_driver(), "cuMemsetD8_v2") == set);
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS && life_counts()->before == 3);
    return 0;
}
