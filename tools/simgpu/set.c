/* SPDX-License-Identifier: Apache-2.0 */
/* Memsets of 8, 16 and 32 bits, in lines and rectangles. All are asynchronous to the host except
 * into host memory, which the synchronous forms finish first. */
#include <string.h>

#include "fault.h"
#include "graph.h"
#include "memory.h"
#include "op.h"
#include "races.h"
#include "stream.h"

static void set_body(void *arg)
{
    const struct simgpu_set *s = arg;
    for (size_t y = 0; y < s->height; y++) {
        char *row = (char *)(uintptr_t)s->dst + y * s->pitch;
        if (s->element == 1) {
            memset(row, (int)s->value, s->width);
        } else if (s->element == 2) {
            for (size_t x = 0; x < s->width; x++)
                ((uint16_t *)(void *)row)[x] = (uint16_t)s->value;
        } else {
            for (size_t x = 0; x < s->width; x++)
                ((uint32_t *)(void *)row)[x] = s->value;
        }
    }
}

static CUresult run_set(struct simgpu_op *op, uint64_t *duration_ns)
{
    const struct simgpu_set *s = &op->u.set;
    double bytes = (double)s->width * s->element * (double)s->height;
    *duration_ns = simgpu_config.kernel_ns + (uint64_t)(bytes / simgpu_config.memory_rate);
    for (size_t y = 0; simgpu_races_on && y < s->height; y++)
        simgpu_races_range(s->dst + y * s->pitch, s->width * s->element, true);
    return simgpu_fault_guard(set_body, &op->u.set);
}

static const struct simgpu_op_type set_type = {"memset", run_set, NULL, NULL};

static CUresult set(CUdeviceptr dst, uint32_t value, uint32_t element, size_t width, size_t height,
                    size_t pitch, CUstream stream, bool async)
{
    if (simgpu_ctx_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct simgpu_stream *s = simgpu_stream_of(stream);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (width == 0 || height == 0)
        return CUDA_SUCCESS;
    uint64_t base, size, bytes = (height - 1) * pitch + width * element;
    bool on_host = simgpu_host_find(dst) != NULL;
    if (dst % element != 0 || (height > 1 && (pitch < width * element || pitch % element != 0)) ||
        (!on_host && !simgpu_is_device(dst)))
        return CUDA_ERROR_INVALID_VALUE;
    if (simgpu_alloc_range(dst, &base, &size) && bytes > base + size - dst)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->legacy && simgpu_capture_forbids_legacy(s) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    async |= s->capture != NULL;
    struct simgpu_op *op = simgpu_op_new(s, &set_type, SIMGPU_ENGINE_COMPUTE);
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.set = (struct simgpu_set){dst, width, height, pitch, value, element};
    simgpu_op_hold(op);
    simgpu_op_submit(op);
    CUresult result = on_host && !async ? simgpu_op_wait(op) : CUDA_SUCCESS;
    simgpu_op_release(op);
    return result;
}

CUresult simgpu_set_fill(struct simgpu_op *op, const CUDA_MEMSET_NODE_PARAMS *p)
{
    if (p == NULL || p->dst == 0 || p->width == 0 || p->height == 0 ||
        (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) ||
        p->dst % p->elementSize != 0)
        return CUDA_ERROR_INVALID_VALUE;
    op->type = &set_type;
    op->engine = SIMGPU_ENGINE_COMPUTE;
    op->u.set =
        (struct simgpu_set){p->dst, p->width, p->height, p->pitch, p->value, p->elementSize};
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t n)
{
    return set(dst, value, 1, n, 1, n, NULL, false);
}

CUresult simgpu_cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t n)
{
    return set(dst, value, 2, n, 1, n * 2, NULL, false);
}

CUresult simgpu_cuMemsetD32_v2(CUdeviceptr dst, unsigned int value, size_t n)
{
    return set(dst, value, 4, n, 1, n * 4, NULL, false);
}

CUresult simgpu_cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
                                size_t height)
{
    return set(dst, value, 1, width, height, pitch, NULL, false);
}

CUresult simgpu_cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
                                 size_t height)
{
    return set(dst, value, 2, width, height, pitch, NULL, false);
}

CUresult simgpu_cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
                                 size_t height)
{
    return set(dst, value, 4, width, height, pitch, NULL, false);
}

CUresult simgpu_cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
{
    return set(dst, value, 1, n, 1, n, stream, true);
}

CUresult simgpu_cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t n, CUstream stream)
{
    return set(dst, value, 2, n, 1, n * 2, stream, true);
}

CUresult simgpu_cuMemsetD32Async(CUdeviceptr dst, unsigned int value, size_t n, CUstream stream)
{
    return set(dst, value, 4, n, 1, n * 4, stream, true);
}

CUresult simgpu_cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
                                  size_t height, CUstream stream)
{
    return set(dst, value, 1, width, height, pitch, stream, true);
}

CUresult simgpu_cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value,
                                   size_t width, size_t height, CUstream stream)
{
    return set(dst, value, 2, width, height, pitch, stream, true);
}

CUresult simgpu_cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
                                   size_t height, CUstream stream)
{
    return set(dst, value, 4, width, height, pitch, stream, true);
}
