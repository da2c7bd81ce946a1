/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/cover.h"

#include <stdlib.h>

bool spill_cover_open(struct spill_cover *cover, const struct spill_prep *prep, uint32_t budget,
                      uint32_t parked, uint32_t *amount, struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count;
    uint32_t *away = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint32_t));

    *cover = (struct spill_cover){prep, amount, spill_arena_alloc(arena, n, sizeof(int64_t))};
    if (arena->failed)
        return false;
    for (uint32_t g = 0; g < prep->gap_count; g++)
        spill_cyclic_range_add(away, n, spill_cyclic_add(prep->gaps[g].out_op, 1, n),
                               amount[g] == 0 ? 0 : prep->gaps[g].length, amount[g]);
    for (uint32_t k = 0; k < n; k++) {
        away[k] += k == 0 ? 0 : away[k - 1];
        cover->excess[k] = (int64_t)prep->base[k] - parked - budget - away[k];
    }
    return true;
}

void spill_cover_take(struct spill_cover *cover, uint32_t g, int64_t pages)
{
    uint32_t n = cover->prep->problem->op_count, k = cover->prep->gaps[g].out_op;

    cover->amount[g] = (uint32_t)(cover->amount[g] + pages);
    for (uint32_t i = 0; i < cover->prep->gaps[g].length; i++) {
        k = k + 1 == n ? 0 : k + 1;
        cover->excess[k] -= pages;
    }
}

uint32_t spill_cover_worst(const struct spill_cover *cover)
{
    uint32_t worst = 0;

    for (uint32_t k = 1; k < cover->prep->problem->op_count; k++)
        if (cover->excess[k] > cover->excess[worst])
            worst = k;
    return worst;
}

enum spill_status spill_cover_fits(const struct spill_cover *cover)
{
    return cover->excess[spill_cover_worst(cover)] > 0 ? SPILL_ERR_INFEASIBLE : SPILL_OK;
}

struct ranked {
    double score;
    uint32_t gap;
};

static int compare_scores(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->gap < b->gap ? -1 : a->gap > b->gap;
}

uint32_t *spill_cover_rank(const struct spill_prep *prep, const double *score,
                           struct spill_arena *arena)
{
    struct ranked *ranked = spill_arena_alloc(arena, prep->gap_count, sizeof(*ranked));
    uint32_t *order = spill_arena_alloc(arena, prep->gap_count, sizeof(uint32_t));

    if (arena->failed)
        return NULL;
    for (uint32_t g = 0; g < prep->gap_count; g++)
        ranked[g] = (struct ranked){score[g], g};
    if (prep->gap_count > 0)
        qsort(ranked, prep->gap_count, sizeof(*ranked), compare_scores);
    for (uint32_t i = 0; i < prep->gap_count; i++)
        order[i] = ranked[i].gap;
    return order;
}

enum spill_status spill_cover_in_order(struct spill_cover *cover, const double *score,
                                       bool in_parts, struct spill_arena *arena)
{
    const struct spill_prep *prep = cover->prep;
    uint32_t *order = spill_cover_rank(prep, score, arena);

    if (order == NULL)
        return SPILL_ERR_NOMEM;
    for (;;) {
        uint32_t worst = spill_cover_worst(cover), i = 0;
        int64_t pages;

        if (cover->excess[worst] <= 0)
            return SPILL_OK;
        while (i < prep->gap_count && (!spill_cover_spans(prep, order[i], worst) ||
                                       cover->amount[order[i]] == spill_cover_full(prep, order[i])))
            i++;
        if (i == prep->gap_count || score[order[i]] <= SPILL_COVER_NEVER)
            return SPILL_ERR_INFEASIBLE;
        pages = spill_cover_full(prep, order[i]) - cover->amount[order[i]];
        if (in_parts && cover->excess[worst] < pages)
            pages = cover->excess[worst];
        spill_cover_take(cover, order[i], pages);
    }
}

uint32_t spill_cover_full(const struct spill_prep *prep, uint32_t g)
{
    return prep->pages[prep->gaps[g].buffer];
}

bool spill_cover_spans(const struct spill_prep *prep, uint32_t g, uint32_t op)
{
    uint32_t ahead = spill_cyclic(prep->gaps[g].out_op, op, prep->problem->op_count);

    return ahead > 0 && ahead <= prep->gaps[g].length;
}

double spill_cover_time(const struct spill_prep *prep, uint32_t g)
{
    const struct spill_gap *gap = &prep->gaps[g];
    uint32_t n = prep->problem->op_count, first = spill_cyclic_add(gap->out_op, 1, n);

    if (first + gap->length <= n)
        return (double)(prep->start[first + gap->length] - prep->start[first]);
    return (double)(prep->start[n] - prep->start[first] + prep->start[first + gap->length - n]);
}

double spill_cover_absence(const struct spill_prep *prep, uint32_t g)
{
    uint64_t bytes = prep->problem->buffers[prep->gaps[g].buffer].bytes;

    return spill_cover_time(prep, g) - (double)spill_link_ns(&prep->problem->out, bytes) -
           (double)spill_link_ns(&prep->problem->in, bytes);
}

uint32_t spill_cover_turn(const struct spill_prep *prep)
{
    uint32_t turn = 0;

    for (uint32_t k = 1; k < prep->problem->op_count; k++)
        if (prep->base[k] > prep->base[turn])
            turn = k;
    return turn;
}

bool spill_cover_is_activation(const struct spill_prep *prep, uint32_t g, uint32_t turn)
{
    return prep->problem->buffers[prep->gaps[g].buffer].life == SPILL_LIFE_ITERATION &&
           spill_cover_spans(prep, g, turn);
}
