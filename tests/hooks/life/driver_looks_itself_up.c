/* SPDX-License-Identifier: Apache-2.0 */
/* HAMi-core PR#326: the driver's own dlsym came back to the hook, which called the driver, and so
 * on. Here: the driver gets its own functions. */
#include "tests/hooks/life/life.h"

int main(void)
{
    void *driver = life_driver();
    void *(*own)(const char *) = (void *(*)(const char *))dlsym(driver, "fake_own");
    CHECK(life_in(dlsym(driver, "cuMemAlloc_v2"), "librec"));
    CHECK(life_in(own("cuMemAlloc_v2"), "libcuda.so"));
    return 0;
}
