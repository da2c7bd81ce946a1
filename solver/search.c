/* SPDX-License-Identifier: Apache-2.0 */
/* A way is one manner of choosing what moves; its draft counts memory as if any free frame served
 * any page. The first plan comes from our greedy choice and takes milliseconds. If it is not as
 * good as the bound, the drafts of several ways are compared, and the best of them get frames. */
#include "solver/search.h"

#include "solver/polish.h"
#include "solver/realmath.h"

#define RELAX_INSTANTS 2500
#define RELAX_ROUNDS   60
#define TINY           4096 /* ops times gaps up to which everything below is tried unasked */
#define TINY_CUTS      4
#define OTHERS_MOST    20000000 /* and up to which other methods are looked at */
#define WAYS_MOST      128
#define POLISH_MOST    256 /* pieces: each is tried three times */

/* Longest copies, in latencies of the links. Long ones waste less, short ones wait for less. */
#define LONG  400
#define SHORT 100

/* One way of making drafts. */
struct way {
    enum spill_start start;
    const struct spill_method *method; /* NULL: our own greedy choice */
    enum spill_recall recall;
    uint32_t latencies; /* longest copy */
    uint64_t step_ns;   /* of its draft for the whole budget */
};

struct ways {
    struct way list[WAYS_MOST]; /* fastest first */
    uint32_t count;
};

static enum spill_status draft_way(struct spill_job *job, const struct way *way, uint32_t budget)
{
    job->method = way->method;
    job->recall = way->recall;
    job->latencies = way->latencies;
    return spill_job_draft(job, budget, way->start);
}

static bool is_tiny(const struct spill_job *job)
{
    return (uint64_t)job->prep->problem->op_count * job->prep->gap_count <= TINY;
}

/* Frames for the draft at hand, and the plan that they make. */
static enum spill_status try_frames(struct spill_job *job, bool late, bool timed, bool *fits,
                                    uint32_t *unplaced)
{
    enum spill_status status =
        spill_job_frames(job, job->prep->budget_pages, late, timed, fits, unplaced);

    return status == SPILL_OK && *fits ? spill_job_consider(job) : status;
}

/* With copies in as they are called and, unless that is good enough or frames cost the draft next
 * to nothing, with copies in that wait for their frames. LAST: there is no smaller draft. */
static enum spill_status try_orders(struct spill_job *job, uint64_t good, bool last, bool *fits,
                                    uint32_t *unplaced)
{
    const struct spill_draft draft = job->draft;
    enum spill_status status = try_frames(job, false, true, fits, unplaced);
    bool called = *fits;

    if (draft.outcome.step_ns + draft.outcome.step_ns / 2000 > good)
        good = draft.outcome.step_ns + draft.outcome.step_ns / 2000;
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
 * in. Begins with the draft at hand. GOOD: a step time that ends the search; ours ends with the
 * first plan. */
static enum spill_status try_cuts(struct spill_job *job, const struct way *way, uint64_t good,
                                  uint32_t cut)
{
    uint32_t budget = job->prep->budget_pages;
    uint32_t spare = budget - job->prep->least[job->prep->widest_op], tries_after = 3;

    for (uint32_t try = 0;; try++) {
        uint32_t unplaced = 0;
        bool fits;
        enum spill_status status = try_orders(job, good, cut == spare, &fits, &unplaced);

        if (status != SPILL_OK || cut == spare || (job->found && job->best.plan.step_ns <= good) ||
            (fits && (job->ours || tries_after-- == 0)))
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

    /* Where memory is not what limits the step, begin with a draft that leaves some; but what just
     * fits stays where it is. */
    if (job->prep->peak <= budget)
        cut = 0;
    if (cut > 0)
        status = draft_way(job, way, budget - cut);
    if (status == SPILL_ERR_INFEASIBLE || cut == 0 || job->draft.outcome.step_ns > good) {
        cut = 0;
        status = draft_way(job, way, budget);
    }
    return status == SPILL_OK ? try_cuts(job, way, good, cut) : status;
}

/* Adds a way by the time of its draft. The first of two equally good ways comes first. */
static enum spill_status try_way(struct spill_job *job, struct ways *ways, struct way way)
{
    struct spill_arena_block *mark = job->arena->blocks;
    enum spill_status status;
    uint32_t at;

    if (ways->count == WAYS_MOST || !spill_job_goes_on(job))
        return SPILL_OK;
    status = draft_way(job, &way, job->prep->budget_pages);
    way.step_ns = job->draft.outcome.step_ns;
    spill_arena_release(job->arena, mark);
    if (status == SPILL_ERR_INFEASIBLE)
        return SPILL_OK; /* a method of others that does not fit */
    for (at = ways->count; at > 0 && ways->list[at - 1].step_ns > way.step_ns; at--)
        ways->list[at] = ways->list[at - 1];
    ways->list[at] = way;
    ways->count++;
    return status;
}

/* Called back late (pages stay for less time, so frames fit better) and early. */
static enum spill_status try_recalls(struct spill_job *job, struct ways *ways, struct way way)
{
    enum spill_status status = try_way(job, ways, way);

    way.recall = SPILL_RECALL_EAGER;
    return status == SPILL_OK ? try_way(job, ways, way) : status;
}

/* With long copies, and where that costs little or there is time for it with short ones. */
static enum spill_status try_choice(struct spill_job *job, struct ways *ways,
                                    enum spill_start start, const struct spill_method *method)
{
    struct way way = {start, method, SPILL_RECALL_HIDDEN, LONG, 0};
    enum spill_status status = try_recalls(job, ways, way);

    way.latencies = SHORT;
    return status == SPILL_OK && (is_tiny(job) || job->more != NULL) ? try_recalls(job, ways, way)
                                                                     : status;
}

/* Our greedy choice and the relaxation's; where they leave something to gain, the longest gaps in
 * full, unless the problem is too large for that method; and with OTHERS what all other methods
 * would move. */
static enum spill_status gather_ways(struct spill_job *job, struct ways *ways, bool others)
{
    bool small = (uint64_t)job->prep->problem->op_count * job->prep->gap_count <= OTHERS_MOST;
    enum spill_status status = try_choice(job, ways, SPILL_START_EMPTY, NULL);

    if (status == SPILL_OK)
        status = try_choice(job, ways, SPILL_START_RELAX, NULL);
    if (status == SPILL_OK && (is_tiny(job) || job->more != NULL))
        status = try_choice(job, ways, SPILL_START_WHOLE, NULL);
    if (others && (small || job->more != NULL))
        for (uint32_t i = 0; spill_method_at(i) != NULL && status == SPILL_OK; i++)
            status = try_choice(job, ways, SPILL_START_EMPTY, spill_method_at(i));
    else if (status == SPILL_OK && small &&
             (double)job->best.plan.step_ns > 1.005 * job->relax.bound_ns)
        status = try_choice(job, ways, SPILL_START_EMPTY, spill_method_find("tflms"));
    return status;
}

/* One way with CUT pages of the budget unused. */
static enum spill_status try_variant(struct spill_job *job, const struct way *way, uint32_t cut)
{
    struct spill_arena_block *mark = job->arena->blocks;
    const struct spill_piece *before = job->best.pieces;
    uint32_t unplaced;
    bool fits;
    enum spill_status status;

    if (!spill_job_goes_on(job))
        return SPILL_OK;
    status = draft_way(job, way, job->prep->budget_pages - cut);
    /* Frames seldom make it faster. */
    if (status == SPILL_OK && (is_tiny(job) || job->draft.outcome.step_ns < job->best.plan.step_ns))
        status = try_orders(job, job->prep->compute_ns, false, &fits, &unplaced);
    if (job->best.pieces == before)
        spill_arena_release(job->arena, mark);
    return status == SPILL_ERR_INFEASIBLE ? SPILL_OK : status;
}

/* Has WAY more to give than SHARE of its draft's time? On tiny problems pages are coarse, and less
 * of the budget may give a faster draft. */
static bool gives_more(const struct spill_job *job, const struct way *way, uint64_t share)
{
    return is_tiny(job) || job->best.plan.step_ns > way->step_ns + way->step_ns / share;
}

/* The fastest drafts get frames until the plan is as good as the next draft. MOST: how many. */
static enum spill_status search_ways(struct spill_job *job, uint32_t most)
{
    const struct spill_prep *prep = job->prep;
    uint32_t spare = prep->budget_pages - prep->least[prep->widest_op];
    uint32_t cuts = is_tiny(job) ? TINY_CUTS : 1, step = 1 + spare / 400;
    struct ways ways = {.count = 0};
    enum spill_status status = gather_ways(job, &ways, most > 1);

    for (uint32_t i = 0; i < ways.count && i < most && status == SPILL_OK; i++) {
        const struct way *way = &ways.list[i];
        struct way other = *way;

        other.latencies = SHORT;
        if (!gives_more(job, way, 1000))
            break;
        status = try_variant(job, way, 0);
        if (status == SPILL_OK && way->latencies == LONG && gives_more(job, way, 400))
            status = try_variant(job, &other, 0);
        for (uint32_t cut = 1; cut <= cuts && cut * step <= spare && status == SPILL_OK; cut++)
            if (gives_more(job, way, 400))
                status = try_variant(job, way, cut * step);
    }
    return status;
}

/* The bound, with as many instants as the method can handle. */
static enum spill_status relax(struct spill_job *job)
{
    enum spill_status status = SPILL_ERR_NOMEM;

    for (uint32_t instants = RELAX_INSTANTS; status == SPILL_ERR_NOMEM && instants >= 64;
         instants /= 2) {
        if (job->arena->failed)
            return SPILL_ERR_NOMEM;
        job->relax = (struct spill_relax){.budget = job->prep->budget_pages,
                                          .parked = spill_job_parks(job->prep, 0),
                                          .instants = instants,
                                          .rounds = RELAX_ROUNDS,
                                          .step_ns = job->prep->compute_ns};
        status = spill_relax_solve(&job->relax, job->prep, job->arena);
    }
    return job->arena->failed ? SPILL_ERR_NOMEM : SPILL_OK; /* at worst there is no bound */
}

/* The first plan that what another method moves leads to, where our own choice finds no frames. */
static enum spill_status search_others(struct spill_job *job)
{
    const struct spill_method *method;
    enum spill_status status = SPILL_OK;

    for (uint32_t i = 0; (method = spill_method_at(i)) != NULL && !job->found && status == SPILL_OK;
         i++) {
        struct spill_arena_block *mark = job->arena->blocks;
        const struct way way = {.start = SPILL_START_EMPTY,
                                .method = method,
                                .recall = method->recall,
                                .latencies = LONG};

        status = search_way(job, &way, job->prep->compute_ns);
        if (!job->found)
            spill_arena_release(job->arena, mark);
        if (status == SPILL_ERR_INFEASIBLE)
            status = SPILL_OK;
    }
    return status;
}

/* Our greedy choice; the relaxation, and with it the bound; and the fastest ways. */
static enum spill_status search_ours(struct spill_job *job, uint32_t effort)
{
    static const struct way first = {SPILL_START_EMPTY, NULL, SPILL_RECALL_HIDDEN, LONG, 0};
    bool tiny = is_tiny(job);
    enum spill_status status = search_way(job, &first, job->prep->compute_ns);

    if (status == SPILL_OK && !job->found)
        status = search_others(job);
    if (status != SPILL_OK || !job->found || !spill_job_goes_on(job))
        return status;
    status = relax(job);
    if (status == SPILL_OK)
        status = search_ways(job, effort > 0 || tiny ? WAYS_MOST : 1);
    for (uint32_t round = 0; round < effort + 2 * tiny && status == SPILL_OK; round++) {
        uint64_t before = job->best.plan.step_ns;

        if (!spill_job_goes_on(job) || (job->more == NULL && job->best.piece_count > POLISH_MOST))
            break;
        status = spill_polish(job);
        if (job->best.plan.step_ns == before)
            break;
    }
    return status;
}

enum spill_status spill_search(struct spill_job *job, uint32_t effort)
{
    struct way alone = {SPILL_START_EMPTY, job->method, job->recall, LONG, 0};

    return job->ours ? search_ours(job, effort) : search_way(job, &alone, job->prep->compute_ns);
}
