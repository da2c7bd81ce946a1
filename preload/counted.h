/* SPDX-License-Identifier: Apache-2.0 */
/* What wrappers of allocations and frees do around the driver's call, with the guard around it.
 * What is not managed is counted, or the budget would not hold; and counted first, so that there is
 * room when the driver looks for it. */
#ifndef SPILL_COUNTED_H
#define SPILL_COUNTED_H

#include "preload/base/driver.h"
#include "preload/guard.h"
#include "preload/pools.h"
#include "preload/strangers.h"

static inline CUdevice spill_counted_device(void)
{
    CUdevice device = 0;
    if (SPILL_CU(cuCtxGetDevice) != NULL)
        (void)SPILL_CU(cuCtxGetDevice)(&device);
    return device;
}

/* Room for BYTES of DEVICE, which is returned; -1: they do not count. */
static inline CUdevice spill_counted_reserve(uint64_t bytes, CUdevice device)
{
    if (device < 0 || !spill_guard_enter())
        return -1;
    spill_strangers_reserve(bytes, device);
    spill_guard_leave();
    return device;
}

static inline CUdevice spill_counted_here(uint64_t bytes)
{
    return spill_counted_reserve(bytes, spill_counted_device());
}

/* What was reserved is had, or not. KEY is where the driver wrote its address or handle. */
static inline CUresult spill_counted_settle(CUresult result, CUdevice device,
                                            const CUdeviceptr *key, uint64_t bytes)
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

/* True: ADDR was managed, of a pool or not, and RESULT is the program's. STREAM as in the sink. */
static inline bool spill_counted_free(CUdeviceptr addr, CUstream stream, CUresult *result)
{
    if (!spill_guard_enter())
        return false;
    bool ours = spill_guard_sink->free(addr, stream, result) == SPILL_HANDLED;
    if (ours && *result == CUDA_SUCCESS)
        spill_pools_gave(addr);
    spill_guard_leave();
    return ours;
}

/* Forgets what is counted before the driver can give its address or handle to another thread. */
static inline void spill_counted_forget(uint64_t key)
{
    if (spill_guard_enter()) {
        spill_strangers_drop(key);
        spill_guard_leave();
    }
}

#endif
