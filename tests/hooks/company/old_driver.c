/* SPDX-License-Identifier: Apache-2.0 */
/* HAMi-core#36: a driver without the newer functions. What it has works; what it lacks is not
 * there.
 */
#include "tests/hooks/life/life.h"

int main(void)
{
    void *driver = life_driver();
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(driver, "cuMemsetD8_v2");
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS && life_counts()->before == 1);
    CHECK(dlsym(driver, "cuMemAllocAsync") == NULL && dlerror() != NULL);
    CHECK(dlsym(driver, "cuLaunchKernelEx") == NULL);
    return 0;
}
