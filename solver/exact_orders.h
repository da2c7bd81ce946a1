/* SPDX-License-Identifier: Apache-2.0 */
/* The inner half of the exact search: once it is decided which pages leave and when they are called
 * back, every order of the copies on either link and every assignment of frames. */
#ifndef SPILL_EXACT_ORDERS_H
#define SPILL_EXACT_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/status.h"
#include "solver/exact.h"
#include "solver/simulate.h"

struct spill_exact {
    struct spill_job *job;
    const struct spill_prep *prep;
    struct spill_piece pieces[SPILL_EXACT_MOVES]; /* decided so far */
    uint32_t piece_count;
    int64_t pages_at[SPILL_EXACT_OPS]; /* if all that is undecided leaves */
    uint32_t host_at[SPILL_EXACT_OPS];
    uint64_t out_ns, in_ns; /* the links are busy for that long */
    uint32_t idle, host;    /* pages that can be parked; that the host has room for */
    bool in_runs;           /* several pages in one copy may be better than one by one */
    bool linear;
    /* the plan being completed */
    uint32_t parked, taken_out, taken_in; /* pieces already queued, a bit each */
    struct spill_move moves[SPILL_EXACT_MOVES];
    uint32_t in_order[SPILL_EXACT_MOVES], piece_of[SPILL_EXACT_MOVES];
    uint32_t frames[SPILL_EXACT_PAGES];
    uint64_t stays[SPILL_EXACT_PAGES], hosted[SPILL_EXACT_PAGES]; /* ops, a bit each */
    struct spill_park parks[SPILL_EXACT_PAGES];
    struct spill_plan plan;
    uint64_t unframed_ns; /* the step if no page waited for a frame */
    uint32_t work, most_work;
};

/* The step time to be beaten; UINT64_MAX before the first plan. */
uint64_t spill_exact_best_ns(const struct spill_exact *x);

/* Are pages [PAGE, PAGE + PAGES) of GAP's buffer like the pages before them, in all that matters?
 */
bool spill_exact_alike(const struct spill_exact *x, const struct spill_gap *gap, uint32_t page,
                       uint32_t pages);

/* Parks as many idle pages as the host has room for, which can only help, and hands every plan that
 * is better than the best to the job. SPILL_ERR_UNSUPPORTED: that was too much work. */
enum spill_status spill_exact_orders(struct spill_exact *x);

#endif
