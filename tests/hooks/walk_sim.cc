/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of hooks.def, by every route, on the simulated GPU itself, which looks functions up in its
 * own way: each is called with nothing to work on and prints what it answers. Run alone and under the
 * library with a recording sink, it must print the same; under the library, each is ours, and each
 * call of an operation is seen once. */
#include <dlfcn.h>
#include <cstdio>
#include <cstring>
#include <type_traits>

#define __CUDA_API_VERSION_INTERNAL
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>
extern "C" {
#include "tests/hooks/recsink.h"
}

enum hook_class { LOOKUP, ALLOC, FREE, POOL, QUERY, REFUSE, PIN, MAP, COPY, SET, LAUNCH, GRAPH, ORDER, SYNC, MODULE, CONTEXT, MARK };

static recsink_counts *counts; /* NULL: alone */
static void *library_base, *driver;
static int failed;

template <class> struct caller;
template <class... A> struct caller<CUresult(A...)> {
    static CUresult call(void *address)
    {
        return ((CUresult(*)(A...))address)(A()...);
    }
};

/* Ends of what the rest needs. */
static bool ends_all(const char *name)
{
    return std::strstr(name, "PrimaryCtxReset") != nullptr || std::strstr(name, "PrimaryCtxRelease") != nullptr;
}

static void check(const char *name, const char *route, void *address)
{
    Dl_info info;
    if (counts == nullptr)
        return;
    if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fbase != library_base ||
        std::strcmp(info.dli_sname, name) != 0) {
        std::fprintf(stderr, "%s by %s: not ours\n", name, route);
        failed = 1;
    }
}

template <class F> static void row(const char *name, const char *base, int abi, bool twin, hook_class group, void *linked)
{
    cuuint64_t flags = twin ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_DEFAULT;
    CUdriverProcAddressQueryResult status;
    PFN_cuGetProcAddress_v12000 again = nullptr;
    struct {
        const char *route;
        void *address;
    } found[] = {{"link", linked},
                 {"dlsym", dlsym(driver, name)},
                 {"dlsym default", dlsym(RTLD_DEFAULT, name)},
                 {"cuGetProcAddress", nullptr},
                 {"cuGetProcAddress_v2", nullptr},
                 {"cuGetProcAddress through itself", nullptr}};
    (void)cuGetProcAddress(base, &found[3].address, abi, flags);
    (void)cuGetProcAddress_v2(base, &found[4].address, abi, flags, &status);
    (void)cuGetProcAddress_v2("cuGetProcAddress", (void **)&again, 12000, 0, &status);
    (void)again(base, &found[5].address, abi, flags, &status);
    for (auto &f : found) {
        check(name, f.route, f.address);
        if (f.address == nullptr || group == LOOKUP || ends_all(name))
            continue;
        if (counts != nullptr)
            counts->before = counts->after = 0;
        std::printf("%s by %s: %d\n", name, f.route, (int)caller<F>::call(f.address));
        /* Of the graph calls, those that start nothing are no operations. */
        bool op = group == COPY || group == SET || group == LAUNCH ||
                  (group == GRAPH && std::strstr(name, "GraphLaunch") != nullptr);
        if (counts != nullptr && (counts->before != op || counts->after != op)) {
            std::fprintf(stderr, "%s by %s: seen %u times before, %u after\n", name, f.route, counts->before,
                         counts->after);
            failed = 1;
        }
    }
}

int main()
{
    CUcontext context;
    Dl_info info;
    counts = (recsink_counts *)dlsym(RTLD_DEFAULT, "recsink_counts");
    if (counts != nullptr && dladdr(counts, &info) != 0)
        library_base = info.dli_fbase;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr || cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return 1;
#define SPILL_HOOK(symbol, base, abi, until, stream, type, class) \
    row<std::remove_pointer_t<type>>(#symbol, #base, abi, #stream[0] == 'T', class, (void *)symbol);
#include "preload/hooks.def"
#undef SPILL_HOOK
    return failed;
}
