/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/advance.h"
#include "solver/arena.h"
#include "solver/check.h"
#include "solver/draft.h"
#include "solver/frames.h"
#include "solver/methods.h"
#include "solver/prep.h"
#include "solver/relax.h"
#include "solver/select.h"

#define SCHEDULE_ROUNDS 8
#define RELAX_INSTANTS  300
#define RELAX_ROUNDS    60

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

    if (!spill_stays_build(stays, prep, plan, arena))
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

struct job {
    const struct spill_prep *prep;
    struct spill_arena *arena;
    struct spill_draft draft;
    uint64_t *weight;
    struct spill_relax relax;
    const struct spill_method *method; /* NULL: ours */
    enum spill_recall recall;
};

static uint32_t pages_to_park(const struct spill_prep *prep, uint32_t budget)
{
    uint32_t most = 0, parkable = 0;

    for (uint32_t k = 0; k < prep->problem->op_count; k++)
        most = prep->base[k] > most ? prep->base[k] : most;
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

enum start { START_EMPTY, START_RELAX, START_FULL };

/* Amounts to begin with: nothing, what the relaxation moves, or everything. */
static void start_amounts(const struct job *job, enum start start, uint32_t *amount)
{
    const struct spill_prep *prep = job->prep;

    for (uint32_t g = 0; g < prep->gap_count && start != START_EMPTY; g++) {
        uint32_t pages = prep->pages[prep->gaps[g].buffer];
        double part = start == START_FULL ? pages : floor(job->relax.amount[g] + 0.9);

        amount[g] = part >= pages ? pages : (uint32_t)part;
    }
}

/* Schedules the copies in for the timing that the last schedule led to, as long as that helps. */
static enum spill_status reschedule(struct job *job)
{
    struct spill_draft *draft = &job->draft;
    uint32_t *best_in = spill_arena_alloc(job->arena, draft->piece_count, sizeof(uint32_t));
    uint64_t best = UINT64_MAX, before = UINT64_MAX;
    enum spill_status status = SPILL_OK;

    if (best_in == NULL)
        return SPILL_ERR_NOMEM;
    for (int round = 0; round < SCHEDULE_ROUNDS; round++) {
        uint64_t step;

        status = spill_draft_schedule(draft, job->prep, job->recall, job->arena);
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

/* Makes a draft that uses at most BUDGET pages at every op. */
static enum spill_status draft_for(struct job *job, uint32_t budget, enum start start)
{
    const struct spill_prep *prep = job->prep;
    struct spill_draft *draft = &job->draft;
    uint32_t *amount = spill_arena_alloc(job->arena, prep->gap_count, sizeof(uint32_t));
    struct spill_select want = {
        budget, pages_to_park(prep, budget), host_pages(prep), prep->start, job->weight, 1.0};
    enum spill_status status = SPILL_OK;

    if (amount == NULL)
        return SPILL_ERR_NOMEM;
    memset(draft, 0, sizeof(*draft));
    draft->budget = budget;
    draft->parked = want.parked;
    start_amounts(job, start, amount);
    if (start == START_FULL)
        draft->parked = pages_to_park(prep, 0);
    else if (job->method != NULL)
        status = job->method->choose(prep, budget, want.parked, amount, job->arena);
    else
        status = spill_select_cover(prep, &want, amount, job->arena);
    if (status == SPILL_OK)
        status = spill_draft_build(draft, prep, amount, job->arena);
    if (status == SPILL_OK)
        status = spill_draft_evaluate(draft, prep, job->arena);
    return start == START_FULL || status != SPILL_OK ? status : reschedule(job);
}

/* Frames for the current draft; false in FITS when LIMIT is too few. TIMED: choose them so that no
 * stay waits for a copy out, even if that takes more of them. */
static enum spill_status frames_for(struct job *job, uint32_t limit, bool timed, bool *fits,
                                    uint32_t *unplaced)
{
    struct spill_draft *draft = &job->draft;
    struct spill_frames frames;
    enum spill_status status;

    draft->plan.frame_of = spill_arena_alloc(job->arena, job->prep->page_total, sizeof(uint32_t));
    if (draft->plan.frame_of == NULL)
        return SPILL_ERR_NOMEM;
    status = spill_frames_assign(job->prep, &draft->plan, limit, timed ? &draft->when : NULL,
                                 draft->outcome.step_ns, &frames, job->arena);
    *fits = status == SPILL_OK && frames.unplaced == 0;
    *unplaced = status == SPILL_OK ? frames.unplaced_least : 0;
    return status;
}

/* The smallest number of frames we know how to manage with: every gap used in full. Leaves that
 * draft and its frames behind. Fewer than the widest op needs is impossible; how many more the
 * colouring of the pages takes is found by bisection, since fewer frames make it try harder. */
static enum spill_status smallest_frames(struct job *job, uint32_t *frames)
{
    uint32_t low = job->prep->least[job->prep->widest_op], unplaced;
    enum spill_status status = draft_for(job, low, START_FULL);
    struct spill_draft best;
    bool fits;

    if (status == SPILL_OK)
        status = frames_for(job, job->prep->page_total, false, &fits, &unplaced);
    if (status != SPILL_OK)
        return status;
    best = job->draft;
    for (int i = 0; i < 8 && low < best.plan.frame_count; i++) {
        uint32_t limit = i == 0 ? low : low + (best.plan.frame_count - low) / 2;

        status = frames_for(job, limit, false, &fits, &unplaced);
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

/* Calls pages back earlier where their frames are free; undone should that cost time. */
static enum spill_status advance(struct job *job, const struct spill_stays *stays)
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
    status = spill_advance(job->prep, plan, stays, &before.when, job->arena);
    if (status == SPILL_OK)
        status = finish_times(job->prep, draft, &moved, job->arena);
    if (status == SPILL_OK && plan->step_ns > before.plan.step_ns) {
        *draft = before;
        return SPILL_OK;
    }
    for (uint32_t m = 0; m < count; m++) /* the tables are made from the pieces */
        draft->pieces[draft->piece_of[m]].in_op = plan->moves[m].in_op;
    return status == SPILL_OK ? finish_tables(job->prep, draft, job->arena) : status;
}

/* Takes the current draft, whose frames fit, as the best so far if it is. */
static enum spill_status consider(struct job *job, bool *found, struct spill_draft *best)
{
    enum spill_status status = finish_tables(job->prep, &job->draft, job->arena);
    struct spill_stays stays;

    if (status == SPILL_OK && job->draft.plan.host_bytes > job->prep->problem->host_budget)
        return SPILL_OK;
    if (status == SPILL_OK)
        status = finish_times(job->prep, &job->draft, &stays, job->arena);
    if (status != SPILL_OK || (*found && job->draft.plan.step_ns >= best->plan.step_ns))
        return status;
    if (job->method == NULL)
        status = advance(job, &stays);
    *best = job->draft;
    *found = true;
    return status;
}

/* Drafts for the whole budget in several ways, until one is as fast as can be; leaves the fastest
 * behind, and in START and job->recall how it was made. Pages called back late stay for less time,
 * so frames fit better: of two equally fast the late one is kept. */
static enum spill_status first_draft(struct job *job, uint32_t budget, enum start *start)
{
    static const enum spill_recall recalls[] = {SPILL_RECALL_HIDDEN, SPILL_RECALL_EAGER};
    struct spill_draft best;
    enum spill_recall best_recall = job->recall;
    double bound = (double)job->prep->compute_ns;
    bool found = false;
    enum spill_status status;

    if (job->method != NULL)
        return draft_for(job, budget, START_EMPTY);
    for (int from = START_EMPTY; from <= START_RELAX; from++) {
        if (from == START_RELAX) {
            job->relax = (struct spill_relax){.budget = job->prep->budget_pages,
                                              .parked = pages_to_park(job->prep, 0),
                                              .instants = RELAX_INSTANTS,
                                              .rounds = RELAX_ROUNDS,
                                              .target_ns = (double)best.outcome.step_ns};
            status = spill_relax_solve(&job->relax, job->prep, job->arena);
            if (status != SPILL_OK)
                return status;
            bound = job->relax.bound_ns;
        }
        for (int i = 0; i < 2 && !(found && (double)best.outcome.step_ns <= bound * 1.0001); i++) {
            job->recall = recalls[i];
            status = draft_for(job, budget, (enum start)from);
            if (status != SPILL_OK)
                return status;
            if (!found || job->draft.outcome.step_ns + job->draft.outcome.step_ns / 5000 <
                              best.outcome.step_ns) {
                best = job->draft;
                best_recall = job->recall;
                *start = (enum start)from;
                found = true;
            }
        }
        if ((double)best.outcome.step_ns <= bound * 1.0001)
            break;
    }
    job->draft = best;
    job->recall = best_recall;
    return SPILL_OK;
}

/* Looks for the plan in drafts that leave ever more of the budget unused: room for frames to fit
 * in. Begins with the draft at hand. GOOD: a step time that ends the search. */
static enum spill_status try_cuts(struct job *job, enum start start, uint64_t good, uint32_t cut,
                                  bool *found, struct spill_draft *best)
{
    uint32_t budget = job->prep->budget_pages;
    uint32_t spare = budget - job->prep->least[job->prep->widest_op], tries_after = 3;

    for (uint32_t try = 0;; try++) {
        uint32_t unplaced = 0;
        enum spill_status status;
        bool fits;

        status = frames_for(job, budget, true, &fits, &unplaced);
        if (status == SPILL_OK && !fits && cut == spare)
            status = frames_for(job, budget, false, &fits, &unplaced);
        if (status == SPILL_OK && fits)
            status = consider(job, found, best);
        if (status != SPILL_OK || cut == spare || (*found && best->plan.step_ns <= good) ||
            (fits && tries_after-- == 0))
            return status;
        if (fits && best->plan.step_ns <= good + good / 400)
            tries_after = tries_after < 1 ? tries_after : 1; /* little left to gain */
        cut += 1 + spare / 400 * (1 + try / 3) + (cut > spare / 20 ? cut / 3 : 0) + unplaced / 10;
        cut = cut < spare ? cut : spare;
        status = draft_for(job, budget - cut, start);
        if (status != SPILL_OK)
            return status;
    }
}

static enum spill_status search(struct job *job, bool *found, struct spill_draft *best)
{
    uint32_t budget = job->prep->budget_pages, cut;
    uint32_t spare = budget - job->prep->least[job->prep->widest_op];
    enum start start = START_EMPTY;
    enum spill_status status = first_draft(job, budget, &start);
    struct spill_draft full = job->draft;
    uint64_t good;

    if (status != SPILL_OK)
        return status;
    good = full.outcome.step_ns + full.outcome.step_ns / 2000;
    /* Where memory is not what limits the step, begin with a draft that leaves some. */
    cut = spare / 64;
    if (cut > 0)
        status = draft_for(job, budget - cut, start);
    if (status != SPILL_OK)
        return status;
    if (job->draft.outcome.step_ns > good) {
        job->draft = full;
        cut = 0;
    }
    status = try_cuts(job, start, good, cut, found, best);
    if (status != SPILL_OK || job->method != NULL || !*found ||
        best->plan.step_ns <= good + good / 200)
        return status;
    /* Frames cost much time: another way of calling back may suit them better. */
    job->recall = job->recall == SPILL_RECALL_EAGER ? SPILL_RECALL_HIDDEN : SPILL_RECALL_EAGER;
    status = draft_for(job, budget, start);
    return status == SPILL_OK ? try_cuts(job, start, good, 0, found, best) : status;
}

static enum spill_status solve(struct job *job, struct spill_plan **plan,
                               struct spill_solve_obstacle *obstacle)
{
    const struct spill_prep *prep = job->prep;
    uint32_t frames = prep->least[prep->widest_op];
    struct spill_draft best;
    bool found = false;
    enum spill_status status = SPILL_OK;

    if (prep->budget_pages >= frames)
        status = search(job, &found, &best);
    if (status == SPILL_ERR_INFEASIBLE) /* the greedy choice filled the host: try the last resort */
        status = SPILL_OK;
    if (status == SPILL_OK && !found && job->method == NULL) {
        status = smallest_frames(job, &frames);
        if (status == SPILL_OK && frames <= prep->budget_pages)
            status = consider(job, &found, &best);
    }
    if (status != SPILL_OK)
        return status;
    if (!found) {
        if (obstacle != NULL)
            *obstacle =
                (struct spill_solve_obstacle){prep->widest_op, frames * prep->problem->page_bytes};
        return SPILL_ERR_INFEASIBLE;
    }
    if (job->relax.bound_ns > (double)best.plan.bound_ns)
        best.plan.bound_ns = (uint64_t)job->relax.bound_ns;
    *plan = keep_plan(&best.plan, prep);
    return *plan == NULL ? SPILL_ERR_NOMEM : SPILL_OK;
}

static enum spill_status job_open(struct job *job, struct spill_prep *prep,
                                  struct spill_arena *arena, const struct spill_problem *problem)
{
    enum spill_status status = spill_prep_build(prep, problem, arena);

    memset(job, 0, sizeof(*job));
    job->prep = prep;
    job->arena = arena;
    if (status != SPILL_OK)
        return status;
    job->weight = spill_arena_alloc(arena, problem->op_count, sizeof(uint64_t));
    if (job->weight == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < problem->op_count; k++)
        job->weight[k] = problem->ops[k].duration_ns;
    return SPILL_OK;
}

enum spill_status spill_solve(const struct spill_problem *problem,
                              const struct spill_solve_options *options, struct spill_plan **plan,
                              struct spill_solve_obstacle *obstacle)
{
    struct spill_arena arena = {0};
    struct spill_prep prep;
    struct job job;
    enum spill_status status = job_open(&job, &prep, &arena, problem);

    if (options != NULL && options->method != NULL && strcmp(options->method, "ours") != 0) {
        job.method = spill_method_find(options->method);
        if (job.method == NULL)
            status = SPILL_ERR_NOT_FOUND;
        else
            job.recall = job.method->recall;
    }
    if (status == SPILL_OK)
        status = solve(&job, plan, obstacle);
    spill_arena_free(&arena);
    return status;
}

void spill_solve_smallest_budget(const struct spill_problem *problem,
                                 struct spill_solve_obstacle *obstacle)
{
    struct spill_arena arena = {0};
    struct spill_prep prep;
    struct job job;
    uint32_t frames = 0;

    *obstacle = (struct spill_solve_obstacle){0, UINT64_MAX};
    if (job_open(&job, &prep, &arena, problem) == SPILL_OK &&
        smallest_frames(&job, &frames) == SPILL_OK)
        *obstacle = (struct spill_solve_obstacle){prep.widest_op, frames * problem->page_bytes};
    spill_arena_free(&arena);
}
