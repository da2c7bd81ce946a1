/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/job.h"

#include <string.h>

#include "solver/advance.h"
#include "solver/dispatch.h"
#include "solver/frames.h"
#include "solver/realmath.h"
#include "solver/select.h"

#define SCHEDULE_ROUNDS 8
#define MARGIN          200 /* of a step: how long before its next use our frames are free */

enum spill_status spill_job_open(struct spill_job *job, struct spill_prep *prep,
                                 const struct spill_problem *problem, struct spill_arena *arena)
{
    enum spill_status status = spill_prep_build(prep, problem, arena);

    memset(job, 0, sizeof(*job));
    job->prep = prep;
    job->arena = arena;
    job->latencies = 400;
    if (status != SPILL_OK)
        return status;
    job->weight = spill_arena_alloc(arena, problem->op_count, sizeof(uint64_t));
    if (job->weight == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < problem->op_count; k++)
        job->weight[k] = problem->ops[k].duration_ns;
    return SPILL_OK;
}

bool spill_job_goes_on(const struct spill_job *job)
{
    double bound = spill_real_max((double)job->prep->compute_ns, job->relax.bound_ns);

    if (job->found && (double)job->best.plan.step_ns <= bound * 1.0003)
        return false;
    return job->more == NULL || job->more(job->context);
}

/* Fills what follows from moves and parks alone: peak, host memory, bytes. */
static enum spill_status finish_tables(const struct spill_prep *prep, struct spill_draft *draft,
                                       struct spill_arena *arena)
{
    struct spill_plan *plan = &draft->plan;
    uint32_t n = prep->problem->op_count, most_host = 0;
    uint32_t *resident = spill_draft_resident(draft, prep, arena);
    uint32_t *host = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint32_t));

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    plan->page_base = prep->page_base;
    plan->page_total = prep->page_total;
    plan->peak_pages = 0;
    plan->out_bytes = plan->in_bytes = 0;
    for (uint32_t m = 0; m < plan->move_count; m++) {
        const struct spill_move *move = &plan->moves[m];
        uint32_t held = spill_cyclic(move->out_op, move->use_op, n);

        spill_cyclic_range_add(host, n, move->out_op, held == 0 ? n : held, move->page_count);
        plan->out_bytes += spill_prep_bytes(prep, move->buffer, move->page_first, move->page_count);
    }
    plan->in_bytes = plan->out_bytes;
    for (uint32_t k = 0; k < n; k++) {
        if (k > 0)
            host[k] += host[k - 1];
        most_host = host[k] > most_host ? host[k] : most_host;
        plan->peak_pages = resident[k] > plan->peak_pages ? resident[k] : plan->peak_pages;
    }
    plan->host_bytes = ((uint64_t)most_host + draft->parked) * prep->problem->page_bytes;
    plan->compute_ns = prep->compute_ns;
    plan->bound_ns = prep->compute_ns;
    return SPILL_OK;
}

/* Simulates the finished plan and writes its times into the moves. */
static enum spill_status finish_times(const struct spill_prep *prep, struct spill_draft *draft,
                                      struct spill_stays *stays, struct spill_arena *arena)
{
    struct spill_plan *plan = &draft->plan;
    enum spill_status status;

    if (!spill_stays_build(stays, prep, plan, arena) ||
        !spill_timeline_open(&draft->when, prep->problem->op_count, plan->move_count, arena))
        return SPILL_ERR_NOMEM;
    memset(&draft->outcome, 0, sizeof(draft->outcome));
    status = spill_simulate(prep, plan, stays, &draft->when, &draft->outcome, arena);
    if (status != SPILL_OK)
        return status;
    plan->step_ns = draft->outcome.step_ns;
    for (uint32_t m = 0; m < plan->move_count; m++) {
        struct spill_move *move = &plan->moves[m];
        uint64_t later = move->in_op < move->out_op ? plan->step_ns : 0;

        move->out_start_ns = draft->when.out_start[m];
        move->out_end_ns = draft->when.out_end[m];
        move->in_start_ns = draft->when.in_start[m] + later;
        move->in_end_ns = draft->when.in_end[m] + later;
    }
    return SPILL_OK;
}

uint32_t spill_job_parks(const struct spill_prep *prep, uint32_t budget)
{
    uint32_t most = prep->peak, parkable = 0;

    for (uint32_t b = 0; b < prep->problem->buffer_count; b++)
        parkable += prep->parkable[b] ? prep->pages[b] : 0;
    most = most > budget ? most - budget : 0;
    return most < parkable ? most : parkable;
}

static uint32_t host_pages(const struct spill_prep *prep)
{
    uint64_t pages = prep->problem->host_budget / prep->problem->page_bytes;

    return pages > UINT32_MAX ? UINT32_MAX : (uint32_t)pages;
}

/* Amounts to begin with: nothing, what the relaxation moves, or everything. */
static void start_amounts(const struct spill_job *job, enum spill_start start, uint32_t *amount)
{
    const struct spill_prep *prep = job->prep;

    for (uint32_t g = 0; g < prep->gap_count && start != SPILL_START_EMPTY; g++) {
        uint32_t pages = prep->pages[prep->gaps[g].buffer];
        double part = start == SPILL_START_FULL
                          ? pages
                          : job->relax.amount[g] + (start == SPILL_START_RELAX ? 0.9 : 0.1);

        amount[g] = part >= pages ? pages : (uint32_t)part;
    }
}

/* Schedules the copies in for the timing that the last schedule led to, as long as that helps. */
static enum spill_status reschedule(struct spill_job *job)
{
    struct spill_draft *draft = &job->draft;
    uint32_t *best_in = spill_arena_alloc(job->arena, draft->piece_count, sizeof(uint32_t));
    uint64_t best = UINT64_MAX, before = UINT64_MAX;
    enum spill_status status = SPILL_OK;

    if (best_in == NULL)
        return SPILL_ERR_NOMEM;
    for (int round = 0; round < SCHEDULE_ROUNDS; round++) {
        uint64_t step;

        status = spill_draft_schedule(draft, job->prep, job->recall);
        if (status == SPILL_OK)
            status = spill_draft_evaluate(draft, job->prep, job->arena);
        if (status != SPILL_OK)
            return status;
        step = draft->outcome.step_ns;
        if (step < best) {
            best = step;
            for (uint32_t i = 0; i < draft->piece_count; i++)
                best_in[i] = draft->pieces[i].in_op;
        }
        if (step + step / 10000 >= before)
            break;
        before = step;
    }
    if (draft->outcome.step_ns == best)
        return SPILL_OK;
    for (uint32_t i = 0; i < draft->piece_count; i++)
        draft->pieces[i].in_op = best_in[i];
    return spill_draft_evaluate(draft, job->prep, job->arena);
}

enum spill_status spill_job_draft(struct spill_job *job, uint32_t budget, enum spill_start start)
{
    const struct spill_prep *prep = job->prep;
    struct spill_draft *draft = &job->draft;
    uint32_t *amount = spill_arena_alloc(job->arena, prep->gap_count, sizeof(uint32_t));
    struct spill_select want = {budget, spill_job_parks(prep, budget), host_pages(prep),
                                job->weight, 1.0};
    enum spill_status status = SPILL_OK;

    if (amount == NULL)
        return SPILL_ERR_NOMEM;
    memset(draft, 0, sizeof(*draft));
    draft->budget = budget;
    draft->parked = want.parked;
    start_amounts(job, start, amount);
    if (start == SPILL_START_FULL)
        draft->parked = spill_job_parks(prep, 0);
    else if (job->method != NULL)
        status = job->method->choose(prep, budget, want.parked, amount, job->arena);
    else
        status = spill_select_cover(prep, &want, amount);
    if (status == SPILL_OK)
        status = spill_draft_build(draft, prep, amount, job->latencies, job->arena);
    if (status == SPILL_OK)
        status = spill_draft_evaluate(draft, prep, job->arena);
    return start == SPILL_START_FULL || status != SPILL_OK ? status : reschedule(job);
}

enum spill_status spill_job_frames(struct spill_job *job, uint32_t limit, bool late, bool timed,
                                   bool *fits, uint32_t *unplaced)
{
    struct spill_draft *draft = &job->draft;
    enum spill_status status;

    draft->plan.frame_of = spill_arena_alloc(job->arena, job->prep->page_total, sizeof(uint32_t));
    if (draft->plan.frame_of == NULL)
        return SPILL_ERR_NOMEM;
    status = spill_frames_assign(job->prep, &draft->plan, limit, late, timed ? &draft->when : NULL,
                                 draft->outcome.step_ns,
                                 job->ours ? draft->outcome.step_ns / MARGIN : 0, unplaced);
    *fits = status == SPILL_OK && *unplaced == 0;
    job->late = late;
    return status;
}

enum spill_status spill_job_smallest(struct spill_job *job, uint32_t *frames)
{
    uint32_t low = job->prep->least[job->prep->widest_op], unplaced;
    enum spill_status status = spill_job_draft(job, low, SPILL_START_FULL);
    struct spill_draft best;
    bool fits;

    if (status == SPILL_OK)
        status = spill_job_frames(job, job->prep->page_total, true, false, &fits, &unplaced);
    if (status != SPILL_OK)
        return status;
    best = job->draft;
    for (int i = 0; i < 8 && low < best.plan.frame_count; i++) {
        uint32_t limit = i == 0 ? low : low + (best.plan.frame_count - low) / 2;

        status = spill_job_frames(job, limit, true, false, &fits, &unplaced);
        if (status != SPILL_OK)
            return status;
        if (fits)
            best = job->draft;
        else
            low = limit + 1;
    }
    job->draft = best;
    *frames = best.plan.frame_count;
    return SPILL_OK;
}

/* The tables of pieces are made from the moves, whose in_op has changed. */
static void take_over_order(struct spill_draft *draft)
{
    for (uint32_t m = 0; m < draft->plan.move_count; m++)
        draft->pieces[draft->piece_of[m]].in_op = draft->plan.moves[m].in_op;
}

/* Calls pages back earlier where their frames are free; undone should that cost time. */
static enum spill_status advance(struct spill_job *job, const struct spill_stays *stays,
                                 struct spill_arena *scratch)
{
    const struct spill_draft before = job->draft;
    struct spill_draft *draft = &job->draft;
    struct spill_plan *plan = &draft->plan;
    uint32_t count = plan->move_count;
    struct spill_stays moved;
    enum spill_status status;

    plan->moves = spill_arena_alloc(job->arena, count, sizeof(*plan->moves));
    plan->in_order = spill_arena_alloc(job->arena, count, sizeof(uint32_t));
    if (job->arena->failed)
        return SPILL_ERR_NOMEM;
    if (count > 0) {
        memcpy(plan->moves, before.plan.moves, count * sizeof(*plan->moves));
        memcpy(plan->in_order, before.plan.in_order, count * sizeof(uint32_t));
    }
    status = spill_advance(job->prep, plan, stays, &before.when, scratch);
    if (status == SPILL_OK)
        status = finish_times(job->prep, draft, &moved, scratch);
    if (status == SPILL_OK && plan->step_ns > before.plan.step_ns) {
        *draft = before;
        return SPILL_OK;
    }
    take_over_order(draft);
    return status == SPILL_OK ? finish_tables(job->prep, draft, scratch) : status;
}

/* Calls pages back in the order that suits their frames. */
static enum spill_status dispatch(struct spill_job *job, struct spill_arena *scratch)
{
    struct spill_plan *plan = &job->draft.plan;
    uint32_t n = job->prep->problem->op_count;
    struct spill_stays stays;
    enum spill_status status;

    for (uint32_t m = 0; m < plan->move_count; m++)
        plan->moves[m].in_op = (plan->moves[m].use_op == 0 ? n : plan->moves[m].use_op) - 1;
    if (!spill_stays_build(&stays, job->prep, plan, scratch))
        return SPILL_ERR_NOMEM;
    status = spill_dispatch(job->prep, plan, &stays, scratch);
    take_over_order(&job->draft);
    return status;
}

static enum spill_status consider(struct spill_job *job, struct spill_arena *scratch)
{
    enum spill_status status = job->late ? dispatch(job, scratch) : SPILL_OK;
    struct spill_stays stays;

    if (status == SPILL_OK)
        status = finish_tables(job->prep, &job->draft, scratch);
    if (status == SPILL_OK && job->draft.plan.host_bytes > job->prep->problem->host_budget)
        return SPILL_OK;
    if (status == SPILL_OK)
        status = finish_times(job->prep, &job->draft, &stays, scratch);
    if (status != SPILL_OK || (job->found && job->draft.plan.step_ns >= job->best.plan.step_ns))
        return status;
    if (job->ours)
        status = advance(job, &stays, scratch);
    job->best = job->draft;
    job->found = true;
    return status;
}

enum spill_status spill_job_consider(struct spill_job *job)
{
    struct spill_arena scratch = {0}; /* stays of every page: too large to keep */
    enum spill_status status = consider(job, &scratch);

    memset(&job->draft.when, 0, sizeof(job->draft.when));
    memset(&job->best.when, 0, sizeof(job->best.when));
    spill_arena_free(&scratch);
    return status;
}
