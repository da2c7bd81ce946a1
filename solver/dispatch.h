/* SPDX-License-Identifier: Apache-2.0 */
/* When pages come back, once their frames are known: the in link always takes, of the pages whose
 * frames are free, those that are used first (earliest deadline first). */
#ifndef SPILL_DISPATCH_H
#define SPILL_DISPATCH_H

#include "preload/base/status.h"
#include "solver/plan.h"
#include "solver/prep.h"
#include "solver/stays.h"

/* Sets in_op of PLAN's moves and in_order by playing a few iterations in which the in link chooses
 * at run time. STAYS are those that begin with use_op - 1 == in_op, disjoint in every frame; they
 * no longer hold after. */
enum spill_status spill_dispatch(const struct spill_prep *prep, struct spill_plan *plan,
                                 const struct spill_stays *stays, struct spill_arena *arena);

#endif
