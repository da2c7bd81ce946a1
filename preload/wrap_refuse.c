/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of calls that the driver refuses for memory of cuMemAlloc. For a managed buffer, made of
 * mapped handles, it would do them, or not, as the pages happen to be in or out: refused alike. */
#include "preload/ask.h"
#include "preload/base/log.h"
#include "preload/base/size.h"
#include "preload/real.h"
#include "preload/strangers.h"

static bool managed(CUdeviceptr addr)
{
    struct spill_found found;
    return addr != 0 && spill_ask_managed(addr, &found);
}

static bool any_managed(const CUdeviceptr *list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++)
        if (managed(list[i]))
            return true;
    return false;
}

/* Plain memory can be exported, mapped memory cannot: here the program gets less than it had. The
 * answer is the driver's for memory that has no such handle. */
CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr addr)
{
    struct spill_found found;
    char size[32];
    if (addr == 0 || !spill_ask_managed(addr, &found))
        return SPILL_REAL(cuIpcGetMemHandle)(handle, addr);
    if (found.pool != NULL) /* which the driver does not share like this, either */
        return CUDA_ERROR_INVALID_VALUE;
    spill_log(SPILL_LOG_WARN,
              "cuIpcGetMemHandle: the buffer of %s at 0x%llx is managed and cannot be shared with "
              "another process; keep such buffers with the driver by SPILLWAY_PIN=size:%llu, or by "
              "SPILLWAY_PIN=site:PATTERN with the function or library that allocates them",
              spill_size_format(found.bytes, size, sizeof(size)), (unsigned long long)found.base,
              (unsigned long long)found.bytes);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    if (managed((CUdeviceptr)addr))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = SPILL_REAL(cuMemRetainAllocationHandle)(handle, addr);
    if (result == CUDA_SUCCESS && spill_guard_enter()) {
        spill_strangers_retain(*handle);
        spill_guard_leave();
    }
    return result;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr addr)
{
    return managed(addr) ? CUDA_ERROR_INVALID_VALUE
                         : SPILL_REAL(cuMemGetAccess)(flags, location, addr);
}

CUresult cuMemSetAccess(CUdeviceptr addr, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    return managed(addr) ? CUDA_ERROR_INVALID_VALUE
                         : SPILL_REAL(cuMemSetAccess)(addr, bytes, access, count);
}

CUresult cuMemUnmap(CUdeviceptr addr, size_t bytes)
{
    return managed(addr) ? CUDA_ERROR_INVALID_VALUE : SPILL_REAL(cuMemUnmap)(addr, bytes);
}

CUresult cuMemAddressFree(CUdeviceptr addr, size_t bytes)
{
    return managed(addr) ? CUDA_ERROR_INVALID_VALUE : SPILL_REAL(cuMemAddressFree)(addr, bytes);
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr addr)
{
    return managed(addr) ? CUDA_ERROR_INVALID_VALUE
                         : SPILL_REAL(cuMemPoolExportPointer)(data, addr);
}

CUresult cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute,
                                CUdeviceptr addr, size_t bytes)
{
    return managed(addr) ? CUDA_ERROR_INVALID_VALUE
                         : SPILL_REAL(cuMemRangeGetAttribute)(data, size, attribute, addr, bytes);
}

CUresult cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes,
                                 size_t count, CUdeviceptr addr, size_t bytes)
{
    return managed(addr)
               ? CUDA_ERROR_INVALID_VALUE
               : SPILL_REAL(cuMemRangeGetAttributes)(data, sizes, attributes, count, addr, bytes);
}

CUresult cuMemAdvise(CUdeviceptr addr, size_t bytes, CUmem_advise advice, CUdevice device)
{
    return managed(addr) ? CUDA_ERROR_INVALID_VALUE
                         : SPILL_REAL(cuMemAdvise)(addr, bytes, advice, device);
}

CUresult cuMemAdvise_v2(CUdeviceptr addr, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
    return managed(addr) ? CUDA_ERROR_INVALID_VALUE
                         : SPILL_REAL(cuMemAdvise_v2)(addr, bytes, advice, location);
}

#define PREFETCH(symbol)                                                                           \
    CUresult symbol(CUdeviceptr addr, size_t bytes, CUdevice device, CUstream stream)              \
    {                                                                                              \
        return managed(addr) ? CUDA_ERROR_INVALID_VALUE                                            \
                             : SPILL_REAL(symbol)(addr, bytes, device, stream);                    \
    }
PREFETCH(cuMemPrefetchAsync)
PREFETCH(cuMemPrefetchAsync_ptsz)

#define PREFETCH_TO(symbol)                                                                        \
    CUresult symbol(CUdeviceptr addr, size_t bytes, CUmemLocation location, unsigned int flags,    \
                    CUstream stream)                                                               \
    {                                                                                              \
        return managed(addr) ? CUDA_ERROR_INVALID_VALUE                                            \
                             : SPILL_REAL(symbol)(addr, bytes, location, flags, stream);           \
    }
PREFETCH_TO(cuMemPrefetchAsync_v2)
PREFETCH_TO(cuMemPrefetchAsync_v2_ptsz)

#define ATTACH(symbol)                                                                             \
    CUresult symbol(CUstream stream, CUdeviceptr addr, size_t bytes, unsigned int flags)           \
    {                                                                                              \
        return managed(addr) ? CUDA_ERROR_INVALID_VALUE                                            \
                             : SPILL_REAL(symbol)(stream, addr, bytes, flags);                     \
    }
ATTACH(cuStreamAttachMemAsync)
ATTACH(cuStreamAttachMemAsync_ptsz)

#if CUDA_VERSION >= 13000
#define PREFETCH_BATCH(symbol)                                                                     \
    CUresult symbol(CUdeviceptr *list, size_t *sizes, size_t count, CUmemLocation *locations,      \
                    size_t *indices, size_t location_count, unsigned long long flags,              \
                    CUstream stream)                                                               \
    {                                                                                              \
        return any_managed(list, count)                                                            \
                   ? CUDA_ERROR_INVALID_VALUE                                                      \
                   : SPILL_REAL(symbol)(list, sizes, count, locations, indices, location_count,    \
                                        flags, stream);                                            \
    }
PREFETCH_BATCH(cuMemPrefetchBatchAsync)
PREFETCH_BATCH(cuMemPrefetchBatchAsync_ptsz)
PREFETCH_BATCH(cuMemDiscardAndPrefetchBatchAsync)
PREFETCH_BATCH(cuMemDiscardAndPrefetchBatchAsync_ptsz)

#define DISCARD_BATCH(symbol)                                                                      \
    CUresult symbol(CUdeviceptr *list, size_t *sizes, size_t count, unsigned long long flags,      \
                    CUstream stream)                                                               \
    {                                                                                              \
        return any_managed(list, count) ? CUDA_ERROR_INVALID_VALUE                                 \
                                        : SPILL_REAL(symbol)(list, sizes, count, flags, stream);   \
    }
DISCARD_BATCH(cuMemDiscardBatchAsync)
DISCARD_BATCH(cuMemDiscardBatchAsync_ptsz)
#endif
