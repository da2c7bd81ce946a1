/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that the program captures into graphs. What is put into them does not run now, so it is
 * no op; nothing of ours may be put into them; and the device cannot be waited for meanwhile, nor
 * they themselves. So the device is drained before the first capture begins, and what then runs
 * beside it is kept in mind by events. Of the whole process; inside the turnstile, but for the
 * first question. */
#ifndef SPILL_CAPTURES_H
#define SPILL_CAPTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/cuapi.h"

extern uint32_t spill_captures_count;

/* Is any stream being captured? */
static inline bool spill_captures_any(void)
{
    return __builtin_expect(__atomic_load_n(&spill_captures_count, __ATOMIC_RELAXED) != 0, 0);
}

/* A call was made that may have begun or ended a capture of STREAM. Is it open now? As EXPECTED, if
 * the driver does not say. */
void spill_captures_look(CUstream stream, bool expected);
/* Is STREAM captured, perhaps because it waits for an event of a capture? */
bool spill_captures_hold(CUstream stream);
/* Is STREAM one, and what is put into it runs? */
bool spill_captures_runs(CUstream stream);
/* STREAM, or CONTEXT with all its streams and events, goes away. */
void spill_captures_stream_end(CUstream stream);
void spill_captures_context_end(CUcontext context);

/* While a stream is captured: an op was put into STREAM, which is not. */
void spill_captures_beside(CUstream stream);
/* Waits for all that the program gave to the device (of the current context). */
CUresult spill_captures_drain(void);

/* Unless the calling thread says that it knows what it does, a capture forbids calls that may wait
 * or allocate, and is spoilt by them. True: said, and MODE is to be given back. */
bool spill_captures_relax(CUstreamCaptureMode *mode);
void spill_captures_restore(CUstreamCaptureMode mode);

#endif
