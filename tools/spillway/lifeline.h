/* SPDX-License-Identifier: Apache-2.0 */
/* When buffers come and go during an iteration, and how many bytes of them live. */
#ifndef SPILL_LIFELINE_H
#define SPILL_LIFELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/status.h"
#include "preload/base/trace.h"

struct spill_lifeline_event {
    uint32_t op; /* before which it happens; op_count: after the last */
    uint32_t buffer;
    bool frees;
};

struct spill_lifeline {
    struct spill_lifeline_event *events; /* in order; at one op, first what is freed */
    uint64_t *live;  /* bytes of the buffers that live while op k runs; [op_count]: at the end */
    bool *at_border; /* of each buffer: it lives when the iteration begins */
    uint32_t event_count;
};

/* Builds LINE from TRACE; release it with spill_lifeline_free. */
enum spill_status spill_lifeline_build(const struct spill_trace *trace,
                                       struct spill_lifeline *line);
void spill_lifeline_free(struct spill_lifeline *line);

#endif
