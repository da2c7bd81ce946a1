/* SPDX-License-Identifier: Apache-2.0 */
/* One call of spill_solve: its tables, the draft in the works and the best plan so far. */
#ifndef SPILL_JOB_H
#define SPILL_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/status.h"
#include "solver/arena.h"
#include "solver/draft.h"
#include "solver/methods.h"
#include "solver/prep.h"
#include "solver/relax.h"

/* Amounts that a draft begins with, before what is still missing is chosen greedily. */
enum spill_start {
    SPILL_START_EMPTY, /* nothing moves */
    SPILL_START_RELAX, /* what the relaxation moves, any part of a page as a page */
    SPILL_START_WHOLE, /* what the relaxation moves, the whole pages of it */
    SPILL_START_FULL   /* everything moves in every gap */
};

struct spill_job {
    const struct spill_prep *prep;
    struct spill_arena *arena;
    uint64_t *weight;                  /* op times */
    const struct spill_method *method; /* NULL: our own choice of what moves */
    bool
        ours; /* the default method may try those of others, and finishes their plans its own way */
    enum spill_recall recall;
    struct spill_relax relax;
    struct spill_draft draft;
    struct spill_draft best; /* with its plan complete, once found */
    bool found;
    uint32_t latencies;          /* longest copy of a draft, in latencies of the links */
    bool (*more)(void *context); /* NULL, or says whether there is time to go on */
    void *context;
    bool late; /* the draft's frames are chosen for stays that begin with their use */
};

enum spill_status spill_job_open(struct spill_job *job, struct spill_prep *prep,
                                 const struct spill_problem *problem, struct spill_arena *arena);

/* Is there time, and something left to gain over the best plan? */
bool spill_job_goes_on(const struct spill_job *job);

/* Pages of idle buffers to keep on the host so that BUDGET pages may be enough. */
uint32_t spill_job_parks(const struct spill_prep *prep, uint32_t budget);

/* Makes job->draft, which uses at most BUDGET pages at every op, and times it. */
enum spill_status spill_job_draft(struct spill_job *job, uint32_t budget, enum spill_start start);

/* Frames for the current draft; false in FITS when LIMIT is too few, and UNPLACED says by how many.
 * LATE: pages may come back later than the draft says, as their frames allow. TIMED: choose frames
 * so that no stay waits for a copy out, even if that takes more of them. */
enum spill_status spill_job_frames(struct spill_job *job, uint32_t limit, bool late, bool timed,
                                   bool *fits, uint32_t *unplaced);

/* Completes the current draft, whose frames fit, and keeps it if it is the best so far. */
enum spill_status spill_job_consider(struct spill_job *job);

/* The smallest number of frames we know how to manage with: every gap used in full. Leaves that
 * draft and its frames behind. Fewer than the widest op needs is impossible; how many more the
 * colouring of the pages takes is found by bisection, since fewer frames make it try harder. */
enum spill_status spill_job_smallest(struct spill_job *job, uint32_t *frames);

#endif
