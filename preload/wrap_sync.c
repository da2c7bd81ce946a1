/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of the program's own waits. */
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

CUresult cuEventSynchronize(CUevent event)
{
    CUresult result = SPILL_REAL(cuEventSynchronize)(event);
    if (spill_guard_enter()) {
        spill_guard_sink->ordered(SPILL_ORDERED_SYNCHRONIZE, event, NULL);
        spill_guard_leave();
    }
    return result;
}

CUresult cuCtxSynchronize(void)
{
    return waited(SPILL_REAL(cuCtxSynchronize)(), NULL);
}

#if CUDA_VERSION >= 13000
/* Of a context that need not be the current one, nor the managed one: nothing is concluded. */
CUresult cuCtxSynchronize_v2(CUcontext context)
{
    return SPILL_REAL(cuCtxSynchronize_v2)(context);
}
#endif

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
