/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of memory a buffer is, as far as a trace can tell. It knows no names of tensors, so the
 * classes go by use alone. */
#ifndef SPILL_BUFCLASS_H
#define SPILL_BUFCLASS_H

#include "preload/base/trace.h"
#include "tools/spillway/idle.h"

enum spill_bufclass {
    SPILL_BUFCLASS_SMALL,    /* slabs of buffers below one page */
    SPILL_BUFCLASS_PINNED,   /* never moved */
    SPILL_BUFCLASS_REPEATED, /* outlives the iteration, used at several times of it: weights */
    SPILL_BUFCLASS_ONCE,     /* ... in one go, or not at all: optimizer state, inputs */
    SPILL_BUFCLASS_IDLE, /* of one iteration, with a time between two uses: activations, gradients
                          */
    SPILL_BUFCLASS_BUSY, /* of one iteration, without: workspace */
    SPILL_BUFCLASS_COUNT
};

/* IDLE is what spill_idle_each says of BUFFER, in an iteration that takes STEP_NS. */
enum spill_bufclass spill_bufclass_of(const struct spill_trace_buffer *buffer,
                                      const struct spill_idle *idle, uint64_t step_ns);

/* A word for programs, and words for people. */
const char *spill_bufclass_key(enum spill_bufclass bufclass);
const char *spill_bufclass_label(enum spill_bufclass bufclass);

#endif
