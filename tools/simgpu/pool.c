/* SPDX-License-Identifier: Apache-2.0 */
/* Stream-ordered allocation. Memory is taken at the call and given back when the free operation
 * runs in its stream. If a device is full, frees that are still queued are run first, as a pool
 * that waits for its pending frees would do. A pool keeps nothing back, so its reserved size is its
 * used size. */
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "graph.h"
#include "memory.h"
#include "op.h"
#include "races.h"
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
    /* RATIONALE: the memory of an allocation node is taken when the node is made, because its
     * address is told then, and kept until the last template or queued operation that names it is
     * gone, as a graph's memory pool keeps it. In between it only counts as living or not. */
    uint32_t nodes;
    bool lives;
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

static CUresult take_now(struct pool *p, size_t bytes, CUdeviceptr *ptr)
{
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
    *t = (struct taken){.next = all, .ptr = *ptr, .bytes = bytes, .pool = p};
    all = t;
    p->used += bytes;
    if (p->used > p->used_high)
        p->used_high = p->used;
    return CUDA_SUCCESS;
}

static CUresult take(struct pool *p, size_t bytes, struct simgpu_stream *s, CUdeviceptr *ptr)
{
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (p == NULL || ptr == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->capture != NULL) {
        CUDA_MEM_ALLOC_NODE_PARAMS params = {.bytesize = bytes};
        params.poolProps.location.id = p->device->ordinal;
        struct simgpu_op *op = simgpu_template_new();
        CUresult filled =
            op != NULL ? simgpu_pool_fill_alloc(op, &params) : CUDA_ERROR_OUT_OF_MEMORY;
        if (filled != CUDA_SUCCESS) {
            simgpu_template_free(op);
            return filled;
        }
        *ptr = params.dptr;
        return simgpu_capture_node(s, CU_GRAPH_NODE_TYPE_MEM_ALLOC, op, NULL);
    }
    return take_now(p, bytes, ptr);
}
static struct taken *find(CUdeviceptr ptr)
{
    struct taken *t = all;
    while (t != NULL && t->ptr != ptr)
        t = t->next;
    return t;
}

bool simgpu_pool_keeps(CUdeviceptr ptr)
{
    struct taken *t = find(ptr);
    if (t == NULL || t->nodes == 0)
        return false;
    t->lives = false;
    return true;
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
    if (simgpu_pool_keeps((CUdeviceptr)(uintptr_t)op->u.any))
        return CUDA_SUCCESS;
    simgpu_pool_forget((CUdeviceptr)(uintptr_t)op->u.any);
    simgpu_alloc_free((CUdeviceptr)(uintptr_t)op->u.any);
    return CUDA_SUCCESS;
}

static const struct simgpu_op_type free_type = {"free", run_free, NULL, NULL};

static void poison_body(void *arg)
{
    const struct taken *t = arg;
    uint32_t *word = (uint32_t *)(uintptr_t)t->ptr;
    for (uint64_t i = 0; i < t->bytes / sizeof *word; i++)
        word[i] = 0xfffda5a5;
}

static CUresult run_node(struct simgpu_op *op, uint64_t *duration_ns, bool lives)
{
    struct taken *t = op->u.any;
    *duration_ns = 0;
    t->lives = lives;
    if (simgpu_races_on)
        simgpu_races_range(t->ptr, t->bytes, true);
    return simgpu_fault_guard(poison_body, t); /* nothing is kept from one launch to the next */
}

static CUresult run_alloc_node(struct simgpu_op *op, uint64_t *duration_ns)
{
    return run_node(op, duration_ns, true);
}

static CUresult run_free_node(struct simgpu_op *op, uint64_t *duration_ns)
{
    return run_node(op, duration_ns, false);
}

static void drop_node(struct simgpu_op *op)
{
    struct taken *t = op->u.any;
    CUdeviceptr ptr = t->ptr;
    if (--t->nodes != 0 || t->lives)
        return; /* what lives on is freed by cuMemFree or cuMemFreeAsync */
    simgpu_pool_forget(ptr);
    simgpu_alloc_free(ptr);
}

static bool copy_node(struct simgpu_op *to, const struct simgpu_op *from)
{
    struct taken *t = from->u.any;
    to->u.any = t;
    t->nodes++;
    return true;
}

static const struct simgpu_op_type alloc_node = {"allocation", run_alloc_node, drop_node,
                                                 copy_node},
                                   free_node = {"free node", run_free_node, drop_node, copy_node};

CUresult simgpu_pool_fill_alloc(struct simgpu_op *op, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct simgpu_device *d = simgpu_device_at(params->poolProps.location.id);
    if (d == NULL || params->bytesize == 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = take_now(current_pool(d), params->bytesize, &params->dptr);
    if (result != CUDA_SUCCESS)
        return result;
    op->type = &alloc_node;
    op->engine = SIMGPU_ENGINE_NONE;
    op->u.any = all; /* the newest */
    all->nodes = 1;
    return CUDA_SUCCESS;
}

CUresult simgpu_pool_fill_free(struct simgpu_op *op, CUdeviceptr ptr)
{
    struct taken *t = find(ptr);
    if (t == NULL || t->nodes == 0)
        return CUDA_ERROR_INVALID_VALUE; /* not of an allocation node */
    op->type = &free_node;
    op->engine = SIMGPU_ENGINE_NONE;
    op->u.any = t;
    t->nodes++;
    return CUDA_SUCCESS;
}

void simgpu_pool_show_alloc(const struct simgpu_op *op, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    const struct taken *t = op->u.any;
    *params = (CUDA_MEM_ALLOC_NODE_PARAMS){.bytesize = t->bytes, .dptr = t->ptr};
    params->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params->poolProps.location.id = t->pool->device->ordinal;
}

bool simgpu_pool_lives(const struct simgpu_op *op)
{
    return op->type == &alloc_node && ((const struct taken *)op->u.any)->lives;
}

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
    if (s->capture != NULL) {
        struct simgpu_op *node = simgpu_template_new();
        CUresult filled =
            node != NULL ? simgpu_pool_fill_free(node, ptr) : CUDA_ERROR_OUT_OF_MEMORY;
        if (filled == CUDA_SUCCESS)
            return simgpu_capture_node(s, CU_GRAPH_NODE_TYPE_MEM_FREE, node, NULL);
        simgpu_template_free(node);
        return filled;
    }
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
