/* SPDX-License-Identifier: Apache-2.0 */
/* The linear relaxation of the planning problem: a lower bound on the step time that no plan can
 * beat, and the amounts to move that come close to it. */
#ifndef SPILL_RELAX_H
#define SPILL_RELAX_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/arena.h"
#include "solver/prep.h"

struct spill_relax {
    uint32_t budget;          /* pages at every op */
    uint32_t parked;          /* pages of idle buffers that are away for good */
    uint32_t instants;        /* most points in time that are looked at */
    uint32_t rounds;          /* of the interior-point method, at most */
    const uint64_t *op_start; /* a known timing, to choose instants by; NULL: that without stalls */
    uint64_t step_ns;         /* and its step time */
    double bound_ns;          /* out */
    double *amount;           /* out: pages to move in each gap, gap_count entries */
};

/* SPILL_ERR_NOMEM: also when there are too many instants for the gaps' entanglement. */
enum spill_status spill_relax_solve(struct spill_relax *relax, const struct spill_prep *prep,
                                    struct spill_arena *arena);

#endif
