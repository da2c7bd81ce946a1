/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two traces: operations by name, buffers by size and place of allocation. */
#ifndef SPILL_TRACEDIFF_H
#define SPILL_TRACEDIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/status.h"
#include "preload/base/trace.h"

/* Ops of one kind and name, or buffers of one size, life and call site; [0] in the first trace, [1]
 * in the second. */
struct spill_tracediff_group {
    const char *name; /* ops: as in the trace; buffers: the call site; "" where there is none */
    uint32_t kind;    /* ops: enum spill_trace_kind; buffers: enum spill_trace_life */
    uint64_t bytes;   /* buffers: of one */
    uint32_t count[2];
    uint64_t ns[2]; /* ops: of all */
};

struct spill_tracediff {
    const struct spill_trace *trace[2];
    struct spill_tracediff_group *ops, *buffers;
    uint32_t op_groups, buffer_groups;
    uint32_t parting; /* the first op at which they are not alike; SPILL_TRACE_NONE: none */
    bool alike;       /* the same ops in the same order, and the same buffers; times do not count */
};

/* Compares A with B. The groups whose counts differ come first, then those that changed most.
 * SPILL_ERR_NOMEM. */
enum spill_status spill_tracediff_build(const struct spill_trace *a, const struct spill_trace *b,
                                        struct spill_tracediff *diff);
void spill_tracediff_free(struct spill_tracediff *diff);

#endif
