/* SPDX-License-Identifier: Apache-2.0 */
/* The referee: replays a plan against its problem, independently of every method. */
#ifndef SPILL_CHECK_H
#define SPILL_CHECK_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/plan.h"
#include "solver/problem.h"

/* What one steady-state iteration under the plan looks like. */
struct spill_outcome {
    uint64_t step_ns;
    uint64_t stall_in_ns;     /* ops waited for a copy in */
    uint64_t stall_memory_ns; /* ops waited for memory that a copy out had not yet freed */
    uint64_t out_busy_ns;
    uint64_t in_busy_ns;
    uint64_t peak_bytes; /* most page memory held at one moment, pages still copying out included */
    uint64_t host_bytes;
};

/* Checks PLAN (every rule of plan.h, both budgets, frames disjoint in host order) and simulates its
 * steady state: op k starts when op k-1 has ended, the copies in it needs have ended and its own
 * new pages have memory; memory is granted in host order; each link copies in FIFO order; a copy
 * out starts at the end of out_op at the earliest, a copy in at the start of in_op at the earliest;
 * a page's memory is free when its copy out has ended. SPILL_OK fills OUTCOME.
 * SPILL_ERR_INFEASIBLE: the plan breaks a rule, named in COMPLAINT (COMPLAINT_LEN chars, may be
 * NULL). */
enum spill_status spill_check_plan(const struct spill_problem *problem,
                                   const struct spill_plan *plan, struct spill_outcome *outcome,
                                   char *complaint, uint32_t complaint_len);

/* The same, and into OP_START (op_count entries) when each op starts in that iteration, counted
 * from the start of op 0. */
enum spill_status spill_check_timed(const struct spill_problem *problem,
                                    const struct spill_plan *plan, struct spill_outcome *outcome,
                                    uint64_t *op_start, char *complaint, uint32_t complaint_len);

#endif
