/* SPDX-License-Identifier: Apache-2.0 */
/* When to call each piece back. Copies in run in the order of use (earliest deadline first). Each
 * is called as late as still hides it, and then earlier while memory allows, as G10's second pass
 * does: early copies cost nothing and absorb noise in the op times. "Memory allows" counts pages
 * that are still on their way out, so an early copy in does not keep an op waiting for memory. */
#include "solver/draft.h"

#include <stdbool.h>
#include <stdlib.h>

#include "solver/ranges.h"

struct use_key {
    uint32_t piece, use_op, length;
};

static int compare_uses(const void *left, const void *right)
{
    const struct use_key *a = left, *b = right;

    if (a->use_op != b->use_op)
        return a->use_op < b->use_op ? -1 : 1;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return a->piece < b->piece ? -1 : a->piece > b->piece;
}

/* Pages on their way out when each op could have begun, though the plan counts them as gone. An op
 * that waited for them began later; taking the time before that wait leaves room for them next
 * time. */
static void add_leaving(const struct spill_draft *draft, const struct spill_prep *prep,
                        uint32_t *leaving)
{
    const struct spill_op *ops = prep->problem->ops;
    uint32_t n = prep->problem->op_count;
    uint64_t step = draft->outcome.step_ns;

    for (uint32_t m = 0; m < draft->plan.move_count; m++) {
        const struct spill_move *move = &draft->plan.moves[m];
        uint32_t most = prep->gaps[draft->pieces[draft->piece_of[m]].gap].length;
        uint64_t end = draft->when.out_end[m];
        uint32_t count = 0;

        for (uint32_t k = move->out_op; count < most; k++, count++) {
            uint64_t ready = k < n ? draft->when.op_start[k] + ops[k].duration_ns
                                   : draft->when.op_start[k - n] + ops[k - n].duration_ns + step;

            if (ready >= end) /* op k + 1 could begin with the page gone */
                break;
        }
        spill_cyclic_range_add(leaving, n, spill_cyclic_add(move->out_op, 1, n), count,
                               move->page_count);
    }
    for (uint32_t k = 1; k < n; k++)
        leaving[k] += leaving[k - 1];
}

/* The last op that has begun at TIME, as a position that may lie before 0: in the iteration before.
 */
static int64_t position_at(const uint64_t *op_start, int64_t step, uint32_t n, int64_t time)
{
    int64_t back = 0;
    uint32_t low = 0, high = n;

    if (step <= 0)
        return 0;
    while (time < 0) {
        time += step;
        back += n;
        if (back > 2 * (int64_t)n)
            return -back;
    }
    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;

        if ((int64_t)op_start[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return (int64_t)low - back;
}

/* Latest positions at which the copies in must be called so that none is late: backwards from the
 * last use, twice round so that what crosses the border is seen. */
static void find_latest(const struct spill_draft *draft, const struct spill_prep *prep,
                        const struct use_key *keys, const uint64_t *op_start, int64_t step,
                        int64_t *latest)
{
    uint32_t n = prep->problem->op_count;
    int64_t free = INT64_MAX;

    for (int round = 1; round >= 0; round--) {
        for (uint32_t i = draft->piece_count; i-- > 0;) {
            const struct spill_piece *piece = &draft->pieces[keys[i].piece];
            int64_t end = (int64_t)op_start[keys[i].use_op] + round * step;
            uint64_t bytes = spill_prep_bytes(prep, prep->gaps[piece->gap].buffer,
                                              piece->page_first, piece->page_count);

            free = (end < free ? end : free) - (int64_t)spill_link_ns(&prep->problem->in, bytes);
            if (round == 0)
                latest[i] = position_at(op_start, step, n, free);
        }
    }
}

/* The memory that early copies in may use. */
struct room {
    struct spill_ranges held;    /* pages at each op */
    struct spill_ranges leaving; /* with those that are still on their way out */
    int64_t n, budget;
};

static bool room_open(struct room *room, const struct spill_draft *draft,
                      const struct spill_prep *prep, struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count;
    uint32_t *leaving = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint32_t));
    uint32_t *resident = spill_draft_resident(draft, prep, arena);

    if (leaving == NULL || resident == NULL || !spill_ranges_open(&room->held, n, arena) ||
        !spill_ranges_open(&room->leaving, n, arena))
        return false;
    add_leaving(draft, prep, leaving);
    for (uint32_t k = 0; k < n; k++) {
        spill_ranges_add(&room->held, k, 1, resident[k]);
        spill_ranges_add(&room->leaving, k, 1, (int64_t)resident[k] + leaving[k]);
    }
    room->n = n;
    room->budget = draft->budget;
    return true;
}

/* The last position above LOW and up to HIGH where PAGES more would be too many; LOW when there is
 * none. Positions may lie before 0, in the iteration before. */
static int64_t last_full(const struct room *room, struct spill_ranges *held, int64_t low,
                         int64_t high, uint32_t pages)
{
    int64_t limit = room->budget - pages, first = low + 1;
    uint32_t found = UINT32_MAX;

    if (high >= first && high >= 0)
        found = spill_ranges_last_above(held, (uint32_t)(first < 0 ? 0 : first), (uint32_t)high + 1,
                                        limit);
    if (found != UINT32_MAX)
        return found;
    if (high >= first && first < 0)
        found = spill_ranges_last_above(held, (uint32_t)(first + room->n),
                                        (uint32_t)((high < 0 ? high : -1) + room->n) + 1, limit);
    return found != UINT32_MAX ? (int64_t)found - room->n : low;
}

/* Calls PAGES back not at AT but as early as memory allows, FIRST at the earliest; returns when. Up
 * to LATEST there must be room for pages on their way out as well. */
static int64_t extend(struct room *room, int64_t at, int64_t first, int64_t latest, uint32_t pages)
{
    int64_t border = latest < first ? first : latest > at ? at : latest;
    int64_t stop = last_full(room, &room->held, border, at, pages);

    if (stop == border)
        stop = last_full(room, &room->leaving, first, border, pages);
    if (stop < at) { /* called at STOP, the pages also stay from the op after it */
        uint32_t from = (uint32_t)(stop + 1 < 0 ? stop + 1 + room->n : stop + 1);

        spill_ranges_add(&room->held, from, (uint32_t)(at - stop), pages);
        spill_ranges_add(&room->leaving, from, (uint32_t)(at - stop), pages);
    }
    return stop;
}

static enum spill_status schedule(struct spill_draft *draft, const struct spill_prep *prep,
                                  enum spill_recall recall, struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count, count = draft->piece_count;
    struct use_key *keys = spill_arena_alloc(arena, count, sizeof(*keys));
    int64_t *latest = spill_arena_alloc(arena, count, sizeof(int64_t));
    int64_t floor = INT64_MIN, last_use = INT64_MIN;
    struct room room;

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct spill_gap *gap = &prep->gaps[draft->pieces[i].gap];

        draft->pieces[i].in_op = gap->use_op == 0 ? n - 1 : gap->use_op - 1;
        keys[i] = (struct use_key){i, gap->use_op, gap->length};
    }
    if (!room_open(&room, draft, prep, arena))
        return SPILL_ERR_NOMEM;
    if (count > 0)
        qsort(keys, count, sizeof(*keys), compare_uses);
    if (recall == SPILL_RECALL_HIDDEN) /* the systems that do this know only the op times */
        find_latest(draft, prep, keys, prep->start, (int64_t)prep->compute_ns, latest);
    else
        find_latest(draft, prep, keys, draft->when.op_start, (int64_t)draft->outcome.step_ns,
                    latest);
    for (uint32_t i = 0; i < count; i++) {
        struct spill_piece *piece = &draft->pieces[keys[i].piece];
        const struct spill_gap *gap = &prep->gaps[piece->gap];
        int64_t use = gap->use_op, at = use - 1, first = use - gap->length;

        if (first < floor)
            first = floor;
        if (recall == SPILL_RECALL_DEMAND)
            first = at;
        else if (recall == SPILL_RECALL_HIDDEN && first < latest[i])
            first = latest[i];
        else if (recall == SPILL_RECALL_NEXT && first < last_use)
            first = last_use;
        last_use = i + 1 < count && keys[i + 1].use_op == use ? last_use : use;
        if (first < at)
            at = extend(&room, at, first, latest[i], piece->page_count);
        floor = at;
        piece->in_op = (uint32_t)(at < 0 ? at + n : at);
    }
    return SPILL_OK;
}

enum spill_status spill_draft_schedule(struct spill_draft *draft, const struct spill_prep *prep,
                                       enum spill_recall recall)
{
    struct spill_arena scratch = {0};
    enum spill_status status = schedule(draft, prep, recall, &scratch);

    spill_arena_free(&scratch);
    return status;
}
