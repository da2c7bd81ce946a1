/* SPDX-License-Identifier: Apache-2.0 */
/* A hooked call leaves errno alone, also the first one. */
#include "tests/hooks/life/life.h"

#include <errno.h>

int main(void)
{
    void *driver = life_driver();
    PFN_cuMemcpyAsync_v4000 copy = (PFN_cuMemcpyAsync_v4000)dlsym(driver, "cuMemcpyAsync");
    errno = 77;
    CHECK(copy(0x1000, 0x2000, 64, NULL) == CUDA_SUCCESS && errno == 77);
    CHECK(copy(0x1000, 0x2000, 64, NULL) == CUDA_SUCCESS && errno == 77);
    return 0;
}
