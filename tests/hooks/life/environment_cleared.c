/* SPDX-License-Identifier: Apache-2.0 */
/* A program may clear its environment, and close its standard error, before its first call. */
#include "tests/hooks/life/life.h"

#include <unistd.h>

int main(void)
{
    clearenv();
    close(STDERR_FILENO);
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(life_driver(), "cuMemsetD8_v2");
    return set(0x1000, 0, 16) != CUDA_SUCCESS || life_counts()->before != 1;
}
