/* SPDX-License-Identifier: Apache-2.0 */
/* Older and newer ABI versions of functions that are served elsewhere, batches of copies, and a few
 * queries. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memory.h"
#include "module.h"
#include "stream.h"

#if CUDA_VERSION >= 12080
static CUresult run_nothing(struct simgpu_op *op, uint64_t *duration_ns)
{
    (void)op;
    *duration_ns = 0;
    return CUDA_SUCCESS;
}

static const struct simgpu_op_type edge_type = {"batch edge", run_nothing, NULL, NULL};

/* The copies of a batch come after what the stream did before and before what it does next; among
 * each other they have no order. */
static CUresult batch(const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes,
                      size_t count, const CUmemcpyAttributes *attrs, const size_t *indices,
                      size_t n_attrs, size_t *failed, CUstream stream)
{
    struct simgpu_stream *s = simgpu_stream_of(stream);
    if (failed != NULL)
        *failed = SIZE_MAX;
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (s->legacy || count == 0 || dsts == NULL || srcs == NULL || sizes == NULL || attrs == NULL ||
        indices == NULL || n_attrs == 0 || n_attrs > count || indices[0] != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->capture != NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct simgpu_op *begin = simgpu_op_new(s, &edge_type, SIMGPU_ENGINE_NONE);
    struct simgpu_op **ops = calloc(count, sizeof(struct simgpu_op *));
    if (begin == NULL || ops == NULL)
        abort();
    simgpu_op_hold(begin);
    simgpu_op_submit(begin);
    CUresult result = CUDA_SUCCESS;
    bool wait = false;
    size_t made = 0;
    for (; result == CUDA_SUCCESS && made < count; made++) {
        struct simgpu_op filled = {0};
        bool pageable = false;
        result = simgpu_copy_fill_line(&filled, dsts[made], srcs[made], sizes[made], &pageable);
        if (result != CUDA_SUCCESS) {
            if (failed != NULL)
                *failed = made;
            break;
        }
        wait |= pageable;
        struct simgpu_op *op = simgpu_op_new_apart(s, filled.type, filled.engine, (uint32_t)made);
        if (op == NULL)
            abort();
        op->u = filled.u;
        simgpu_op_after(op, begin);
        ops[made] = simgpu_op_hold(op);
        simgpu_op_submit(op);
    }
    struct simgpu_op *end = simgpu_op_new(s, &edge_type, SIMGPU_ENGINE_NONE);
    if (end == NULL)
        abort();
    for (size_t i = 0; i < made; i++) {
        simgpu_op_after(end, ops[i]);
        simgpu_op_release(ops[i]);
    }
    free(ops);
    simgpu_op_release(begin);
    simgpu_op_hold(end);
    simgpu_op_submit(end);
    if (wait && result == CUDA_SUCCESS)
        result = simgpu_op_wait(end);
    simgpu_op_release(end);
    return result;
}

CUresult simgpu_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                   size_t count, CUmemcpyAttributes *attrs, size_t *indices,
                                   size_t n_attrs, size_t *failed, CUstream stream)
{
    return batch(dsts, srcs, sizes, count, attrs, indices, n_attrs, failed, stream);
}

CUresult simgpu_cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    const struct simgpu_stream *s = simgpu_stream_of(stream);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (device == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *device = s->ctx->device->ordinal;
    return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 13000
CUresult simgpu_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                      size_t count, CUmemcpyAttributes *attrs, size_t *indices,
                                      size_t n_attrs, CUstream stream)
{
    return batch(dsts, srcs, sizes, count, attrs, indices, n_attrs, NULL, stream);
}

CUresult simgpu_cuCtxSynchronize_v2(CUcontext handle)
{
    struct simgpu_ctx *c = handle != NULL ? simgpu_ctx_of(handle) : simgpu_ctx_current();
    if (c == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult forbidden = simgpu_capture_forbids_context(c);
    return forbidden != CUDA_SUCCESS ? forbidden : simgpu_stream_wait_all(c, false);
}

CUresult simgpu_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
    const struct simgpu_ctx *c = handle != NULL ? simgpu_ctx_of(handle) : simgpu_ctx_current();
    if (device == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (c == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = c->device->ordinal;
    return CUDA_SUCCESS;
}
#endif

static CUDA_MEMCPY3D without_contexts(const CUDA_MEMCPY3D_PEER *p)
{
    return (CUDA_MEMCPY3D){.srcXInBytes = p->srcXInBytes,
                           .srcY = p->srcY,
                           .srcZ = p->srcZ,
                           .srcMemoryType = p->srcMemoryType,
                           .srcHost = p->srcHost,
                           .srcDevice = p->srcDevice,
                           .srcPitch = p->srcPitch,
                           .srcHeight = p->srcHeight,
                           .dstXInBytes = p->dstXInBytes,
                           .dstY = p->dstY,
                           .dstZ = p->dstZ,
                           .dstMemoryType = p->dstMemoryType,
                           .dstHost = p->dstHost,
                           .dstDevice = p->dstDevice,
                           .dstPitch = p->dstPitch,
                           .dstHeight = p->dstHeight,
                           .WidthInBytes = p->WidthInBytes,
                           .Height = p->Height,
                           .Depth = p->Depth};
}

CUresult simgpu_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p)
{
    if (p == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D q = without_contexts(p);
    return simgpu_cuMemcpy3D_v2(&q);
}

CUresult simgpu_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream stream)
{
    if (p == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D q = without_contexts(p);
    return simgpu_cuMemcpy3DAsync_v2(&q, stream);
}

static CUmemLocation location_of(CUdevice device)
{
    if (device == CU_DEVICE_CPU)
        return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST};
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
}

CUresult simgpu_cuMemAdvise(CUdeviceptr ptr, size_t bytes, CUmem_advise advice, CUdevice device)
{
    return simgpu_cuMemAdvise_v2(ptr, bytes, advice, location_of(device));
}

CUresult simgpu_cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice device, CUstream stream)
{
    return simgpu_cuMemPrefetchAsync_v2(ptr, bytes, location_of(device), 0, stream);
}

CUresult simgpu_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute,
                                       CUdeviceptr ptr, size_t bytes)
{
    const struct simgpu_host_range *h = simgpu_host_find(ptr);
    if (data == NULL || size < 4 || size % 4 != 0 || bytes == 0 || h == NULL || !h->managed)
        return CUDA_ERROR_INVALID_VALUE;
    /* Nothing was ever advised or prefetched, as far as the answers go. */
    bool place = attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION ||
                 attribute == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION ||
                 attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    int value = place ? CU_DEVICE_INVALID : 0;
    for (size_t i = 0; i < size; i += sizeof value)
        memcpy((char *)data + i, &value, sizeof value);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuStreamBeginCapture(CUstream stream)
{
    return simgpu_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult simgpu_cuMemHostRegister(void *p, size_t bytes, unsigned int flags)
{
    return simgpu_cuMemHostRegister_v2(p, bytes, flags);
}

CUresult simgpu_cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return simgpu_cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult simgpu_cuDevicePrimaryCtxReset(CUdevice dev)
{
    return simgpu_cuDevicePrimaryCtxReset_v2(dev);
}

CUresult simgpu_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *failed,
                                      char *log, size_t log_bytes)
{
    if (failed != NULL)
        *failed = NULL;
    if (log != NULL && log_bytes != 0)
        *log = '\0';
    return simgpu_cuGraphInstantiateWithFlags(exec, graph, 0);
}

CUresult simgpu_cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *failed, char *log,
                                   size_t log_bytes)
{
    return simgpu_cuGraphInstantiate_v2(exec, graph, failed, log, log_bytes);
}

CUresult simgpu_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *failed,
                                  CUgraphExecUpdateResult *result)
{
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    CUresult r = simgpu_cuGraphExecUpdate_v2(exec, graph, &info);
    if (failed != NULL)
        *failed = info.errorNode;
    if (result != NULL)
        *result = info.result;
    return r;
}

CUresult simgpu_cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
    if (dev == NULL || id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (CUdevice d = 0; simgpu_device_at(d) != NULL; d++) {
        char own[16];
        if (simgpu_cuDeviceGetPCIBusId(own, sizeof own, d) == CUDA_SUCCESS &&
            strcmp(own, id) == 0) {
            *dev = d;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult simgpu_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from,
                                        CUdevice to)
{
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (simgpu_device_at(from) == NULL || simgpu_device_at(to) == NULL || from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    const struct simgpu_function *f = simgpu_function_of(kernel);
    if (f == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (library == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *library = (CUlibrary)f->module;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction f, int blocks,
                                                        int block_size)
{
    if (simgpu_function_of(f) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (bytes == NULL || blocks <= 0 || block_size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    size_t share = 233472 / (size_t)blocks;
    *bytes = share > 1024 ? share - 1024 : 0;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12030
/* Edge data says more than "after" only for programmatic launches, which are not served. */
static bool plain(const CUgraphEdgeData *data, size_t count)
{
    static const CUgraphEdgeData zero;
    for (size_t i = 0; data != NULL && i < count; i++)
        if (memcmp(&data[i], &zero, sizeof zero) != 0)
            return false;
    return true;
}

static void no_data(CUgraphEdgeData *data, const size_t *count)
{
    if (data != NULL && count != NULL)
        memset(data, 0, *count * sizeof *data);
}

CUresult simgpu_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                          const CUgraphNode *to, const CUgraphEdgeData *data,
                                          size_t count)
{
    return plain(data, count) ? simgpu_cuGraphAddDependencies(graph, from, to, count)
                              : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult simgpu_cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                                   CUgraphEdgeData *data, size_t *count)
{
    no_data(data, count);
    return simgpu_cuGraphGetEdges(graph, from, to, count);
}

CUresult simgpu_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *before,
                                              CUgraphEdgeData *data, size_t *count)
{
    no_data(data, count);
    return simgpu_cuGraphNodeGetDependencies(node, before, count);
}
#endif
