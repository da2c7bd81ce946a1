// SPDX-License-Identifier: Apache-2.0
// Start-up, devices, contexts, look-up of entry points, kernels as the driver shows them.
#include "simtest.h"
#include <dlfcn.h>
#include <pthread.h>

struct Pair {
    double a;
    int b;
};
__global__ void takes(char c, double d, short s, Pair p, int *out)
{
    *out = c + (int)d + s + (int)p.a + p.b;
}
__global__ void nothing()
{
}
__global__ void add_to(int *p, int v)
{
    *p += v;
}

static CUfunction function(const void *stub)
{
    cudaFunction_t f = nullptr;
    OK(cudaGetFuncBySymbol(&f, stub));
    return (CUfunction)f;
}

CASE(nothing_works_before_init)
{
    int n;
    CUdevice d;
    CUdeviceptr p;
    GIVES(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    GIVES(cuDeviceGet(&d, 0), CUDA_ERROR_NOT_INITIALIZED);
    GIVES(cuMemAlloc(&p, 100), CUDA_ERROR_NOT_INITIALIZED);
}
CASE(init_flags_must_be_zero)
{
    GIVES(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuInit(0));
}
CASE(memory_needs_a_context)
{
    CUdeviceptr p;
    OK(cuInit(0));
    GIVES(cuMemAlloc(&p, 100), CUDA_ERROR_INVALID_CONTEXT);
    GIVES(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}
CASE(device_queries)
{
    driver_up();
    int n = 0, major = 0, minor = 0, v = 0;
    char name[64] = "";
    size_t total = 0;
    OK(cuDeviceGetCount(&n));
    CHECK(n >= 1);
    OK(cuDeviceGetName(name, sizeof name, device0));
    CHECK(*name != 0);
    OK(cuDeviceTotalMem(&total, device0));
    CHECK(total > 0);
    OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device0));
    OK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device0));
    CHECK(major >= 7);
    OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device0));
    EQUAL(v, 32);
    OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device0));
    EQUAL(v, 1024);
    OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, device0));
    EQUAL(v, 1);
    OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device0));
    EQUAL(v, 1);
}
CASE(unknown_devices_are_refused)
{
    driver_up();
    CUdevice d;
    int v, n;
    OK(cuDeviceGetCount(&n));
    GIVES(cuDeviceGet(&d, n), CUDA_ERROR_INVALID_DEVICE);
    GIVES(cuDeviceGet(&d, -1), CUDA_ERROR_INVALID_DEVICE);
    GIVES(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, n), CUDA_ERROR_INVALID_DEVICE);
    GIVES(cudaSetDevice(n), cudaErrorInvalidDevice);
}
CASE(null_outputs_are_refused)
{
    driver_up();
    GIVES(cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemAlloc(nullptr, 100), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemAddressReserve(nullptr, 2 << 20, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemHostAlloc(nullptr, 100, 0), CUDA_ERROR_INVALID_VALUE);
}
CASE(primary_context_is_one)
{
    driver_up();
    CUcontext again;
    OK(cuDevicePrimaryCtxRetain(&again, device0));
    CHECK(again == context0);
    unsigned int flags;
    int active = 0;
    OK(cuDevicePrimaryCtxGetState(device0, &flags, &active));
    EQUAL(active, 1);
}
CASE(runtime_and_driver_share_the_primary_context)
{
    OK(cudaFree(nullptr));
    CUcontext current = nullptr, primary;
    OK(cuCtxGetCurrent(&current));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    CHECK(current != nullptr && current == primary);
}
CASE(contexts_push_and_pop)
{
    driver_up();
    CUcontext c, got;
    CUctxCreateParams params = {};
    OK(cuCtxCreate(&c, &params, 0, device0));
    OK(cuCtxGetCurrent(&got));
    CHECK(got == c);
    OK(cuCtxPopCurrent(&got));
    CHECK(got == c);
    OK(cuCtxGetCurrent(&got));
    CHECK(got == context0);
    OK(cuCtxPushCurrent(c));
    CUdevice d = 9;
    OK(cuCtxGetDevice(&d));
    EQUAL(d, 0);
    OK(cuCtxDestroy(c));
    OK(cuCtxGetCurrent(&got));
    CHECK(got == context0);
}
CASE(set_current_of_null_takes_the_context_away)
{
    driver_up();
    CUcontext got = context0;
    OK(cuCtxSetCurrent(nullptr));
    OK(cuCtxGetCurrent(&got));
    CHECK(got == nullptr);
}
static void *other_thread(void *)
{
    CUcontext got = (CUcontext)1;
    OK(cuCtxGetCurrent(&got));
    CHECK(got == nullptr);
    OK(cuCtxSetCurrent(context0));
    CUdeviceptr p;
    OK(cuMemAlloc(&p, 100));
    return nullptr;
}
CASE(a_thread_starts_without_a_context)
{
    driver_up();
    pthread_t t;
    pthread_create(&t, nullptr, other_thread, nullptr);
    pthread_join(t, nullptr);
}
CASE(reset_ends_a_sticky_error)
{
    add_to<<<1, 1>>>(nullptr, 1);
    GIVES(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    cudaDeviceReset();
    cudaGetLastError();
    void *p;
    OK(cudaMalloc(&p, 100));
}
CASE(error_names_and_texts)
{
    const char *text = nullptr;
    OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    CHECK(text && strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    CHECK(text && strcmp(text, "out of memory") == 0);
    GIVES(cuGetErrorName((CUresult)123456, &text), CUDA_ERROR_INVALID_VALUE);
    CHECK(text == nullptr);
    CHECK(strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
}
CASE(parameters_are_laid_out_by_their_alignment)
{
    size_t offset = 9, size = 9;
    const size_t offsets[] = {0, 8, 16, 24, 40}, sizes[] = {1, 8, 2, 16, 8};
    CUfunction f = function((const void *)takes);
    for (size_t i = 0; i < 5; i++) {
        OK(cuFuncGetParamInfo(f, i, &offset, &size));
        EQUAL(offset, offsets[i]);
        EQUAL(size, sizes[i]);
    }
    GIVES(cuFuncGetParamInfo(f, 5, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncGetParamInfo(f, 3, &offset, nullptr));
    GIVES(cuFuncGetParamInfo(function((const void *)nothing), 0, &offset, &size),
          CUDA_ERROR_INVALID_VALUE);
}
CASE(function_name_is_the_mangled_one)
{
    const char *name = nullptr;
    OK(cuFuncGetName(&name, function((const void *)add_to)));
    CHECK(name && strcmp(name, "_Z6add_toPii") == 0);
}
CASE(launch_with_pointers_to_parameters)
{
    int *p, v = 5, got = 0;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemset(p, 0, 4));
    void *params[] = {&p, &v};
    OK(cuLaunchKernel(function((const void *)add_to), 1, 1, 1, 1, 1, 1, 0, 0, params, nullptr));
    v = 1000; // the call has taken what it needs
    OK(cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost));
    EQUAL(got, 5);
}
CASE(launch_with_packed_parameters)
{
    int *p, got = 0;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemset(p, 0, 4));
    struct {
        int *p;
        int v;
    } packed = {p, 6};
    size_t bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(function((const void *)add_to), 1, 1, 1, 1, 1, 1, 0, 0, nullptr, extra));
    OK(cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost));
    EQUAL(got, 6);
}
CASE(launch_ex)
{
    int *p, v = 7, got = 0;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemset(p, 0, 4));
    void *params[] = {&p, &v};
    CUlaunchConfig c = {};
    c.gridDimX = c.gridDimY = c.gridDimZ = c.blockDimX = c.blockDimY = c.blockDimZ = 1;
    OK(cuLaunchKernelEx(&c, function((const void *)add_to), params, nullptr));
    OK(cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost));
    EQUAL(got, 7);
}
CASE(impossible_geometry)
{
    OK(cudaFree(nullptr));
    CUfunction f = function((const void *)nothing);
    GIVES(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuLaunchKernel(f, 1, 1, 1, 32, 32, 2, 0, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, 0, nullptr, nullptr),
          CUDA_ERROR_INVALID_VALUE);
    nothing<<<1, 2000>>>();
    GIVES(cudaGetLastError(), cudaErrorInvalidConfiguration);
    nothing<<<0, 1>>>();
    GIVES(cudaGetLastError(), cudaErrorInvalidConfiguration);
}
CASE(function_attributes)
{
    cudaFuncAttributes a = {};
    OK(cudaFuncGetAttributes(&a, takes));
    CHECK(a.maxThreadsPerBlock > 0 && a.maxThreadsPerBlock <= 1024);
    CHECK(a.numRegs > 0);
    int blocks = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, takes, 256, 0));
    CHECK(blocks >= 1);
}
CASE(unregistered_functions_are_unknown)
{
    static int x;
    void *args[] = {nullptr};
    GIVES(cudaLaunchKernel((const void *)&x, dim3(1), dim3(1), args, 0, 0),
          cudaErrorInvalidDeviceFunction);
}
static void *looked_up(const char *name, int version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult want)
{
    void *p = (void *)1;
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)9;
    CUresult r = cuGetProcAddress(name, &p, version, flags, &status);
    EQUAL(status, want);
    EQUAL(r, want == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
    return p;
}
static void *exported(const char *name)
{
    void *p = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    CHECK(p != nullptr);
    return p;
}
CASE(lookup_by_version)
{
    CHECK(looked_up("cuMemAlloc", 12000, 0, CU_GET_PROC_ADDRESS_SUCCESS) ==
          exported("cuMemAlloc_v2"));
    CHECK(looked_up("cuMemAlloc", 3020, 0, CU_GET_PROC_ADDRESS_SUCCESS) ==
          exported("cuMemAlloc_v2"));
    CHECK(looked_up("cuMemAlloc", 2000, 0, CU_GET_PROC_ADDRESS_SUCCESS) == exported("cuMemAlloc"));
    CHECK(looked_up("cuGetProcAddress", 11030, 0, CU_GET_PROC_ADDRESS_SUCCESS) ==
          exported("cuGetProcAddress"));
    CHECK(looked_up("cuGetProcAddress", 12000, 0, CU_GET_PROC_ADDRESS_SUCCESS) ==
          exported("cuGetProcAddress_v2"));
}
CASE(lookup_of_what_is_too_new)
{
    CHECK(looked_up("cuFuncGetParamInfo", 12000, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT) ==
          nullptr);
    CHECK(looked_up("cuFuncGetParamInfo", 12040, 0, CU_GET_PROC_ADDRESS_SUCCESS) != nullptr);
}
CASE(lookup_of_what_is_not)
{
    CHECK(looked_up("cuNoSuchThing", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) == nullptr);
    CHECK(looked_up("", 0, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) == nullptr);
}
CASE(lookup_of_per_thread_forms)
{
    const cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    CHECK(looked_up("cuLaunchKernel", 12000, per_thread, CU_GET_PROC_ADDRESS_SUCCESS) ==
          exported("cuLaunchKernel_ptsz"));
    CHECK(looked_up("cuMemcpyHtoD", 12000, per_thread, CU_GET_PROC_ADDRESS_SUCCESS) ==
          exported("cuMemcpyHtoD_v2_ptds"));
    CHECK(looked_up("cuMemAlloc", 12000, per_thread, CU_GET_PROC_ADDRESS_SUCCESS) ==
          exported("cuMemAlloc_v2"));
    CHECK(looked_up("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                    CU_GET_PROC_ADDRESS_SUCCESS) == exported("cuLaunchKernel"));
}
CASE(runtime_gives_driver_entry_points)
{
    void *p = nullptr;
    cudaDriverEntryPointQueryResult status;
    OK(cudaGetDriverEntryPointByVersion("cuMemCreate", &p, 12000, cudaEnableDefault, &status));
    EQUAL(status, cudaDriverEntryPointSuccess);
    CHECK(p == exported("cuMemCreate"));
}
CASE(per_thread_form_means_the_per_thread_stream)
{
    // Work of the per-thread form on "stream 0" is on cudaStreamPerThread: an event there waits for
    // it.
    typedef CUresult (*Launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, CUstream, void **, void **);
    int *p, v = 3, got = 0;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemset(p, 0, 4));
    void *params[] = {&p, &v};
    Launch launch = (Launch)exported("cuLaunchKernel_ptsz");
    OK(launch(function((const void *)add_to), 1, 1, 1, 1, 1, 1, 0, 0, params, nullptr));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost));
    EQUAL(got, 3);
}
CASE(versions)
{
    int driver = 0, runtime = 0;
    OK(cudaDriverGetVersion(&driver));
    OK(cudaRuntimeGetVersion(&runtime));
    CHECK(driver >= runtime && runtime >= 12000);
}
CASE(properties_agree_with_attributes)
{
    cudaDeviceProp p;
    int v = 0;
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0));
    EQUAL(p.multiProcessorCount, v);
    EQUAL(p.warpSize, 32);
    size_t free_bytes, total;
    OK(cudaMemGetInfo(&free_bytes, &total));
    EQUAL(p.totalGlobalMem, total);
}
CASE(limits)
{
    size_t v = 0;
    OK(cudaFree(nullptr));
    OK(cudaDeviceGetLimit(&v, cudaLimitStackSize));
    CHECK(v > 0);
    GIVES(cudaDeviceGetLimit(&v, (cudaLimit)99), cudaErrorUnsupportedLimit);
}
CASE(unload_of_a_foreign_module)
{
    driver_up();
    GIVES(cuModuleUnload(nullptr), CUDA_ERROR_INVALID_HANDLE);
}
CASE(unknown_names_in_a_module)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    OK(cuFuncGetModule(&m, function((const void *)nothing)));
    GIVES(cuModuleGetFunction(&f, m, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
    GIVES(cuModuleGetGlobal(&p, nullptr, m, "no_such_variable"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetFunction(&f, m, "_Z7nothingv"));
}
CASE(an_image_that_is_none)
{
    driver_up();
    CUmodule m;
    static const char junk[256] = "not an image";
    GIVES(cuModuleLoadData(&m, junk), CUDA_ERROR_INVALID_IMAGE);
    GIVES(cuModuleLoad(&m, "/nonexistent/file"), CUDA_ERROR_FILE_NOT_FOUND);
}
