/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of contexts, and of the ends of streams and modules. */
#include "preload/ask.h"
#include "preload/base/driver.h"
#include "preload/pools.h"
#include "preload/real.h"
#include "preload/strangers.h"

#define DEVICES 64

/* The primary contexts, as the driver gave them, and how often each is held. A count that is off
 * (holds from before us, by private tables) costs the end of a trace, nothing else. */
static struct {
    CUcontext context;
    int holds;
} primary[DEVICES];

static bool tracked(CUdevice device)
{
    return device >= 0 && device < DEVICES;
}

static bool managed_context(CUcontext context)
{
    if (!spill_guard_enter())
        return false;
    bool managed = spill_guard_sink->context_managed(context);
    spill_guard_leave();
    return managed;
}

static bool managed_primary(CUdevice device)
{
    return tracked(device) && managed_context(primary[device].context);
}

static void context_end(CUcontext context, bool gone)
{
    if (spill_guard_enter()) {
        CUdevice device = spill_guard_sink->context_end(context, gone);
        spill_strangers_forget(device);
        spill_pools_forget(device);
        spill_guard_leave();
    }
}

static CUresult made(CUresult result)
{
    if (result == CUDA_SUCCESS && spill_guard_enter()) {
        spill_guard_sink->context_made();
        spill_guard_leave();
    }
    return result;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    return made(SPILL_REAL(cuCtxCreate_v2)(context, flags, device));
}

CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int count,
                        unsigned int flags, CUdevice device)
{
    return made(SPILL_REAL(cuCtxCreate_v3)(context, affinity, count, flags, device));
}

#if CUDA_VERSION >= 12050
CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags,
                        CUdevice device)
{
    return made(SPILL_REAL(cuCtxCreate_v4)(context, params, flags, device));
}
#endif

CUresult cuCtxEnablePeerAccess(CUcontext owner, unsigned int flags)
{
    if (spill_guard_enter()) {
        CUresult result = spill_guard_sink->peer(owner);
        spill_guard_leave();
        if (result != CUDA_SUCCESS)
            return result;
    }
    return SPILL_REAL(cuCtxEnablePeerAccess)(owner, flags);
}

CUresult cuCtxDestroy(CUcontext context)
{
    if (managed_context(context))
        context_end(context, false);
    return SPILL_REAL(cuCtxDestroy)(context);
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    if (managed_context(context))
        context_end(context, false);
    return SPILL_REAL(cuCtxDestroy_v2)(context);
}

/* Of the days before primary contexts; nobody holds one twice any more. */
CUresult cuCtxDetach(CUcontext context)
{
    if (managed_context(context))
        context_end(context, false);
    return SPILL_REAL(cuCtxDetach)(context);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult result = SPILL_REAL(cuDevicePrimaryCtxRetain)(context, device);
    if (result == CUDA_SUCCESS && tracked(device)) {
        primary[device].context = *context;
        __atomic_fetch_add(&primary[device].holds, 1, __ATOMIC_RELAXED);
    }
    return result;
}

/* Many libraries hold and release the primary context: only the last release ends it. Before what
 * seems to be that one, what was recorded is saved; after any, the driver says whether it was. */
static void before_release(CUdevice device)
{
    if (managed_primary(device) &&
        __atomic_sub_fetch(&primary[device].holds, 1, __ATOMIC_RELAXED) == 0 &&
        spill_guard_enter()) {
        spill_guard_sink->save(primary[device].context);
        spill_guard_leave();
    }
}

static CUresult after_release(CUresult result, CUdevice device)
{
    unsigned int flags;
    int active = 1;
    if (result == CUDA_SUCCESS && managed_primary(device) &&
        SPILL_CU(cuDevicePrimaryCtxGetState) != NULL &&
        SPILL_CU(cuDevicePrimaryCtxGetState)(device, &flags, &active) == CUDA_SUCCESS && !active)
        context_end(primary[device].context, true);
    return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    before_release(device);
    return after_release(SPILL_REAL(cuDevicePrimaryCtxRelease)(device), device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    before_release(device);
    return after_release(SPILL_REAL(cuDevicePrimaryCtxRelease_v2)(device), device);
}

/* Unlike a release, this ends the context whoever holds it. */
CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    if (managed_primary(device))
        context_end(primary[device].context, false);
    return SPILL_REAL(cuDevicePrimaryCtxReset)(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    if (managed_primary(device))
        context_end(primary[device].context, false);
    return SPILL_REAL(cuDevicePrimaryCtxReset_v2)(device);
}

static void stream_end(CUstream stream)
{
    if (spill_guard_enter()) {
        spill_guard_sink->stream_end(stream);
        spill_guard_leave();
    }
}

CUresult cuStreamDestroy(CUstream stream)
{
    stream_end(stream);
    return SPILL_REAL(cuStreamDestroy)(stream);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    stream_end(stream);
    return SPILL_REAL(cuStreamDestroy_v2)(stream);
}

static void functions_end(void)
{
    if (spill_guard_enter()) {
        spill_guard_sink->functions_end();
        spill_guard_leave();
    }
}

CUresult cuModuleUnload(CUmodule module)
{
    functions_end();
    return SPILL_REAL(cuModuleUnload)(module);
}

CUresult cuLibraryUnload(CUlibrary library)
{
    functions_end();
    return SPILL_REAL(cuLibraryUnload)(library);
}
