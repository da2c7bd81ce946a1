/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 that does nothing as fast as it can: what a launch costs on it is what stands
 * before it. A clock of its own counts launches and bytes copied, so that a plan finds something to
 * weigh. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define LAUNCH_MS  0.2f
#define BYTES_A_MS 10e6f
#define CARD       ((size_t)256 << 20)
#define PAGE       ((size_t)2 << 20)

static float now_ms;
static int a_context, a_stream;

CUresult cuInit(unsigned int flags)
{
    (void)flags;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    (void)error;
    *name = "CUDA_ERROR";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)attribute, (void)device;
    *value = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    (void)device;
    strncpy(name, "null", (size_t)length);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = (CUcontext)&a_context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    *context = (CUcontext)&a_context;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    (void)mode;
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *left, size_t *total)
{
    *left = *total = CARD;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags flags)
{
    (void)prop, (void)flags;
    *granularity = PAGE;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *addr, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags)
{
    (void)hint, (void)flags;
    void *at = mmap(NULL, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    if (at == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *addr = ((CUdeviceptr)at + alignment - 1) / alignment * alignment;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr addr, size_t bytes)
{
    (void)addr, (void)bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    static CUmemGenericAllocationHandle next;
    (void)bytes, (void)flags;
    /* Containers forbid what a handle that can be exported needs: none may be asked for. */
    if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_NOT_PERMITTED;
    *handle = ++next;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    (void)handle;
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr addr, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    (void)addr, (void)bytes, (void)offset, (void)handle, (void)flags;
    return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr addr, size_t bytes)
{
    (void)addr, (void)bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr addr, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    (void)addr, (void)bytes, (void)access, (void)count;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *addr, size_t bytes)
{
    return cuMemAddressReserve(addr, bytes, PAGE, 0, 0);
}

CUresult cuMemFree_v2(CUdeviceptr addr)
{
    (void)addr;
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
    (void)p, (void)bytes, (void)flags;
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *p)
{
    (void)p;
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    (void)dst, (void)src, (void)stream;
    now_ms += (float)bytes / BYTES_A_MS;
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
    (void)dst, (void)src, (void)stream;
    now_ms += (float)bytes / BYTES_A_MS;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    (void)flags;
    *stream = (CUstream)&a_stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    (void)stream, (void)event, (void)flags;
    return CUDA_SUCCESS;
}

/* From a pool: a test watches for whoever allocates. */
CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    static float pool[1 << 20];
    static unsigned used;
    (void)flags;
    if (used == sizeof(pool) / sizeof(pool[0]))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *event = (CUevent)&pool[used++];
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)stream;
    *(float *)event = now_ms;
    return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    *ms = *(float *)to - *(float *)from;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction f, size_t index, size_t *offset, size_t *bytes)
{
    (void)f;
    if (index >= 8)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = index * 8;
    *bytes = 8;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction f)
{
    (void)f;
    *name = "kernel";
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                        CUstream stream, void **params, void **extra)
{
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
    (void)stream, (void)params, (void)extra;
    now_ms += LAUNCH_MS;
    return CUDA_SUCCESS;
}
