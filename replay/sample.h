/* SPDX-License-Identifier: Apache-2.0 */
/* What the ops, the copies and the waits of a replayed iteration really take: the plan's calls with
 * events around each, in the few iterations that are sampled. An iteration that is not makes none
 * of these calls. */
#ifndef SPILL_SAMPLE_H
#define SPILL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/base/driver.h"
#include "replay/script.h"

#define SPILL_SAMPLE_ITEMS ((uint32_t)1 << 16) /* ops and copies; of larger plans none is taken */

enum spill_sample_moment {
    SPILL_SAMPLE_CAME,  /* of an op: before the waits of the plan's that it has */
    SPILL_SAMPLE_BEGAN, /* after them */
    SPILL_SAMPLE_ENDED,
    SPILL_SAMPLE_MOMENTS
};

struct spill_sample {
    CUevent *events; /* SPILL_SAMPLE_MOMENTS an item: ops, then copies out, then copies in */
    size_t event_cap;
    uint32_t made;      /* of them; they end with their context */
    uint64_t *least_ns; /* of each item, over the iterations sampled */
    size_t least_cap;
    uint32_t op_count, move_count;
    uint32_t taken; /* iterations */
    bool failed;    /* an event could not be recorded: this iteration tells nothing */
    uint64_t wait_in_ns, wait_memory_ns; /* streams held for copies in, for memory; the last time */
};

/* Gets ready for iterations of SCRIPT. False: it cannot be sampled. */
bool spill_sample_open(struct spill_sample *sample, const struct spill_script *script);
/* Takes in the iteration that was sampled. False: not all of it is over yet, or it failed. */
bool spill_sample_read(struct spill_sample *sample, const struct spill_script *script);
void spill_sample_end(struct spill_sample *sample);

static inline uint32_t spill_sample_out(const struct spill_sample *sample, uint32_t move)
{
    return sample->op_count + move;
}

static inline uint32_t spill_sample_in(const struct spill_sample *sample, uint32_t move)
{
    return sample->op_count + sample->move_count + move;
}

static inline void spill_sample_note(struct spill_sample *sample, uint32_t item,
                                     enum spill_sample_moment moment, CUstream stream)
{
    if (SPILL_CU(cuEventRecord)(sample->events[SPILL_SAMPLE_MOMENTS * item + moment], stream) !=
        CUDA_SUCCESS)
        sample->failed = true;
}

#endif
