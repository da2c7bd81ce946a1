/* SPDX-License-Identifier: Apache-2.0 */
/* The stays of every page under a plan, in the order in which each frame hosts them. */
#ifndef SPILL_STAYS_H
#define SPILL_STAYS_H

#include <stdint.h>

#include "solver/plan.h"
#include "solver/prep.h"

#define SPILL_NO_MOVE UINT32_MAX

struct spill_stay {
    uint32_t page; /* page number */
    uint32_t first_op;
    uint32_t length;   /* ops; op_count for a page that never leaves */
    uint32_t move_in;  /* the move whose copy in begins it; SPILL_NO_MOVE: birth, or for ever */
    uint32_t move_out; /* the move whose copy out ends it; SPILL_NO_MOVE: death, or never */
};

struct spill_stays {
    struct spill_stay *list; /* sorted by (frame, first_op) */
    uint32_t count;
};

/* Builds the stays from moves and parks that have passed the checker's rules on moves; all frames
 * must be below plan->frame_count or SPILL_NO_FRAME, which sorts last. False: out of memory. */
bool spill_stays_build(struct spill_stays *stays, const struct spill_prep *prep,
                       const struct spill_plan *plan, struct spill_arena *arena);

#endif
