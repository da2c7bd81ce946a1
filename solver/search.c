/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/search.h"

#include "solver/realmath.h"

#define RELAX_INSTANTS 2500
#define RELAX_ROUNDS   60
#define TINY           4096 /* ops times gaps up to which everything below is tried unasked */
#define PASSES         4
#define WAYS_MOST      16
#define POLISH_MOST    256 /* pieces: each is tried three times */

/* One way of making drafts. */
struct way {
    enum spill_start start;
    const struct spill_method *method; /* NULL: our own greedy choice */
    enum spill_recall recall;
    uint64_t step_ns; /* of its draft for the whole budget */
};

struct ways {
    struct way list[WAYS_MOST];
    uint32_t count, best;
};

static enum spill_status draft_way(struct spill_job *job, const struct way *way, uint32_t budget)
{
    job->method = way->method;
    job->recall = way->recall;
    return spill_job_draft(job, budget, way->start);
}

static bool near_bound(const struct spill_job *job, uint64_t step_ns)
{
    double bound = spill_real_max((double)job->prep->compute_ns, job->relax.bound_ns);

    return (double)step_ns <= bound * 1.0003;
}

/* Adds a way with the time of its draft, unless one before it is as good as can be. The first of
 * two equally good ways is kept: they are tried in the order in which frames fit best. */
static enum spill_status try_way(struct spill_job *job, struct ways *ways, struct way way)
{
    struct spill_arena_block *mark = job->arena->blocks;
    enum spill_status status;

    if (ways->count > 0 && near_bound(job, ways->list[ways->best].step_ns))
        return SPILL_OK;
    status = draft_way(job, &way, job->prep->budget_pages);
    way.step_ns = job->draft.outcome.step_ns;
    spill_arena_release(job->arena, mark);
    if (status == SPILL_ERR_INFEASIBLE && way.method != NULL)
        return SPILL_OK; /* a method of others that does not fit */
    if (status != SPILL_OK)
        return status;
    ways->list[ways->count] = way;
    if (ways->count > 0 && way.step_ns + way.step_ns / 5000 < ways->list[ways->best].step_ns)
        ways->best = ways->count;
    ways->count++;
    return SPILL_OK;
}

/* Our greedy choice, called back late (pages stay for less time, so frames fit better) and early;
 * the relaxation's choice, and with it the bound; and what three other methods would move. */
static enum spill_status gather_ways(struct spill_job *job, struct ways *ways)
{
    static const char *const others[] = {"autoswap-aoa", "g10", "fluid"};
    enum spill_status status = SPILL_OK;

    for (int from = SPILL_START_EMPTY; from <= SPILL_START_RELAX && status == SPILL_OK; from++) {
        if (from == SPILL_START_RELAX && !near_bound(job, ways->list[ways->best].step_ns)) {
            job->relax = (struct spill_relax){.budget = job->prep->budget_pages,
                                              .parked = spill_job_parks(job->prep, 0),
                                              .instants = RELAX_INSTANTS,
                                              .rounds = RELAX_ROUNDS,
                                              .step_ns = job->prep->compute_ns};
            status = spill_relax_solve(&job->relax, job->prep, job->arena);
        }
        for (int late = 1; late >= 0 && status == SPILL_OK; late--)
            status = try_way(job, ways,
                             (struct way){(enum spill_start)from, NULL,
                                          late ? SPILL_RECALL_HIDDEN : SPILL_RECALL_EAGER, 0});
    }
    for (int i = 0; i < 6 && status == SPILL_OK; i++)
        status = try_way(job, ways,
                         (struct way){SPILL_START_EMPTY, spill_method_find(others[i / 2]),
                                      i % 2 == 0 ? SPILL_RECALL_HIDDEN : SPILL_RECALL_EAGER, 0});
    return status;
}

/* Frames for the draft at hand, and the plan that they make. */
static enum spill_status try_frames(struct spill_job *job, bool late, bool timed, bool *fits,
                                    uint32_t *unplaced)
{
    enum spill_status status =
        spill_job_frames(job, job->prep->budget_pages, late, timed, fits, unplaced);

    return status == SPILL_OK && *fits ? spill_job_consider(job) : status;
}

/* With copies in as they are called and, unless that is good enough, with copies in that wait for
 * their frames. LAST: there is no smaller draft. */
static enum spill_status try_orders(struct spill_job *job, uint64_t good, bool last, bool *fits,
                                    uint32_t *unplaced)
{
    const struct spill_draft draft = job->draft;
    enum spill_status status = try_frames(job, false, true, fits, unplaced);
    bool called = *fits;

    if (status == SPILL_OK && job->ours && !(job->found && job->best.plan.step_ns <= good)) {
        status = spill_draft_copy(&job->draft, &draft, job->arena);
        if (status == SPILL_OK)
            status = try_frames(job, true, true, fits, unplaced);
        *fits = *fits || called;
    }
    if (status == SPILL_OK && !*fits && last)
        status = try_frames(job, job->ours, false, fits, unplaced);
    return status;
}

/* Looks for the plan in drafts that leave ever more of the budget unused: room for frames to fit
 * in. Begins with the draft at hand. GOOD: a step time that ends the search. */
static enum spill_status try_cuts(struct spill_job *job, const struct way *way, uint64_t good,
                                  uint32_t cut)
{
    uint32_t budget = job->prep->budget_pages;
    uint32_t spare = budget - job->prep->least[job->prep->widest_op], tries_after = 3;

    for (uint32_t try = 0;; try++) {
        uint32_t unplaced = 0;
        bool fits;
        enum spill_status status = try_orders(job, good, cut == spare, &fits, &unplaced);
        if (try == 8 && job->found)
            return status; /* another way is already further */
        if (status != SPILL_OK || cut == spare || (job->found && job->best.plan.step_ns <= good) ||
            (fits && tries_after-- == 0))
            return status;
        if (fits && job->best.plan.step_ns <= good + good / 400)
            tries_after = tries_after < 1 ? tries_after : 1; /* little left to gain */
        cut += 1 + spare / 400 * (1 + try / 2) + (cut > spare / 20 ? cut / 3 : 0) + unplaced / 10;
        cut = cut < spare ? cut : spare;
        status = draft_way(job, way, budget - cut);
        if (status != SPILL_OK)
            return status;
    }
}

/* The best plan that one way leads to. */
static enum spill_status search_way(struct spill_job *job, const struct way *way, uint64_t good)
{
    uint32_t budget = job->prep->budget_pages;
    uint32_t spare = budget - job->prep->least[job->prep->widest_op], cut = spare / 64;
    enum spill_status status = SPILL_OK;

    /* Where memory is not what limits the step, begin with a draft that leaves some. */
    if (cut > 0)
        status = draft_way(job, way, budget - cut);
    if (status == SPILL_ERR_INFEASIBLE || cut == 0 || job->draft.outcome.step_ns > good) {
        cut = 0;
        status = draft_way(job, way, budget);
    }
    return status == SPILL_OK ? try_cuts(job, way, good, cut) : status;
}

/* The best way, and then others that were nearly as good, as long as frames make the best plan
 * clearly slower than their drafts. */
static enum spill_status search_ways(struct spill_job *job)
{
    struct ways ways = {.count = 0};
    enum spill_status status = gather_ways(job, &ways);

    for (int pass = 0; pass < PASSES && ways.count > 0 && status == SPILL_OK; pass++) {
        struct way way = ways.list[ways.best];
        uint32_t left = 0;

        if (job->found && job->best.plan.step_ns <= way.step_ns + way.step_ns / 100)
            break;
        status = search_way(job, &way, way.step_ns + way.step_ns / 2000);
        ways.best = 0;
        for (uint32_t i = 0; i < ways.count; i++) {
            const struct way *other = &ways.list[i];

            if (other->start == way.start && other->method == way.method &&
                (other->recall == way.recall || other->step_ns == way.step_ns))
                continue; /* done, or the same draft */
            ways.list[left] = *other;
            if (other->step_ns < ways.list[ways.best].step_ns)
                ways.best = left;
            left++;
        }
        ways.count = left;
    }
    return status;
}

static bool done(const struct spill_job *job)
{
    return job->found && near_bound(job, job->best.plan.step_ns);
}

/* What other methods would move, scheduled and given frames as ours. */
static enum spill_status try_others(struct spill_job *job)
{
    const struct spill_method *method;

    for (uint32_t i = 0; (method = spill_method_at(i / 2)) != NULL && !done(job); i++) {
        struct spill_arena_block *mark = job->arena->blocks;
        const struct spill_piece *before = job->best.pieces;
        struct way way = {SPILL_START_EMPTY, method,
                          i % 2 == 0 ? SPILL_RECALL_HIDDEN : SPILL_RECALL_EAGER, 0};
        enum spill_status status = search_way(job, &way, job->prep->compute_ns);

        if (job->best.pieces == before)
            spill_arena_release(job->arena, mark);
        if (status != SPILL_OK && status != SPILL_ERR_INFEASIBLE)
            return status;
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
        status = spill_job_frames(job, prep->budget_pages, false, true, &fits, &unplaced);
    return status == SPILL_OK && fits ? spill_job_consider(job) : status;
}

/* Small changes one at a time, kept when they help: a piece comes back an op earlier or later, or
 * does not move at all. */
static enum spill_status polish(struct spill_job *job)
{
    uint32_t n = job->prep->problem->op_count;

    for (uint32_t i = 0; i < 3 * job->best.piece_count && !done(job); i++) {
        struct spill_arena_block *mark = job->arena->blocks;
        const struct spill_piece *before = job->best.pieces;
        enum spill_status status = spill_draft_copy(&job->draft, &job->best, job->arena);
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
    struct way alone = {SPILL_START_EMPTY, job->method, job->recall, 0};
    enum spill_status status;

    if (!job->ours)
        return search_way(job, &alone, job->prep->compute_ns);
    status = search_ways(job);
    if (!job->found || status != SPILL_OK)
        return status;
    if ((effort > 0 || tiny) && !done(job))
        status = try_others(job);
    for (uint32_t round = 0; round < effort + 2 * tiny && status == SPILL_OK; round++) {
        uint64_t before = job->best.plan.step_ns;

        if (done(job) || job->best.piece_count > POLISH_MOST)
            break;
        status = polish(job);
        if (job->best.plan.step_ns == before)
            break;
    }
    return status;
}
