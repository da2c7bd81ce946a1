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
    spill_hostside_host(&op, src, bytes);
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
    spill_hostside_any(&op, src, bytes);
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

/* A box may be a table of addresses; ANY and HOST are what the struct says of either kind. */
static void box_source(struct spill_opcall *op, CUmemorytype type, CUdeviceptr any,
                       const void *host, uint64_t skipped, uint64_t bytes)
{
    if (type == CU_MEMORYTYPE_HOST && host != NULL && bytes != 0)
        spill_hostside_host(op, (const char *)host + skipped, bytes);
    else if (type == CU_MEMORYTYPE_UNIFIED && any != 0)
        spill_hostside_any(op, any + skipped, bytes);
}

static struct spill_opcall copy_2d(CUstream stream, const CUDA_MEMCPY2D *p, bool asynchronous)
{
    if (p == NULL)
        return copy_op(stream, 0, 0, 0);
    struct spill_opcall op = box_copy(stream, device_side(p->dstMemoryType, p->dstDevice),
                                      device_side(p->srcMemoryType, p->srcDevice),
                                      p->WidthInBytes * p->Height, asynchronous);
    box_source(&op, p->srcMemoryType, p->srcDevice, p->srcHost,
               p->srcY * p->srcPitch + p->srcXInBytes,
               spill_hostside_span(p->WidthInBytes, p->Height, 1, p->srcPitch, 0));
    return op;
}

/* Both structs of this shape name their fields alike. */
#define COPY_3D(name, type)                                                                        \
    static struct spill_opcall name(CUstream stream, const type *p, bool asynchronous)             \
    {                                                                                              \
        if (p == NULL)                                                                             \
            return copy_op(stream, 0, 0, 0);                                                       \
        struct spill_opcall op = box_copy(stream, device_side(p->dstMemoryType, p->dstDevice),     \
                                          device_side(p->srcMemoryType, p->srcDevice),             \
                                          p->WidthInBytes * p->Height * p->Depth, asynchronous);   \
        box_source(                                                                                \
            &op, p->srcMemoryType, p->srcDevice, p->srcHost,                                       \
            (p->srcZ * p->srcHeight + p->srcY) * p->srcPitch + p->srcXInBytes,                     \
            spill_hostside_span(p->WidthInBytes, p->Height, p->Depth, p->srcPitch, p->srcHeight)); \
        return op;                                                                                 \
    }
COPY_3D(copy_3d, CUDA_MEMCPY3D)
COPY_3D(copy_3d_peer, CUDA_MEMCPY3D_PEER)

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
