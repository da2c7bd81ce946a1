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

/* One stay of a run. A stay that wraps round the iteration is cut into two arcs. */
struct spill_arc {
    uint32_t first;
    uint32_t end;  /* one past the last op */
    uint64_t need; /* when its memory is wanted; UINT64_MAX: second half of a cut stay */
    uint64_t free; /* when its memory is free again; UINT64_MAX: first half of a cut stay */
};

struct spill_run {
    uint32_t page; /* number of its first page */
    uint32_t count;
    uint32_t placed; /* pages that got a frame */
    uint64_t waits;  /* longest wait for one of its frames */
    uint32_t arc_first, arc_count;
    uint32_t length;               /* ops it stays */
    uint32_t word_first, word_end; /* all words of MAP outside are zero */
    uint64_t *map;                 /* one bit an op: where it stays */
    uint64_t parts;                /* one bit for each 64th of the cycle, by whole words of MAP */
};

struct spill_runs {
    struct spill_run *list;
    struct spill_arc *arcs; /* those of a run lie together, sorted */
    uint32_t count, arc_count;
    uint32_t words; /* of each map */
};

/* WHEN may be NULL: all times are then 0. False: out of memory. */
bool spill_runs_build(struct spill_runs *runs, const struct spill_prep *prep,
                      const struct spill_plan *plan, const struct spill_timeline *when,
                      struct spill_arena *arena);

#endif
