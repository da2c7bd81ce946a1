/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools as such. A pool keeps nothing back, so its reserved size is its used size. */
#include <stdlib.h>
#include <string.h>

#include "pool.h"

#define POOL_MAGIC 0x53494d5f504f4f4cull

static struct simgpu_pool standing[SIMGPU_MAX_DEVICES], *current[SIMGPU_MAX_DEVICES];

static struct simgpu_pool *default_pool(struct simgpu_device *device)
{
    struct simgpu_pool *p = &standing[device->ordinal];
    if (p->magic == 0)
        *p = (struct simgpu_pool){
            .magic = POOL_MAGIC, .device = device, .reuse = {1, 1, 1}, .standing = true};
    return p;
}

struct simgpu_pool *simgpu_pool_current(struct simgpu_device *device)
{
    struct simgpu_pool *p = current[device->ordinal];
    return p != NULL ? p : default_pool(device);
}

struct simgpu_pool *simgpu_pool_of(CUmemoryPool handle)
{
    struct simgpu_pool *p = (struct simgpu_pool *)handle;
    return p != NULL && p->magic == POOL_MAGIC ? p : NULL;
}

void simgpu_pool_count(struct simgpu_pool *pool, int64_t bytes)
{
    pool->used += (uint64_t)bytes;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    if (pool->used > pool->reserved_high)
        pool->reserved_high = pool->used;
}

/* The pool of DEV that OF names. */
static CUresult tell_pool(CUmemoryPool *pool, CUdevice dev,
                          struct simgpu_pool *(*of)(struct simgpu_device *))
{
    struct simgpu_device *d = simgpu_device_at(dev);
    if (d == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (pool == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *pool = (CUmemoryPool)of(d);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
    return tell_pool(pool, dev, default_pool);
}

CUresult simgpu_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    return tell_pool(pool, dev, simgpu_pool_current);
}

CUresult simgpu_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    struct simgpu_device *d = simgpu_device_at(dev);
    struct simgpu_pool *p = simgpu_pool_of(pool);
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
    struct simgpu_pool *p = calloc(1, sizeof *p);
    if (p == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *p = (struct simgpu_pool){
        .magic = POOL_MAGIC, .device = d, .reuse = {1, 1, 1}, .handles = props->handleTypes};
    *pool = (CUmemoryPool)p;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemPoolDestroy(CUmemoryPool pool)
{
    struct simgpu_pool *p = simgpu_pool_of(pool);
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
    return simgpu_pool_of(pool) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult simgpu_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    const struct simgpu_pool *p = simgpu_pool_of(pool);
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
        number = p->reserved_high;
        break;
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
    struct simgpu_pool *p = simgpu_pool_of(pool);
    cuuint64_t number;
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
        memcpy(&number, value, sizeof number);
        if (number != 0) /* it can only be made to start anew */
            return CUDA_ERROR_INVALID_VALUE;
        *(attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? &p->used_high : &p->reserved_high) = p->used;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult simgpu_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *desc, size_t count)
{
    if (simgpu_pool_of(pool) == NULL || (desc == NULL && count != 0))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS; /* every device reaches all memory here */
}

CUresult simgpu_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
                                   CUmemLocation *location)
{
    if (flags == NULL || location == NULL || simgpu_pool_of(pool) == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr ptr)
{
    const struct simgpu_pool *p = simgpu_pool_of(simgpu_pool_behind(ptr));
    if (data == NULL || p == NULL || p->handles == CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_INVALID_VALUE;
    memset(data, 0, sizeof *data);
    memcpy(data, &ptr, sizeof ptr);
    return CUDA_SUCCESS;
}
