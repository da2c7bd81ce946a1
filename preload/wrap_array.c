/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of copies from and to arrays and other devices. Arrays themselves are not managed. */
#include "preload/around.h"
#include "preload/hostside.h"

static struct spill_opcall side_op(CUstream stream, CUdeviceptr addr, uint32_t mode, uint64_t bytes)
{
    return (struct spill_opcall){.kind = SPILL_OPKIND_COPY,
                                 .stream = stream,
                                 .ranges = {{addr, mode}},
                                 .range_count = addr != 0,
                                 .bytes = bytes};
}

static struct spill_opcall array_to_host(CUstream stream, uint64_t bytes, bool asynchronous)
{
    struct spill_opcall op = side_op(stream, 0, 0, bytes);
    op.host_pending = asynchronous;
    return op;
}

/* A kernel may read the array by a texture, and an address with it. */
static struct spill_opcall array_from_host(CUstream stream, const void *src, uint64_t bytes)
{
    struct spill_opcall op = side_op(stream, 0, 0, bytes);
    spill_hostside_host(&op, src, bytes);
    return op;
}

static struct spill_opcall peer_op(CUstream stream, CUdeviceptr dst, CUdeviceptr src,
                                   uint64_t bytes)
{
    return (struct spill_opcall){.kind = SPILL_OPKIND_COPY,
                                 .stream = stream,
                                 .ranges = {{dst, SPILL_ACCESS_WRITE}, {src, SPILL_ACCESS_READ}},
                                 .range_count = 2,
                                 .bytes = bytes};
}

#define ARRAY_TO_ARRAY(symbol, home)                                                               \
    CUresult symbol(CUarray dst, size_t to, CUarray src, size_t from, size_t bytes)                \
    {                                                                                              \
        SPILL_AROUND(side_op(home, 0, 0, bytes), SPILL_REAL(symbol)(dst, to, src, from, bytes));   \
    }
ARRAY_TO_ARRAY(cuMemcpyAtoA_v2, SPILL_STREAM_L)
ARRAY_TO_ARRAY(cuMemcpyAtoA_v2_ptds, SPILL_STREAM_T)

#define ARRAY_TO_DEVICE(symbol, home)                                                              \
    CUresult symbol(CUdeviceptr dst, CUarray src, size_t from, size_t bytes)                       \
    {                                                                                              \
        SPILL_AROUND(side_op(home, dst, SPILL_ACCESS_WRITE, bytes),                                \
                     SPILL_REAL(symbol)(dst, src, from, bytes));                                   \
    }
ARRAY_TO_DEVICE(cuMemcpyAtoD_v2, SPILL_STREAM_L)
ARRAY_TO_DEVICE(cuMemcpyAtoD_v2_ptds, SPILL_STREAM_T)

#define DEVICE_TO_ARRAY(symbol, home)                                                              \
    CUresult symbol(CUarray dst, size_t to, CUdeviceptr src, size_t bytes)                         \
    {                                                                                              \
        SPILL_AROUND(side_op(home, src, SPILL_ACCESS_READ, bytes),                                 \
                     SPILL_REAL(symbol)(dst, to, src, bytes));                                     \
    }
DEVICE_TO_ARRAY(cuMemcpyDtoA_v2, SPILL_STREAM_L)
DEVICE_TO_ARRAY(cuMemcpyDtoA_v2_ptds, SPILL_STREAM_T)

#define ARRAY_TO_HOST(symbol, home)                                                                \
    CUresult symbol(void *dst, CUarray src, size_t from, size_t bytes)                             \
    {                                                                                              \
        SPILL_AROUND_WAIT(home, array_to_host(home, bytes, false),                                 \
                          SPILL_REAL(symbol)(dst, src, from, bytes));                              \
    }
ARRAY_TO_HOST(cuMemcpyAtoH_v2, SPILL_STREAM_L)
ARRAY_TO_HOST(cuMemcpyAtoH_v2_ptds, SPILL_STREAM_T)

#define ARRAY_TO_HOST_ASYNC(symbol, home)                                                          \
    CUresult symbol(void *dst, CUarray src, size_t from, size_t bytes, CUstream stream)            \
    {                                                                                              \
        SPILL_AROUND(array_to_host(spill_around_stream(stream, home), bytes, true),                \
                     SPILL_REAL(symbol)(dst, src, from, bytes, stream));                           \
    }
ARRAY_TO_HOST_ASYNC(cuMemcpyAtoHAsync_v2, SPILL_STREAM_L)
ARRAY_TO_HOST_ASYNC(cuMemcpyAtoHAsync_v2_ptsz, SPILL_STREAM_T)

#define HOST_TO_ARRAY(symbol, home)                                                                \
    CUresult symbol(CUarray dst, size_t to, const void *src, size_t bytes)                         \
    {                                                                                              \
        SPILL_AROUND_WAIT(home, array_from_host(home, src, bytes),                                 \
                          SPILL_REAL(symbol)(dst, to, src, bytes));                                \
    }
HOST_TO_ARRAY(cuMemcpyHtoA_v2, SPILL_STREAM_L)
HOST_TO_ARRAY(cuMemcpyHtoA_v2_ptds, SPILL_STREAM_T)

#define HOST_TO_ARRAY_ASYNC(symbol, home)                                                          \
    CUresult symbol(CUarray dst, size_t to, const void *src, size_t bytes, CUstream stream)        \
    {                                                                                              \
        SPILL_AROUND(array_from_host(spill_around_stream(stream, home), src, bytes),               \
                     SPILL_REAL(symbol)(dst, to, src, bytes, stream));                             \
    }
HOST_TO_ARRAY_ASYNC(cuMemcpyHtoAAsync_v2, SPILL_STREAM_L)
HOST_TO_ARRAY_ASYNC(cuMemcpyHtoAAsync_v2_ptsz, SPILL_STREAM_T)

#define PEER(symbol, home)                                                                         \
    CUresult symbol(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes)  \
    {                                                                                              \
        SPILL_AROUND(peer_op(home, dst, src, bytes),                                               \
                     SPILL_REAL(symbol)(dst, to, src, from, bytes));                               \
    }
PEER(cuMemcpyPeer, SPILL_STREAM_L)
PEER(cuMemcpyPeer_ptds, SPILL_STREAM_T)

#define PEER_ASYNC(symbol, home)                                                                   \
    CUresult symbol(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes,  \
                    CUstream stream)                                                               \
    {                                                                                              \
        SPILL_AROUND(peer_op(spill_around_stream(stream, home), dst, src, bytes),                  \
                     SPILL_REAL(symbol)(dst, to, src, from, bytes, stream));                       \
    }
PEER_ASYNC(cuMemcpyPeerAsync, SPILL_STREAM_L)
PEER_ASYNC(cuMemcpyPeerAsync_ptsz, SPILL_STREAM_T)
