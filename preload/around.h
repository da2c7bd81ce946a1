/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of every op's wrapper: guard, sink before, real call, sink after. */
#ifndef SPILL_AROUND_H
#define SPILL_AROUND_H

#include "preload/base/accessmode.h"
#include "preload/base/sink.h"
#include "preload/guard.h"
#include "preload/real.h"

/* CALL is the real call, written out; OP describes it. Expands to the wrapper's body. */
#define SPILL_AROUND(op, call)                                                                     \
    do {                                                                                           \
        if (!spill_guard_enter())                                                                  \
            return call;                                                                           \
        struct spill_opcall described = (op);                                                      \
        CUresult result = spill_guard_sink->before(&described);                                    \
        if (result == CUDA_SUCCESS) {                                                              \
            result = call;                                                                         \
            spill_guard_sink->after(&described, result);                                           \
        }                                                                                          \
        spill_guard_leave();                                                                       \
        return result;                                                                             \
    } while (0)

/* The same for a call that waits for STREAM itself: the long part of the wait is outside the guard,
 * for what the stream waits for may need another thread's calls. */
#define SPILL_AROUND_WAIT(stream, op, call)                                                        \
    do {                                                                                           \
        spill_guard_drain(stream);                                                                 \
        SPILL_AROUND(op, call);                                                                    \
    } while (0)

/* What a NULL stream means in the plain and in the per-thread form of a function. */
#define SPILL_STREAM_L CU_STREAM_LEGACY
#define SPILL_STREAM_T CU_STREAM_PER_THREAD

static inline CUstream spill_around_stream(CUstream stream, CUstream when_null)
{
    return stream != NULL ? stream : when_null;
}

#endif
