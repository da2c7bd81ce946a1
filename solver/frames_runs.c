/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/frames_runs.h"

#include <string.h>

#include "solver/ascending.h"

struct builder {
    const struct spill_prep *prep;
    const struct spill_plan *plan;
    const struct spill_timeline *when;
    int64_t step_ns;
    bool late;
    struct spill_arena *arena;
    struct spill_runs *out;
};

uint64_t spill_runs_parts(const struct spill_runs *runs, uint32_t first, uint32_t end)
{
    return UINT64_MAX << (first >> runs->shift) & UINT64_MAX >> (63 - ((end - 1) >> runs->shift));
}

static void add_arc(struct builder *p, struct spill_run *run, struct spill_arc stay,
                    uint32_t length)
{
    uint32_t n = p->prep->problem->op_count;
    struct spill_arc *arcs = p->out->arcs + p->out->arc_count;

    run->length += length;
    if (length >= n)
        stay.first = 0;
    stay.end = length >= n ? n : stay.first + length;
    arcs[0] = stay;
    if (stay.end > n) {
        arcs[1] = stay;
        arcs[0].end = n;
        arcs[0].free = arcs[1].need = SPILL_ARC_CUT;
        arcs[1].first = 0;
        arcs[1].end = stay.end - n;
    }
    run->arc_count += 1 + (stay.end > n);
    p->out->arc_count += 1 + (stay.end > n);
}

static int64_t op_time(const struct builder *p, uint32_t op)
{
    return p->when != NULL ? (int64_t)p->when->op_start[op] : 0;
}

static int64_t op_end_time(const struct builder *p, uint32_t op)
{
    return op_time(p, op) + (int64_t)p->prep->problem->ops[op].duration_ns;
}

static int64_t out_time(const struct builder *p, uint32_t m)
{
    return p->when != NULL ? (int64_t)p->when->out_end[m] : 0;
}

/* The op with which the stay begins that move M ends. */
static uint32_t back_op(const struct builder *p, uint32_t m)
{
    const struct spill_move *move = &p->plan->moves[m];

    return p->late ? move->use_op : spill_cyclic_add(move->in_op, 1, p->prep->problem->op_count);
}

/* Seen from the iteration of that op. */
static int64_t in_time(const struct builder *p, uint32_t m)
{
    if (p->when == NULL)
        return 0;
    return (int64_t)p->when->in_start[m] -
           (p->plan->moves[m].in_op >= back_op(p, m) ? p->step_ns : 0);
}

static int compare_arcs(const void *left, const void *right)
{
    const struct spill_arc *a = left, *b = right;

    return a->first < b->first ? -1 : a->first > b->first;
}

/* One run whose moves, in the buffer's own order, are MOVES[0..COUNT). */
static void add_run(struct builder *p, uint32_t b, uint32_t page, uint32_t pages,
                    const uint32_t *moves, uint32_t count)
{
    const struct spill_buffer *buffer = &p->prep->problem->buffers[b];
    const struct spill_move *all = p->plan->moves;
    uint32_t n = p->prep->problem->op_count;
    struct spill_run *run = &p->out->list[p->out->count];

    *run = (struct spill_run){.page = page, .count = pages};
    p->out->count++;
    run->arc_first = p->out->arc_count;
    if (buffer->life == SPILL_LIFE_PERSISTENT || buffer->pinned != 0) {
        if (count == 0)
            add_arc(p, run, (struct spill_arc){0}, n);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t next = moves[i + 1 == count ? 0 : i + 1];
            uint32_t first = back_op(p, moves[i]);

            add_arc(p, run,
                    (struct spill_arc){.first = first,
                                       .need = in_time(p, moves[i]),
                                       .free = out_time(p, next),
                                       .in = true,
                                       .out = true},
                    spill_cyclic(first, all[next].out_op, n) + 1);
        }
    } else {
        for (uint32_t i = 0; i <= count; i++) {
            uint32_t first = i == 0 ? buffer->birth_op : back_op(p, moves[i - 1]);
            uint32_t last = i == count ? buffer->death_op : all[moves[i]].out_op;

            add_arc(p, run,
                    (struct spill_arc){
                        .first = first,
                        .need = i == 0 ? op_time(p, first) : in_time(p, moves[i - 1]),
                        .free = i == count ? op_end_time(p, last) : out_time(p, moves[i]),
                        .in = i > 0,
                        .out = i < count},
                    spill_cyclic(first, last, n) + 1);
        }
    }
    qsort(p->out->arcs + run->arc_first, run->arc_count, sizeof(struct spill_arc), compare_arcs);
    for (uint32_t a = run->arc_first; a < p->out->arc_count; a++)
        run->parts |= spill_runs_parts(p->out, p->out->arcs[a].first, p->out->arcs[a].end);
}

/* Cuts one buffer into runs at the borders of its moves MINE[0..COUNT), given in its own order. */
static void cut_buffer(struct builder *p, uint32_t b, const uint32_t *mine, uint32_t count,
                       uint32_t *cuts, uint32_t *present)
{
    const struct spill_move *all = p->plan->moves;
    uint32_t cut_count = 0;

    cuts[cut_count++] = 0;
    cuts[cut_count++] = p->prep->pages[b];
    for (uint32_t i = 0; i < count; i++) {
        cuts[cut_count++] = all[mine[i]].page_first;
        cuts[cut_count++] = all[mine[i]].page_first + all[mine[i]].page_count;
    }
    spill_ascending_sort(cuts, cut_count);
    for (uint32_t c = 0; c + 1 < cut_count; c++) {
        uint32_t found = 0;

        if (cuts[c] == cuts[c + 1])
            continue;
        for (uint32_t i = 0; i < count; i++)
            if (cuts[c] - all[mine[i]].page_first < all[mine[i]].page_count)
                present[found++] = mine[i];
        add_run(p, b, p->prep->page_base[b] + cuts[c], cuts[c + 1] - cuts[c], present, found);
    }
}

static bool build(struct builder *p)
{
    const struct spill_problem *problem = p->prep->problem;
    uint32_t buffers = problem->buffer_count, moves = p->plan->move_count;
    uint32_t *first_of = spill_arena_alloc(p->arena, (size_t)buffers + 2, sizeof(uint32_t));
    uint32_t *cursor = spill_arena_alloc(p->arena, (size_t)buffers + 1, sizeof(uint32_t));
    uint32_t *list = spill_arena_alloc(p->arena, moves, sizeof(uint32_t));
    uint32_t *cuts = spill_arena_alloc(p->arena, 2 * (size_t)moves + 2, sizeof(uint32_t));
    uint32_t *present = spill_arena_alloc(p->arena, moves, sizeof(uint32_t));
    bool *parked = spill_arena_alloc(p->arena, buffers, sizeof(bool));
    size_t runs = buffers + 2 * (size_t)moves, arcs = 0;

    if (p->arena->failed)
        return false;
    for (uint32_t m = 0; m < moves; m++)
        first_of[p->plan->moves[m].buffer + 1]++;
    for (uint32_t b = 0; b < buffers; b++) {
        uint32_t mine = first_of[b + 1];

        arcs += 2 * (2 * (size_t)mine + 1) * ((size_t)mine + 1);
        first_of[b + 1] += first_of[b];
        cursor[b] = first_of[b];
    }
    for (int round = 0; round < 2; round++)
        for (uint32_t m = 0; m < moves; m++) {
            const struct spill_move *move = &p->plan->moves[m];
            const struct spill_buffer *buffer = &problem->buffers[move->buffer];
            bool after = buffer->life == SPILL_LIFE_PERSISTENT || move->out_op >= buffer->birth_op;

            if (after == (round == 0))
                list[cursor[move->buffer]++] = m;
        }
    p->out->list = spill_arena_alloc(p->arena, runs, sizeof(*p->out->list));
    p->out->arcs = spill_arena_alloc(p->arena, arcs, sizeof(*p->out->arcs));
    if (p->arena->failed)
        return false;
    for (uint32_t i = 0; i < p->plan->park_count; i++)
        parked[p->plan->parks[i].buffer] = true;
    for (uint32_t b = 0; b < buffers; b++) {
        if (p->prep->pages[b] > 0 && !parked[b])
            cut_buffer(p, b, list + first_of[b], first_of[b + 1] - first_of[b], cuts, present);
    }
    /* Parks take pages from the front of a buffer, the rest of it stays. */
    for (uint32_t i = 0; i < p->plan->park_count; i++) {
        const struct spill_park *park = &p->plan->parks[i];
        uint32_t rest = p->prep->pages[park->buffer] - park->page_count;

        if (rest > 0)
            add_run(p, park->buffer, p->prep->page_base[park->buffer] + park->page_count, rest,
                    NULL, 0);
    }
    return true;
}

bool spill_runs_build(struct spill_runs *runs, const struct spill_prep *prep,
                      const struct spill_plan *plan, bool late, const struct spill_timeline *when,
                      uint64_t step_ns, struct spill_arena *arena)
{
    struct builder p = {prep, plan, when, (int64_t)step_ns, late, arena, runs};

    memset(runs, 0, sizeof(*runs));
    while ((prep->problem->op_count - 1) >> runs->shift >= 64)
        runs->shift++;
    return build(&p) && !arena->failed;
}
