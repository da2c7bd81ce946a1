/* SPDX-License-Identifier: Apache-2.0 */
/* What the methods of others share: choosing gaps until no op needs more pages than the budget, and
 * telling a network's forward half from its backward half. */
#ifndef SPILL_COVER_H
#define SPILL_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/status.h"
#include "solver/arena.h"
#include "solver/prep.h"

struct spill_cover {
    const struct spill_prep *prep;
    uint32_t *amount; /* pages that leave in each gap */
    int64_t *excess;  /* of each op: pages over the budget; negative where there is room */
};

/* Counts the excess that AMOUNT leaves. False: out of memory. */
bool spill_cover_open(struct spill_cover *cover, const struct spill_prep *prep, uint32_t budget,
                      uint32_t parked, uint32_t *amount, struct spill_arena *arena);
/* PAGES more (or fewer, when negative) leave in gap G. */
void spill_cover_take(struct spill_cover *cover, uint32_t g, int64_t pages);
/* The op with the largest excess, the first of equal ones. */
uint32_t spill_cover_worst(const struct spill_cover *cover);
/* SPILL_OK when no op is over the budget, else SPILL_ERR_INFEASIBLE. */
enum spill_status spill_cover_fits(const struct spill_cover *cover);
/* Takes, of the gaps that span the worst op and are not yet taken in full, that of the largest
 * SCORE (then the lowest number) until it fits. IN_PARTS: no more pages than the worst op lacks;
 * else whole buffers. A score below SPILL_COVER_NEVER keeps a gap out. */
enum spill_status spill_cover_in_order(struct spill_cover *cover, const double *score,
                                       bool in_parts, struct spill_arena *arena);
#define SPILL_COVER_NEVER (-1e300)

/* Gaps by falling score, equal ones by number; NULL: out of memory. */
uint32_t *spill_cover_rank(const struct spill_prep *prep, const double *score,
                           struct spill_arena *arena);

/* Pages of the buffer that gap G belongs to. */
uint32_t spill_cover_full(const struct spill_prep *prep, uint32_t g);
/* Is OP one of those strictly between the two touchers of gap G? */
bool spill_cover_spans(const struct spill_prep *prep, uint32_t g, uint32_t op);
/* Time from the end of out_op to the start of use_op when nothing stalls. */
double spill_cover_time(const struct spill_prep *prep, uint32_t g);
/* Duration of absence: what is left of that time when both copies are taken off. */
double spill_cover_absence(const struct spill_prep *prep, uint32_t g);

/* The turning point from forward to backward: the op with the most memory. */
uint32_t spill_cover_turn(const struct spill_prep *prep);
/* Is gap G that of an activation between its last forward and its first backward use? */
bool spill_cover_is_activation(const struct spill_prep *prep, uint32_t g, uint32_t turn);

#endif
