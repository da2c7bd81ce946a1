/* SPDX-License-Identifier: Apache-2.0 */
/* The last touch to a finished plan: call pages back earlier wherever their frame stands empty. */
#ifndef SPILL_ADVANCE_H
#define SPILL_ADVANCE_H

#include "preload/base/status.h"
#include "solver/plan.h"
#include "solver/prep.h"
#include "solver/simulate.h"

/* Lowers in_op of PLAN's moves as far as the frames are free, the order of the in link stays the
 * same and nothing would wait longer in the timing WHEN, and sorts in_order anew. Early copies
 * absorb noise in the op times at no cost, as in G10's second pass. STAYS are those of PLAN and no
 * longer hold after. */
enum spill_status spill_advance(const struct spill_prep *prep, struct spill_plan *plan,
                                const struct spill_stays *stays, const struct spill_timeline *when,
                                struct spill_arena *arena);

#endif
