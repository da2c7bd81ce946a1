/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/solve.h"

#include <stdlib.h>
#include <string.h>

#include "solver/arena.h"
#include "solver/exact.h"
#include "solver/job.h"
#include "solver/search.h"

void spill_plan_free(struct spill_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->moves);
    free(plan->parks);
    free(plan->in_order);
    free(plan->page_base);
    free(plan->frame_of);
    free(plan);
}

/* A copy of COUNT elements of SIZE that the caller of spill_solve will free; never NULL unless out
 * of memory. */
static void *keep(const void *from, size_t count, size_t size)
{
    void *to = malloc(count * size + 1);

    if (to != NULL && count > 0)
        memcpy(to, from, count * size);
    return to;
}

static struct spill_plan *keep_plan(const struct spill_plan *from, const struct spill_prep *prep)
{
    struct spill_plan *plan = malloc(sizeof(*plan));

    if (plan == NULL)
        return NULL;
    *plan = *from;
    plan->moves = keep(from->moves, from->move_count, sizeof(*from->moves));
    plan->parks = keep(from->parks, from->park_count, sizeof(*from->parks));
    plan->in_order = keep(from->in_order, from->move_count, sizeof(uint32_t));
    plan->page_base =
        keep(from->page_base, (size_t)prep->problem->buffer_count + 1, sizeof(uint32_t));
    plan->frame_of = keep(from->frame_of, from->page_total, sizeof(uint32_t));
    if (plan->moves == NULL || plan->parks == NULL || plan->in_order == NULL ||
        plan->page_base == NULL || plan->frame_of == NULL) {
        spill_plan_free(plan);
        return NULL;
    }
    return plan;
}

static enum spill_status solve(struct spill_job *job, const struct spill_solve_options *options,
                               struct spill_plan **plan, struct spill_solve_obstacle *obstacle)
{
    const struct spill_prep *prep = job->prep;
    uint32_t frames = prep->least[prep->widest_op];
    enum spill_status status = SPILL_OK;

    if (options->method != NULL && strcmp(options->method, "exact") == 0)
        status = spill_exact_search(job);
    else if (prep->budget_pages >= frames)
        status = spill_search(job, options->effort);
    if (status == SPILL_ERR_INFEASIBLE) /* the greedy choice filled the host: try the last resort */
        status = SPILL_OK;
    if (status == SPILL_OK && !job->found && job->ours) {
        status = spill_job_smallest(job, &frames);
        if (status == SPILL_OK && frames <= prep->budget_pages)
            status = spill_job_consider(job);
    }
    if (status == SPILL_OK && job->ours)
        status = spill_exact_improve(job);
    if (status != SPILL_OK)
        return status;
    if (!job->found) {
        if (obstacle != NULL)
            *obstacle =
                (struct spill_solve_obstacle){prep->widest_op, frames * prep->problem->page_bytes};
        return SPILL_ERR_INFEASIBLE;
    }
    if (job->relax.bound_ns > (double)job->best.plan.bound_ns)
        job->best.plan.bound_ns = (uint64_t)job->relax.bound_ns;
    *plan = keep_plan(&job->best.plan, prep);
    return *plan == NULL ? SPILL_ERR_NOMEM : SPILL_OK;
}

enum spill_status spill_solve(const struct spill_problem *problem,
                              const struct spill_solve_options *options, struct spill_plan **plan,
                              struct spill_solve_obstacle *obstacle)
{
    const struct spill_solve_options none = {.method = NULL};
    struct spill_arena arena = {0};
    struct spill_prep prep;
    struct spill_job job;
    enum spill_status status = spill_job_open(&job, &prep, problem, &arena);

    if (options == NULL)
        options = &none;
    job.more = options->more;
    job.context = options->context;
    job.ours = options->method == NULL || strcmp(options->method, "ours") == 0;
    if (!job.ours && strcmp(options->method, "exact") != 0) {
        job.method = spill_method_find(options->method);
        if (job.method == NULL)
            status = SPILL_ERR_NOT_FOUND;
        else
            job.recall = job.method->recall;
    }
    if (status == SPILL_OK)
        status = solve(&job, options, plan, obstacle);
    spill_arena_free(&arena);
    return status;
}

void spill_solve_smallest_budget(const struct spill_problem *problem,
                                 struct spill_solve_obstacle *obstacle)
{
    struct spill_arena arena = {0};
    struct spill_prep prep;
    struct spill_job job;
    uint32_t frames = 0;

    *obstacle = (struct spill_solve_obstacle){0, UINT64_MAX};
    if (spill_job_open(&job, &prep, problem, &arena) == SPILL_OK &&
        spill_job_smallest(&job, &frames) == SPILL_OK)
        *obstacle = (struct spill_solve_obstacle){prep.widest_op, frames * problem->page_bytes};
    spill_arena_free(&arena);
}
