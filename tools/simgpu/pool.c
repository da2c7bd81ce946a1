/* SPDX-License-Identifier: Apache-2.0 */
/* Stream-ordered allocation. Memory is taken at the call and given back when the free operation
 * runs in its stream. If a device is full, frees that are still queued are run first, as a pool
 * that waits for its pending frees would do. Where races are looked for, the allocation and the
 * free are operations that write all of the memory: whoever uses it before the one or after the
 * other is told, in whatever order they run. */
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "graph.h"
#include "memory.h"
#include "op.h"
#include "pool.h"
#include "races.h"
#include "stream.h"

struct taken { /* so that a free finds the pool */
    struct taken *next;
    CUdeviceptr ptr;
    uint64_t bytes;
    struct simgpu_pool *pool;
    /* RATIONALE: the memory of an allocation node is taken when the node is made, because its
     * address is told then, and kept until the last template or queued operation that names it is
     * gone, as a graph's memory pool keeps it. In between it only counts as living or not. */
    uint32_t nodes;
    bool lives;
};

struct begun {
    CUdeviceptr ptr;
    uint64_t bytes;
};

static struct taken *all;

static CUresult take_now(struct simgpu_pool *p, size_t bytes, CUdeviceptr *ptr)
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
    simgpu_pool_count(p, (int64_t)bytes);
    return CUDA_SUCCESS;
}

/* An operation that writes the memory. It is no more than looked at: the program's own run as they
 * would without it. */
static CUresult run_begin(struct simgpu_op *op, uint64_t *duration_ns)
{
    const struct begun *b = op->u.any;
    *duration_ns = 0;
    if (simgpu_alloc_range(b->ptr, &(uint64_t){0}, &(uint64_t){0}))
        simgpu_races_range(b->ptr, b->bytes, true);
    return CUDA_SUCCESS;
}

static void drop_begin(struct simgpu_op *op)
{
    free(op->u.any);
}

static const struct simgpu_op_type begin_type = {"allocation", run_begin, drop_begin, NULL};

static void mark_begin(struct simgpu_stream *s, const struct taken *t)
{
    struct begun *b = malloc(sizeof *b);
    struct simgpu_op *op = b != NULL ? simgpu_op_new(s, &begin_type, SIMGPU_ENGINE_NONE) : NULL;
    if (op == NULL) {
        free(b);
        return;
    }
    *b = (struct begun){t->ptr, t->bytes};
    op->u.any = b;
    simgpu_op_submit(op);
}

static CUresult take(struct simgpu_pool *p, size_t bytes, struct simgpu_stream *s, CUdeviceptr *ptr)
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
    CUresult result = take_now(p, bytes, ptr);
    if (result == CUDA_SUCCESS && simgpu_races_on)
        mark_begin(s, all);
    return result;
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
        simgpu_pool_count(t->pool, -(int64_t)t->bytes);
        free(t);
        return;
    }
}

CUmemoryPool simgpu_pool_behind(CUdeviceptr ptr)
{
    const struct taken *t = find(ptr);
    return t != NULL ? (CUmemoryPool)t->pool : NULL;
}

static CUresult run_free(struct simgpu_op *op, uint64_t *duration_ns)
{
    const struct taken *t = find((CUdeviceptr)(uintptr_t)op->u.any);
    *duration_ns = 0;
    if (t != NULL && simgpu_races_on)
        simgpu_races_range(t->ptr, t->bytes, true);
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
    CUresult result = take_now(simgpu_pool_current(d), params->bytesize, &params->dptr);
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
    return take(s != NULL ? simgpu_pool_current(s->ctx->device) : NULL, bytes, s, ptr);
}

CUresult simgpu_cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
                                        CUstream stream)
{
    return take(simgpu_pool_of(pool), bytes, simgpu_stream_of(stream), ptr);
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
