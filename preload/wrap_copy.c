/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of copies. Each macro below pastes one signature; HOME is what its NULL stream means. */
#include "preload/around.h"
#include "preload/hostside.h"
#include "preload/opcalls.h"

static struct spill_opcall from_host(CUstream stream, CUdeviceptr dst, const void *src,
                                     uint64_t bytes, bool asynchronous)
{
    struct spill_opcall op = spill_opcalls_copy(stream, dst, 0, bytes);
    spill_hostside_host(&op, src, bytes);
    op.host_pending = asynchronous;
    return op;
}

static struct spill_opcall to_host(CUstream stream, CUdeviceptr src, uint64_t bytes,
                                   bool asynchronous)
{
    struct spill_opcall op = spill_opcalls_copy(stream, 0, src, bytes);
    op.host_pending = asynchronous;
    return op;
}

/* The generic copies name addresses of either side; those that are not ours are found to be so
 * later. */
static struct spill_opcall any_copy(CUstream stream, CUdeviceptr dst, CUdeviceptr src,
                                    uint64_t bytes, bool asynchronous)
{
    struct spill_opcall op = spill_opcalls_copy(stream, dst, src, bytes);
    op.host_pending = asynchronous;
    spill_hostside_any(&op, src, bytes);
    return op;
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
        SPILL_AROUND(spill_opcalls_copy(home, dst, src, bytes),                                    \
                     SPILL_REAL(symbol)(dst, src, bytes));                                         \
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
        SPILL_AROUND(spill_opcalls_copy(spill_around_stream(stream, home), dst, src, bytes),       \
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
BOX(cuMemcpy2D_v2, spill_opcalls_2d, CUDA_MEMCPY2D, SPILL_STREAM_L)
BOX(cuMemcpy2D_v2_ptds, spill_opcalls_2d, CUDA_MEMCPY2D, SPILL_STREAM_T)
BOX(cuMemcpy2DUnaligned_v2, spill_opcalls_2d, CUDA_MEMCPY2D, SPILL_STREAM_L)
BOX(cuMemcpy2DUnaligned_v2_ptds, spill_opcalls_2d, CUDA_MEMCPY2D, SPILL_STREAM_T)
BOX(cuMemcpy3D_v2, spill_opcalls_3d, CUDA_MEMCPY3D, SPILL_STREAM_L)
BOX(cuMemcpy3D_v2_ptds, spill_opcalls_3d, CUDA_MEMCPY3D, SPILL_STREAM_T)
BOX(cuMemcpy3DPeer, spill_opcalls_3d_peer, CUDA_MEMCPY3D_PEER, SPILL_STREAM_L)
BOX(cuMemcpy3DPeer_ptds, spill_opcalls_3d_peer, CUDA_MEMCPY3D_PEER, SPILL_STREAM_T)

#define BOX_ASYNC(symbol, describe, type, home)                                                    \
    CUresult symbol(const type *copy, CUstream stream)                                             \
    {                                                                                              \
        SPILL_AROUND(describe(spill_around_stream(stream, home), copy, true),                      \
                     SPILL_REAL(symbol)(copy, stream));                                            \
    }
BOX_ASYNC(cuMemcpy2DAsync_v2, spill_opcalls_2d, CUDA_MEMCPY2D, SPILL_STREAM_L)
BOX_ASYNC(cuMemcpy2DAsync_v2_ptsz, spill_opcalls_2d, CUDA_MEMCPY2D, SPILL_STREAM_T)
BOX_ASYNC(cuMemcpy3DAsync_v2, spill_opcalls_3d, CUDA_MEMCPY3D, SPILL_STREAM_L)
BOX_ASYNC(cuMemcpy3DAsync_v2_ptsz, spill_opcalls_3d, CUDA_MEMCPY3D, SPILL_STREAM_T)
BOX_ASYNC(cuMemcpy3DPeerAsync, spill_opcalls_3d_peer, CUDA_MEMCPY3D_PEER, SPILL_STREAM_L)
BOX_ASYNC(cuMemcpy3DPeerAsync_ptsz, spill_opcalls_3d_peer, CUDA_MEMCPY3D_PEER, SPILL_STREAM_T)
