/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages leave: how many of them in each gap, so that every op fits the budget. */
#ifndef SPILL_SELECT_H
#define SPILL_SELECT_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/prep.h"

struct spill_select {
    uint32_t budget;        /* pages at every op */
    uint32_t parked;        /* pages already kept on the host for good */
    uint32_t host;          /* pages the host has room for */
    const uint64_t *weight; /* worth of a page's absence at each op while it is over the limit */
    double trust;           /* how strongly gaps too short for their copies are avoided */
};

/* Raises AMOUNT (gap_count entries, kept where already set) until no op is over the budget. Greedy
 * over gaps by area removed from above the limit, as G10 (MICRO'23) has it, but in parts of
 * buffers. SPILL_ERR_INFEASIBLE when even every gap in full is not enough. */
enum spill_status spill_select_cover(const struct spill_prep *prep, const struct spill_select *want,
                                     uint32_t *amount);

#endif
