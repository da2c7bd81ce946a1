/* SPDX-License-Identifier: Apache-2.0 */
/* lupine#740, #572: a stand-in for a private export table hangs its caller, a wrapper of an older
 * signature of cuGraphExecUpdate crashes it. Here: both are the driver's own, by every route. */
#include "tests/hooks/life/life.h"

int main(void)
{
    static const struct {
        const char *base, *symbol;
        int version;
    } untouched[] = {{"cuGetExportTable", "cuGetExportTable", 3000},
                     {"cuGraphExecUpdate", "cuGraphExecUpdate", 10020},
                     {"cuGraphExecUpdate", "cuGraphExecUpdate_v2", 12000},
                     {"cuInit", "cuInit", 2000}};
    void *driver = life_driver();
    PFN_cuGetProcAddress_v12000 get =
        (PFN_cuGetProcAddress_v12000)dlsym(driver, "cuGetProcAddress_v2");
    for (unsigned i = 0; i < sizeof(untouched) / sizeof(untouched[0]); i++) {
        void *found = NULL, *raw = dlsym(driver, untouched[i].symbol);
        CUdriverProcAddressQueryResult status;
        CHECK(get(untouched[i].base, &found, untouched[i].version, 0, &status) == CUDA_SUCCESS);
        CHECK(raw != NULL && found == raw && life_in(raw, "libcuda.so"));
    }
    return 0;
}
