/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of calls after which a buffer is used without any op naming it: it is brought back first
 * and stays. */
#include "preload/ask.h"
#include "preload/opcalls.h"
#include "preload/real.h"

/* --- values that streams wait for or write --- */

#define STREAM_VALUE(symbol, type)                                                                 \
    CUresult symbol(CUstream stream, CUdeviceptr addr, type value, unsigned int flags)             \
    {                                                                                              \
        spill_ask_pin(addr, SPILL_TRACE_PIN_STREAM_VALUE);                                         \
        return SPILL_REAL(symbol)(stream, addr, value, flags);                                     \
    }
STREAM_VALUE(cuStreamWaitValue32, cuuint32_t)
STREAM_VALUE(cuStreamWaitValue32_ptsz, cuuint32_t)
STREAM_VALUE(cuStreamWaitValue32_v2, cuuint32_t)
STREAM_VALUE(cuStreamWaitValue32_v2_ptsz, cuuint32_t)
STREAM_VALUE(cuStreamWaitValue64, cuuint64_t)
STREAM_VALUE(cuStreamWaitValue64_ptsz, cuuint64_t)
STREAM_VALUE(cuStreamWaitValue64_v2, cuuint64_t)
STREAM_VALUE(cuStreamWaitValue64_v2_ptsz, cuuint64_t)
STREAM_VALUE(cuStreamWriteValue32, cuuint32_t)
STREAM_VALUE(cuStreamWriteValue32_ptsz, cuuint32_t)
STREAM_VALUE(cuStreamWriteValue32_v2, cuuint32_t)
STREAM_VALUE(cuStreamWriteValue32_v2_ptsz, cuuint32_t)
STREAM_VALUE(cuStreamWriteValue64, cuuint64_t)
STREAM_VALUE(cuStreamWriteValue64_ptsz, cuuint64_t)
STREAM_VALUE(cuStreamWriteValue64_v2, cuuint64_t)
STREAM_VALUE(cuStreamWriteValue64_v2_ptsz, cuuint64_t)

static void pin_batch(unsigned int count, const CUstreamBatchMemOpParams *list)
{
    for (unsigned int i = 0; list != NULL && i < count; i++)
        spill_ask_pin(spill_opcalls_value(&list[i]), SPILL_TRACE_PIN_STREAM_VALUE);
}

#define STREAM_BATCH(symbol)                                                                       \
    CUresult symbol(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,           \
                    unsigned int flags)                                                            \
    {                                                                                              \
        pin_batch(count, list);                                                                    \
        return SPILL_REAL(symbol)(stream, count, list, flags);                                     \
    }
STREAM_BATCH(cuStreamBatchMemOp)
STREAM_BATCH(cuStreamBatchMemOp_ptsz)
STREAM_BATCH(cuStreamBatchMemOp_v2)
STREAM_BATCH(cuStreamBatchMemOp_v2_ptsz)

/* --- textures --- */

CUresult cuTexObjectCreate(CUtexObject *texture, const CUDA_RESOURCE_DESC *resource,
                           const CUDA_TEXTURE_DESC *sampling, const CUDA_RESOURCE_VIEW_DESC *view)
{
    if (resource != NULL && resource->resType == CU_RESOURCE_TYPE_LINEAR)
        spill_ask_pin(resource->res.linear.devPtr, SPILL_TRACE_PIN_TEXTURE);
    if (resource != NULL && resource->resType == CU_RESOURCE_TYPE_PITCH2D)
        spill_ask_pin(resource->res.pitch2D.devPtr, SPILL_TRACE_PIN_TEXTURE);
    return SPILL_REAL(cuTexObjectCreate)(texture, resource, sampling, view);
}

CUresult cuTexRefSetAddress_v2(size_t *offset, CUtexref texture, CUdeviceptr addr, size_t bytes)
{
    spill_ask_pin(addr, SPILL_TRACE_PIN_TEXTURE);
    return SPILL_REAL(cuTexRefSetAddress_v2)(offset, texture, addr, bytes);
}

CUresult cuTexRefSetAddress2D_v2(CUtexref texture, const CUDA_ARRAY_DESCRIPTOR *shape,
                                 CUdeviceptr addr, size_t pitch)
{
    spill_ask_pin(addr, SPILL_TRACE_PIN_TEXTURE);
    return SPILL_REAL(cuTexRefSetAddress2D_v2)(texture, shape, addr, pitch);
}

CUresult cuTexRefSetAddress2D_v3(CUtexref texture, const CUDA_ARRAY_DESCRIPTOR *shape,
                                 CUdeviceptr addr, size_t pitch)
{
    spill_ask_pin(addr, SPILL_TRACE_PIN_TEXTURE);
    return SPILL_REAL(cuTexRefSetAddress2D_v3)(texture, shape, addr, pitch);
}

/* --- other devices --- */

/* SYNC_MEMOPS, the only attribute that can be set, is set before memory is registered with a
 * network card. */
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr addr)
{
    spill_ask_pin(addr, SPILL_TRACE_PIN_EXPORTED);
    return SPILL_REAL(cuPointerSetAttribute)(value, attribute, addr);
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr addr, size_t bytes,
                                       CUmemRangeHandleType type, unsigned long long flags)
{
    spill_ask_pin(addr, SPILL_TRACE_PIN_EXPORTED);
    return SPILL_REAL(cuMemGetHandleForAddressRange)(handle, addr, bytes, type, flags);
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, size_t offset,
                             CUdeviceptr addr, size_t bytes, unsigned long long flags)
{
    spill_ask_pin(addr, SPILL_TRACE_PIN_EXPORTED);
    return SPILL_REAL(cuMulticastBindAddr)(multicast, offset, addr, bytes, flags);
}
