/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, managed memory's hints, and driver entry points. */
#include "rt.h"

SIMGPU_RT_EXPORT cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t bytes, cudaMemPool_t pool,
                                                     cudaStream_t stream)
{
    CUdeviceptr p = 0;
    SIMGPU_RT_READY(true);
    if (ptr == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    CUresult result = DRV.cuMemAllocFromPoolAsync(&p, bytes, pool, stream);
    if (result == CUDA_SUCCESS)
        *ptr = (void *)p;
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuDeviceGetDefaultMemPool(pool, device));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuDeviceGetMemPool(pool, device));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuDeviceSetMemPool(device, pool));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuMemPoolTrimTo(pool, keep));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr,
                                                     void *value)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attr, value));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr,
                                                     void *value)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attr, value));
}

static CUmemLocation location_of(struct cudaMemLocation l)
{
    return (CUmemLocation){.type = (CUmemLocationType)l.type, .id = l.id};
}

SIMGPU_RT_EXPORT cudaError_t cudaMemPrefetchAsync(const void *ptr, size_t bytes,
                                                  struct cudaMemLocation location,
                                                  unsigned int flags, cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(
        cuMemPrefetchAsync((CUdeviceptr)ptr, bytes, location_of(location), flags, stream));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemAdvise(const void *ptr, size_t bytes,
                                           enum cudaMemoryAdvise advice,
                                           struct cudaMemLocation location)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(
        cuMemAdvise((CUdeviceptr)ptr, bytes, (CUmem_advise)advice, location_of(location)));
}

SIMGPU_RT_EXPORT cudaError_t cudaGetDriverEntryPointByVersion(
    const char *symbol, void **fn, unsigned int version, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    SIMGPU_RT_READY(false);
    if (symbol == NULL || fn == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    CUresult result = DRV.cuGetProcAddress(symbol, fn, (int)version, flags, &found);
    if (status != NULL)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    /* An unknown name is told by the status; the call itself succeeds. */
    if (result == CUDA_ERROR_NOT_FOUND && status != NULL)
        return cudaSuccess;
    return simgpu_rt_done(simgpu_rt_result(result));
}
