/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and each thread's stack of them. */
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "graph.h"
#include "op.h"
#include "stream.h"

#define STACK_MAX 64
static _Thread_local struct simgpu_ctx *stack[STACK_MAX];
static _Thread_local int depth;
static unsigned long long next_id;

struct simgpu_ctx *simgpu_ctx_of(CUcontext handle)
{
    struct simgpu_ctx *c = (struct simgpu_ctx *)handle;
    return c != NULL && c->magic == SIMGPU_CTX_MAGIC ? c : NULL;
}

struct simgpu_ctx *simgpu_ctx_current(void)
{
    struct simgpu_ctx *c = depth > 0 ? stack[depth - 1] : NULL;
    return c != NULL && c->magic == SIMGPU_CTX_MAGIC ? c : NULL;
}

static bool start(struct simgpu_ctx *c, unsigned int flags)
{
    static const size_t limits[16] = {[CU_LIMIT_STACK_SIZE] = 1024,
                                      [CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
                                      [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20};
    c->magic = SIMGPU_CTX_MAGIC;
    c->flags = flags;
    c->api_version = 3020;
    c->id = ++next_id;
    memcpy(c->limits, limits, sizeof limits);
    return c->legacy != NULL || simgpu_stream_boot(c);
}

CUresult simgpu_cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
    if (!simgpu_initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    struct simgpu_device *d = simgpu_device_at(dev);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (d->primary.refs == 0 && !start(&d->primary, d->primary.flags))
        return CUDA_ERROR_OUT_OF_MEMORY;
    d->primary.refs++;
    *ctx = (CUcontext)&d->primary;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    struct simgpu_device *d = simgpu_device_at(dev);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (d->primary.refs == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--d->primary.refs == 0) {
        simgpu_op_drain(d);
        d->primary.magic = 0;
        d->sticky = CUDA_SUCCESS;
    }
    return CUDA_SUCCESS;
}

CUresult simgpu_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    struct simgpu_device *d = simgpu_device_at(dev);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    simgpu_op_drain(d);
    d->sticky = CUDA_SUCCESS;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct simgpu_device *d = simgpu_device_at(dev);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (flags == NULL || active == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = d->primary.flags;
    *active = d->primary.refs > 0;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    struct simgpu_device *d = simgpu_device_at(dev);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if ((flags & ~(unsigned int)CU_CTX_FLAGS_MASK) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    d->primary.flags = flags;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
    if (!simgpu_initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    struct simgpu_device *d = simgpu_device_at(dev);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (ctx == NULL || (flags & ~(unsigned int)CU_CTX_FLAGS_MASK) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_ctx *c = calloc(1, sizeof *c);
    if (c == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    c->device = d;
    if (!start(c, flags) || depth == STACK_MAX) {
        free(c);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stack[depth++] = c;
    *ctx = (CUcontext)c;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12050
CUresult simgpu_cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned int flags,
                               CUdevice dev)
{
    if (params != NULL && (params->numExecAffinityParams != 0 || params->cigParams != NULL))
        return CUDA_ERROR_NOT_SUPPORTED;
    return simgpu_cuCtxCreate_v2(ctx, flags, dev);
}
#endif

CUresult simgpu_cuCtxDestroy_v2(CUcontext handle)
{
    struct simgpu_ctx *c = simgpu_ctx_of(handle);
    if (c == NULL || c->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    simgpu_op_drain(c->device);
    if (depth > 0 && stack[depth - 1] == c)
        depth--;
    c->magic = 0; /* kept: other threads may still have it on their stacks */
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxPushCurrent_v2(CUcontext handle)
{
    struct simgpu_ctx *c = simgpu_ctx_of(handle);
    if (c == NULL || depth == STACK_MAX)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = c;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxPopCurrent_v2(CUcontext *ctx)
{
    if (depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    if (ctx != NULL)
        *ctx = (CUcontext)stack[depth];
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxSetCurrent(CUcontext handle)
{
    if (!simgpu_initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (handle == NULL) {
        depth = depth > 0 ? depth - 1 : 0;
        return CUDA_SUCCESS;
    }
    struct simgpu_ctx *c = simgpu_ctx_of(handle);
    if (c == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (depth == 0)
        depth = 1;
    stack[depth - 1] = c;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxGetCurrent(CUcontext *ctx)
{
    if (!simgpu_initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *ctx = (CUcontext)simgpu_ctx_current();
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxGetDevice(CUdevice *dev)
{
    const struct simgpu_ctx *c = simgpu_ctx_current();
    if (dev == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (c == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *dev = c->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxGetFlags(unsigned int *flags)
{
    const struct simgpu_ctx *c = simgpu_ctx_current();
    if (flags == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (c == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *flags = c->flags;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    const struct simgpu_ctx *c = handle != NULL ? simgpu_ctx_of(handle) : simgpu_ctx_current();
    if (id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (c == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *id = c->id;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
    const struct simgpu_ctx *c = handle != NULL ? simgpu_ctx_of(handle) : simgpu_ctx_current();
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (c == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *version = c->api_version;
    return CUDA_SUCCESS;
}

CUresult simgpu_ctx_drain(void)
{
    struct simgpu_ctx *c = simgpu_ctx_current();
    return c != NULL ? simgpu_stream_wait_all(c, false) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult simgpu_cuCtxSynchronize(void)
{
    struct simgpu_ctx *c = simgpu_ctx_current();
    if (c == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult forbidden = simgpu_capture_forbids_context(c);
    return forbidden != CUDA_SUCCESS ? forbidden : simgpu_stream_wait_all(c, false);
}

CUresult simgpu_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    if (least != NULL)
        *least = 0;
    if (greatest != NULL)
        *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxGetLimit(size_t *value, CUlimit limit)
{
    const struct simgpu_ctx *c = simgpu_ctx_current();
    if (c == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned int)limit >= 16)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = c->limits[limit];
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct simgpu_ctx *c = simgpu_ctx_current();
    if (c == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if ((unsigned int)limit >= 16)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    c->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxGetCacheConfig(CUfunc_cache *config)
{
    if (config == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *config = CU_FUNC_CACHE_PREFER_NONE;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxSetCacheConfig(CUfunc_cache config)
{
    (void)config; /* a hint */
    return CUDA_SUCCESS;
}

CUresult simgpu_cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    if (simgpu_ctx_of(peer) == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult simgpu_cuCtxDisablePeerAccess(CUcontext peer)
{
    return simgpu_ctx_of(peer) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult simgpu_cuProfilerStart(void)
{
    return CUDA_SUCCESS;
}

CUresult simgpu_cuProfilerStop(void)
{
    return CUDA_SUCCESS;
}
