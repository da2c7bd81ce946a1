/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and memsets. The synchronous forms follow "API synchronization behavior" of the toolkit's
 * documentation, read as sparingly as it allows: a copy from pageable memory has taken its snapshot
 * when the call returns, a copy to host memory is over, a device-to-device copy and a memset are
 * queued. */
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "graph.h"
#include "memory.h"
#include "op.h"
#include "races.h"
#include "stream.h"

enum side { SIDE_DEVICE, SIDE_PINNED, SIDE_PAGEABLE };

static enum side side_of(uint64_t address)
{
    if (simgpu_is_device(address))
        return SIDE_DEVICE;
    return simgpu_host_find(address) != NULL ? SIDE_PINNED : SIDE_PAGEABLE;
}

static enum simgpu_engine engine_of(enum side from, enum side to)
{
    if (from == SIDE_DEVICE && to != SIDE_DEVICE)
        return SIMGPU_ENGINE_DTOH;
    return from != SIDE_DEVICE && to == SIDE_DEVICE ? SIMGPU_ENGINE_HTOD : SIMGPU_ENGINE_COMPUTE;
}

static size_t total(const struct simgpu_copy *c)
{
    return c->width * c->height * c->depth;
}

static void copy_body(void *arg)
{
    const struct simgpu_copy *c = arg;
    const char *src = c->staged != NULL ? c->staged : (const char *)(uintptr_t)c->src;
    char *dst = (char *)(uintptr_t)c->dst;
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memmove(dst + z * c->dst_slice + y * c->dst_pitch,
                    src + z * c->src_slice + y * c->src_pitch, c->width);
}

static CUresult run_copy(struct simgpu_op *op, uint64_t *duration_ns)
{
    const struct simgpu_config *k = &simgpu_config;
    double bytes = (double)total(&op->u.copy);
    if (op->engine == SIMGPU_ENGINE_COMPUTE) {
        *duration_ns = k->kernel_ns + (uint64_t)(2 * bytes / k->memory_rate);
    } else {
        *duration_ns = k->link_latency_ns + (uint64_t)(bytes / k->link_rate[op->engine]);
        simgpu_stats.bytes[op->engine] += total(&op->u.copy);
    }
    const struct simgpu_copy *c = &op->u.copy;
    for (size_t i = 0; simgpu_races_on && i < c->depth * c->height; i++) {
        uint64_t y = i % c->height, z = i / c->height;
        if (c->staged == NULL)
            simgpu_races_range(c->src + z * c->src_slice + y * c->src_pitch, c->width, false);
        simgpu_races_range(c->dst + z * c->dst_slice + y * c->dst_pitch, c->width, true);
    }
    return simgpu_fault_guard(copy_body, &op->u.copy);
}

static void drop_copy(struct simgpu_op *op)
{
    free(op->u.copy.staged);
}

static const struct simgpu_op_type copy_types[] = {
    [SIMGPU_ENGINE_HTOD] = {"copy HtoD", run_copy, drop_copy, NULL},
    [SIMGPU_ENGINE_DTOH] = {"copy DtoH", run_copy, drop_copy, NULL},
    [SIMGPU_ENGINE_COMPUTE] = {"copy DtoD", run_copy, drop_copy, NULL},
};

/* Gathers the rows of a pageable source into one block, as the driver's staging buffer does. */
static bool stage(struct simgpu_copy *c)
{
    char *block = malloc(total(c) != 0 ? total(c) : 1);
    if (block == NULL)
        return false;
    const char *src = (const char *)(uintptr_t)c->src;
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memcpy(block + (z * c->height + y) * c->width,
                   src + z * c->src_slice + y * c->src_pitch, c->width);
    c->staged = block;
    c->src_pitch = c->width;
    c->src_slice = c->width * c->height;
    return true;
}

static CUresult copy(struct simgpu_stream *s, struct simgpu_copy c, bool async)
{
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (total(&c) == 0)
        return CUDA_SUCCESS;
    enum side from = side_of(c.src), to = side_of(c.dst);
    enum simgpu_engine engine = engine_of(from, to);
    CUresult forbidden = s->legacy ? simgpu_capture_forbids_legacy(s) : CUDA_SUCCESS;
    if (forbidden != CUDA_SUCCESS)
        return forbidden;
    if (s->capture != NULL) {
        struct simgpu_op *node = simgpu_op_new(s, &copy_types[engine], engine);
        if (node == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        node->u.copy = c; /* a pageable source is read when the graph runs */
        simgpu_op_submit(node);
        return CUDA_SUCCESS;
    }
    bool host_only = from != SIDE_DEVICE && to != SIDE_DEVICE;
    bool wait = !async;
    if (from == SIDE_PAGEABLE && to == SIDE_DEVICE) {
        if (!async) {
            CUresult result = simgpu_stream_wait(s);
            if (result != CUDA_SUCCESS)
                return result;
        }
        if (!stage(&c))
            return CUDA_ERROR_OUT_OF_MEMORY;
        simgpu_host_ns += (uint64_t)((double)total(&c) / simgpu_config.pageable_rate);
        wait = false;
    } else if (to == SIDE_PAGEABLE || (host_only && !async)) {
        wait = true;
        simgpu_host_ns += (uint64_t)((double)total(&c) / simgpu_config.pageable_rate);
    } else if (from == SIDE_DEVICE && to == SIDE_DEVICE) {
        wait = false;
    }
    struct simgpu_op *op = simgpu_op_new(s, &copy_types[engine], engine);
    if (op == NULL) {
        free(c.staged);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->u.copy = c;
    simgpu_op_hold(op);
    simgpu_op_submit(op);
    CUresult result = wait ? simgpu_op_wait(op) : CUDA_SUCCESS;
    simgpu_op_release(op);
    return result;
}

static CUresult line(CUstream stream, uint64_t dst, uint64_t src, size_t bytes, bool async)
{
    if (simgpu_ctx_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    return copy(
        simgpu_stream_of(stream),
        (struct simgpu_copy){.dst = dst, .src = src, .width = bytes, .height = 1, .depth = 1},
        async);
}

static bool bad_device(uint64_t address, size_t bytes)
{
    if (bytes == 0)
        return false;
    if (!simgpu_is_device(address) && simgpu_host_find(address) == NULL)
        return true;
    /* A copy that runs off the end of its allocation is refused before it starts. */
    uint64_t base, size;
    return simgpu_alloc_range(address, &base, &size) && bytes > base + size - address;
}

static bool bad_host(const void *p, size_t bytes)
{
    return bytes != 0 && p == NULL;
}

CUresult simgpu_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    if (bytes != 0 && (dst == 0 || src == 0))
        return CUDA_ERROR_INVALID_VALUE;
    return line(NULL, dst, src, bytes, false);
}

CUresult simgpu_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    if (bytes != 0 && (dst == 0 || src == 0))
        return CUDA_ERROR_INVALID_VALUE;
    return line(stream, dst, src, bytes, true);
}

CUresult simgpu_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
    if (bad_device(dst, bytes) || bad_host(src, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return line(NULL, dst, (uintptr_t)src, bytes, false);
}

CUresult simgpu_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
    if (bad_device(src, bytes) || bad_host(dst, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return line(NULL, (uintptr_t)dst, src, bytes, false);
}

CUresult simgpu_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    if (bad_device(src, bytes) || bad_device(dst, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return line(NULL, dst, src, bytes, false);
}

CUresult simgpu_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes,
                                     CUstream stream)
{
    if (bad_device(dst, bytes) || bad_host(src, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return line(stream, dst, (uintptr_t)src, bytes, true);
}

CUresult simgpu_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    if (bad_device(src, bytes) || bad_host(dst, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return line(stream, (uintptr_t)dst, src, bytes, true);
}

CUresult simgpu_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes,
                                     CUstream stream)
{
    if (bad_device(src, bytes) || bad_device(dst, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return line(stream, dst, src, bytes, true);
}

CUresult simgpu_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
                             size_t bytes)
{
    if (simgpu_ctx_of(dst_ctx) == NULL || simgpu_ctx_of(src_ctx) == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    /* Serialised with all pending work of both devices, unlike any other copy. */
    CUresult result = simgpu_stream_wait_all(simgpu_ctx_of(src_ctx), false);
    if (result == CUDA_SUCCESS)
        result = simgpu_stream_wait_all(simgpu_ctx_of(dst_ctx), false);
    if (result == CUDA_SUCCESS)
        result = simgpu_cuMemcpyDtoD_v2(dst, src, bytes);
    return result == CUDA_SUCCESS ? simgpu_ctx_drain() : result;
}

CUresult simgpu_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
                                  CUcontext src_ctx, size_t bytes, CUstream stream)
{
    if (simgpu_ctx_of(dst_ctx) == NULL || simgpu_ctx_of(src_ctx) == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    return simgpu_cuMemcpyDtoDAsync_v2(dst, src, bytes, stream);
}

/* One side of a 2D or 3D copy as an address. */
static bool place(CUmemorytype type, const void *host, CUdeviceptr device, uint64_t *address)
{
    if (type == CU_MEMORYTYPE_HOST)
        *address = (uintptr_t)host;
    else if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED)
        *address = device;
    else
        return false; /* arrays */
    return *address != 0;
}

static CUresult parse_3d(const CUDA_MEMCPY3D *p, struct simgpu_copy *out)
{
    struct simgpu_copy c = {0};
    if (p == NULL || !place(p->dstMemoryType, p->dstHost, p->dstDevice, &c.dst) ||
        !place(p->srcMemoryType, p->srcHost, p->srcDevice, &c.src))
        return CUDA_ERROR_INVALID_VALUE;
    c.width = p->WidthInBytes;
    c.height = p->Height;
    c.depth = p->Depth;
    c.src_pitch = p->srcPitch != 0 ? p->srcPitch : p->WidthInBytes;
    c.dst_pitch = p->dstPitch != 0 ? p->dstPitch : p->WidthInBytes;
    if (c.src_pitch < c.width || c.dst_pitch < c.width)
        return CUDA_ERROR_INVALID_VALUE;
    c.src_slice = c.src_pitch * (p->srcHeight != 0 ? p->srcHeight : p->Height);
    c.dst_slice = c.dst_pitch * (p->dstHeight != 0 ? p->dstHeight : p->Height);
    c.src += p->srcXInBytes + p->srcY * c.src_pitch + p->srcZ * c.src_slice;
    c.dst += p->dstXInBytes + p->dstY * c.dst_pitch + p->dstZ * c.dst_slice;
    *out = c;
    return CUDA_SUCCESS;
}

static CUresult copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, bool async)
{
    struct simgpu_copy c;
    if (simgpu_ctx_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = parse_3d(p, &c);
    return result != CUDA_SUCCESS ? result : copy(simgpu_stream_of(stream), c, async);
}

CUresult simgpu_copy_fill(struct simgpu_op *op, const CUDA_MEMCPY3D *params)
{
    CUresult result = parse_3d(params, &op->u.copy);
    if (result != CUDA_SUCCESS)
        return result;
    op->engine = engine_of(side_of(op->u.copy.src), side_of(op->u.copy.dst));
    op->type = &copy_types[op->engine];
    return CUDA_SUCCESS;
}

void simgpu_copy_show(const struct simgpu_op *op, CUDA_MEMCPY3D *params)
{
    const struct simgpu_copy *c = &op->u.copy;
    *params = (CUDA_MEMCPY3D){.WidthInBytes = c->width, .Height = c->height, .Depth = c->depth};
    params->srcMemoryType =
        side_of(c->src) == SIDE_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    params->dstMemoryType =
        side_of(c->dst) == SIDE_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    params->srcDevice = params->srcMemoryType == CU_MEMORYTYPE_DEVICE ? c->src : 0;
    params->dstDevice = params->dstMemoryType == CU_MEMORYTYPE_DEVICE ? c->dst : 0;
    params->srcHost =
        params->srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)c->src : NULL;
    params->dstHost =
        params->dstMemoryType == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)c->dst : NULL;
    params->srcPitch = c->src_pitch;
    params->dstPitch = c->dst_pitch;
    params->srcHeight = c->src_pitch != 0 ? c->src_slice / c->src_pitch : 0;
    params->dstHeight = c->dst_pitch != 0 ? c->dst_slice / c->dst_pitch : 0;
}

CUresult simgpu_copy_fill_line(struct simgpu_op *op, uint64_t dst, uint64_t src, size_t bytes,
                               bool *pageable)
{
    enum side from = side_of(src), to = side_of(dst);
    if (dst == 0 || src == 0 || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    op->u.copy =
        (struct simgpu_copy){.dst = dst, .src = src, .width = bytes, .height = 1, .depth = 1};
    op->engine = engine_of(from, to);
    op->type = &copy_types[op->engine];
    *pageable = to == SIDE_PAGEABLE;
    if (from == SIDE_PAGEABLE && !stage(&op->u.copy))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, bool async)
{
    if (p == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D q = {.srcXInBytes = p->srcXInBytes,
                       .srcY = p->srcY,
                       .srcMemoryType = p->srcMemoryType,
                       .srcHost = p->srcHost,
                       .srcDevice = p->srcDevice,
                       .srcPitch = p->srcPitch,
                       .dstXInBytes = p->dstXInBytes,
                       .dstY = p->dstY,
                       .dstMemoryType = p->dstMemoryType,
                       .dstHost = p->dstHost,
                       .dstDevice = p->dstDevice,
                       .dstPitch = p->dstPitch,
                       .WidthInBytes = p->WidthInBytes,
                       .Height = p->Height,
                       .Depth = 1};
    return copy_3d(&q, stream, async);
}

CUresult simgpu_cuMemcpy2D_v2(const CUDA_MEMCPY2D *p)
{
    return copy_2d(p, NULL, false);
}

CUresult simgpu_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p)
{
    return copy_2d(p, NULL, false);
}

CUresult simgpu_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream)
{
    return copy_2d(p, stream, true);
}

CUresult simgpu_cuMemcpy3D_v2(const CUDA_MEMCPY3D *p)
{
    return copy_3d(p, NULL, false);
}

CUresult simgpu_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream stream)
{
    return copy_3d(p, stream, true);
}
