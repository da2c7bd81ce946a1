/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation and what a pointer is. */
#include <string.h>

#include "rt.h"

SIMGPU_RT_EXPORT cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
    CUdeviceptr p = 0;
    SIMGPU_RT_READY(true);
    if (ptr == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    if (bytes == 0) {
        *ptr = NULL;
        return cudaSuccess;
    }
    CUresult result = DRV.cuMemAlloc(&p, bytes);
    if (result == CUDA_SUCCESS)
        *ptr = (void *)p;
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    CUdeviceptr p = 0;
    SIMGPU_RT_READY(true);
    if (ptr == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    CUresult result = DRV.cuMemAllocPitch(&p, pitch, width, height, 4);
    if (result == CUDA_SUCCESS)
        *ptr = (void *)p;
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ptr, struct cudaExtent extent)
{
    struct cudaPitchedPtr p = {.xsize = extent.width, .ysize = extent.height};
    if (ptr == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    cudaError_t error =
        cudaMallocPitch(&p.ptr, &p.pitch, extent.width, extent.height * extent.depth);
    if (error == cudaSuccess)
        *ptr = p;
    return error;
}

SIMGPU_RT_EXPORT cudaError_t cudaFree(void *ptr)
{
    SIMGPU_RT_READY(true);
    /* cudaFree(NULL) is the customary way to say "start up now". */
    if (ptr == NULL)
        return cudaSuccess;
    return SIMGPU_RT_CALL(cuMemFree((CUdeviceptr)ptr));
}

SIMGPU_RT_EXPORT cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
    SIMGPU_RT_READY(true);
    if (ptr != NULL && bytes == 0) {
        *ptr = NULL;
        return cudaSuccess;
    }
    return SIMGPU_RT_CALL(cuMemHostAlloc(ptr, bytes, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaMallocHost(void **ptr, size_t bytes)
{
    return cudaHostAlloc(ptr, bytes, cudaHostAllocDefault);
}

SIMGPU_RT_EXPORT cudaError_t cudaFreeHost(void *ptr)
{
    SIMGPU_RT_READY(true);
    if (ptr == NULL)
        return cudaSuccess;
    return SIMGPU_RT_CALL(cuMemFreeHost(ptr));
}

SIMGPU_RT_EXPORT cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned int flags)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuMemHostRegister(ptr, bytes, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaHostUnregister(void *ptr)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuMemHostUnregister(ptr));
}

SIMGPU_RT_EXPORT cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    CUdeviceptr p = 0;
    SIMGPU_RT_READY(true);
    if (device == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    CUresult result = DRV.cuMemHostGetDevicePointer(&p, host, flags);
    if (result == CUDA_SUCCESS)
        *device = (void *)p;
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaHostGetFlags(unsigned int *flags, void *ptr)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuMemHostGetFlags(flags, ptr));
}

SIMGPU_RT_EXPORT cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned int flags)
{
    CUdeviceptr p = 0;
    SIMGPU_RT_READY(true);
    if (ptr == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    CUresult result = DRV.cuMemAllocManaged(&p, bytes, flags);
    if (result == CUDA_SUCCESS)
        *ptr = (void *)p;
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
{
    CUdeviceptr p = 0;
    SIMGPU_RT_READY(true);
    if (ptr == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    CUresult result = DRV.cuMemAllocAsync(&p, bytes, stream);
    if (result == CUDA_SUCCESS)
        *ptr = (void *)p;
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuMemFreeAsync((CUdeviceptr)ptr, stream));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuMemGetInfo(free_bytes, total));
}

SIMGPU_RT_EXPORT cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a,
                                                      const void *ptr)
{
    SIMGPU_RT_READY(true);
    if (a == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    unsigned int type = 0, managed = 0;
    int device = 0;
    CUdeviceptr on_device = 0;
    void *on_host = NULL;
    CUpointer_attribute which[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *data[] = {&type, &managed, &device, &on_device, &on_host};
    CUresult result = DRV.cuPointerGetAttributes(5, which, data, (CUdeviceptr)ptr);
    if (result != CUDA_SUCCESS)
        return simgpu_rt_done(simgpu_rt_result(result));
    memset(a, 0, sizeof *a);
    a->type = managed                        ? cudaMemoryTypeManaged
              : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
              : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                             : cudaMemoryTypeUnregistered;
    a->device = device;
    a->devicePointer = (void *)on_device;
    /* A pointer that CUDA does not know is the host's own. */
    a->hostPointer = type == 0 ? (void *)(uintptr_t)ptr : on_host;
    return cudaSuccess;
}
