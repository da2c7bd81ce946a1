/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of hooks.def, by every route by which a program can reach it, on a driver that notes its
 * arguments: our wrapper is what is found, it passes the arguments and the result on unchanged, and
 * the sink sees the call once. Every other function, and every other ABI of the same name, is the
 * driver's own. */
#include <dlfcn.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#define __CUDA_API_VERSION_INTERNAL
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include "tests/hooks/fakedriver.h"
extern "C" {
#include "tests/hooks/recsink.h"
}

enum hook_class { LOOKUP, ALLOC, FREE, POOL, QUERY, REFUSE, PIN, MAP, COPY, SET, LAUNCH, GRAPH, ORDER, SYNC, MODULE, CONTEXT, MARK };

/* The driver's declaration and the row's type must agree, or this does not compile. */
extern "C" {
#define SPILL_HOOK(symbol, base, abi, until, stream, type, class) \
    std::remove_pointer_t<type> symbol;
#include "preload/hooks.def"
#undef SPILL_HOOK
}

static recsink_counts *counts;
static unsigned checks, failures;

static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (++failures <= 20) {
        std::printf("not ok ");
        std::vprintf(format, args);
        std::printf("\n");
    }
    va_end(args);
}

static int number_of(const char *name)
{
    for (int i = 0; i < fake_functions; i++)
        if (std::strcmp(fake_name[i], name) == 0)
            return i;
    std::printf("not ok the driver has no %s\n", name);
    std::exit(1);
}

/* --- arguments: each another value, pointers to something that can be read --- */

static bool null_stream;
static char pool[16][8192] __attribute__((aligned(64)));

template <class T> T make(unsigned i)
{
    if constexpr (std::is_same_v<T, CUstream>)
        return null_stream ? nullptr : (T)(void *)pool[i];
    else if constexpr (std::is_pointer_v<T>)
        return (T)(void *)pool[i];
    else if constexpr (std::is_same_v<T, unsigned long long>)
        return 0x7f1234000000ULL + i; /* an address */
    else if constexpr (std::is_class_v<T>) {
        T value;
        std::memset(&value, (int)i + 1, sizeof(value));
        return value;
    } else
        return static_cast<T>(i + 1);
}

template <class T> uint64_t as_word(T value)
{
    uint64_t word = 0;
    static_assert(sizeof(value) <= sizeof(word), "an argument that takes two words");
    std::memcpy(&word, &value, sizeof(value));
    return word;
}

template <class T> void check_word(const char *name, const char *route, unsigned i)
{
    uint64_t mask = sizeof(T) == 8 ? ~0ULL : (1ULL << 8 * sizeof(T)) - 1;
    if ((fake_last.word[i] & mask) != as_word<T>(make<T>(i)))
        fail("%s by %s: argument %u was changed", name, route, i + 1);
}

template <class> struct caller;
template <class... A> struct caller<CUresult(A...)> {
    template <std::size_t... I>
    static CUresult call(CUresult (*f)(A...), std::index_sequence<I...>)
    {
        return f(make<A>(I)...);
    }
    template <std::size_t... I>
    static void check([[maybe_unused]] const char *name, [[maybe_unused]] const char *route,
                      std::index_sequence<I...>)
    {
        (check_word<A>(name, route, I), ...);
    }
    static void run(const char *name, const char *route, void *address, hook_class group);
};

/* What a wrapper may ask the driver besides. */
static bool helper(const char *name)
{
    return std::strcmp(name, "cuStreamSynchronize") == 0 || std::strcmp(name, "cuPointerGetAttribute") == 0 ||
           std::strcmp(name, "cuDevicePrimaryCtxGetState") == 0 || std::strcmp(name, "cuCtxGetDevice") == 0 ||
           std::strcmp(name, "cuDeviceGetCount") == 0 || std::strcmp(name, "cuStreamIsCapturing") == 0 ||
           std::strcmp(name, "cuGraphGetNodes") == 0;
}

static unsigned calls_besides(int function)
{
    unsigned n = 0;
    for (int i = 0; i < fake_functions; i++)
        if (i != function && !helper(fake_name[i]))
            n += fake_count[i];
    return n;
}

template <class... A>
void caller<CUresult(A...)>::run(const char *name, const char *route, void *address, hook_class group)
{
    auto index = std::index_sequence_for<A...>{};
    int function = number_of(name);
    for (int result : {0, 9000 + function}) {
        checks++;
        std::memset(pool, 0, sizeof(pool));
        std::memset(fake_count, 0, sizeof(unsigned) * (size_t)fake_functions);
        *counts = {};
        fake_result = result;
        null_stream = result != 0 || group == ORDER;
        CUresult got = call((CUresult(*)(A...))address, index);
        if ((int)got != result)
            fail("%s by %s: result %d became %d", name, route, result, (int)got);
        if (fake_count[function] != 1 || calls_besides(function) != 0)
            fail("%s by %s: %u real calls, %u of others", name, route, fake_count[function],
                 calls_besides(function));
        if (fake_last.function == function)
            check(name, route, index);
        bool op = group == COPY || group == SET || group == LAUNCH ||
                  (group == GRAPH && std::strstr(name, "GraphLaunch") != nullptr);
        if (counts->before != op || counts->after != op)
            fail("%s by %s: seen %u times before, %u after", name, route, counts->before, counts->after);
        bool twin = std::strstr(name, "_pt") != nullptr;
        unsigned captures = std::strstr(name, "BeginCapture") != nullptr ? 2 : std::strstr(name, "EndCapture") != nullptr;
        if (counts->captures != captures)
            fail("%s by %s: %u words of a capture", name, route, counts->captures);
        bool ordered = group == ORDER && result == 0; /* what failed orders nothing */
        if (group == ORDER && counts->ordered != ordered)
            fail("%s by %s: an order seen %u times", name, route, counts->ordered);
        bool graph = group == GRAPH && !op && captures == 0 && std::strstr(name, "BatchMemOp") == nullptr &&
                     (result == 0 || std::strstr(name, "Destroy") != nullptr);
        if ((counts->graphs != 0) != graph)
            fail("%s by %s: told %u times of a graph", name, route, counts->graphs);
        if ((op || ordered || captures != 0) && null_stream && counts->default_stream != (twin ? 2u : 1u))
            fail("%s by %s: not on its default stream", name, route);
        bool by_list = std::strstr(name, "Batch") != nullptr || std::strstr(name, "cuTexObject") != nullptr;
        if (group == PIN && !by_list && counts->pinned == 0)
            fail("%s by %s: nothing pinned", name, route);
        if (group == MAP && (counts->mapped != (result == 0 ? counts->pinned : 0) ||
                             (counts->mapped != 0) != (result == 0)))
            fail("%s by %s: tensor map of %llx, pinned %llx", name, route,
                 (unsigned long long)counts->mapped, (unsigned long long)counts->pinned);
        if (group != REFUSE || by_list)
            continue;
        /* Once more, with every address managed: refused, and the driver not asked. */
        counts->managed_base = 1;
        counts->managed_bytes = ~0ULL - 1;
        fake_result = 0;
        got = call((CUresult(*)(A...))address, index);
        if (got != CUDA_ERROR_INVALID_VALUE || fake_count[function] != 1)
            fail("%s of a managed buffer: result %d, %u real calls", name, (int)got, fake_count[function] - 1);
    }
}

/* --- routes --- */

static void *library_base, *driver;
static PFN_cuGetProcAddress_v11030 by_v1;
static PFN_cuGetProcAddress_v12000 by_v2, by_itself;

/* Is ADDRESS our wrapper called NAME? */
static bool ours(const char *name, const void *address)
{
    Dl_info info;
    return address != nullptr && dladdr(address, &info) != 0 && info.dli_fbase == library_base &&
           info.dli_sname != nullptr && std::strcmp(info.dli_sname, name) == 0;
}

template <class F>
static void row(const char *name, const char *base, int abi, bool twin, hook_class group, void *linked)
{
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)77;
    cuuint64_t flags = twin ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_DEFAULT;
    struct {
        const char *route;
        void *address;
    } found[] = {{"link", linked},
                 {"dlsym", dlsym(driver, name)},
                 {"dlsym default", dlsym(RTLD_DEFAULT, name)},
                 {"dlsym next", dlsym(RTLD_NEXT, name)},
                 {"dlvsym", dlvsym(driver, name, "ANY_1.0")},
                 {"cuGetProcAddress", nullptr},
                 {"cuGetProcAddress_v2", nullptr},
                 {"cuGetProcAddress through itself", nullptr}};
    if (by_v1(base, &found[5].address, abi, flags) != CUDA_SUCCESS)
        fail("%s: cuGetProcAddress finds nothing", name);
    if (by_v2(base, &found[6].address, abi, flags, &status) != CUDA_SUCCESS || (int)status != 0)
        fail("%s: cuGetProcAddress_v2 finds nothing, status %d", name, (int)status);
    (void)by_itself(base, &found[7].address, abi, flags, &status);
    for (auto &f : found) {
        checks++;
        /* glibc gives unversioned functions by dlvsym only from objects without any version. */
        if (f.address == nullptr && std::strcmp(f.route, "dlvsym") == 0)
            continue;
        if (!ours(name, f.address))
            fail("%s by %s: not our wrapper", name, f.route);
        else if (group != LOOKUP)
            caller<F>::run(name, f.route, f.address, group);
    }
}

/* --- every name, at every version: ours if hooked, untouched otherwise --- */

static bool hooked(const char *symbol)
{
#define SPILL_HOOK(s, base, abi, until, stream, type, class) \
    if (std::strcmp(symbol, #s) == 0) \
        return true;
#include "preload/hooks.def"
#undef SPILL_HOOK
    return false;
}

static void answer(const char *base, int version, unsigned flags)
{
    void *got = nullptr;
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)77;
    void *real = fake_lookup(base, version, (flags & 2) != 0);
    CUresult result = by_v2(base, &got, version, flags, &status);
    Dl_info info;
    checks++;
    if ((result == CUDA_SUCCESS) != (real != nullptr) || (int)status == 77)
        fail("%s %d: result %d, status %d", base, version, (int)result, (int)status);
    if (real == nullptr || dladdr(real, &info) == 0 || info.dli_sname == nullptr)
        return;
    if (hooked(info.dli_sname) ? !ours(info.dli_sname, got) : got != real)
        fail("%s %d flags %u: %s answered by %s", base, version, flags, info.dli_sname,
             got == real ? "the driver" : "something else");
}

static void all_names()
{
    static const int versions[] = {2000,  3000,  3020,  4000,  4010,  5000,  6000,  6050,  7000,  8000,  9000,
                                   10000, 10010, 10020, 11000, 11010, 11020, 11030, 11040, 11060, 11070, 11080,
                                   12000, 12010, 12020, 12030, 12040, 12050, 12060, 12080, 12090, 13000, 13010};
    static const char *const bases[] = {
#define LOOKUP(base, symbol, version, form) #base,
#include "lookup_table.inc"
#undef LOOKUP
    };
    for (const char *base : bases)
        for (int version : versions)
            for (unsigned flags : {0u, 1u, 2u})
                answer(base, version, flags);
    for (const char *base : {"", "cu", "cudnnCreate", "cublasCreate_v2", "cuMemAlloc_v9", "cuNoSuchFunction"})
        answer(base, 13000, 0);
    for (int i = 0; i < fake_functions; i++) { /* raw names that are not hooked */
        checks++;
        void *got = dlsym(driver, fake_name[i]);
        if (hooked(fake_name[i]) ? !ours(fake_name[i], got) : ours(fake_name[i], got))
            fail("dlsym %s", fake_name[i]);
    }
}

int main()
{
    Dl_info info;
    counts = (recsink_counts *)dlsym(RTLD_DEFAULT, "recsink_counts");
    if (counts == nullptr || dladdr(counts, &info) == 0) {
        std::printf("not ok the library under test is not preloaded\n");
        return 1;
    }
    library_base = info.dli_fbase;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    by_v1 = (PFN_cuGetProcAddress_v11030)dlsym(driver, "cuGetProcAddress");
    by_v2 = (PFN_cuGetProcAddress_v12000)dlsym(driver, "cuGetProcAddress_v2");
    CUdriverProcAddressQueryResult status;
    if (by_v2("cuGetProcAddress", (void **)&by_itself, 12000, 0, &status) != CUDA_SUCCESS)
        return 1;
#define SPILL_HOOK(symbol, base, abi, until, stream, type, class) \
    row<std::remove_pointer_t<type>>(#symbol, #base, abi, #stream[0] == 'T', class, (void *)symbol);
#include "preload/hooks.def"
#undef SPILL_HOOK
    std::printf("# %u rows and routes checked\n", checks);
    all_names();
    std::printf("%s %u checks, %u failures\n", failures == 0 ? "ok" : "not ok", checks, failures);
    return failures != 0;
}
