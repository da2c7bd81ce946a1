/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/advance.h"

#include <stdlib.h>

struct clock {
    const struct spill_prep *prep;
    const uint64_t *op_start;
    int64_t step, n;
};

/* Start of the op at POSITION, which may lie in an earlier iteration (negative). */
static int64_t starts_at(const struct clock *c, int64_t position)
{
    int64_t wraps = position < 0 ? (position - c->n + 1) / c->n : position / c->n;

    return (int64_t)c->op_start[position - wraps * c->n] + wraps * c->step;
}

/* First position from LOW up to HIGH at which TIME has passed. */
static int64_t first_after(const struct clock *c, int64_t time, int64_t low, int64_t high)
{
    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (starts_at(c, middle) >= time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Raises EARLIEST of the move that brings STAY in to where BEFORE, the frame's previous guest, is
 * gone. */
static void heed(const struct clock *c, const struct spill_plan *plan,
                 const struct spill_timeline *when, const struct spill_stay *stay,
                 const struct spill_stay *before, int64_t *earliest)
{
    uint32_t n = (uint32_t)c->n;
    uint32_t last = spill_cyclic_add(before->first_op, before->length - 1, n);
    uint32_t ahead = spill_cyclic(last, stay->first_op, n);
    int64_t in_op = plan->moves[stay->move_in].in_op;
    /* stay->first_op is in_op + 1; positions count from the iteration of in_op */
    int64_t gone = in_op + 1 - (ahead == 0 ? n : ahead), at = gone + 1;

    if (before->move_out != SPILL_NO_MOVE) {
        int64_t wraps = gone < 0 ? (gone - c->n + 1) / c->n : gone / c->n;

        at = first_after(c, (int64_t)when->out_end[before->move_out] + wraps * c->step, at,
                         at > in_op ? at : in_op);
    }
    if (at > *earliest)
        *earliest = at;
}

struct place {
    uint32_t move, in_op;
    uint32_t wrapped, index;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;

    if (a->in_op != b->in_op)
        return a->in_op < b->in_op ? -1 : 1;
    if (a->wrapped != b->wrapped)
        return a->wrapped < b->wrapped ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

enum spill_status spill_advance(const struct spill_prep *prep, struct spill_plan *plan,
                                const struct spill_stays *stays, const struct spill_timeline *when,
                                struct spill_arena *arena)
{
    struct clock c = {prep, when->op_start, (int64_t)plan->step_ns, prep->problem->op_count};
    int64_t *earliest = spill_arena_alloc(arena, plan->move_count, sizeof(int64_t));
    struct place *places = spill_arena_alloc(arena, plan->move_count, sizeof(*places));
    uint32_t n = prep->problem->op_count;
    int64_t floor;

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    if (plan->move_count == 0)
        return SPILL_OK;
    for (uint32_t m = 0; m < plan->move_count; m++) {
        const struct spill_move *move = &plan->moves[m];

        earliest[m] = (int64_t)move->in_op - spill_cyclic(move->out_op, move->in_op, n) + 1;
    }
    for (uint32_t first = 0, end; first < stays->count; first = end) {
        uint32_t frame = plan->frame_of[stays->list[first].page];

        if (frame == SPILL_NO_FRAME)
            break;
        for (end = first; end < stays->count && plan->frame_of[stays->list[end].page] == frame;)
            end++;
        for (uint32_t s = first; s < end; s++) {
            const struct spill_stay *stay = &stays->list[s];

            if (stay->move_in != SPILL_NO_MOVE)
                heed(&c, plan, when, stay, &stays->list[s == first ? end - 1 : s - 1],
                     &earliest[stay->move_in]);
        }
    }
    floor = (int64_t)plan->moves[plan->in_order[plan->move_count - 1]].in_op - n;
    for (uint32_t i = 0; i < plan->move_count; i++) {
        struct spill_move *move = &plan->moves[plan->in_order[i]];
        int64_t at = earliest[plan->in_order[i]];

        if (at < floor)
            at = floor;
        if (at > move->in_op)
            at = move->in_op;
        floor = at;
        move->in_op = (uint32_t)(at < 0 ? at + n : at);
        places[i] = (struct place){plan->in_order[i], move->in_op, at < 0, i};
    }
    qsort(places, plan->move_count, sizeof(*places), compare_places);
    for (uint32_t i = 0; i < plan->move_count; i++)
        plan->in_order[i] = places[i].move;
    return SPILL_OK;
}
