/* SPDX-License-Identifier: Apache-2.0 */
/* lupine#740, #572: a stand-in for a private export table hangs its caller, a wrapper of an older
 * signature of cuGraphExecUpdate crashes it. Here: the table is the driver's own, by every route,
 * and each version of the other is answered by the function of that very signature. */
#include "tests/hooks/life/life.h"

int main(void)
{
    static const struct {
        const char *base, *symbol;
        int version;
    } untouched[] = {{"cuGetExportTable", "cuGetExportTable", 3000}, {"cuInit", "cuInit", 2000}};
    void *driver = life_driver();
    PFN_cuGetProcAddress_v12000 get =
        (PFN_cuGetProcAddress_v12000)dlsym(driver, "cuGetProcAddress_v2");
    for (unsigned i = 0; i < sizeof(untouched) / sizeof(untouched[0]); i++) {
        void *found = NULL, *raw = dlsym(driver, untouched[i].symbol);
        CUdriverProcAddressQueryResult status;
        CHECK(get(untouched[i].base, &found, untouched[i].version, 0, &status) == CUDA_SUCCESS);
        CHECK(raw != NULL && found == raw && life_in(raw, "libcuda.so"));
    }
    for (int version = 10020; version <= 12000; version += 1980) {
        const char *symbol = version < 12000 ? "cuGraphExecUpdate" : "cuGraphExecUpdate_v2";
        void *found = NULL;
        CUdriverProcAddressQueryResult status;
        Dl_info info;
        CHECK(get("cuGraphExecUpdate", &found, version, 0, &status) == CUDA_SUCCESS);
        CHECK(found != NULL && found == dlsym(driver, symbol) && dladdr(found, &info) != 0);
        CHECK(strcmp(info.dli_sname, symbol) == 0 && life_in(found, "librec.so"));
    }
    return 0;
}
