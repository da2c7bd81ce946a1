/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of a plan in runs: pages of one buffer that stay at the same ops and so are
 * interchangeable when frames are given out. */
#ifndef SPILL_FRAMES_RUNS_H
#define SPILL_FRAMES_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "solver/plan.h"
#include "solver/prep.h"
#include "solver/simulate.h"

/* One stay of a run. A stay that wraps round the iteration is cut into two arcs. Times count from
 * the iteration of FIRST and may be negative. */
struct spill_arc {
    uint32_t first;
    uint32_t end; /* one past the last op */
    int64_t need; /* when its memory is wanted; SPILL_ARC_CUT: second half of a cut stay */
    int64_t free; /* when its memory is free again; SPILL_ARC_CUT: first half of a cut stay */
    bool in, out; /* copies begin and end it, rather than ops */
};

#define SPILL_ARC_CUT INT64_MAX

struct spill_run {
    uint32_t page; /* number of its first page */
    uint32_t count;
    uint32_t placed; /* pages that got a frame */
    uint64_t waits;  /* longest wait for one of its frames */
    uint32_t arc_first, arc_count;
    uint32_t length; /* ops it stays */
    uint64_t parts;  /* one bit for each part of the cycle: it stays at some op of it */
};

struct spill_runs {
    struct spill_run *list;
    struct spill_arc *arcs; /* those of a run lie together, sorted */
    uint32_t count, arc_count;
    uint32_t shift; /* op k is in part k >> shift, of 64 at most */
};

/* The parts of the cycle in which ops [FIRST, END) lie, one bit each. */
uint64_t spill_runs_parts(const struct spill_runs *runs, uint32_t first, uint32_t end);

/* LATE: stays begin with the op that uses them, not with the copy in: how much earlier pages can be
 * back is settled when their frames are known. WHEN, the timing with steps of STEP_NS, may be NULL:
 * all times are then 0. False: out of memory.
 */
bool spill_runs_build(struct spill_runs *runs, const struct spill_prep *prep,
                      const struct spill_plan *plan, bool late, const struct spill_timeline *when,
                      uint64_t step_ns, struct spill_arena *arena);

#endif
