/* SPDX-License-Identifier: Apache-2.0 */
/* When the ops of a trace ran, and what the GPU did between them. */
#ifndef SPILL_TIMELINE_H
#define SPILL_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/status.h"
#include "preload/base/trace.h"

struct spill_timesum {
    bool measured;        /* starts are known, and so are the gaps */
    uint64_t busy_ns;     /* some op ran */
    uint64_t host_gap_ns; /* none did: the GPU waited for the program on the host */
    uint64_t page_gap_ns; /* none did: the pager moved memory for the next op */
};

/* Fills START[0 .. op_count]: when each op started, and the end of the iteration. Traces without
 * measured starts have their ops one after another. */
void spill_timeline_starts(const struct spill_trace *trace, uint64_t *start);

enum spill_status spill_timeline_sum(const struct spill_trace *trace, struct spill_timesum *sum);

#endif
