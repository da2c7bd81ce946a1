/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/opcalls.h"

#include "preload/hostside.h"

struct spill_opcall spill_opcalls_copy(CUstream stream, CUdeviceptr dst, CUdeviceptr src,
                                       uint64_t bytes)
{
    struct spill_opcall op = {.kind = SPILL_OPKIND_COPY, .stream = stream, .bytes = bytes};
    if (dst != 0)
        op.ranges[op.range_count++] = (struct spill_oprange){dst, SPILL_ACCESS_WRITE};
    if (src != 0)
        op.ranges[op.range_count++] = (struct spill_oprange){src, SPILL_ACCESS_READ};
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
    struct spill_opcall op = spill_opcalls_copy(stream, dst, src, bytes);
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

struct spill_opcall spill_opcalls_2d(CUstream stream, const CUDA_MEMCPY2D *p, bool asynchronous)
{
    if (p == NULL)
        return spill_opcalls_copy(stream, 0, 0, 0);
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
    struct spill_opcall name(CUstream stream, const type *p, bool asynchronous)                    \
    {                                                                                              \
        if (p == NULL)                                                                             \
            return spill_opcalls_copy(stream, 0, 0, 0);                                            \
        struct spill_opcall op = box_copy(stream, device_side(p->dstMemoryType, p->dstDevice),     \
                                          device_side(p->srcMemoryType, p->srcDevice),             \
                                          p->WidthInBytes * p->Height * p->Depth, asynchronous);   \
        box_source(                                                                                \
            &op, p->srcMemoryType, p->srcDevice, p->srcHost,                                       \
            (p->srcZ * p->srcHeight + p->srcY) * p->srcPitch + p->srcXInBytes,                     \
            spill_hostside_span(p->WidthInBytes, p->Height, p->Depth, p->srcPitch, p->srcHeight)); \
        return op;                                                                                 \
    }
COPY_3D(spill_opcalls_3d, CUDA_MEMCPY3D)
COPY_3D(spill_opcalls_3d_peer, CUDA_MEMCPY3D_PEER)

struct spill_opcall spill_opcalls_kernel(CUstream stream, CUfunction function, unsigned gx,
                                         unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                         unsigned bz, void **params, void **extra)
{
    return (struct spill_opcall){.kind = SPILL_OPKIND_KERNEL,
                                 .stream = stream,
                                 .function = function,
                                 .params = params,
                                 .extra = extra,
                                 .grid = {gx, gy, gz},
                                 .block = {bx, by, bz}};
}

struct spill_opcall spill_opcalls_set(CUstream stream, CUdeviceptr dst, uint64_t bytes)
{
    return (struct spill_opcall){.kind = SPILL_OPKIND_SET,
                                 .stream = stream,
                                 .ranges = {{dst, SPILL_ACCESS_WRITE}},
                                 .range_count = 1,
                                 .bytes = bytes};
}

/* What a host function did can be seen after a free. */
struct spill_opcall spill_opcalls_host(CUstream stream)
{
    return (struct spill_opcall){
        .kind = SPILL_OPKIND_HOST_FUNC, .stream = stream, .host_pending = true};
}

struct spill_opcall spill_opcalls_plain(enum spill_opkind kind, CUstream stream)
{
    return (struct spill_opcall){.kind = kind, .stream = stream};
}

CUdeviceptr spill_opcalls_value(const CUstreamBatchMemOpParams *params)
{
    switch ((int)params->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return params->waitValue.address;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case 6: /* CU_STREAM_MEM_OP_BARRIER */
        return 0;
    default: /* WRITE_VALUE_*, and since 13.0 ATOMIC_REDUCTION, laid out alike */
        return params->writeValue.address;
    }
}
