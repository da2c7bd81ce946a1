/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of copies. Each macro below pastes one signature; HOME is what its NULL stream means. */
#include "preload/around.h"
#include "preload/hostside.h"

static struct spill_opcall copy_op(CUstream stream, CUdeviceptr dst, CUdeviceptr src,
                                   uint64_t bytes)
{
    struct spill_opcall op = {.kind = SPILL_OPKIND_COPY, .stream = stream, .bytes = bytes};
    if (dst != 0)
        op.ranges[op.range_count++] = (struct spill_oprange){dst, SPILL_ACCESS_WRITE};
    if (src != 0)
        op.ranges[op.range_count++] = (struct spill_oprange){src, SPILL_ACCESS_READ};
    return op;
}

static struct spill_opcall from_host(CUstream stream, CUdeviceptr dst, const void *src,
                                     uint64_t bytes, bool asynchronous)
{
    struct spill_opcall op = copy_op(stream, dst, 0, bytes);
    op.host_source = src;
    op.host_bytes = bytes;
    op.host_pending = asynchronous;
    return op;
}

static struct spill_opcall to_host(CUstream stream, CUdeviceptr src, uint64_t bytes,
                                   bool asynchronous)
{
    struct spill_opcall op = copy_op(stream, 0, src, bytes);
    op.host_pending = asynchronous;
    return op;
}

/* The generic copies name addresses of either side; those that are not ours are found to be so
 * later. */
static struct spill_opcall any_copy(CUstream stream, CUdeviceptr dst, CUdeviceptr src,
                                    uint64_t bytes, bool asynchronous)
{
    struct spill_opcall op = copy_op(stream, dst, src, bytes);
    op.host_pending = asynchronous;
    op.host_source = spill_hostside_read(src, bytes);
    op.host_bytes = bytes;
    return op;
}

/* The address that a copy of this memory type names; arrays and host memory have others. */
static CUdeviceptr device_side(CUmemorytype type, CUdeviceptr addr)
{
    return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED ? addr : 0;
}

static struct spill_opcall box_copy(CUstream stream, CUdeviceptr dst, CUdeviceptr src,
                                    uint64_t bytes, bool asynchronous)
{
    struct spill_opcall op = copy_op(stream, dst, src, bytes);
    op.host_pending = asynchronous;
    return op;
}

/* Rows that lie one after another, from host memory, may be a table of addresses. */
static void box_source(struct spill_opcall *op, CUmemorytype type, const void *host, size_t pitch,
                       size_t skipped_rows, size_t skipped_bytes, size_t width, size_t rows)
{
    if (type != CU_MEMORYTYPE_HOST || host == NULL || width == 0 || rows == 0)
        return;
    op->host_source = (const char *)host + skipped_rows * pitch + skipped_bytes;
    op->host_bytes = (rows - 1) * pitch + width;
}

static struct spill_opcall copy_2d(CUstream stream, const CUDA_MEMCPY2D *p, bool asynchronous)
{
    if (p == NULL)
        return copy_op(stream, 0, 0, 0);
    struct spill_opcall op = box_copy(stream, device_side(p->dstMemoryType, p->dstDevice),
                                      device_side(p->srcMemoryType, p->srcDevice),
                                      p->WidthInBytes * p->Height, asynchronous);
    box_source(&op, p->srcMemoryType, p->srcHost, p->srcPitch, p->srcY, p->srcXInBytes,
               p->WidthInBytes, p->Height);
    return op;
}

static struct spill_opcall copy_3d(CUstream stream, const CUDA_MEMCPY3D *p, bool asynchronous)
{
    if (p == NULL)
        return copy_op(stream, 0, 0, 0);
    struct spill_opcall op = box_copy(stream, device_side(p->dstMemoryType, p->dstDevice),
                                      device_side(p->srcMemoryType, p->srcDevice),
                                      p->WidthInBytes * p->Height * p->Depth, asynchronous);
    if (p->Depth == 1)
        box_source(&op, p->srcMemoryType, p->srcHost, p->srcPitch, p->srcY + p->srcZ * p->srcHeight,
                   p->srcXInBytes, p->WidthInBytes, p->Height);
    return op;
}

static struct spill_opcall copy_3d_peer(CUstream stream, const CUDA_MEMCPY3D_PEER *p,
                                        bool asynchronous)
{
    if (p == NULL)
        return copy_op(stream, 0, 0, 0);
    return box_copy(stream, device_side(p->dstMemoryType, p->dstDevice),
                    device_side(p->srcMemoryType, p->srcDevice),
                    p->WidthInBytes * p->Height * p->Depth, asynchronous);
}

#define ANY(symbol, home)                                                                          \
    CUresult symbol(CUdeviceptr dst, CUdeviceptr src, size_t bytes)                                \
    {                                                                                              \
        SPILL_AROUND_WAIT(home, any_copy(home, dst, src, bytes, false),                            \
                          SPILL_REAL(symbol)(dst, src, bytes));                                    \
    }
ANY(cuMemcpy, SPILL_STREAM_L)
ANY(cuMemcpy_ptds, SPILL_STREAM_T)

#define DEVICE(symbol, home)                                                                       \
    CUresult symbol(CUdeviceptr dst, CUdeviceptr src, size_t bytes)                                \
    {                                                                                              \
        SPILL_AROUND(copy_op(home, dst, src, bytes), SPILL_REAL(symbol)(dst, src, bytes));         \
    }
DEVICE(cuMemcpyDtoD_v2, SPILL_STREAM_L)
DEVICE(cuMemcpyDtoD_v2_ptds, SPILL_STREAM_T)

#define ANY_ASYNC(symbol, home)                                                                    \
    CUresult symbol(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)               \
    {                                                                                              \
        SPILL_AROUND(any_copy(spill_around_stream(stream, home), dst, src, bytes, true),           \
                     SPILL_REAL(symbol)(dst, src, bytes, stream));                                 \
    }
ANY_ASYNC(cuMemcpyAsync, SPILL_STREAM_L)
ANY_ASYNC(cuMemcpyAsync_ptsz, SPILL_STREAM_T)

#define DEVICE_ASYNC(symbol, home)                                                                 \
    CUresult symbol(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)               \
    {                                                                                              \
        SPILL_AROUND(copy_op(spill_around_stream(stream, home), dst, src, bytes),                  \
                     SPILL_REAL(symbol)(dst, src, bytes, stream));                                 \
    }
DEVICE_ASYNC(cuMemcpyDtoDAsync_v2, SPILL_STREAM_L)
DEVICE_ASYNC(cuMemcpyDtoDAsync_v2_ptsz, SPILL_STREAM_T)

#define FROM_HOST(symbol, home)                                                                    \
    CUresult symbol(CUdeviceptr dst, const void *src, size_t bytes)                                \
    {                                                                                              \
        SPILL_AROUND_WAIT(home, from_host(home, dst, src, bytes, false),                           \
                          SPILL_REAL(symbol)(dst, src, bytes));                                    \
    }
FROM_HOST(cuMemcpyHtoD_v2, SPILL_STREAM_L)
FROM_HOST(cuMemcpyHtoD_v2_ptds, SPILL_STREAM_T)

#define FROM_HOST_ASYNC(symbol, home)                                                              \
    CUresult symbol(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)               \
    {                                                                                              \
        SPILL_AROUND(from_host(spill_around_stream(stream, home), dst, src, bytes, true),          \
                     SPILL_REAL(symbol)(dst, src, bytes, stream));                                 \
    }
FROM_HOST_ASYNC(cuMemcpyHtoDAsync_v2, SPILL_STREAM_L)
FROM_HOST_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, SPILL_STREAM_T)

#define TO_HOST(symbol, home)                                                                      \
    CUresult symbol(void *dst, CUdeviceptr src, size_t bytes)                                      \
    {                                                                                              \
        SPILL_AROUND_WAIT(home, to_host(home, src, bytes, false),                                  \
                          SPILL_REAL(symbol)(dst, src, bytes));                                    \
    }
TO_HOST(cuMemcpyDtoH_v2, SPILL_STREAM_L)
TO_HOST(cuMemcpyDtoH_v2_ptds, SPILL_STREAM_T)

#define TO_HOST_ASYNC(symbol, home)                                                                \
    CUresult symbol(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)                     \
    {                                                                                              \
        SPILL_AROUND(to_host(spill_around_stream(stream, home), src, bytes, true),                 \
                     SPILL_REAL(symbol)(dst, src, bytes, stream));                                 \
    }
TO_HOST_ASYNC(cuMemcpyDtoHAsync_v2, SPILL_STREAM_L)
TO_HOST_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, SPILL_STREAM_T)

#define BOX(symbol, describe, type, home)                                                          \
    CUresult symbol(const type *copy)                                                              \
    {                                                                                              \
        SPILL_AROUND_WAIT(home, describe(home, copy, false), SPILL_REAL(symbol)(copy));            \
    }
BOX(cuMemcpy2D_v2, copy_2d, CUDA_MEMCPY2D, SPILL_STREAM_L)
BOX(cuMemcpy2D_v2_ptds, copy_2d, CUDA_MEMCPY2D, SPILL_STREAM_T)
BOX(cuMemcpy2DUnaligned_v2, copy_2d, CUDA_MEMCPY2D, SPILL_STREAM_L)
BOX(cuMemcpy2DUnaligned_v2_ptds, copy_2d, CUDA_MEMCPY2D, SPILL_STREAM_T)
BOX(cuMemcpy3D_v2, copy_3d, CUDA_MEMCPY3D, SPILL_STREAM_L)
BOX(cuMemcpy3D_v2_ptds, copy_3d, CUDA_MEMCPY3D, SPILL_STREAM_T)
BOX(cuMemcpy3DPeer, copy_3d_peer, CUDA_MEMCPY3D_PEER, SPILL_STREAM_L)
BOX(cuMemcpy3DPeer_ptds, copy_3d_peer, CUDA_MEMCPY3D_PEER, SPILL_STREAM_T)

#define BOX_ASYNC(symbol, describe, type, home)                                                    \
    CUresult symbol(const type *copy, CUstream stream)                                             \
    {                                                                                              \
        SPILL_AROUND(describe(spill_around_stream(stream, home), copy, true),                      \
                     SPILL_REAL(symbol)(copy, stream));                                            \
    }
BOX_ASYNC(cuMemcpy2DAsync_v2, copy_2d, CUDA_MEMCPY2D, SPILL_STREAM_L)
BOX_ASYNC(cuMemcpy2DAsync_v2_ptsz, copy_2d, CUDA_MEMCPY2D, SPILL_STREAM_T)
BOX_ASYNC(cuMemcpy3DAsync_v2, copy_3d, CUDA_MEMCPY3D, SPILL_STREAM_L)
BOX_ASYNC(cuMemcpy3DAsync_v2_ptsz, copy_3d, CUDA_MEMCPY3D, SPILL_STREAM_T)
BOX_ASYNC(cuMemcpy3DPeerAsync, copy_3d_peer, CUDA_MEMCPY3D_PEER, SPILL_STREAM_L)
BOX_ASYNC(cuMemcpy3DPeerAsync_ptsz, copy_3d_peer, CUDA_MEMCPY3D_PEER, SPILL_STREAM_T)
