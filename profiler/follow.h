/* SPDX-License-Identifier: Apache-2.0 */
/* After an iteration was found: does the program go on with it? Counts the iterations that are
 * alike, and notes where others leave it. Holds keys of its own: the log may begin again meanwhile.
 */
#ifndef SPILL_FOLLOW_H
#define SPILL_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/iteration.h"

struct spill_follow {
    uint64_t *keys; /* of the iteration's events */
    size_t key_cap;
    uint32_t period;
    uint32_t at;      /* events of the running iteration that came as expected */
    uint32_t matched; /* whole iterations */
    uint32_t others;  /* stretches between them that are something else */
    bool off;         /* in such a stretch: until a whole iteration has come again */
};

/* The last PERIOD records of REC are the iteration, and the PERIOD before them, too. */
enum spill_status spill_follow_start(struct spill_follow *follow, const struct spill_recorder *rec,
                                     uint32_t period);
/* Nothing is followed any more. */
void spill_follow_end(struct spill_follow *follow);
/* The newest record of REC. Where it leaves the iteration, IT gets a difference, up to
 * SPILL_TRACE_DIFFERENCES of them. */
void spill_follow_event(struct spill_follow *follow, const struct spill_recorder *rec,
                        struct spill_iteration *it);

#endif
