/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's runtime on the driver that does nothing: it looks its functions up, then gives up.
 * Every look-up must have come through our cuGetProcAddress, and each, made again, must be answered
 * by our wrapper of exactly the ABI that the driver gives where that is hooked, by the driver
 * otherwise. */
#include "tests/hooks/life/life.h"

int cudaGetDeviceCount(int *count);

static int hooked(const char *symbol)
{
#define SPILL_HOOK(s, base, abi, until, stream, type, class)                                       \
    if (strcmp(symbol, #s) == 0)                                                                   \
        return 1;
#include "preload/hooks.def"
#undef SPILL_HOOK
    return 0;
}

/* Starts the runtime that is linked in, or the copy that LIBRARY carries, by its function START,
 * which takes a place for its answer and perhaps a count of devices. */
static int begin(const char *library, const char *start)
{
    static char handle[4096];
    int count;
    if (library == NULL)
        return cudaGetDeviceCount(&count);
    void *opened = dlopen(library, RTLD_NOW);
    if (opened == NULL) {
        puts(dlerror());
        exit(1);
    }
    return ((int (*)(void *, int, void *))dlsym(opened, start))(handle, 1, NULL);
}

/* Usage: lookups [LIBRARY FUNCTION RESULT]: what the driver answers to everything. */
int main(int argc, char **argv)
{
    int ours = 0, total, distinct = 0;
    Dl_info library, info;
    void *driver = life_driver();
    int *answer = dlsym(driver, "fake_result");
    *answer = argc == 4 ? atoi(argv[3]) : CUDA_ERROR_NOT_SUPPORTED;
    int result = argc == 4 ? begin(argv[1], argv[2]) : begin(NULL, NULL);
    struct fake_request *request = dlsym(driver, "fake_request");
    void *(*lookup)(const char *, int, int) =
        (void *(*)(const char *, int, int))dlsym(driver, "fake_lookup");
    PFN_cuGetProcAddress_v12000 get =
        (PFN_cuGetProcAddress_v12000)dlsym(driver, "cuGetProcAddress_v2");
    CHECK(life_counts() != NULL && dladdr(life_counts(), &library) != 0);
    total = *(int *)dlsym(driver, "fake_requests");
    CHECK(total > 400 && total < FAKE_REQUESTS);
    for (int i = 0; i < total; i++) {
        const struct fake_request *r = &request[i];
        CHECK(dladdr(r->caller, &info) != 0 && info.dli_fbase == library.dli_fbase);
        void *real = lookup(r->base, r->version, (r->flags & 2) != 0), *got = NULL;
        CUdriverProcAddressQueryResult status;
        (void)get(r->base, &got, r->version, r->flags, &status);
        if (real == NULL || dladdr(real, &info) == 0 || !hooked(info.dli_sname)) {
            CHECK(got == real);
            continue;
        }
        const char *symbol = info.dli_sname;
        CHECK(got != NULL && dladdr(got, &info) != 0 && info.dli_fbase == library.dli_fbase);
        CHECK(strcmp(info.dli_sname, symbol) == 0);
        ours++;
        for (int k = 0; k <= i; k++)
            if (strcmp(request[k].base, r->base) == 0) {
                distinct += k == i;
                break;
            }
    }
    printf("# %d look-ups of the runtime, %d answered by us (%d names); it then said %d\n", total,
           ours, distinct, result);
    return ours < 50;
}
