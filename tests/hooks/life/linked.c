/* SPDX-License-Identifier: Apache-2.0 */
/* link: cuda
 * Triton's launcher is linked to libcuda: calls through its own table, also from a static
 * initialiser that runs before main. */
#include "tests/hooks/life/life.h"

static CUresult early;

__attribute__((constructor)) static void before_main(void)
{
    early = cuMemsetD8_v2(0x1000, 0, 16);
}

int main(void)
{
    CHECK(early == CUDA_SUCCESS && life_counts()->before == 1);
    CHECK(cuMemsetD8_v2(0x1000, 0, 16) == CUDA_SUCCESS && life_counts()->before == 2);
    CHECK(life_in(dlsym(RTLD_NEXT, "cuMemsetD8_v2"), "librec"));
    return 0;
}
