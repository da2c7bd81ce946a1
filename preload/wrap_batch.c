/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of calls that do many copies at once. Each is one op that touches all their buffers. */
#include "preload/around.h"
#include "preload/base/heap.h"
#include "preload/hostside.h"

static struct spill_oprange *batch; /* of the call in progress: inside the guard only */
static size_t batch_cap;

/* An op whose ranges are COUNT of BATCH; without memory for them it counts as touching everything.
 */
static struct spill_opcall batch_op(CUstream stream, size_t count, uint64_t bytes)
{
    struct spill_opcall op = {.kind = SPILL_OPKIND_COPY, .stream = stream, .bytes = bytes};
    op.host_pending = true; /* it may be */
    if (count > UINT32_MAX || SPILL_HEAP_GROW(batch, batch_cap, count) != 0) {
        op.kind = SPILL_OPKIND_ALL;
        return op;
    }
    op.more = batch;
    op.more_count = (uint32_t)count;
    return op;
}

#if CUDA_VERSION >= 12060
static struct spill_opcall decompress_op(CUstream stream, const CUmemDecompressParams *list,
                                         size_t count)
{
    if (list == NULL)
        count = 0;
    uint64_t bytes = 0;
    struct spill_opcall op = batch_op(stream, 3 * count, 0);
    for (size_t i = 0; op.more_count != 0 && i < count; i++) {
        batch[3 * i] = (struct spill_oprange){(CUdeviceptr)list[i].dst, SPILL_ACCESS_WRITE};
        batch[3 * i + 1] = (struct spill_oprange){(CUdeviceptr)list[i].src, SPILL_ACCESS_READ};
        batch[3 * i + 2] =
            (struct spill_oprange){(CUdeviceptr)list[i].dstActBytes, SPILL_ACCESS_WRITE};
        bytes += list[i].dstNumBytes;
    }
    op.bytes = bytes;
    return op;
}

#define DECOMPRESS(symbol, home)                                                                   \
    CUresult symbol(CUmemDecompressParams *list, size_t count, unsigned int flags, size_t *error,  \
                    CUstream stream)                                                               \
    {                                                                                              \
        SPILL_AROUND(decompress_op(spill_around_stream(stream, home), list, count),                \
                     SPILL_REAL(symbol)(list, count, flags, error, stream));                       \
    }
DECOMPRESS(cuMemBatchDecompressAsync, SPILL_STREAM_L)
DECOMPRESS(cuMemBatchDecompressAsync_ptsz, SPILL_STREAM_T)
#endif

#if CUDA_VERSION >= 12080
/* Addresses of host memory among them are found not to be ours. */
static struct spill_opcall copies_op(CUstream stream, const CUdeviceptr *dst,
                                     const CUdeviceptr *src, const size_t *sizes, size_t count)
{
    if (dst == NULL || src == NULL || sizes == NULL)
        count = 0;
    struct spill_opcall op = batch_op(stream, 2 * count, 0);
    spill_hostside_begin();
    for (size_t i = 0; op.more_count != 0 && i < count; i++) {
        batch[2 * i] = (struct spill_oprange){dst[i], SPILL_ACCESS_WRITE};
        batch[2 * i + 1] = (struct spill_oprange){src[i], SPILL_ACCESS_READ};
        op.bytes += sizes[i];
        spill_hostside_add(src[i], sizes[i]);
    }
    spill_hostside_end(&op);
    return op;
}

static CUdeviceptr operand(const CUmemcpy3DOperand *side)
{
    return side->type == CU_MEMCPY_OPERAND_TYPE_POINTER ? side->op.ptr.ptr : 0;
}

static struct spill_opcall boxes_op(CUstream stream, const CUDA_MEMCPY3D_BATCH_OP *list,
                                    size_t count)
{
    if (list == NULL)
        count = 0;
    struct spill_opcall op = batch_op(stream, 2 * count, 0);
    spill_hostside_begin();
    for (size_t i = 0; op.more_count != 0 && i < count; i++) {
        const CUextent3D *box = &list[i].extent;
        batch[2 * i] = (struct spill_oprange){operand(&list[i].dst), SPILL_ACCESS_WRITE};
        batch[2 * i + 1] = (struct spill_oprange){operand(&list[i].src), SPILL_ACCESS_READ};
        op.bytes += box->width * box->height * box->depth;
        if (operand(&list[i].src) != 0)
            spill_hostside_add(list[i].src.op.ptr.ptr,
                               spill_hostside_span(box->width, box->height, box->depth,
                                                   list[i].src.op.ptr.rowLength,
                                                   list[i].src.op.ptr.layerHeight));
    }
    spill_hostside_end(&op);
    return op;
}

#define COPIES(symbol, home)                                                                       \
    CUresult symbol(CUdeviceptr *dst, CUdeviceptr *src, size_t *sizes, size_t count,               \
                    CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count,       \
                    size_t *failed, CUstream stream)                                               \
    {                                                                                              \
        SPILL_AROUND(copies_op(spill_around_stream(stream, home), dst, src, sizes, count),         \
                     SPILL_REAL(symbol)(dst, src, sizes, count, attributes, indices,               \
                                        attribute_count, failed, stream));                         \
    }
COPIES(cuMemcpyBatchAsync, SPILL_STREAM_L)
COPIES(cuMemcpyBatchAsync_ptsz, SPILL_STREAM_T)

#define BOXES(symbol, home)                                                                        \
    CUresult symbol(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed,                    \
                    unsigned long long flags, CUstream stream)                                     \
    {                                                                                              \
        SPILL_AROUND(boxes_op(spill_around_stream(stream, home), list, count),                     \
                     SPILL_REAL(symbol)(count, list, failed, flags, stream));                      \
    }
BOXES(cuMemcpy3DBatchAsync, SPILL_STREAM_L)
BOXES(cuMemcpy3DBatchAsync_ptsz, SPILL_STREAM_T)
#endif

#if CUDA_VERSION >= 13000
#define COPIES_V2(symbol, home)                                                                    \
    CUresult symbol(CUdeviceptr *dst, CUdeviceptr *src, size_t *sizes, size_t count,               \
                    CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count,       \
                    CUstream stream)                                                               \
    {                                                                                              \
        SPILL_AROUND(copies_op(spill_around_stream(stream, home), dst, src, sizes, count),         \
                     SPILL_REAL(symbol)(dst, src, sizes, count, attributes, indices,               \
                                        attribute_count, stream));                                 \
    }
COPIES_V2(cuMemcpyBatchAsync_v2, SPILL_STREAM_L)
COPIES_V2(cuMemcpyBatchAsync_v2_ptsz, SPILL_STREAM_T)

#define BOXES_V2(symbol, home)                                                                     \
    CUresult symbol(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags,          \
                    CUstream stream)                                                               \
    {                                                                                              \
        SPILL_AROUND(boxes_op(spill_around_stream(stream, home), list, count),                     \
                     SPILL_REAL(symbol)(count, list, flags, stream));                              \
    }
BOXES_V2(cuMemcpy3DBatchAsync_v2, SPILL_STREAM_L)
BOXES_V2(cuMemcpy3DBatchAsync_v2_ptsz, SPILL_STREAM_T)
#endif
