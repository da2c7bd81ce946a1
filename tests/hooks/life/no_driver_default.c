/* SPDX-License-Identifier: Apache-2.0 */
/* A program that asks the whole process whether there is a driver must not be told so by us. With
 * one loaded, even out of sight, it is. */
#include "tests/hooks/life/life.h"

int main(void)
{
    CHECK(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") == NULL && dlerror() != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "cuLaunchKernel") == NULL);
    (void)life_driver();
    CHECK(life_in(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), "librec"));
    return 0;
}
