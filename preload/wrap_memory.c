/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of allocations and frees. What is not managed is counted, or the budget would not hold;
 * and counted first, so that there is room when the driver looks for it. */
#include "preload/around.h"
#include "preload/base/driver.h"
#include "preload/base/pinrules.h"
#include "preload/strangers.h"

static CUdevice current_device(void)
{
    CUdevice device = 0;
    if (SPILL_CU(cuCtxGetDevice) != NULL)
        (void)SPILL_CU(cuCtxGetDevice)(&device);
    return device;
}

/* Room for BYTES of DEVICE, which is returned; -1: they do not count. */
static CUdevice reserve(uint64_t bytes, CUdevice device)
{
    if (device < 0 || !spill_guard_enter())
        return -1;
    spill_strangers_reserve(bytes, device);
    spill_guard_leave();
    return device;
}

static CUdevice reserve_here(uint64_t bytes)
{
    return reserve(bytes, current_device());
}

/* What reserve promised is had, or not. KEY is where the driver wrote its address or handle. */
static CUresult settle(CUresult result, CUdevice device, const CUdeviceptr *key, uint64_t bytes)
{
    if (device < 0 || !spill_guard_enter())
        return result;
    if (result == CUDA_SUCCESS && key != NULL)
        spill_strangers_keep(*key, bytes, device);
    else
        spill_strangers_settle(bytes, device);
    spill_guard_leave();
    return result;
}

/* True: it is managed, or refused, and RESULT is the program's. */
static bool alloc_managed(CUdeviceptr *addr, size_t bytes, CUresult *result)
{
    if (addr == NULL || !spill_guard_enter())
        return false;
    bool ours = !spill_pinrules_size(bytes) &&
                spill_guard_sink->alloc(addr, bytes, result) == SPILL_HANDLED;
    spill_guard_leave();
    return ours;
}

CUresult cuMemAlloc_v2(CUdeviceptr *addr, size_t bytes)
{
    CUresult result;
    if (alloc_managed(addr, bytes, &result))
        return result;
    CUdevice device = reserve_here(bytes);
    return settle(SPILL_REAL(cuMemAlloc_v2)(addr, bytes), device, addr, bytes);
}

/* A row is padded to a multiple of this, as far as we know: what it will be, only the driver does.
 */
#define PITCH 512

CUresult cuMemAllocPitch_v2(CUdeviceptr *addr, size_t *pitch, size_t width, size_t height,
                            unsigned int element)
{
    uint64_t bytes = (width + PITCH - 1) / PITCH * PITCH * height;
    CUdevice device = reserve_here(bytes);
    return settle(SPILL_REAL(cuMemAllocPitch_v2)(addr, pitch, width, height, element), device, addr,
                  bytes);
}

/* The driver moves managed memory itself: it has no fixed place to count. */
CUresult cuMemAllocManaged(CUdeviceptr *addr, size_t bytes, unsigned int flags)
{
    return SPILL_REAL(cuMemAllocManaged)(addr, bytes, flags);
}

#define ALLOC_ASYNC(symbol)                                                                        \
    CUresult symbol(CUdeviceptr *addr, size_t bytes, CUstream stream)                              \
    {                                                                                              \
        CUdevice device = reserve_here(bytes);                                                     \
        return settle(SPILL_REAL(symbol)(addr, bytes, stream), device, addr, bytes);               \
    }
ALLOC_ASYNC(cuMemAllocAsync)
ALLOC_ASYNC(cuMemAllocAsync_ptsz)

#define ALLOC_POOL(symbol)                                                                         \
    CUresult symbol(CUdeviceptr *addr, size_t bytes, CUmemoryPool pool, CUstream stream)           \
    {                                                                                              \
        CUdevice device = reserve_here(bytes);                                                     \
        return settle(SPILL_REAL(symbol)(addr, bytes, pool, stream), device, addr, bytes);         \
    }
ALLOC_POOL(cuMemAllocFromPoolAsync)
ALLOC_POOL(cuMemAllocFromPoolAsync_ptsz)

/* PROP may ask for host memory, which is not counted. */
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    if (prop == NULL || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return SPILL_REAL(cuMemCreate)(handle, bytes, prop, flags);
    CUdevice device = reserve(bytes, prop->location.id);
    return settle(SPILL_REAL(cuMemCreate)(handle, bytes, prop, flags), device, handle, bytes);
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
