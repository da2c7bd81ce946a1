/* SPDX-License-Identifier: Apache-2.0 */
/* A program with functions of its own by drivers' names, of any signature, keeps them, and the
 * driver's are still hooked where they are asked for. */
#include "tests/hooks/life/life.h"

static int calls;

CUresult cuCtxSynchronize(void)
{
    calls++;
    return (CUresult)7;
}

double own_mean(double a, double b) __asm__("cuMemFree_v2");
double own_mean(double a, double b)
{
    calls++;
    return (a + b) / 2;
}

int main(void)
{
    void *driver = life_driver();
    CHECK(cuCtxSynchronize() == 7 && calls == 1);
    CHECK((CUresult(*)(void))dlsym(RTLD_DEFAULT, "cuCtxSynchronize") == cuCtxSynchronize);
    CUresult (*theirs)(void) = (CUresult(*)(void))dlsym(driver, "cuCtxSynchronize");
    CHECK(theirs != cuCtxSynchronize && theirs() == CUDA_SUCCESS && calls == 1);
    CHECK(life_calls(driver, "cuCtxSynchronize") == 1);
    CHECK(own_mean(3, 6) == 4.5 && calls == 2 && life_calls(driver, "cuMemFree_v2") == 0);
    PFN_cuMemFree_v3020 give = (PFN_cuMemFree_v3020)dlsym(driver, "cuMemFree_v2");
    CHECK(life_in((void *)give, "librec") && give(0x1000) == CUDA_SUCCESS && calls == 2);
    return 0;
}
