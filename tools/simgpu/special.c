/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory's hints, IPC, and the memory operations of streams. Managed memory is resident
 * host memory here, so hints change nothing. */
#include <string.h>

#include "fault.h"
#include "graph.h"
#include "memory.h"
#include "op.h"
#include "pool.h"
#include "races.h"
#include "stream.h"

static bool is_managed(uint64_t address, size_t bytes)
{
    const struct simgpu_host_range *h = simgpu_host_find(address);
    return h != NULL && h->managed && address - h->start + bytes <= h->bytes;
}

CUresult simgpu_cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, CUmem_advise advice,
                               CUmemLocation location)
{
    (void)location;
    if (!is_managed(ptr, bytes) || advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
        advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation location,
                                      unsigned int flags, CUstream stream)
{
    (void)location;
    if (simgpu_stream_of(stream) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    return flags == 0 && is_managed(ptr, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult simgpu_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t bytes,
                                       unsigned int flags)
{
    if (simgpu_stream_of(stream) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags == 0 || flags > CU_MEM_ATTACH_SINGLE || !is_managed(ptr, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

struct ipc {
    uint64_t magic, ptr;
};
#define IPC_MAGIC 0x53494d5f49504331ull

CUresult simgpu_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
    uint64_t base, bytes;
    /* Legacy IPC is for cuMemAlloc only; memory of pools, or mapped by hand, has no such handle. */
    if (handle == NULL || !simgpu_alloc_range(ptr, &base, &bytes) ||
        simgpu_pool_behind(base) != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct ipc ipc = {IPC_MAGIC, base};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &ipc, sizeof ipc);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags)
{
    struct ipc ipc;
    memcpy(&ipc, &handle, sizeof ipc);
    if (ptr == NULL || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || ipc.magic != IPC_MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t base, bytes;
    /* A handle of this very process may not be opened in it; one of another is out of reach here.
     */
    if (simgpu_alloc_range(ipc.ptr, &base, &bytes))
        return CUDA_ERROR_INVALID_CONTEXT;
    return CUDA_ERROR_MAP_FAILED;
}

CUresult simgpu_cuIpcCloseMemHandle(CUdeviceptr ptr)
{
    (void)ptr; /* none can be open */
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult simgpu_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                             CUmemAllocationHandleType type,
                                             unsigned long long flags)
{
    const struct simgpu_phys *p = (const struct simgpu_phys *)(uintptr_t)handle;
    if (out == NULL || p == NULL || p->magic != SIMGPU_PHYS_MAGIC || flags != 0 ||
        !(p->prop.requestedHandleTypes & type))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_ERROR_NOT_SUPPORTED;
}

static void write_body(void *arg)
{
    const struct simgpu_value *v = arg;
    memcpy((void *)(uintptr_t)v->address, &v->value, v->bytes);
}

static CUresult run_write(struct simgpu_op *op, uint64_t *duration_ns)
{
    *duration_ns = 500;
    simgpu_races_range(op->u.value.address, op->u.value.bytes, true);
    return simgpu_fault_guard(write_body, &op->u.value);
}

static void read_body(void *arg)
{
    struct simgpu_value *v = arg;
    v->seen = 0;
    memcpy(&v->seen, (const void *)(uintptr_t)v->address, v->bytes);
}

static bool satisfied(const struct simgpu_value *v)
{
    uint64_t mask = v->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    uint64_t seen = v->seen & mask, value = v->value & mask;
    switch (v->flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return v->bytes == 4 ? (int32_t)(uint32_t)(seen - value) >= 0
                             : (int64_t)(seen - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return seen == value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (seen & value) != 0;
    default:
        return (~(seen | value) & mask) != 0;
    }
}

/* A wait that is not satisfied goes back to the queue (op.c); its order to the write is only known
 * by the program, so the race check does not look at it. */
static CUresult run_wait(struct simgpu_op *op, uint64_t *duration_ns)
{
    *duration_ns = 0;
    CUresult result = simgpu_fault_guard(read_body, &op->u.value);
    if (result == CUDA_SUCCESS && !satisfied(&op->u.value))
        return SIMGPU_OP_AGAIN;
    return result;
}

static const struct simgpu_op_type write_type = {"write value", run_write, NULL, NULL};
static const struct simgpu_op_type wait_type = {"wait value", run_wait, NULL, NULL};

void simgpu_value_show(const struct simgpu_op *op, CUstreamBatchMemOpParams *params)
{
    const struct simgpu_value *v = &op->u.value;
    bool wide = v->bytes == 8;
    memset(params, 0, sizeof *params);
    if (op->type == &wait_type) {
        params->waitValue.operation =
            wide ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32;
        params->waitValue.address = v->address;
        params->waitValue.value64 = v->value;
        params->waitValue.flags = v->flags;
        return;
    }
    params->writeValue.operation =
        wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
    params->writeValue.address = v->address;
    params->writeValue.value64 = v->value;
    params->writeValue.flags = v->flags;
}

static CUresult value(CUstream stream, const struct simgpu_op_type *type, CUdeviceptr address,
                      uint64_t v, uint32_t bytes, unsigned int flags)
{
    struct simgpu_stream *s = simgpu_stream_of(stream);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (address % bytes != 0 || (!simgpu_is_device(address) && simgpu_host_find(address) == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_op *op = simgpu_op_new(s, type, SIMGPU_ENGINE_NONE);
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.value = (struct simgpu_value){address, v, 0, bytes, flags};
    simgpu_op_submit(op);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t v,
                                        unsigned int flags)
{
    return value(stream, &write_type, addr, v, 4, flags);
}

CUresult simgpu_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t v,
                                        unsigned int flags)
{
    return value(stream, &write_type, addr, v, 8, flags);
}

CUresult simgpu_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t v,
                                       unsigned int flags)
{
    return value(stream, &wait_type, addr, v, 4, flags);
}

CUresult simgpu_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t v,
                                       unsigned int flags)
{
    return value(stream, &wait_type, addr, v, 8, flags);
}
