/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "rt.h"

struct simgpu_rt_driver simgpu_rt_driver[2];
_Thread_local unsigned int simgpu_rt_per_thread;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cudaError_t loaded = cudaErrorInitializationError;
static _Thread_local cudaError_t last;
static _Thread_local int device;

static void load(void)
{
    loaded = cudaErrorInsufficientDriver;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL)
        return;
    PFN_cuGetProcAddress_v12000 find = NULL;
    void *symbol = dlsym(library, "cuGetProcAddress_v2");
    if (symbol == NULL)
        return;
    memcpy(&find, &symbol, sizeof find);
    static const cuuint64_t forms[] = {CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                       CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM};
    /* No function has a per-thread form of an older ABI than 7.0. */
    CUdriverProcAddressQueryResult status;
#define DRIVER(name, version)                                                                      \
    for (int i = 0; i < 2; i++) {                                                                  \
        void *address = NULL;                                                                      \
        find(#name, &address, i == 1 && version < 7000 ? 7000 : version, forms[i], &status);       \
        memcpy(&simgpu_rt_driver[i].name, &address, sizeof address);                               \
    }
#include "driver.def"
#undef DRIVER
    if (simgpu_rt_driver[0].cuInit == NULL)
        return;
    CUresult result = DRV.cuInit(0);
    loaded = simgpu_rt_result(result);
}

cudaError_t simgpu_rt_result(CUresult result)
{
    return (cudaError_t)result;
}

cudaError_t simgpu_rt_done(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last = error;
    return error;
}

cudaError_t simgpu_rt_ready(bool context)
{
    pthread_once(&once, load);
    if (loaded != cudaSuccess || !context)
        return loaded;
    CUcontext current = NULL;
    DRV.cuCtxGetCurrent(&current);
    return current != NULL ? cudaSuccess : simgpu_rt_use_device(device);
}

cudaError_t simgpu_rt_use_device(int ordinal)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static CUcontext primary[64];
    if (ordinal < 0 || ordinal >= 64)
        return cudaErrorInvalidDevice;
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    if (primary[ordinal] == NULL)
        result = DRV.cuDevicePrimaryCtxRetain(&primary[ordinal], ordinal);
    pthread_mutex_unlock(&lock);
    if (result == CUDA_SUCCESS)
        result = DRV.cuCtxSetCurrent(primary[ordinal]);
    if (result == CUDA_SUCCESS)
        device = ordinal;
    return simgpu_rt_result(result);
}

int simgpu_rt_device(void)
{
    return device;
}

SIMGPU_RT_EXPORT cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

SIMGPU_RT_EXPORT cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
#define SIMGPU_ERROR(name, number, text) {name, #name, text},
#include "../include/simgpu_errors.def"
#undef SIMGPU_ERROR
};

SIMGPU_RT_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error)
            return errors[i].name;
    return "unrecognized error code";
}

SIMGPU_RT_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error)
            return errors[i].text;
    return "unrecognized error code";
}
