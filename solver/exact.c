/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/exact.h"

#include "solver/exact_orders.h"

static void add_pages(struct spill_exact *x, uint32_t first, uint32_t count, int64_t pages)
{
    for (uint32_t i = 0; i < count; i++)
        x->pages_at[spill_cyclic_add(first, i, x->prep->problem->op_count)] += pages;
}

/* Can this still be better than the best? */
static bool hopeful(const struct spill_exact *x)
{
    bool fits = true;

    for (uint32_t k = 0; k < x->prep->problem->op_count; k++)
        fits = fits && x->pages_at[k] <= x->prep->budget_pages && x->host_at[k] <= x->host;
    return fits && x->out_ns < spill_exact_best_ns(x) && x->in_ns < spill_exact_best_ns(x) &&
           x->prep->compute_ns < spill_exact_best_ns(x);
}

/* Pages of one gap are decided in runs, each with a rank: equal pages may as well be decided in the
 * order of rank. */
static uint32_t rank_of(uint32_t away, uint32_t pages)
{
    return away * (SPILL_EXACT_PAGES + 1) + pages;
}

static enum spill_status try_gap(struct spill_exact *x, uint32_t g, uint32_t page, uint32_t least);

/* PAGES from PAGE on leave in gap G, called back after each op of the gap in turn, at a rank of
 * LEAST or more. */
static enum spill_status try_run(struct spill_exact *x, uint32_t g, uint32_t page, uint32_t pages,
                                 uint32_t least)
{
    const struct spill_problem *p = x->prep->problem;
    const struct spill_gap *gap = &x->prep->gaps[g];
    uint64_t bytes = spill_prep_bytes(x->prep, gap->buffer, page, pages);
    uint64_t out_ns = spill_link_ns(&p->out, bytes), in_ns = spill_link_ns(&p->in, bytes);
    uint32_t n = p->op_count;
    enum spill_status status = SPILL_OK;

    x->out_ns += out_ns;
    x->in_ns += in_ns;
    for (uint32_t i = 0; i <= gap->length; i++)
        x->host_at[spill_cyclic_add(gap->out_op, i, n)] += pages;
    for (uint32_t away = 1; away <= gap->length && status == SPILL_OK; away++) {
        uint32_t in_op = spill_cyclic_add(gap->out_op, away, n);

        if (rank_of(away, pages) < least)
            continue;
        add_pages(x, spill_cyclic_add(in_op, 1, n), gap->length - away, pages);
        x->pieces[x->piece_count++] = (struct spill_piece){g, page, pages, in_op};
        if (hopeful(x))
            status = try_gap(x, g, page + pages, rank_of(away, pages));
        x->piece_count--;
        add_pages(x, spill_cyclic_add(in_op, 1, n), gap->length - away, -(int64_t)pages);
    }
    for (uint32_t i = 0; i <= gap->length; i++)
        x->host_at[spill_cyclic_add(gap->out_op, i, n)] -= pages;
    x->out_ns -= out_ns;
    x->in_ns -= in_ns;
    return status;
}

/* Decides gap G from page PAGE on, and the gaps after it. LEAST: the rank of what was decided in
 * this gap last. */
static enum spill_status try_gap(struct spill_exact *x, uint32_t g, uint32_t page, uint32_t least)
{
    const struct spill_gap *gap = &x->prep->gaps[g];
    uint32_t n = x->prep->problem->op_count, most;
    enum spill_status status = SPILL_OK;

    if (g == x->prep->gap_count)
        return spill_exact_orders(x);
    if (page == x->prep->pages[gap->buffer])
        return try_gap(x, g + 1, 0, 0);
    add_pages(x, spill_cyclic_add(gap->out_op, 1, n), gap->length, 1);
    if (hopeful(x) && (least <= rank_of(0, 1) || !spill_exact_alike(x, gap, page, 1)))
        status = try_gap(x, g, page + 1, rank_of(0, 1));
    add_pages(x, spill_cyclic_add(gap->out_op, 1, n), gap->length, -1);
    most = x->in_runs ? x->prep->pages[gap->buffer] - page : 1;
    for (uint32_t pages = 1; pages <= most && status == SPILL_OK; pages++)
        status = try_run(x, g, page, pages, spill_exact_alike(x, gap, page, pages) ? least : 0);
    return status;
}

/* Does one copy of several pages take less than one copy a page, in any buffer? */
static bool runs_pay(const struct spill_prep *prep)
{
    const struct spill_problem *p = prep->problem;

    if (p->duplex_permille != 1000) /* and if not, a copy less may still be better */
        return true;
    for (uint32_t b = 0; b < p->buffer_count; b++) {
        uint64_t out = 0, in = 0;

        for (uint32_t page = 0; page < prep->pages[b]; page++) {
            out += spill_link_ns(&p->out, spill_prep_bytes(prep, b, page, 1));
            in += spill_link_ns(&p->in, spill_prep_bytes(prep, b, page, 1));
        }
        if (prep->pages[b] > 0 && (spill_link_ns(&p->out, p->buffers[b].bytes) < out ||
                                   spill_link_ns(&p->in, p->buffers[b].bytes) < in))
            return true;
    }
    return false;
}

static bool small_enough(const struct spill_prep *prep)
{
    uint64_t moves = 0;

    for (uint32_t g = 0; g < prep->gap_count; g++)
        moves += prep->pages[prep->gaps[g].buffer];
    return prep->problem->op_count <= SPILL_EXACT_OPS && prep->page_total <= SPILL_EXACT_PAGES &&
           moves <= SPILL_EXACT_MOVES;
}

static enum spill_status search(struct spill_job *job, uint32_t most_work)
{
    const struct spill_prep *prep = job->prep;
    uint64_t host = prep->problem->host_budget / prep->problem->page_bytes;
    struct spill_exact *x = spill_arena_alloc(job->arena, 1, sizeof(*x));
    enum spill_status status = SPILL_OK;

    if (x == NULL)
        return SPILL_ERR_NOMEM;
    x->job = job;
    x->prep = prep;
    x->most_work = most_work;
    x->host = host < UINT32_MAX ? (uint32_t)host : UINT32_MAX;
    x->linear = prep->problem->duplex_permille == 1000;
    x->in_runs = runs_pay(prep);
    for (uint32_t b = 0; b < prep->problem->buffer_count; b++)
        x->idle += prep->parkable[b] ? prep->pages[b] : 0;
    for (uint32_t k = 0; k < prep->problem->op_count; k++)
        x->pages_at[k] = prep->least[k];
    x->plan = (struct spill_plan){.moves = x->moves,
                                  .in_order = x->in_order,
                                  .parks = x->parks,
                                  .page_base = prep->page_base,
                                  .frame_of = x->frames,
                                  .page_total = prep->page_total};
    job->late = false; /* the order of copies is chosen here */
    if (hopeful(x))
        status = try_gap(x, 0, 0, 0);
    if (status == SPILL_OK && job->found)
        job->relax.bound_ns = (double)job->best.plan.step_ns;
    return status;
}

enum spill_status spill_exact_search(struct spill_job *job)
{
    return small_enough(job->prep) ? search(job, SPILL_EXACT_WORK) : SPILL_ERR_UNSUPPORTED;
}

enum spill_status spill_exact_improve(struct spill_job *job)
{
    enum spill_status status = SPILL_ERR_UNSUPPORTED;

    if (small_enough(job->prep))
        status = search(job, SPILL_EXACT_UNASKED);
    return status == SPILL_ERR_UNSUPPORTED ? SPILL_OK : status;
}
