/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps: how long each buffer of a trace lies idle between two uses. */
#ifndef SPILL_IDLE_H
#define SPILL_IDLE_H

#include <stdint.h>

#include "preload/base/status.h"
#include "preload/base/trace.h"

/* The longest gap of one buffer. */
struct spill_idle {
    uint32_t buffer;
    uint32_t after_op;  /* last use before the gap, SPILL_TRACE_NONE: never used */
    uint32_t before_op; /* first use after it */
    uint64_t ns;
    double weight;     /* bytes x ns, what the list is sorted by */
    uint64_t total_ns; /* of all its gaps */
    uint32_t uses;
};

/* A new array (free it) of one entry a buffer, sorted by bytes x ns, largest first. Time is that of
 * the ops one after another. A gap of a buffer that outlives the iteration may cross its border. */
enum spill_status spill_idle_find(const struct spill_trace *trace, struct spill_idle **idle);

/* The same with entry b that of buffer b. */
enum spill_status spill_idle_each(const struct spill_trace *trace, struct spill_idle **idle);

/* The op whose buffers take most memory, in whole pages; SPILL_TRACE_NONE when there is no op. */
uint32_t spill_idle_largest_op(const struct spill_trace *trace, uint64_t *bytes);

/* BYTES rounded up to whole pages. */
uint64_t spill_idle_pages(const struct spill_trace *trace, uint64_t bytes);

#endif
