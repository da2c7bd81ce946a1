/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of the program's own waits, and of the end of a context. */
#include "preload/around.h"

/* The wait itself runs outside the turnstile, or one waiting thread would hold up all others. */
static CUresult waited(CUresult result, CUstream stream)
{
    if (spill_guard_enter()) {
        spill_guard_sink->synchronized(stream);
        spill_guard_leave();
    }
    return result;
}

CUresult cuCtxSynchronize(void)
{
    return waited(SPILL_REAL(cuCtxSynchronize)(), NULL);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    return waited(SPILL_REAL(cuStreamSynchronize)(stream),
                  spill_around_stream(stream, SPILL_STREAM_L));
}

CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
    return waited(SPILL_REAL(cuStreamSynchronize_ptsz)(stream),
                  spill_around_stream(stream, SPILL_STREAM_T));
}

static void context_end(void)
{
    if (spill_guard_enter()) {
        spill_guard_sink->context_end();
        spill_guard_leave();
    }
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    context_end();
    return SPILL_REAL(cuCtxDestroy_v2)(context);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    context_end();
    return SPILL_REAL(cuDevicePrimaryCtxRelease_v2)(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    context_end();
    return SPILL_REAL(cuDevicePrimaryCtxReset_v2)(device);
}
