/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that the same runs stay on are one shelf. A run is laid into the shelves that are free at
 * all its stays, the best first; one that is larger than what is left of the run is split. */
#ifndef SPILL_FRAMES_SHELVES_H
#define SPILL_FRAMES_SHELVES_H

#include "solver/arena.h"
#include "solver/frames_offers.h"
#include "solver/frames_runs.h"

struct spill_shelf {
    struct spill_arc *arcs; /* sorted */
    uint32_t arc_count, arc_room;
    uint32_t last_first, last_end; /* of arcs[arc_count - 1] */
    int64_t last_free, first_need; /* of it, and of arcs[0] */
    bool last_out, first_in;
    uint32_t frame_first, frame_count;
};

/* The first four are the caller's, the rest begins as zeros. */
struct spill_shelves {
    const struct spill_runs *runs;
    uint32_t op_count;
    int64_t step_ns;
    int64_t margin_ns; /* how long before it is used again a frame should be free */
    struct spill_shelf *list;
    uint64_t *filled; /* of each shelf: parts of the cycle that are taken throughout */
    uint32_t count, room;
    struct spill_offers offers;
    struct spill_arena brush;
};

/* FRAMES empty frames. False, here and below: out of memory. */
bool spill_shelves_begin(struct spill_shelves *s, uint32_t frames);

/* Frames for the pages of RUN, as many as find one: sets FRAME_OF of those, run->placed and
 * run->waits. */
bool spill_shelves_place(struct spill_shelves *s, struct spill_run *run, uint32_t *frame_of);

void spill_shelves_end(struct spill_shelves *s);

#endif
