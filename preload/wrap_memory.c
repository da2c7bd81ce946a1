/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of allocations and frees. What is not managed is counted, or the budget would not hold.
 */
#include "preload/around.h"
#include "preload/base/pinrules.h"
#include "preload/strangers.h"

CUresult cuMemAlloc_v2(CUdeviceptr *addr, size_t bytes)
{
    CUresult result;
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemAlloc_v2)(addr, bytes);
    if (addr == NULL || spill_pinrules_size(bytes) ||
        spill_guard_sink->alloc(addr, bytes, &result) == SPILL_NOT_OURS) {
        result = SPILL_REAL(cuMemAlloc_v2)(addr, bytes);
        if (result == CUDA_SUCCESS && addr != NULL)
            spill_strangers_add(*addr, bytes);
    }
    spill_guard_leave();
    return result;
}

/* After an allocation that stays unmanaged. KEY is where the driver wrote its address or handle. */
static CUresult count(CUresult result, const CUdeviceptr *key, uint64_t bytes)
{
    if (result == CUDA_SUCCESS && key != NULL && spill_guard_enter()) {
        spill_strangers_add(*key, bytes);
        spill_guard_leave();
    }
    return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *addr, size_t *pitch, size_t width, size_t height,
                            unsigned int element)
{
    CUresult result = SPILL_REAL(cuMemAllocPitch_v2)(addr, pitch, width, height, element);
    return count(result, addr, pitch == NULL ? 0 : *pitch * height);
}

/* The driver moves managed memory itself: it has no fixed place to count. */
CUresult cuMemAllocManaged(CUdeviceptr *addr, size_t bytes, unsigned int flags)
{
    return SPILL_REAL(cuMemAllocManaged)(addr, bytes, flags);
}

#define ALLOC_ASYNC(symbol)                                                                        \
    CUresult symbol(CUdeviceptr *addr, size_t bytes, CUstream stream)                              \
    {                                                                                              \
        return count(SPILL_REAL(symbol)(addr, bytes, stream), addr, bytes);                        \
    }
ALLOC_ASYNC(cuMemAllocAsync)
ALLOC_ASYNC(cuMemAllocAsync_ptsz)

#define ALLOC_POOL(symbol)                                                                         \
    CUresult symbol(CUdeviceptr *addr, size_t bytes, CUmemoryPool pool, CUstream stream)           \
    {                                                                                              \
        return count(SPILL_REAL(symbol)(addr, bytes, pool, stream), addr, bytes);                  \
    }
ALLOC_POOL(cuMemAllocFromPoolAsync)
ALLOC_POOL(cuMemAllocFromPoolAsync_ptsz)

/* PROP may ask for host memory, which is not counted. */
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult result = SPILL_REAL(cuMemCreate)(handle, bytes, prop, flags);
    if (prop == NULL || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return result;
    return count(result, handle, bytes);
}

/* True: ADDR was managed and RESULT is the program's. False: the caller frees it. */
static bool free_managed(CUdeviceptr addr, CUresult *result)
{
    if (!spill_guard_enter())
        return false;
    bool ours = spill_guard_sink->free(addr, result) == SPILL_HANDLED;
    spill_guard_leave();
    return ours;
}

/* Forgets a stranger before the driver can give its address or handle to another thread. */
static void forget(uint64_t key)
{
    if (spill_guard_enter()) {
        spill_strangers_drop(key);
        spill_guard_leave();
    }
}

CUresult cuMemFree_v2(CUdeviceptr addr)
{
    CUresult result;
    if (free_managed(addr, &result))
        return result;
    forget(addr);
    return SPILL_REAL(cuMemFree_v2)(addr);
}

/* Plain memory may be freed in stream order as well. All its users are behind us by then, so the
 * ordinary free of a managed buffer, which orders later users after them, is enough. */
#define FREE_ASYNC(symbol)                                                                         \
    CUresult symbol(CUdeviceptr addr, CUstream stream)                                             \
    {                                                                                              \
        CUresult result;                                                                           \
        if (free_managed(addr, &result))                                                           \
            return result;                                                                         \
        forget(addr);                                                                              \
        return SPILL_REAL(symbol)(addr, stream);                                                   \
    }
FREE_ASYNC(cuMemFreeAsync)
FREE_ASYNC(cuMemFreeAsync_ptsz)

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    forget(handle);
    return SPILL_REAL(cuMemRelease)(handle);
}
