/* SPDX-License-Identifier: Apache-2.0 */
/* What every method needs to know about a problem, computed once: pages, gaps, memory per op. */
#ifndef SPILL_PREP_H
#define SPILL_PREP_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/status.h"
#include "solver/arena.h"
#include "solver/problem.h"

/* A gap in which pages of a buffer may leave: between two touchers with at least one op between
 * them. */
struct spill_gap {
    uint32_t buffer;
    uint32_t out_op;
    uint32_t use_op;
    uint32_t length; /* ops strictly between the two, cyclic: out_op + 1 .. use_op - 1 */
};

struct spill_prep {
    const struct spill_problem *problem;
    uint32_t *pages;       /* of each buffer */
    uint32_t *page_base;   /* buffer_count + 1 entries */
    uint32_t *touch_first; /* buffer_count + 1 entries into touch: */
    uint32_t *touch;       /* the ops that touch each buffer, in its own cyclic order */
    uint32_t *gap_first; /* buffer_count + 1 entries into gaps: those of one buffer lie together */
    struct spill_gap *gaps;
    bool *parkable; /* PERSISTENT, touched by nothing, not pinned */
    uint32_t *base; /* pages at each op when nothing moves and nothing is parked */
    uint32_t
        *least; /* pages at each op when every gap is used in full and everything idle is parked */
    uint64_t *start; /* op_count + 1 entries: start of each op when nothing stalls */
    uint64_t compute_ns;
    uint32_t gap_count;
    uint32_t page_total;
    uint32_t budget_pages;
    uint32_t peak;      /* largest `base` */
    uint32_t widest_op; /* the op with the largest `least` */
};

/* Distance FROM -> TO going forward round the cycle of N ops; 0 when equal. */
static inline uint32_t spill_cyclic(uint32_t from, uint32_t to, uint32_t n)
{
    return to >= from ? to - from : to + n - from;
}

static inline uint32_t spill_cyclic_add(uint32_t op, uint32_t distance, uint32_t n)
{
    uint64_t sum = (uint64_t)op + distance;

    return (uint32_t)(sum >= n ? sum - n : sum);
}

/* Validates PROBLEM and fills PREP with tables from ARENA. SPILL_ERR_INVAL: the problem is
 * malformed. */
enum spill_status spill_prep_build(struct spill_prep *prep, const struct spill_problem *problem,
                                   struct spill_arena *arena);

/* Bytes that a copy of PAGE_COUNT pages from PAGE_FIRST moves: the last page is cut to the buffer.
 */
uint64_t spill_prep_bytes(const struct spill_prep *prep, uint32_t buffer, uint32_t page_first,
                          uint32_t page_count);

/* Adds DELTA (mod 2^32) to DIFF, a difference array of op_count + 1 entries, for COUNT ops from
 * FIRST. */
void spill_cyclic_range_add(uint32_t *diff, uint32_t n, uint32_t first, uint32_t count,
                            uint32_t delta);

#endif
