/* SPDX-License-Identifier: Apache-2.0 */
/* dlmopen: a library in a namespace of its own works there, unseen, and nothing breaks. */
#include "tests/hooks/life/life.h"

int main(void)
{
    void *other = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
    CHECK(other != NULL);
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(other, "cuMemsetD8_v2");
    CHECK(set != NULL && set(0x1000, 0, 16) == CUDA_SUCCESS);
    CHECK(dlmopen(LM_ID_BASE, "libcuda.so.1", RTLD_NOW) != NULL);
    return 0;
}
