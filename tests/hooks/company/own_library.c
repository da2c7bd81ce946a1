/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose library has functions named like the driver's: they are what it calls, with all
 * their arguments and results, the first call included; nothing is intercepted then, and that is
 * said. */
#include "tests/hooks/company/ownlib.h"

#include "tests/hooks/life/life.h"

int main(void)
{
    struct own_pair pair = own_swap((struct own_pair){3, 4, 5.5});
    CHECK(pair.a == 4 && pair.b == 3 && pair.c == 6.5);
    double blend = own_blend(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    CHECK(blend ==
          1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 81 + 100 + 121 + 144 + 169 + 196 + 225 + 256);
    CHECK(own_sum("ddidi", 1.5, 2.5, 3, 4.0, 5) == 16);
    CHECK(own_set(1, 2, 4) == 7 && own_set_inside() == 6);
    CHECK(own_calls == 5);
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(life_driver(), "cuMemsetD8_v2");
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS && life_counts()->before == 0);
    return 0;
}
