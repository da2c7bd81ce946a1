/* SPDX-License-Identifier: Apache-2.0 */
/* Devices as the runtime shows them. */
#include <string.h>

#include "rt.h"

SIMGPU_RT_EXPORT cudaError_t cudaGetDeviceCount(int *count)
{
    SIMGPU_RT_READY(false);
    return SIMGPU_RT_CALL(cuDeviceGetCount(count));
}

SIMGPU_RT_EXPORT cudaError_t cudaGetDevice(int *device)
{
    SIMGPU_RT_READY(false);
    if (device == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    CUdevice current;
    *device = DRV.cuCtxGetDevice(&current) == CUDA_SUCCESS ? current : simgpu_rt_device();
    return cudaSuccess;
}

SIMGPU_RT_EXPORT cudaError_t cudaSetDevice(int device)
{
    int count = 0;
    SIMGPU_RT_READY(false);
    DRV.cuDeviceGetCount(&count);
    if (device < 0 || device >= count)
        return simgpu_rt_done(cudaErrorInvalidDevice);
    return simgpu_rt_done(simgpu_rt_use_device(device));
}

SIMGPU_RT_EXPORT cudaError_t cudaInitDevice(int device, unsigned int device_flags,
                                            unsigned int flags)
{
    (void)device_flags;
    (void)flags;
    return cudaSetDevice(device);
}

SIMGPU_RT_EXPORT cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    SIMGPU_RT_READY(false);
    return SIMGPU_RT_CALL(cuDevicePrimaryCtxSetFlags(simgpu_rt_device(), flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    int active;
    SIMGPU_RT_READY(false);
    return SIMGPU_RT_CALL(cuDevicePrimaryCtxGetState(simgpu_rt_device(), flags, &active));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                                    int device)
{
    SIMGPU_RT_READY(false);
    return SIMGPU_RT_CALL(cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device));
}

static int get(CUdevice_attribute attribute, int device)
{
    int value = 0;
    DRV.cuDeviceGetAttribute(&value, attribute, device);
    return value;
}

#define GET(name)      get(CU_DEVICE_ATTRIBUTE_##name, device)
#define GET_SIZE(name) ((size_t)GET(name))

SIMGPU_RT_EXPORT cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    SIMGPU_RT_READY(false);
    if (p == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    memset(p, 0, sizeof *p);
    CUresult result = DRV.cuDeviceGetName(p->name, sizeof p->name, device);
    if (result != CUDA_SUCCESS)
        return simgpu_rt_done(simgpu_rt_result(result));
    CUuuid uuid;
    if (DRV.cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS)
        memcpy(p->uuid.bytes, uuid.bytes, sizeof p->uuid.bytes);
    DRV.cuDeviceTotalMem(&p->totalGlobalMem, device);
    p->sharedMemPerBlock = GET_SIZE(MAX_SHARED_MEMORY_PER_BLOCK);
    p->regsPerBlock = GET(MAX_REGISTERS_PER_BLOCK);
    p->warpSize = GET(WARP_SIZE);
    p->memPitch = GET_SIZE(MAX_PITCH);
    p->maxThreadsPerBlock = GET(MAX_THREADS_PER_BLOCK);
    p->maxThreadsDim[0] = GET(MAX_BLOCK_DIM_X);
    p->maxThreadsDim[1] = GET(MAX_BLOCK_DIM_Y);
    p->maxThreadsDim[2] = GET(MAX_BLOCK_DIM_Z);
    p->maxGridSize[0] = GET(MAX_GRID_DIM_X);
    p->maxGridSize[1] = GET(MAX_GRID_DIM_Y);
    p->maxGridSize[2] = GET(MAX_GRID_DIM_Z);
    p->totalConstMem = GET_SIZE(TOTAL_CONSTANT_MEMORY);
    p->major = GET(COMPUTE_CAPABILITY_MAJOR);
    p->minor = GET(COMPUTE_CAPABILITY_MINOR);
    p->textureAlignment = GET_SIZE(TEXTURE_ALIGNMENT);
    p->multiProcessorCount = GET(MULTIPROCESSOR_COUNT);
    p->integrated = GET(INTEGRATED);
    p->canMapHostMemory = GET(CAN_MAP_HOST_MEMORY);
    p->concurrentKernels = GET(CONCURRENT_KERNELS);
    p->ECCEnabled = GET(ECC_ENABLED);
    p->pciBusID = GET(PCI_BUS_ID);
    p->pciDeviceID = GET(PCI_DEVICE_ID);
    p->pciDomainID = GET(PCI_DOMAIN_ID);
    p->tccDriver = GET(TCC_DRIVER);
    p->asyncEngineCount = GET(ASYNC_ENGINE_COUNT);
    p->unifiedAddressing = GET(UNIFIED_ADDRESSING);
    p->memoryBusWidth = GET(GLOBAL_MEMORY_BUS_WIDTH);
    p->l2CacheSize = GET(L2_CACHE_SIZE);
    p->maxThreadsPerMultiProcessor = GET(MAX_THREADS_PER_MULTIPROCESSOR);
    p->streamPrioritiesSupported = GET(STREAM_PRIORITIES_SUPPORTED);
    p->sharedMemPerMultiprocessor = GET_SIZE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    p->regsPerMultiprocessor = GET(MAX_REGISTERS_PER_MULTIPROCESSOR);
    p->managedMemory = GET(MANAGED_MEMORY);
    p->cooperativeLaunch = GET(COOPERATIVE_LAUNCH);
    p->sharedMemPerBlockOptin = GET_SIZE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    p->maxBlocksPerMultiProcessor = GET(MAX_BLOCKS_PER_MULTIPROCESSOR);
    p->reservedSharedMemPerBlock = GET_SIZE(RESERVED_SHARED_MEMORY_PER_BLOCK);
    p->hostRegisterSupported = GET(HOST_REGISTER_SUPPORTED);
    p->memoryPoolsSupported = GET(MEMORY_POOLS_SUPPORTED);
    return cudaSuccess;
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceGetPCIBusId(char *id, int len, int device)
{
    SIMGPU_RT_READY(false);
    return SIMGPU_RT_CALL(cuDeviceGetPCIBusId(id, len, device));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    SIMGPU_RT_READY(false);
    return SIMGPU_RT_CALL(cuDeviceCanAccessPeer(can, device, peer));
}

static CUresult peer_context(int peer, CUcontext *ctx)
{
    return DRV.cuDevicePrimaryCtxRetain(ctx, peer);
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    CUcontext ctx;
    SIMGPU_RT_READY(true);
    CUresult result = peer_context(peer, &ctx);
    if (result == CUDA_SUCCESS)
        result = DRV.cuCtxEnablePeerAccess(ctx, flags);
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    CUcontext ctx;
    SIMGPU_RT_READY(true);
    CUresult result = peer_context(peer, &ctx);
    if (result == CUDA_SUCCESS)
        result = DRV.cuCtxDisablePeerAccess(ctx);
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceSynchronize(void)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuCtxSynchronize());
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceReset(void)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuDevicePrimaryCtxReset(simgpu_rt_device()));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuCtxGetStreamPriorityRange(least, greatest));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuCtxGetLimit(value, (CUlimit)limit));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuCtxSetLimit((CUlimit)limit, value));
}

SIMGPU_RT_EXPORT cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuCtxSetCacheConfig((CUfunc_cache)config));
}

SIMGPU_RT_EXPORT cudaError_t cudaDriverGetVersion(int *version)
{
    /* Without a driver this is 0 and no error, as documented. */
    if (version == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    *version = 0;
    if (simgpu_rt_ready(false) == cudaSuccess)
        DRV.cuDriverGetVersion(version);
    return cudaSuccess;
}

SIMGPU_RT_EXPORT cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (version == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

SIMGPU_RT_EXPORT cudaError_t cudaProfilerStart(void)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuProfilerStart());
}

SIMGPU_RT_EXPORT cudaError_t cudaProfilerStop(void)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuProfilerStop());
}
