/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a function of its own by a driver's name keeps it, and the driver's is still
 * hooked where it is asked for. */
#include "tests/hooks/life/life.h"

static int calls;

CUresult cuCtxSynchronize(void)
{
    calls++;
    return (CUresult)7;
}

int main(void)
{
    void *driver = life_driver();
    CHECK(cuCtxSynchronize() == 7 && calls == 1);
    CHECK((CUresult(*)(void))dlsym(RTLD_DEFAULT, "cuCtxSynchronize") == cuCtxSynchronize);
    CUresult (*theirs)(void) = (CUresult(*)(void))dlsym(driver, "cuCtxSynchronize");
    CHECK(theirs != cuCtxSynchronize && theirs() == CUDA_SUCCESS && calls == 1);
    CHECK(life_calls(driver, "cuCtxSynchronize") == 1);
    return 0;
}
