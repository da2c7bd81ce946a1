/* SPDX-License-Identifier: Apache-2.0 */
/* From the log's last period to a trace: buffers get their identity across iterations, ops their
 * accesses by that identity. */
#ifndef SPILL_ITERATION_H
#define SPILL_ITERATION_H

#include <stdint.h>

#include "preload/base/status.h"
#include "preload/base/trace.h"
#include "profiler/recorder.h"

/* One event of the iteration, in program order. */
struct spill_iteration_event {
    uint32_t kind;  /* enum spill_log_kind */
    uint32_t index; /* of the op, or of the buffer that is allocated or freed */
};

/* What distinguishes an op when it comes again, beyond its accesses. */
struct spill_iteration_op {
    CUfunction function;
    CUstream stream;
    uint64_t bytes;
    uint32_t after_first; /* in afters: what it waits for beyond what precedes it on its stream */
    uint32_t after_count;
};

/* An op that another one waits for, by streams and events of the program's own. */
struct spill_iteration_after {
    int32_t op; /* less the number of ops for one of the iteration before */
    bool host;  /* the host waited for it before it launched the other one */
};

struct spill_iteration {
    struct spill_trace trace;
    struct spill_iteration_event *events;
    struct spill_iteration_op *ops; /* one for each trace op */
    struct spill_iteration_after *afters;
    uint32_t *live_slot; /* for each trace buffer: its slot if it lives at the border, else
                            SPILL_NO_BUFFER */
    uint32_t event_count, after_count;
    size_t op_cap, after_cap, access_cap, buffer_cap, name_cap, event_cap, match_cap, slot_cap,
        difference_cap;
};

/* Builds IT from the last PERIOD records of REC (0: from all of them, as one open-ended
 * "iteration"). SPILL_ERR_INVAL: the live buffers do not return to what they were a period ago.
 * Durations, and the times from one op's start to the next one's, are the smaller of the two
 * periods' (an outlier is never the smaller one). */
enum spill_status spill_iteration_build(struct spill_iteration *it, struct spill_recorder *rec,
                                        const struct spill_bufmap *map, uint32_t period);
/* A copy of its own. SPILL_ERR_NOMEM: there is none. */
enum spill_status spill_iteration_copy(struct spill_iteration *it,
                                       const struct spill_iteration *from);
void spill_iteration_free(struct spill_iteration *it);

/* The kernel's mangled name, or what else RECORD's op is called. */
const char *spill_iteration_op_name(const struct spill_logrec *record);

/* Adds TEXT to the names; its offset, or SPILL_TRACE_NONE without memory. */
uint32_t spill_iteration_name(struct spill_iteration *it, const char *text);

#endif
