/* SPDX-License-Identifier: Apache-2.0 */
/* The per-thread default stream: one handle, another stream in each thread. A plan takes what comes
 * under one handle for one stream, whose ops need no waits between them; here it is made one. The
 * first op of a thread after another thread's waits, on the device, for that one's last. */
#ifndef SPILL_THREADORDER_H
#define SPILL_THREADORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/driver.h"

struct spill_threadorder {
    uint64_t thread; /* of the last op on it, 0: there was none */
    bool several;    /* threads; from then on EVENT is recorded after each op */
    CUevent event;
};

/* Of the calling thread; never 0, and never given again. */
uint64_t spill_threadorder_number(void);

/* Before and after an op of the plan on STREAM. */
CUresult spill_threadorder_before(struct spill_threadorder *o, CUstream stream);
CUresult spill_threadorder_after(struct spill_threadorder *o, CUstream stream);

/* What was done so far on it was the calling thread's, whose stream can be waited for as any. */
bool spill_threadorder_mine(const struct spill_threadorder *o);
/* Otherwise: STREAM comes after it. */
CUresult spill_threadorder_follow(const struct spill_threadorder *o, CUstream stream);

#endif
