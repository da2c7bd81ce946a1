/* SPDX-License-Identifier: Apache-2.0 */
/* The solver's front door. Pure: no CUDA, clock, thread, environment or global; the same problem
 * and options give the same plan to the bit. */
#ifndef SPILL_SOLVE_H
#define SPILL_SOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/status.h"
#include "solver/plan.h"
#include "solver/problem.h"

struct spill_solve_options {
    /* NULL or "ours": the default; "exact": see solver/exact.h; other names in solver/methods.h */
    const char *method;
    uint32_t effort; /* 0: our own ways only; more: what others would move as well, and that many
                        rounds of small changes */
    bool (*more)(void *context); /* asked between attempts once there is a plan; false ends the
                                    search. NULL: effort alone does, and the plan is the same bytes
                                    every time */
    void *context;
};

/* Why no plan exists, for one clear line to the user. */
struct spill_solve_obstacle {
    uint32_t op;           /* the op whose own working set sets the smallest budget */
    uint64_t bytes_needed; /* smallest feasible gpu_budget */
};

/* Solves PROBLEM. On success *PLAN is a new plan (free it with spill_plan_free) that the checker
 * accepts. SPILL_ERR_INFEASIBLE: no plan keeps within the budgets; OBSTACLE (may be NULL) says why.
 * SPILL_ERR_INVAL: PROBLEM is malformed. SPILL_ERR_NOT_FOUND: there is no such method.
 * SPILL_ERR_UNSUPPORTED: too large a problem for the exact method. SPILL_ERR_NOMEM. */
enum spill_status spill_solve(const struct spill_problem *problem,
                              const struct spill_solve_options *options, struct spill_plan **plan,
                              struct spill_solve_obstacle *obstacle);

void spill_plan_free(struct spill_plan *plan);

/* The smallest gpu_budget for which a plan exists, and the op that sets it. */
void spill_solve_smallest_budget(const struct spill_problem *problem,
                                 struct spill_solve_obstacle *obstacle);

#endif
