/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/exact.h"

#include <string.h>

#include "solver/simulate.h"
#include "solver/stays.h"

struct exact {
    struct spill_job *job;
    const struct spill_prep *prep;
    struct spill_piece pieces[SPILL_EXACT_MOVES]; /* decided so far */
    uint32_t piece_count;
    int64_t pages_at[SPILL_EXACT_OPS]; /* if all that is undecided leaves */
    uint32_t host_at[SPILL_EXACT_OPS];
    uint64_t out_ns, in_ns; /* the links are busy for that long */
    uint32_t idle, host;    /* pages that can be parked; that the host has room for */
    bool in_runs;           /* several pages in one copy may be better than one by one */
    bool linear;
    /* the plan being completed */
    uint32_t parked, taken_out, taken_in; /* pieces already queued, a bit each */
    struct spill_move moves[SPILL_EXACT_MOVES];
    uint32_t in_order[SPILL_EXACT_MOVES], piece_of[SPILL_EXACT_MOVES];
    uint32_t frames[SPILL_EXACT_PAGES];
    uint64_t stays[SPILL_EXACT_PAGES], hosted[SPILL_EXACT_PAGES]; /* ops, a bit each */
    struct spill_park parks[SPILL_EXACT_PAGES];
    struct spill_plan plan;
    uint64_t unframed_ns; /* the step if no page waited for a frame */
    uint32_t work;
};

static uint64_t best_ns(const struct exact *x)
{
    return x->job->found ? x->job->best.plan.step_ns : UINT64_MAX;
}

/* Times the plan at hand, with or without what its frames demand. */
static enum spill_status time_plan(struct exact *x, bool framed, uint64_t *step_ns)
{
    struct spill_arena scratch = {0};
    struct spill_outcome outcome = {0};
    struct spill_timeline when;
    struct spill_waits waits;
    struct spill_stays stays;
    enum spill_status status = SPILL_ERR_NOMEM;

    if (x->work++ == SPILL_EXACT_WORK)
        return SPILL_ERR_UNSUPPORTED;
    if (spill_timeline_open(&when, x->prep->problem->op_count, x->piece_count, &scratch)) {
        if (framed && spill_stays_build(&stays, x->prep, &x->plan, &scratch))
            status = spill_simulate(x->prep, &x->plan, &stays, &when, &outcome, &scratch);
        else if (!framed && spill_waits_of_data(&waits, x->prep, &x->plan, &scratch))
            status = spill_simulate_waits(x->prep, &x->plan, &waits, &when, &outcome, &scratch);
    }
    spill_arena_free(&scratch);
    *step_ns = outcome.step_ns;
    return status;
}

static void *keep(struct spill_arena *arena, const void *from, size_t count, size_t size)
{
    void *to = spill_arena_alloc(arena, count, size);

    if (to != NULL && count > 0)
        memcpy(to, from, count * size);
    return to;
}

/* Hands the plan at hand, which is better than the best, to the job. */
static enum spill_status keep_plan(struct exact *x)
{
    struct spill_draft *draft = &x->job->draft;
    struct spill_arena *arena = x->job->arena;

    *draft = (struct spill_draft){.piece_count = x->piece_count,
                                  .parked = x->parked,
                                  .budget = x->prep->budget_pages,
                                  .plan = x->plan};
    draft->pieces = keep(arena, x->pieces, x->piece_count, sizeof(*x->pieces));
    draft->piece_of = keep(arena, x->piece_of, x->piece_count, sizeof(uint32_t));
    draft->plan.moves = keep(arena, x->moves, x->piece_count, sizeof(*x->moves));
    draft->plan.in_order = keep(arena, x->in_order, x->piece_count, sizeof(uint32_t));
    draft->plan.frame_of = keep(arena, x->frames, x->prep->page_total, sizeof(uint32_t));
    draft->plan.parks = keep(arena, x->parks, x->plan.park_count, sizeof(*x->parks));
    return arena->failed ? SPILL_ERR_NOMEM : spill_job_consider(x->job);
}

/* Tries every frame for page PAGE and those after it; of frames not yet used only the first. */
static enum spill_status try_frames(struct exact *x, uint32_t page)
{
    uint32_t used = x->plan.frame_count, frame = 0;
    enum spill_status status = SPILL_OK;

    if (page == x->prep->page_total) {
        uint64_t step_ns;

        status = time_plan(x, true, &step_ns);
        return status == SPILL_OK && step_ns < best_ns(x) ? keep_plan(x) : status;
    }
    if (x->stays[page] == 0) { /* parked */
        x->frames[page] = SPILL_NO_FRAME;
        return try_frames(x, page + 1);
    }
    for (; frame <= used && frame < x->prep->budget_pages && status == SPILL_OK; frame++) {
        if (frame == used)
            x->hosted[used] = 0;
        if ((x->hosted[frame] & x->stays[page]) != 0)
            continue;
        x->hosted[frame] |= x->stays[page];
        x->frames[page] = frame;
        x->plan.frame_count = frame == used ? used + 1 : used;
        status = try_frames(x, page + 1);
        x->plan.frame_count = used;
        x->hosted[frame] &= ~x->stays[page];
        if (x->linear && best_ns(x) <= x->unframed_ns)
            break; /* no frames could do better */
    }
    return status;
}

/* The ops from FIRST on, COUNT of them, as bits. */
static uint64_t ops_from(const struct exact *x, uint32_t first, uint32_t count)
{
    uint64_t ops = 0;

    for (uint32_t i = 0; i < count; i++)
        ops |= UINT64_C(1) << spill_cyclic_add(first, i, x->prep->problem->op_count);
    return ops;
}

/* At which ops each page needs its frame, whatever is moved how. */
static void list_stays(struct exact *x)
{
    const struct spill_problem *p = x->prep->problem;
    uint32_t n = p->op_count;

    for (uint32_t b = 0; b < p->buffer_count; b++) {
        const struct spill_buffer *buffer = &p->buffers[b];
        bool always = buffer->life == SPILL_LIFE_PERSISTENT || buffer->pinned != 0;

        for (uint32_t page = x->prep->page_base[b]; page < x->prep->page_base[b + 1]; page++)
            x->stays[page] =
                ops_from(x, always ? 0 : buffer->birth_op,
                         always ? n : spill_cyclic(buffer->birth_op, buffer->death_op, n) + 1);
    }
    for (uint32_t i = 0; i < x->piece_count; i++) {
        const struct spill_piece *piece = &x->pieces[i];
        const struct spill_gap *gap = &x->prep->gaps[piece->gap];

        for (uint32_t page = 0; page < piece->page_count; page++)
            x->stays[x->prep->page_base[gap->buffer] + piece->page_first + page] &= ~ops_from(
                x, spill_cyclic_add(gap->out_op, 1, n), spill_cyclic(gap->out_op, piece->in_op, n));
    }
    for (uint32_t i = 0; i < x->plan.park_count; i++)
        for (uint32_t page = 0; page < x->parks[i].page_count; page++)
            x->stays[x->prep->page_base[x->parks[i].buffer] + page] = 0;
}

/* The copies in, from the one in PLACE on: any whose in_op is the first of those left. */
static enum spill_status try_in_orders(struct exact *x, uint32_t place)
{
    enum spill_status status = SPILL_OK;
    uint32_t first = UINT32_MAX;

    if (place == x->piece_count) {
        status = time_plan(x, false, &x->unframed_ns);
        if (status != SPILL_OK || (x->linear && x->unframed_ns >= best_ns(x)))
            return status;
        x->plan.frame_count = 0;
        return try_frames(x, 0);
    }
    for (uint32_t m = 0; m < x->piece_count; m++)
        if ((x->taken_in >> m & 1) == 0 && x->moves[m].in_op < first)
            first = x->moves[m].in_op;
    for (uint32_t m = 0; m < x->piece_count && status == SPILL_OK; m++) {
        if ((x->taken_in >> m & 1) != 0 || x->moves[m].in_op != first)
            continue;
        x->taken_in |= 1u << m;
        x->in_order[place] = m;
        status = try_in_orders(x, place + 1);
        x->taken_in &= ~(1u << m);
    }
    return status;
}

/* Are pages [PAGE, PAGE + PAGES) of the buffer like the pages before them, in all that matters? */
static bool alike(const struct exact *x, const struct spill_gap *gap, uint32_t page, uint32_t pages)
{
    const struct spill_prep *prep = x->prep;
    bool one_gap = prep->gap_first[gap->buffer + 1] - prep->gap_first[gap->buffer] == 1;

    return one_gap && (page + pages < prep->pages[gap->buffer] ||
                       prep->problem->buffers[gap->buffer].bytes % prep->problem->page_bytes == 0);
}

/* Is there a piece before piece I, not yet queued, that is like it but for its pages? */
static bool has_twin(const struct exact *x, uint32_t i)
{
    const struct spill_piece *a = &x->pieces[i];
    const struct spill_gap *gap = &x->prep->gaps[a->gap];

    for (uint32_t j = 0; j < i; j++) {
        const struct spill_piece *b = &x->pieces[j];

        if ((x->taken_out >> j & 1) == 0 && b->gap == a->gap && b->in_op == a->in_op &&
            b->page_count == a->page_count && alike(x, gap, a->page_first, a->page_count))
            return true;
    }
    return false;
}

/* The copies out, from the one in PLACE on. */
static enum spill_status try_out_orders(struct exact *x, uint32_t place)
{
    enum spill_status status = SPILL_OK;
    uint32_t first = UINT32_MAX;

    if (place == x->piece_count)
        return try_in_orders(x, 0);
    for (uint32_t i = 0; i < x->piece_count; i++)
        if ((x->taken_out >> i & 1) == 0 && x->prep->gaps[x->pieces[i].gap].out_op < first)
            first = x->prep->gaps[x->pieces[i].gap].out_op;
    for (uint32_t i = 0; i < x->piece_count && status == SPILL_OK; i++) {
        const struct spill_piece *piece = &x->pieces[i];
        const struct spill_gap *gap = &x->prep->gaps[piece->gap];

        if ((x->taken_out >> i & 1) != 0 || gap->out_op != first || has_twin(x, i))
            continue;
        x->taken_out |= 1u << i;
        x->piece_of[place] = i;
        x->moves[place] = (struct spill_move){.buffer = gap->buffer,
                                              .page_first = piece->page_first,
                                              .page_count = piece->page_count,
                                              .out_op = gap->out_op,
                                              .in_op = piece->in_op,
                                              .use_op = gap->use_op};
        status = try_out_orders(x, place + 1);
        x->taken_out &= ~(1u << i);
    }
    return status;
}

/* What moves and when it is called back is decided: parks as many idle pages as the host has room
 * for, which can only help, and tries every order. */
static enum spill_status try_orders(struct exact *x)
{
    uint32_t n = x->prep->problem->op_count, most_host = 0, left;

    for (uint32_t k = 0; k < n; k++)
        most_host = x->host_at[k] > most_host ? x->host_at[k] : most_host;
    x->parked = x->host - most_host < x->idle ? x->host - most_host : x->idle;
    for (uint32_t k = 0; k < n; k++)
        if (x->pages_at[k] + x->idle - x->parked > x->prep->budget_pages)
            return SPILL_OK;
    x->plan.park_count = 0;
    left = x->parked;
    for (uint32_t b = 0; b < x->prep->problem->buffer_count && left > 0; b++) {
        uint32_t pages = x->prep->pages[b] < left ? x->prep->pages[b] : left;

        if (!x->prep->parkable[b] || pages == 0)
            continue;
        x->parks[x->plan.park_count++] = (struct spill_park){b, 0, pages};
        left -= pages;
    }
    x->plan.move_count = x->piece_count;
    list_stays(x);
    return try_out_orders(x, 0);
}

static void add_pages(struct exact *x, uint32_t first, uint32_t count, int64_t pages)
{
    for (uint32_t i = 0; i < count; i++)
        x->pages_at[spill_cyclic_add(first, i, x->prep->problem->op_count)] += pages;
}

/* Can this still be better than the best? */
static bool hopeful(const struct exact *x)
{
    bool fits = true;

    for (uint32_t k = 0; k < x->prep->problem->op_count; k++)
        fits = fits && x->pages_at[k] <= x->prep->budget_pages && x->host_at[k] <= x->host;
    return fits && x->out_ns < best_ns(x) && x->in_ns < best_ns(x) &&
           x->prep->compute_ns < best_ns(x);
}

/* Pages of one gap are decided in runs, each with a rank: equal pages may as well be decided in the
 * order of rank. */
static uint32_t rank_of(uint32_t away, uint32_t pages)
{
    return away * (SPILL_EXACT_PAGES + 1) + pages;
}

static enum spill_status try_gap(struct exact *x, uint32_t g, uint32_t page, uint32_t least);

/* PAGES from PAGE on leave in gap G, called back after each op of the gap in turn, at a rank of
 * LEAST or more. */
static enum spill_status try_run(struct exact *x, uint32_t g, uint32_t page, uint32_t pages,
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
static enum spill_status try_gap(struct exact *x, uint32_t g, uint32_t page, uint32_t least)
{
    const struct spill_gap *gap = &x->prep->gaps[g];
    uint32_t n = x->prep->problem->op_count, most;
    enum spill_status status = SPILL_OK;

    if (g == x->prep->gap_count)
        return try_orders(x);
    if (page == x->prep->pages[gap->buffer])
        return try_gap(x, g + 1, 0, 0);
    add_pages(x, spill_cyclic_add(gap->out_op, 1, n), gap->length, 1);
    if (hopeful(x) && (least <= rank_of(0, 1) || !alike(x, gap, page, 1)))
        status = try_gap(x, g, page + 1, rank_of(0, 1));
    add_pages(x, spill_cyclic_add(gap->out_op, 1, n), gap->length, -1);
    most = x->in_runs ? x->prep->pages[gap->buffer] - page : 1;
    for (uint32_t pages = 1; pages <= most && status == SPILL_OK; pages++)
        status = try_run(x, g, page, pages, alike(x, gap, page, pages) ? least : 0);
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

enum spill_status spill_exact_search(struct spill_job *job)
{
    const struct spill_prep *prep = job->prep;
    uint64_t host = prep->problem->host_budget / prep->problem->page_bytes;
    struct exact *x = spill_arena_alloc(job->arena, 1, sizeof(*x));
    enum spill_status status;

    if (!small_enough(prep))
        return SPILL_ERR_UNSUPPORTED;
    if (x == NULL)
        return SPILL_ERR_NOMEM;
    x->job = job;
    x->prep = prep;
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
    status = hopeful(x) ? try_gap(x, 0, 0, 0) : SPILL_OK;
    if (job->found)
        job->relax.bound_ns = (double)job->best.plan.step_ns;
    return status;
}
