/* SPDX-License-Identifier: Apache-2.0 */
/* AutoSwap (Zhang et al., arXiv 1903.06631): whole buffers by one of four scores of their gaps. */
#include "solver/cover.h"
#include "solver/methods.h"

enum kind { DOA, AOA, WDOA };

/* Sum over each gap of what the op times weigh; ops over the limit weigh by how far they are over.
 */
static enum spill_status weigh(const struct spill_prep *prep, const int64_t *excess, double *score,
                               struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count;
    double *sum = spill_arena_alloc(arena, (size_t)n + 1, sizeof(double));

    if (sum == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < n; k++)
        sum[k + 1] = sum[k] + (excess[k] > 0 ? (double)excess[k] *
                                                   (double)(prep->problem->ops[k].duration_ns + 1)
                                             : 0);
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        uint32_t first = spill_cyclic_add(prep->gaps[g].out_op, 1, n);
        uint32_t end = first + prep->gaps[g].length;

        score[g] = end <= n ? sum[end] - sum[first] : sum[n] - sum[first] + sum[end - n];
    }
    return SPILL_OK;
}

static enum spill_status score_all(const struct spill_prep *prep, const int64_t *excess,
                                   enum kind kind, double *score, struct spill_arena *arena)
{
    if (kind == WDOA)
        return weigh(prep, excess, score, arena);
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        double bytes = (double)prep->problem->buffers[prep->gaps[g].buffer].bytes + 1;

        score[g] = spill_cover_absence(prep, g);
        if (kind == AOA)
            score[g] = score[g] >= 0 ? score[g] * bytes : score[g] / bytes;
    }
    return SPILL_OK;
}

static enum spill_status autoswap(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                  uint32_t *amount, enum kind kind, struct spill_arena *arena)
{
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    struct spill_cover cover;
    enum spill_status status = SPILL_ERR_NOMEM;

    if (score != NULL && spill_cover_open(&cover, prep, budget, parked, amount, arena))
        status = score_all(prep, cover.excess, kind, score, arena);
    return status != SPILL_OK ? status : spill_cover_in_order(&cover, score, false, arena);
}

enum spill_status spill_choose_doa(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena)
{
    return autoswap(prep, budget, parked, amount, DOA, arena);
}

enum spill_status spill_choose_aoa(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena)
{
    return autoswap(prep, budget, parked, amount, AOA, arena);
}

enum spill_status spill_choose_wdoa(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                    uint32_t *amount, struct spill_arena *arena)
{
    return autoswap(prep, budget, parked, amount, WDOA, arena);
}

enum spill_status spill_choose_swdoa(const struct spill_prep *prep, uint32_t budget,
                                     uint32_t parked, uint32_t *amount, struct spill_arena *arena)
{
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    struct spill_cover cover;

    if (score == NULL || !spill_cover_open(&cover, prep, budget, parked, amount, arena))
        return SPILL_ERR_NOMEM;
    while (spill_cover_fits(&cover) != SPILL_OK) {
        struct spill_arena_block *mark = arena->blocks;
        enum spill_status status = weigh(prep, cover.excess, score, arena);
        uint32_t worst = spill_cover_worst(&cover), best = prep->gap_count;

        spill_arena_release(arena, mark);
        if (status != SPILL_OK)
            return status;
        for (uint32_t g = 0; g < prep->gap_count; g++)
            if (amount[g] == 0 && spill_cover_spans(prep, g, worst) &&
                (best == prep->gap_count || score[g] > score[best]))
                best = g;
        if (best == prep->gap_count)
            return SPILL_ERR_INFEASIBLE;
        spill_cover_take(&cover, best, spill_cover_full(prep, best));
    }
    return SPILL_OK;
}

enum spill_status spill_choose_vote(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                    uint32_t *amount, struct spill_arena *arena)
{
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    double *votes = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    struct spill_cover cover;

    if (arena->failed || !spill_cover_open(&cover, prep, budget, parked, amount, arena))
        return SPILL_ERR_NOMEM;
    for (int kind = DOA; kind <= WDOA; kind++) {
        enum spill_status status = score_all(prep, cover.excess, (enum kind)kind, score, arena);
        const uint32_t *order = spill_cover_rank(prep, score, arena);

        if (status != SPILL_OK || order == NULL)
            return SPILL_ERR_NOMEM;
        for (uint32_t i = 0; i < prep->gap_count; i++)
            votes[order[i]] -= i;
    }
    return spill_cover_in_order(&cover, votes, false, arena);
}
