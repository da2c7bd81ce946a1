/* SPDX-License-Identifier: Apache-2.0 */
/* A program that replaces itself is intercepted again, and its arguments are its own. */
#include "tests/hooks/life/life.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(life_driver(), "cuMemsetD8_v2");
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS && life_counts()->before == 1);
    if (argc > 1)
        return strcmp(argv[1], "again a") != 0;
    execl("/proc/self/exe", argv[0], "again a", (char *)NULL);
    return 1;
}
