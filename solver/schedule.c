/* SPDX-License-Identifier: Apache-2.0 */
/* When to call each piece back. Copies in run in the order of use (earliest deadline first). Each
 * is called as late as still hides it, and then earlier while memory allows, as G10's second pass
 * does: early copies cost nothing and absorb noise in the op times. "Memory allows" counts pages
 * that are still on their way out, so an early copy in does not keep an op waiting for memory. */
#include "solver/draft.h"

#include <stdlib.h>

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

static enum spill_status schedule(struct spill_draft *draft, const struct spill_prep *prep,
                                  enum spill_recall recall, struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count, count = draft->piece_count;
    struct use_key *keys = spill_arena_alloc(arena, count, sizeof(*keys));
    int64_t *latest = spill_arena_alloc(arena, count, sizeof(int64_t));
    uint32_t *leaving = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint32_t));
    uint32_t *resident;
    int64_t floor = INT64_MIN, last_use = INT64_MIN;

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    add_leaving(draft, prep, leaving);
    for (uint32_t i = 0; i < count; i++) {
        const struct spill_gap *gap = &prep->gaps[draft->pieces[i].gap];

        draft->pieces[i].in_op = gap->use_op == 0 ? n - 1 : gap->use_op - 1;
        keys[i] = (struct use_key){i, gap->use_op, gap->length};
    }
    resident = spill_draft_resident(draft, prep, arena);
    if (resident == NULL)
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
        while (at > first) { /* called at at - 1, the piece also stays at op `at` */
            uint32_t k = (uint32_t)(at < 0 ? at + n : at);
            uint32_t held = resident[k] + (at > latest[i] ? 0 : leaving[k]);

            if (held > draft->budget || draft->budget - held < piece->page_count)
                break;
            resident[k] += piece->page_count;
            at--;
        }
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
