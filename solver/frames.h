/* SPDX-License-Identifier: Apache-2.0 */
/* The frame behind every page: a colouring of the pages whose stays overlap. */
#ifndef SPILL_FRAMES_H
#define SPILL_FRAMES_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/plan.h"
#include "solver/prep.h"
#include "solver/simulate.h"

/* A run: pages of one buffer that stay at the same ops and so are interchangeable. */
struct spill_run {
    uint32_t page; /* number of its first page */
    uint32_t count;
    uint32_t buffer;
    uint32_t placed; /* pages that got a frame */
};

struct spill_frames {
    struct spill_run *runs;
    uint32_t run_count;
    uint32_t frame_count;
    uint32_t unplaced;       /* pages that found no frame below the limit */
    uint32_t unplaced_least; /* the fewest in any attempt */
};

/* Gives every page of PLAN that is ever resident a frame below LIMIT in plan->frame_of (PLAN has
 * moves, parks and page_base), and sets plan->frame_count. Pages that do not fit are counted in
 * unplaced and marked in their runs; plan->frame_of is then incomplete. WHEN, if not NULL, is the
 * expected timing: frames are then chosen so that no stay waits for a copy out, where that can be
 * had. */
enum spill_status spill_frames_assign(const struct spill_prep *prep, struct spill_plan *plan,
                                      uint32_t limit, const struct spill_timeline *when,
                                      uint64_t step_ns, struct spill_frames *frames,
                                      struct spill_arena *arena);

#endif
