/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups and parameters: what the hooks and the pointer scan rely on. */
#include "gpufact.h"

#include <dlfcn.h>

struct some_struct {
    int n;
    float *where;
    char tail[3];
};

__global__ void with_params(float *a, int n, struct some_struct s, double d, char c)
{
    if (n < 0)
        a[0] = s.where[s.n] + (float)d + (float)c;
}

__global__ void without_params()
{
}

/* Asks as profiler/kernels.c does: until INVALID_VALUE. */
static std::string ask(CUfunction function)
{
    std::string all;
    for (size_t i = 0; i < 16; i++) {
        size_t offset = 0, bytes = 0;
        CUresult result = cuFuncGetParamInfo(function, i, &offset, &bytes);
        if (result != CUDA_SUCCESS)
            return all + (result == CUDA_ERROR_INVALID_VALUE ? "end" : result_name(result));
        all += std::to_string(offset) + "+" + std::to_string(bytes) + " ";
    }
    return all + "no end";
}

static void params()
{
    const char *want = "0+8 8+4 16+24 40+8 48+1 end";
    cudaFunction_t function = NULL;
    NEED(cudaGetFuncBySymbol(&function, (const void *)with_params));
    std::string got = ask((CUfunction)function);
    say_check("cuFuncGetParamInfo of a CUfunction", got == want, got);
    NEED(cudaGetFuncBySymbol(&function, (const void *)without_params));
    got = ask((CUfunction)function);
    say_check("cuFuncGetParamInfo of a kernel without parameters", got == "end", got);
#if !defined(__SIMGPU__) && CUDART_VERSION >= 12010
    cudaKernel_t kernel = NULL;
    NEED(cudaGetKernel(&kernel, (const void *)with_params));
    got = ask((CUfunction)kernel);
    say_check("cuFuncGetParamInfo of a CUkernel", got == want, got,
              "end at once would read as no parameters at all");
    const char *name = NULL;
    CUresult result = cuFuncGetName(&name, (CUfunction)kernel);
    say("fact", "cuFuncGetName of a CUkernel", result_name(result).c_str(), "",
        result == CUDA_SUCCESS && name != NULL ? name : "");
    CUfunction behind = NULL;
    result = cuKernelGetFunction(&behind, (CUkernel)kernel);
    say("fact", "a CUkernel and its CUfunction are one pointer",
        result != CUDA_SUCCESS             ? result_name(result).c_str()
        : (void *)behind == (void *)kernel ? "yes"
                                           : "no");
#else
    say("skip", "cuFuncGetParamInfo of a CUkernel", "no cudaGetKernel");
#endif
}

struct row {
    const char *symbol, *base;
    int abi, until;
    bool per_thread;
};

static const struct row rows[] = {
#define FACT_L false
#define FACT_T true
#define SPILL_HOOK(symbol, base, abi, until, stream, type, class)                                  \
    {#symbol, #base, abi, until, FACT_##stream},
#include "preload/hooks.def"
#undef SPILL_HOOK
};

/* row_of_answer (preload/lookup.c) tells an ABI by the address of the exported symbol. */
static void pointers()
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    int version = 0, equal = 0, absent = 0, differ = 0, refused = 0;
    std::string which;
    NEED(cuDriverGetVersion(&version));
    say_check("the driver is found by its soname", driver != NULL, driver != NULL ? "yes" : "no");
    if (driver == NULL)
        return;
    Dl_info info;
    void *init = dlsym(driver, "cuInit");
    const char *path = init != NULL && dladdr(init, &info) != 0 ? info.dli_fname : "?";
    const char *slash = strrchr(path, '/');
    say_check("the driver's file is called libcuda.so",
              strncmp(slash != NULL ? slash + 1 : path, "libcuda.so", 10) == 0, path);
    for (const struct row &r : rows) {
        void *exported = dlsym(driver, r.symbol), *answer = NULL;
        CUdriverProcAddressQueryResult status;
        if (exported == NULL || r.abi > version) {
            absent++;
            continue;
        }
        CUresult result =
            cuGetProcAddress(r.base, &answer, r.abi,
                             r.per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                          : CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                             &status);
        if (result != CUDA_SUCCESS || answer == NULL)
            refused++;
        else if (answer == exported)
            equal++;
        else {
            differ++;
            if (which.size() < 300)
                which += std::string(which.empty() ? "" : " ") + r.symbol;
        }
    }
    say_number("fact", "hooked functions this driver lacks", absent, "functions");
    say_number("fact", "hooked functions that cuGetProcAddress refuses", refused, "functions");
    say_number(equal > 0 ? "ok" : "bad", "cuGetProcAddress answers with the exported symbol", equal,
               "functions");
    say_number(differ == 0 ? "ok" : "bad", "cuGetProcAddress answers otherwise", differ,
               "functions", which.c_str());
}

static void oddities()
{
    int version = 0;
    CUdriverProcAddressQueryResult status;
    void *answer = NULL;
    NEED(cuDriverGetVersion(&version));
    say_number("fact", "driver's CUDA version", version, "");
    CUresult result = cuGetProcAddress("cuMemAllocFuture", &answer, version, 0, &status);
    say("fact", "cuGetProcAddress of an unknown name", result_name(result).c_str());
    answer = NULL;
    result = cuGetProcAddress("cuCtxSynchronize", &answer, version + 1000, 0, &status);
    say("fact", "cuGetProcAddress for a newer version than the driver's",
        result_name(result).c_str());
    say_number("ok", "granularity of frames", (double)page / 1048576, "MiB");
    if (page != (2U << 20))
        say("bad", "granularity of frames is 2 MiB", "no", "", "pages and plans were sized for it");
}

int main(int argc, char **argv)
{
    static const struct fact facts[] = {
        {"params", params}, {"pointers", pointers}, {"oddities", oddities}};
    return run_facts(argc, argv, facts, sizeof(facts) / sizeof(facts[0]));
}
