/* SPDX-License-Identifier: Apache-2.0 */
/* Random problems of a handful of pages, small enough to try every plan there is. */
#ifndef SPILL_SOLVER_TINY_H
#define SPILL_SOLVER_TINY_H

#include <stdbool.h>
#include <stdint.h>

#include "solver/solve.h"
#include "tests/unit/solver_bruteforce.h"
#include "tests/unit/solver_mip.h"
#include "tests/unit/solver_random.h"

/* Problem number SEED: at most OPS ops, four buffers of up to two pages, at most CHOICES ways to
 * say what moves when; latencies of up to half a page's copy; a budget below all pages; in one of
 * four the host has little room. False: that number gives none. */
static inline bool tiny_make(struct random_problem *r, struct brute *s, uint64_t seed, uint32_t ops,
                             uint64_t choices, bool full_duplex)
{
    static const uint64_t latencies[] = {0, 0, 200, 500};
    struct spill_problem *p = &r->problem;

    random_make(r, seed, ops, 4, 2);
    p->out.latency_ns = latencies[random_below(r, 4)];
    p->in.latency_ns = latencies[random_below(r, 4)];
    if (full_duplex)
        p->duplex_permille = 1000;
    if (!brute_open(s, p) || s->gap_count == 0 || s->page_total < 2 || brute_count(s) > choices)
        return false;
    s->budget = 1 + random_below(r, s->page_total - 1);
    p->gpu_budget = s->budget * p->page_bytes;
    if (random_below(r, 4) == 0)
        p->host_budget = (1 + random_below(r, 3)) * p->page_bytes;
    brute_search(s);
    return s->best_ns != 0;
}

/* SPILL_OK when the method's plan passes the checker with the step time that it claims, or when it
 * has none. */
static inline enum spill_status tiny_solve(const struct spill_problem *problem, const char *method,
                                           uint64_t *step_ns, uint64_t *bound_ns)
{
    struct spill_solve_options options = {.method = method};
    struct spill_outcome outcome = {0};
    struct spill_plan *plan = NULL;
    enum spill_status status = spill_solve(problem, &options, &plan, NULL);

    *step_ns = *bound_ns = UINT64_MAX;
    if (status == SPILL_ERR_INFEASIBLE)
        return SPILL_OK;
    if (status == SPILL_OK)
        status = spill_check_plan(problem, plan, &outcome, NULL, 0);
    if (status == SPILL_OK) {
        *step_ns = plan->step_ns;
        *bound_ns = plan->bound_ns;
        if (outcome.step_ns != plan->step_ns)
            status = SPILL_ERR_INVAL;
    }
    spill_plan_free(plan);
    return status;
}

/* Is the program's answer the same? T is real, step times are rounded up, a nanosecond each copy.
 */
static inline bool tiny_agrees(uint64_t step_ns, int found, double mip)
{
    if (step_ns == UINT64_MAX)
        return found == 0;
    return found == 1 && mip < (double)step_ns + 1 && mip > (double)step_ns - 1;
}

#endif
