/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in the making: how many pages leave in each gap, cut into pieces that are copied one by
 * one, each with the op at which it is called back. Frames come last, so memory is only counted
 * here. */
#ifndef SPILL_DRAFT_H
#define SPILL_DRAFT_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/check.h"
#include "solver/plan.h"
#include "solver/prep.h"
#include "solver/simulate.h"

struct spill_piece {
    uint32_t gap;
    uint32_t page_first;
    uint32_t page_count;
    uint32_t in_op;
};

struct spill_draft {
    struct spill_piece *pieces;
    uint32_t piece_count;
    uint32_t parked;        /* pages of idle buffers kept on the host, taken in buffer order */
    uint32_t budget;        /* pages the draft may use; below the problem's when frames need room */
    struct spill_plan plan; /* moves and in_order in arena memory; move i is piece piece_of[i] */
    uint32_t *piece_of;
    struct spill_timeline when; /* of the last evaluation */
    struct spill_outcome outcome;
};

/* Pieces for AMOUNT[g] pages leaving in each gap, called back as late as possible. A buffer's pages
 * leave from the front, so that its several gaps move the same ones. No piece takes longer than
 * LATENCIES of the links: small enough that memory flows while a large buffer moves, large enough
 * that latencies do not add up. */
enum spill_status spill_draft_build(struct spill_draft *draft, const struct spill_prep *prep,
                                    const uint32_t *amount, uint32_t latencies,
                                    struct spill_arena *arena);

/* Makes draft->plan from the pieces. */
enum spill_status spill_draft_plan(struct spill_draft *draft, const struct spill_prep *prep,
                                   struct spill_arena *arena);

/* TO becomes FROM with pieces, moves and in_order of its own, to be changed. */
enum spill_status spill_draft_copy(struct spill_draft *to, const struct spill_draft *from,
                                   struct spill_arena *arena);

/* Simulates the draft as if any free frame served any page: fills when and outcome. */
enum spill_status spill_draft_evaluate(struct spill_draft *draft, const struct spill_prep *prep,
                                       struct spill_arena *arena);

/* When copies in are called. */
enum spill_recall {
    SPILL_RECALL_DEMAND, /* by the op that uses the pages */
    SPILL_RECALL_NEXT,   /* when the buffer that is used before it, among the moved ones, is used */
    SPILL_RECALL_HIDDEN, /* as late as still hides the copy */
    SPILL_RECALL_EAGER   /* as early as memory allows */
};

/* Chooses in_op of every piece for the timing of the last evaluation. */
enum spill_status spill_draft_schedule(struct spill_draft *draft, const struct spill_prep *prep,
                                       enum spill_recall recall);

/* Pages resident at each op, op_count + 1 entries from ARENA; NULL when memory ran out. */
uint32_t *spill_draft_resident(const struct spill_draft *draft, const struct spill_prep *prep,
                               struct spill_arena *arena);

#endif
