/* SPDX-License-Identifier: Apache-2.0 */
/* Such a library must get its own function, not our wrapper of the driver's. */
#include "tests/hooks/life/life.h"

int own_call(void);

int main(void)
{
    CHECK(own_call() == 6);
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(life_driver(), "cuMemsetD8_v2");
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS);
    CHECK(life_counts() == NULL || life_counts()->before == 0);
    return 0;
}
