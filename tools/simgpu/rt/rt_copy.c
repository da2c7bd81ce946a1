/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and memsets. The kind chooses the driver call; cudaMemcpyDefault lets the driver find out.
 */
#include <stdbool.h>

#include "rt.h"

static CUresult copy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return DRV.cuMemcpyHtoD((CUdeviceptr)dst, src, bytes);
    case cudaMemcpyDeviceToHost:
        return DRV.cuMemcpyDtoH(dst, (CUdeviceptr)src, bytes);
    case cudaMemcpyDeviceToDevice:
        return DRV.cuMemcpyDtoD((CUdeviceptr)dst, (CUdeviceptr)src, bytes);
    default:
        return DRV.cuMemcpy((CUdeviceptr)dst, (CUdeviceptr)src, bytes);
    }
}

static CUresult copy_async(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                           cudaStream_t stream)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return DRV.cuMemcpyHtoDAsync((CUdeviceptr)dst, src, bytes, stream);
    case cudaMemcpyDeviceToHost:
        return DRV.cuMemcpyDtoHAsync(dst, (CUdeviceptr)src, bytes, stream);
    case cudaMemcpyDeviceToDevice:
        return DRV.cuMemcpyDtoDAsync((CUdeviceptr)dst, (CUdeviceptr)src, bytes, stream);
    default:
        return DRV.cuMemcpyAsync((CUdeviceptr)dst, (CUdeviceptr)src, bytes, stream);
    }
}

static bool bad_kind(enum cudaMemcpyKind kind)
{
    return (unsigned int)kind > cudaMemcpyDefault;
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes,
                                        enum cudaMemcpyKind kind)
{
    SIMGPU_RT_READY(true);
    if (bad_kind(kind))
        return simgpu_rt_done(cudaErrorInvalidMemcpyDirection);
    if (bytes == 0)
        return cudaSuccess;
    return simgpu_rt_done(simgpu_rt_result(copy(dst, src, bytes, kind)));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes,
                                             enum cudaMemcpyKind kind, cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    if (bad_kind(kind))
        return simgpu_rt_done(cudaErrorInvalidMemcpyDirection);
    if (bytes == 0)
        return cudaSuccess;
    return simgpu_rt_done(simgpu_rt_result(copy_async(dst, src, bytes, kind, stream)));
}

static CUDA_MEMCPY2D rectangle(void *dst, size_t dpitch, const void *src, size_t spitch,
                               size_t width, size_t height)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = (CUdeviceptr)src,
                           .srcPitch = spitch,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = (CUdeviceptr)dst,
                           .dstPitch = dpitch,
                           .WidthInBytes = width,
                           .Height = height};
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                                          size_t width, size_t height, enum cudaMemcpyKind kind)
{
    SIMGPU_RT_READY(true);
    if (bad_kind(kind))
        return simgpu_rt_done(cudaErrorInvalidMemcpyDirection);
    if (width > dpitch || width > spitch)
        return simgpu_rt_done(cudaErrorInvalidPitchValue);
    CUDA_MEMCPY2D r = rectangle(dst, dpitch, src, spitch, width, height);
    return SIMGPU_RT_CALL(cuMemcpy2DUnaligned(&r));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src,
                                               size_t spitch, size_t width, size_t height,
                                               enum cudaMemcpyKind kind, cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    if (bad_kind(kind))
        return simgpu_rt_done(cudaErrorInvalidMemcpyDirection);
    if (width > dpitch || width > spitch)
        return simgpu_rt_done(cudaErrorInvalidPitchValue);
    CUDA_MEMCPY2D r = rectangle(dst, dpitch, src, spitch, width, height);
    return SIMGPU_RT_CALL(cuMemcpy2DAsync(&r, stream));
}

static cudaError_t box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *out)
{
    if (p == NULL || p->srcPtr.ptr == NULL || p->dstPtr.ptr == NULL || p->srcArray != NULL ||
        p->dstArray != NULL)
        return cudaErrorInvalidValue;
    if (bad_kind(p->kind))
        return cudaErrorInvalidMemcpyDirection;
    if (p->extent.width > p->srcPtr.pitch || p->extent.width > p->dstPtr.pitch)
        return cudaErrorInvalidPitchValue;
    *out = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = (CUdeviceptr)p->srcPtr.ptr,
                           .srcPitch = p->srcPtr.pitch,
                           .srcHeight = p->srcPtr.ysize,
                           .srcXInBytes = p->srcPos.x,
                           .srcY = p->srcPos.y,
                           .srcZ = p->srcPos.z,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = (CUdeviceptr)p->dstPtr.ptr,
                           .dstPitch = p->dstPtr.pitch,
                           .dstHeight = p->dstPtr.ysize,
                           .dstXInBytes = p->dstPos.x,
                           .dstY = p->dstPos.y,
                           .dstZ = p->dstPos.z,
                           .WidthInBytes = p->extent.width,
                           .Height = p->extent.height,
                           .Depth = p->extent.depth};
    return cudaSuccess;
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D b;
    SIMGPU_RT_READY(true);
    cudaError_t error = box(params, &b);
    return error != cudaSuccess ? simgpu_rt_done(error) : SIMGPU_RT_CALL(cuMemcpy3D(&b));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *params,
                                               cudaStream_t stream)
{
    CUDA_MEMCPY3D b;
    SIMGPU_RT_READY(true);
    cudaError_t error = box(params, &b);
    return error != cudaSuccess ? simgpu_rt_done(error)
                                : SIMGPU_RT_CALL(cuMemcpy3DAsync(&b, stream));
}

/* Peers are addressed by their primary contexts. */
static CUresult contexts(int a, int b, CUcontext *ca, CUcontext *cb)
{
    CUresult result = DRV.cuDevicePrimaryCtxRetain(ca, a);
    return result != CUDA_SUCCESS ? result : DRV.cuDevicePrimaryCtxRetain(cb, b);
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src,
                                            int src_device, size_t bytes)
{
    CUcontext to, from;
    SIMGPU_RT_READY(true);
    CUresult result = contexts(dst_device, src_device, &to, &from);
    if (result == CUDA_SUCCESS)
        result = DRV.cuMemcpyPeer((CUdeviceptr)dst, to, (CUdeviceptr)src, from, bytes);
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src,
                                                 int src_device, size_t bytes, cudaStream_t stream)
{
    CUcontext to, from;
    SIMGPU_RT_READY(true);
    CUresult result = contexts(dst_device, src_device, &to, &from);
    if (result == CUDA_SUCCESS)
        result = DRV.cuMemcpyPeerAsync((CUdeviceptr)dst, to, (CUdeviceptr)src, from, bytes, stream);
    return simgpu_rt_done(simgpu_rt_result(result));
}

/* The part of a symbol that a copy means. */
static cudaError_t part(const void *symbol, size_t offset, size_t bytes, char **ptr)
{
    CUdeviceptr p;
    size_t size;
    cudaError_t error = simgpu_rt_variable(symbol, &p, &size);
    if (error == cudaSuccess && (offset > size || bytes > size - offset))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *ptr = (char *)p + offset;
    return error;
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes,
                                                size_t offset, enum cudaMemcpyKind kind)
{
    char *p;
    SIMGPU_RT_READY(true);
    cudaError_t error = part(symbol, offset, bytes, &p);
    return error != cudaSuccess ? simgpu_rt_done(error) : cudaMemcpy(p, src, bytes, kind);
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes,
                                                  size_t offset, enum cudaMemcpyKind kind)
{
    char *p;
    SIMGPU_RT_READY(true);
    cudaError_t error = part(symbol, offset, bytes, &p);
    return error != cudaSuccess ? simgpu_rt_done(error) : cudaMemcpy(dst, p, bytes, kind);
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src,
                                                     size_t bytes, size_t offset,
                                                     enum cudaMemcpyKind kind, cudaStream_t stream)
{
    char *p;
    SIMGPU_RT_READY(true);
    cudaError_t error = part(symbol, offset, bytes, &p);
    return error != cudaSuccess ? simgpu_rt_done(error)
                                : cudaMemcpyAsync(p, src, bytes, kind, stream);
}

SIMGPU_RT_EXPORT cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t bytes,
                                                       size_t offset, enum cudaMemcpyKind kind,
                                                       cudaStream_t stream)
{
    char *p;
    SIMGPU_RT_READY(true);
    cudaError_t error = part(symbol, offset, bytes, &p);
    return error != cudaSuccess ? simgpu_rt_done(error)
                                : cudaMemcpyAsync(dst, p, bytes, kind, stream);
}

SIMGPU_RT_EXPORT cudaError_t cudaGetSymbolAddress(void **ptr, const void *symbol)
{
    CUdeviceptr p;
    size_t bytes;
    SIMGPU_RT_READY(true);
    cudaError_t error = simgpu_rt_variable(symbol, &p, &bytes);
    if (error == cudaSuccess)
        *ptr = (void *)p;
    return simgpu_rt_done(error);
}

SIMGPU_RT_EXPORT cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    CUdeviceptr p;
    SIMGPU_RT_READY(true);
    return simgpu_rt_done(simgpu_rt_variable(symbol, &p, bytes));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemset(void *ptr, int value, size_t bytes)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuMemsetD8((CUdeviceptr)ptr, (unsigned char)value, bytes));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemsetAsync(void *ptr, int value, size_t bytes,
                                             cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuMemsetD8Async((CUdeviceptr)ptr, (unsigned char)value, bytes, stream));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemset2D(void *ptr, size_t pitch, int value, size_t width,
                                          size_t height)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(
        cuMemsetD2D8((CUdeviceptr)ptr, pitch, (unsigned char)value, width, height));
}

SIMGPU_RT_EXPORT cudaError_t cudaMemset2DAsync(void *ptr, size_t pitch, int value, size_t width,
                                               size_t height, cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(
        cuMemsetD2D8Async((CUdeviceptr)ptr, pitch, (unsigned char)value, width, height, stream));
}

/* A box is set slice by slice. */
SIMGPU_RT_EXPORT cudaError_t cudaMemset3D(struct cudaPitchedPtr ptr, int value,
                                          struct cudaExtent extent)
{
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; error == cudaSuccess && z < extent.depth; z++)
        error = cudaMemset2D((char *)ptr.ptr + z * ptr.pitch * ptr.ysize, ptr.pitch, value,
                             extent.width, extent.height);
    return error;
}

SIMGPU_RT_EXPORT cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr ptr, int value,
                                               struct cudaExtent extent, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; error == cudaSuccess && z < extent.depth; z++)
        error = cudaMemset2DAsync((char *)ptr.ptr + z * ptr.pitch * ptr.ysize, ptr.pitch, value,
                                  extent.width, extent.height, stream);
    return error;
}
