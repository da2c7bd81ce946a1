/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/search.h"

#define RELAX_INSTANTS 300
#define RELAX_ROUNDS   60
#define TINY           4096 /* ops times gaps up to which everything below is tried unasked */
#define POLISH_MOST    256  /* pieces: each is tried three times */

/* Drafts for the whole budget in several ways, until one is as fast as can be; leaves the fastest
 * behind, and in START and job->recall how it was made. Pages called back late stay for less time,
 * so frames fit better: of two equally fast the late one is kept. */
static enum spill_status first_draft(struct spill_job *job, uint32_t budget,
                                     enum spill_start *start)
{
    static const enum spill_recall recalls[] = {SPILL_RECALL_HIDDEN, SPILL_RECALL_EAGER};
    struct spill_draft best;
    enum spill_recall best_recall = job->recall;
    double bound = (double)job->prep->compute_ns;
    bool found = false;
    enum spill_status status;

    if (job->method != NULL)
        return spill_job_draft(job, budget, SPILL_START_EMPTY);
    for (int from = SPILL_START_EMPTY; from <= SPILL_START_RELAX; from++) {
        if (from == SPILL_START_RELAX) {
            job->relax = (struct spill_relax){.budget = job->prep->budget_pages,
                                              .parked = spill_job_parks(job->prep, 0),
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
            status = spill_job_draft(job, budget, (enum spill_start)from);
            if (status != SPILL_OK)
                return status;
            if (!found || job->draft.outcome.step_ns + job->draft.outcome.step_ns / 5000 <
                              best.outcome.step_ns) {
                best = job->draft;
                best_recall = job->recall;
                *start = (enum spill_start)from;
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
static enum spill_status try_cuts(struct spill_job *job, enum spill_start start, uint64_t good,
                                  uint32_t cut)
{
    uint32_t budget = job->prep->budget_pages;
    uint32_t spare = budget - job->prep->least[job->prep->widest_op], tries_after = 3;

    for (uint32_t try = 0;; try++) {
        uint32_t unplaced = 0;
        enum spill_status status;
        bool fits;

        status = spill_job_frames(job, budget, true, &fits, &unplaced);
        if (status == SPILL_OK && !fits && cut == spare)
            status = spill_job_frames(job, budget, false, &fits, &unplaced);
        if (status == SPILL_OK && fits)
            status = spill_job_consider(job);
        if (status != SPILL_OK || cut == spare || (job->found && job->best.plan.step_ns <= good) ||
            (fits && tries_after-- == 0))
            return status;
        if (fits && job->best.plan.step_ns <= good + good / 400)
            tries_after = tries_after < 1 ? tries_after : 1; /* little left to gain */
        cut += 1 + spare / 400 * (1 + try / 3) + (cut > spare / 20 ? cut / 3 : 0) + unplaced / 10;
        cut = cut < spare ? cut : spare;
        status = spill_job_draft(job, budget - cut, start);
        if (status != SPILL_OK)
            return status;
    }
}

static enum spill_status search_own(struct spill_job *job)
{
    uint32_t budget = job->prep->budget_pages, cut;
    uint32_t spare = budget - job->prep->least[job->prep->widest_op];
    enum spill_start start = SPILL_START_EMPTY;
    enum spill_status status = first_draft(job, budget, &start);
    struct spill_draft full = job->draft;
    uint64_t good;

    if (status != SPILL_OK)
        return status;
    good = full.outcome.step_ns + full.outcome.step_ns / 2000;
    /* Where memory is not what limits the step, begin with a draft that leaves some. */
    cut = spare / 64;
    if (cut > 0)
        status = spill_job_draft(job, budget - cut, start);
    if (status != SPILL_OK)
        return status;
    if (job->draft.outcome.step_ns > good) {
        job->draft = full;
        cut = 0;
    }
    status = try_cuts(job, start, good, cut);
    if (status != SPILL_OK || job->method != NULL || !job->found ||
        job->best.plan.step_ns <= good + good / 200)
        return status;
    /* Frames cost much time: another way of calling back may suit them better. */
    job->recall = job->recall == SPILL_RECALL_EAGER ? SPILL_RECALL_HIDDEN : SPILL_RECALL_EAGER;
    status = spill_job_draft(job, budget, start);
    return status == SPILL_OK ? try_cuts(job, start, good, 0) : status;
}

static bool near_bound(const struct spill_job *job)
{
    double bound = (double)job->prep->compute_ns;

    if (job->relax.bound_ns > bound)
        bound = job->relax.bound_ns;
    return job->found && (double)job->best.plan.step_ns <= bound * 1.0005;
}

/* What other methods would move, scheduled and given frames as ours. */
static enum spill_status try_others(struct spill_job *job)
{
    const struct spill_method *method;

    for (uint32_t i = 0; (method = spill_method_at(i)) != NULL && !near_bound(job); i++) {
        enum spill_status status;

        job->method = method;
        for (int late = 0; late < 2; late++) {
            struct spill_arena_block *mark = job->arena->blocks;
            const struct spill_piece *before = job->best.pieces;

            job->recall = late ? SPILL_RECALL_HIDDEN : SPILL_RECALL_EAGER;
            status = search_own(job);
            if (job->best.pieces == before)
                spill_arena_release(job->arena, mark);
            if (status != SPILL_OK && status != SPILL_ERR_INFEASIBLE)
                return status;
        }
    }
    job->method = NULL;
    return SPILL_OK;
}

/* Considers the draft as it is, if it keeps within the budget and finds frames. */
static enum spill_status judge(struct spill_job *job)
{
    const struct spill_prep *prep = job->prep;
    enum spill_status status;
    uint32_t *resident, unplaced;
    bool fits = true;

    job->draft.budget = prep->budget_pages;
    resident = spill_draft_resident(&job->draft, prep, job->arena);
    if (resident == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < prep->problem->op_count; k++)
        fits = fits && resident[k] <= prep->budget_pages;
    if (!fits)
        return SPILL_OK;
    status = spill_draft_evaluate(&job->draft, prep, job->arena);
    if (status == SPILL_OK)
        status = spill_job_frames(job, prep->budget_pages, true, &fits, &unplaced);
    return status == SPILL_OK && fits ? spill_job_consider(job) : status;
}

/* A draft with the pieces of the best one, to be changed. */
static enum spill_status copy_best(struct spill_job *job)
{
    const struct spill_draft *best = &job->best;
    struct spill_piece *pieces =
        spill_arena_alloc(job->arena, (size_t)best->piece_count + 1, sizeof(*pieces));

    if (pieces == NULL)
        return SPILL_ERR_NOMEM;
    job->draft = *best;
    job->draft.pieces = pieces;
    for (uint32_t i = 0; i < best->piece_count; i++)
        pieces[i] = best->pieces[i];
    return SPILL_OK;
}

/* Small changes one at a time, kept when they help: a piece comes back an op earlier or later, or
 * does not move at all. */
static enum spill_status polish(struct spill_job *job)
{
    uint32_t n = job->prep->problem->op_count;

    for (uint32_t i = 0; i < 3 * job->best.piece_count && !near_bound(job); i++) {
        struct spill_arena_block *mark = job->arena->blocks;
        const struct spill_piece *before = job->best.pieces;
        enum spill_status status = copy_best(job);
        struct spill_piece *piece = &job->draft.pieces[i / 3];
        const struct spill_gap *gap;
        uint32_t away;

        if (status != SPILL_OK)
            return status;
        gap = &job->prep->gaps[piece->gap];
        away = spill_cyclic(gap->out_op, piece->in_op, n);
        if (i % 3 == 0 && away > 1)
            piece->in_op = piece->in_op == 0 ? n - 1 : piece->in_op - 1;
        else if (i % 3 == 1 && away < gap->length)
            piece->in_op = spill_cyclic_add(piece->in_op, 1, n);
        else
            *piece = job->draft.pieces[--job->draft.piece_count];
        status = judge(job);
        if (job->best.pieces == before)
            spill_arena_release(job->arena, mark);
        if (status != SPILL_OK)
            return status;
    }
    return SPILL_OK;
}

enum spill_status spill_search(struct spill_job *job, uint32_t effort)
{
    bool tiny = (uint64_t)job->prep->problem->op_count * job->prep->gap_count <= TINY;
    enum spill_status status = search_own(job);

    if (!job->ours || !job->found || status != SPILL_OK)
        return status;
    if ((effort > 0 || tiny) && !near_bound(job))
        status = try_others(job);
    for (uint32_t round = 0; round < effort + 2 * tiny && status == SPILL_OK; round++) {
        uint64_t before = job->best.plan.step_ns;

        if (near_bound(job) || job->best.piece_count > POLISH_MOST)
            break;
        status = polish(job);
        if (job->best.plan.step_ns == before)
            break;
    }
    return status;
}
