/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of the calls by which a program orders its streams. Nothing is done about them; what
 * they order is taken down while an iteration is watched. */
#include "preload/around.h"

static CUresult ordered(CUresult result, enum spill_ordered what, CUevent event, CUstream stream)
{
    if (result == CUDA_SUCCESS && spill_guard_enter()) {
        spill_guard_sink->ordered(what, event, stream);
        spill_guard_leave();
    }
    return result;
}

/* HOME is what a NULL stream means. */
#define RECORD(symbol, home)                                                                       \
    CUresult symbol(CUevent event, CUstream stream)                                                \
    {                                                                                              \
        return ordered(SPILL_REAL(symbol)(event, stream), SPILL_ORDERED_RECORD, event,             \
                       spill_around_stream(stream, home));                                         \
    }
RECORD(cuEventRecord, SPILL_STREAM_L)
RECORD(cuEventRecord_ptsz, SPILL_STREAM_T)

#define RECORD_WITH_FLAGS(symbol, home)                                                            \
    CUresult symbol(CUevent event, CUstream stream, unsigned int flags)                            \
    {                                                                                              \
        return ordered(SPILL_REAL(symbol)(event, stream, flags), SPILL_ORDERED_RECORD, event,      \
                       spill_around_stream(stream, home));                                         \
    }
RECORD_WITH_FLAGS(cuEventRecordWithFlags, SPILL_STREAM_L)
RECORD_WITH_FLAGS(cuEventRecordWithFlags_ptsz, SPILL_STREAM_T)

#define WAIT(symbol, home)                                                                         \
    CUresult symbol(CUstream stream, CUevent event, unsigned int flags)                            \
    {                                                                                              \
        return ordered(SPILL_REAL(symbol)(stream, event, flags), SPILL_ORDERED_WAIT, event,        \
                       spill_around_stream(stream, home));                                         \
    }
WAIT(cuStreamWaitEvent, SPILL_STREAM_L)
WAIT(cuStreamWaitEvent_ptsz, SPILL_STREAM_T)
