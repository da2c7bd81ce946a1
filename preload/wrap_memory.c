/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of allocations and frees; those in the order of a stream are in wrap_pool.c. */
#include "preload/base/pinrules.h"
#include "preload/counted.h"
#include "preload/real.h"

/* True: it is managed, or refused, and RESULT is the program's. */
static bool alloc_managed(CUdeviceptr *addr, size_t bytes, CUresult *result)
{
    if (addr == NULL || !spill_guard_enter())
        return false;
    bool ours = !spill_pinrules_size(bytes) &&
                spill_guard_sink->alloc(addr, bytes, NULL, result) == SPILL_HANDLED;
    spill_guard_leave();
    return ours;
}

CUresult cuMemAlloc_v2(CUdeviceptr *addr, size_t bytes)
{
    CUresult result;
    if (alloc_managed(addr, bytes, &result))
        return result;
    CUdevice device = spill_counted_here(bytes);
    return spill_counted_settle(SPILL_REAL(cuMemAlloc_v2)(addr, bytes), device, addr, bytes);
}

/* A row is padded to a multiple of this, as far as we know: what it will be, only the driver does.
 */
#define PITCH 512

CUresult cuMemAllocPitch_v2(CUdeviceptr *addr, size_t *pitch, size_t width, size_t height,
                            unsigned int element)
{
    uint64_t bytes = (width + PITCH - 1) / PITCH * PITCH * height;
    CUdevice device = spill_counted_here(bytes);
    return spill_counted_settle(SPILL_REAL(cuMemAllocPitch_v2)(addr, pitch, width, height, element),
                                device, addr, bytes);
}

/* The driver moves managed memory itself: it has no fixed place to count. */
CUresult cuMemAllocManaged(CUdeviceptr *addr, size_t bytes, unsigned int flags)
{
    return SPILL_REAL(cuMemAllocManaged)(addr, bytes, flags);
}

/* PROP may ask for host memory, which is not counted. */
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    if (prop == NULL || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return SPILL_REAL(cuMemCreate)(handle, bytes, prop, flags);
    CUdevice device = spill_counted_reserve(bytes, prop->location.id);
    return spill_counted_settle(SPILL_REAL(cuMemCreate)(handle, bytes, prop, flags), device, handle,
                                bytes);
}

CUresult cuMemFree_v2(CUdeviceptr addr)
{
    CUresult result;
    if (spill_counted_free(addr, NULL, &result))
        return result;
    spill_counted_forget(addr);
    return SPILL_REAL(cuMemFree_v2)(addr);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    spill_counted_forget(handle);
    return SPILL_REAL(cuMemRelease)(handle);
}
