/* SPDX-License-Identifier: Apache-2.0 */
/* Stream-ordered allocation. Memory is taken at the call and given back when the free operation
 * runs in its stream. If a device is full, frees that are still queued are run first, as a pool
 * that waits for its pending frees would do. A pool keeps nothing back, so its reserved size is its
 * used size. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memory.h"
#include "op.h"
#include "stream.h"

#define POOL_MAGIC 0x53494d5f504f4f4cull

struct pool {
    uint64_t magic;
    struct simgpu_device *device;
    uint64_t used, used_high;
    cuuint64_t threshold;
    int reuse[3];
    bool standing; /* the device's default pool */
};

struct taken { /* so that a free finds the pool */
    struct taken *next;
    CUdeviceptr ptr;
    uint64_t bytes;
    struct pool *pool;
};

static struct pool standing[SIMGPU_MAX_DEVICES], *current[SIMGPU_MAX_DEVICES];
static struct taken *all;

static struct pool *default_pool(struct simgpu_device *device)
{
    struct pool *p = &standing[device->ordinal];
    if (p->magic == 0)
        *p = (struct pool){
            .magic = POOL_MAGIC, .device = device, .reuse = {1, 1, 1}, .standing = true};
    return p;
}

static struct pool *current_pool(struct simgpu_device *device)
{
    struct pool *p = current[device->ordinal];
    return p != NULL ? p : default_pool(device);
}

static struct pool *pool_of(CUmemoryPool handle)
{
    struct pool *p = (struct pool *)handle;
    return p != NULL && p->magic == POOL_MAGIC ? p : NULL;
}

static CUresult take(struct pool *p, size_t bytes, struct simgpu_stream *s, CUdeviceptr *ptr)
{
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (p == NULL || ptr == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->capture != NULL)
        return CUDA_ERROR_NOT_SUPPORTED; /* allocation nodes */
    struct taken *t = malloc(sizeof *t);
    CUresult result = t != NULL ? simgpu_alloc(p->device, bytes, ptr) : CUDA_ERROR_OUT_OF_MEMORY;
    if (t != NULL && result == CUDA_ERROR_OUT_OF_MEMORY) {
        simgpu_op_drain(p->device);
        result = simgpu_alloc(p->device, bytes, ptr);
    }
    if (result != CUDA_SUCCESS) {
        free(t);
        return result;
    }
    *t = (struct taken){all, *ptr, bytes, p};
    all = t;
    p->used += bytes;
    if (p->used > p->used_high)
        p->used_high = p->used;
    return CUDA_SUCCESS;
}

void simgpu_pool_forget(CUdeviceptr ptr)
{
    for (struct taken **link = &all, *t; (t = *link) != NULL; link = &t->next) {
        if (t->ptr != ptr)
            continue;
        *link = t->next;
        t->pool->used -= t->bytes;
        free(t);
        return;
    }
}

static CUresult run_free(struct simgpu_op *op, uint64_t *duration_ns)
{
    *duration_ns = 0;
    simgpu_pool_forget((CUdeviceptr)(uintptr_t)op->u.any);
    simgpu_alloc_free((CUdeviceptr)(uintptr_t)op->u.any);
    return CUDA_SUCCESS;
}

static const struct simgpu_op_type free_type = {"free", run_free, NULL, NULL};

CUresult simgpu_cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
    struct simgpu_stream *s = simgpu_stream_of(stream);
    return take(s != NULL ? current_pool(s->ctx->device) : NULL, bytes, s, ptr);
}

CUresult simgpu_cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
                                        CUstream stream)
{
    return take(pool_of(pool), bytes, simgpu_stream_of(stream), ptr);
}

CUresult simgpu_cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
    struct simgpu_stream *s = simgpu_stream_of(stream);
    uint64_t base, bytes;
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (ptr == 0)
        return CUDA_SUCCESS;
    if (!simgpu_alloc_range(ptr, &base, &bytes) || base != ptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->capture != NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct simgpu_op *op = simgpu_op_new(s, &free_type, SIMGPU_ENGINE_NONE);
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.any = (void *)ptr;
    simgpu_op_submit(op);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
    struct simgpu_device *d = simgpu_device_at(dev);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (pool == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *pool = (CUmemoryPool)default_pool(d);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    struct simgpu_device *d = simgpu_device_at(dev);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (pool == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *pool = (CUmemoryPool)current_pool(d);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    struct simgpu_device *d = simgpu_device_at(dev);
    struct pool *p = pool_of(pool);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (p == NULL || p->device != d)
        return CUDA_ERROR_INVALID_VALUE;
    current[dev] = p;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    if (pool == NULL || props == NULL || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct simgpu_device *d = simgpu_device_at(props->location.id);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    struct pool *p = calloc(1, sizeof *p);
    if (p == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *p = (struct pool){.magic = POOL_MAGIC, .device = d, .reuse = {1, 1, 1}};
    *pool = (CUmemoryPool)p;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemPoolDestroy(CUmemoryPool pool)
{
    struct pool *p = pool_of(pool);
    if (p == NULL || p->standing)
        return CUDA_ERROR_INVALID_VALUE;
    if (current[p->device->ordinal] == p)
        current[p->device->ordinal] = NULL;
    p->magic = 0; /* kept: allocations from it live on and will come back to it */
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    (void)keep; /* nothing is held back */
    return pool_of(pool) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult simgpu_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    const struct pool *p = pool_of(pool);
    if (p == NULL || value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    cuuint64_t number = 0;
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(value, &p->reuse[attribute - 1], sizeof(int));
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        number = p->threshold;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        number = p->used;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        number = p->used_high;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(value, &number, sizeof number);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    struct pool *p = pool_of(pool);
    if (p == NULL || value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(&p->reuse[attribute - 1], value, sizeof(int));
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        memcpy(&p->threshold, value, sizeof p->threshold);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        p->used_high = p->used;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult simgpu_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *desc, size_t count)
{
    if (pool_of(pool) == NULL || (desc == NULL && count != 0))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS; /* every device reaches all memory here */
}

CUresult simgpu_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
                                   CUmemLocation *location)
{
    if (flags == NULL || location == NULL || pool_of(pool) == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}
