/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's free waits for the device, so programs may take it for a barrier between streams:
 * what is given out again after it, or was written before it, needs no event. While a plan runs the
 * host does not wait; instead the first op of a stream after a free waits, on the device, for what
 * the other streams were given. */
#ifndef SPILL_FREEORDER_H
#define SPILL_FREEORDER_H

#include <stdint.h>

#include "replay/threadorder.h"

#define SPILL_FREEORDER_STREAMS 16

struct spill_freeorder {
    struct spill_freeorder_stream {
        CUstream stream;
        uint64_t last;  /* number of its last op */
        uint64_t seen;  /* ops up to this number are over before its next one */
        uint64_t frees; /* that it has waited for */
    } list[SPILL_FREEORDER_STREAMS];
    uint32_t count;
    uint64_t ops, frees;
    CUevent event; /* one does: a wait holds on to the record that it found */
    struct spill_threadorder threads;
};

static inline void spill_freeorder_free(struct spill_freeorder *o)
{
    o->frees++;
}

/* Before and after an op of the plan on STREAM. */
CUresult spill_freeorder_op(struct spill_freeorder *o, CUstream stream);
/* Every later op of the plan comes after EVENT's record, which may lie in a stream without ops. */
CUresult spill_freeorder_after(struct spill_freeorder *o, CUevent event);
static inline CUresult spill_freeorder_done(struct spill_freeorder *o, CUstream stream)
{
    return spill_threadorder_after(&o->threads, stream);
}
/* STREAM goes away; what it was given is waited for here, as later nobody can. */
void spill_freeorder_end(struct spill_freeorder *o, CUstream stream);

#endif
