/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/exact_orders.h"

#include <string.h>

#include "solver/stays.h"

uint64_t spill_exact_best_ns(const struct spill_exact *x)
{
    return x->job->found ? x->job->best.plan.step_ns : UINT64_MAX;
}

/* Times the plan at hand, with or without what its frames demand. */
static enum spill_status time_plan(struct spill_exact *x, bool framed, uint64_t *step_ns)
{
    struct spill_arena scratch = {0};
    struct spill_outcome outcome = {0};
    struct spill_timeline when;
    struct spill_waits waits;
    struct spill_stays stays;
    enum spill_status status = SPILL_ERR_NOMEM;

    if (x->work++ == x->most_work)
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
static enum spill_status keep_plan(struct spill_exact *x)
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
static enum spill_status try_frames(struct spill_exact *x, uint32_t page)
{
    uint32_t used = x->plan.frame_count, frame = 0;
    enum spill_status status = SPILL_OK;

    if (page == x->prep->page_total) {
        uint64_t step_ns;

        status = time_plan(x, true, &step_ns);
        return status == SPILL_OK && step_ns < spill_exact_best_ns(x) ? keep_plan(x) : status;
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
        if (x->linear && spill_exact_best_ns(x) <= x->unframed_ns)
            break; /* no frames could do better */
    }
    return status;
}

/* The ops from FIRST on, COUNT of them, as bits. */
static uint64_t ops_from(const struct spill_exact *x, uint32_t first, uint32_t count)
{
    uint64_t ops = 0;

    for (uint32_t i = 0; i < count; i++)
        ops |= UINT64_C(1) << spill_cyclic_add(first, i, x->prep->problem->op_count);
    return ops;
}

/* At which ops each page needs its frame, whatever is moved how. */
static void list_stays(struct spill_exact *x)
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
static enum spill_status try_in_orders(struct spill_exact *x, uint32_t place)
{
    enum spill_status status = SPILL_OK;
    uint32_t first = UINT32_MAX;

    if (place == x->piece_count) {
        status = time_plan(x, false, &x->unframed_ns);
        if (status != SPILL_OK || (x->linear && x->unframed_ns >= spill_exact_best_ns(x)))
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

bool spill_exact_alike(const struct spill_exact *x, const struct spill_gap *gap, uint32_t page,
                       uint32_t pages)
{
    const struct spill_prep *prep = x->prep;
    bool one_gap = prep->gap_first[gap->buffer + 1] - prep->gap_first[gap->buffer] == 1;

    return one_gap && (page + pages < prep->pages[gap->buffer] ||
                       prep->problem->buffers[gap->buffer].bytes % prep->problem->page_bytes == 0);
}

/* Is there a piece before piece I, not yet queued, that is like it but for its pages? */
static bool has_twin(const struct spill_exact *x, uint32_t i)
{
    const struct spill_piece *a = &x->pieces[i];
    const struct spill_gap *gap = &x->prep->gaps[a->gap];

    for (uint32_t j = 0; j < i; j++) {
        const struct spill_piece *b = &x->pieces[j];

        if ((x->taken_out >> j & 1) == 0 && b->gap == a->gap && b->in_op == a->in_op &&
            b->page_count == a->page_count &&
            spill_exact_alike(x, gap, a->page_first, a->page_count))
            return true;
    }
    return false;
}

/* The copies out, from the one in PLACE on. */
static enum spill_status try_out_orders(struct spill_exact *x, uint32_t place)
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

enum spill_status spill_exact_orders(struct spill_exact *x)
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
