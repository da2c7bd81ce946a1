/* SPDX-License-Identifier: Apache-2.0 */
/* Methods that weigh gaps against the links as they choose: Capuchin and G10. */
#include "solver/cover.h"
#include "solver/methods.h"
#include "solver/realmath.h"

/* Greatest free time first; a gap is passed over when its copies do not fit a free part of the
 * links, as Capuchin does, and taken in a second round if that was not enough. */
enum spill_status spill_choose_capuchin(const struct spill_prep *prep, uint32_t budget,
                                        uint32_t parked, uint32_t *amount,
                                        struct spill_arena *arena)
{
    struct spill_cover s;
    uint32_t *order;
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    uint32_t n = prep->problem->op_count;
    double *out_used = spill_arena_alloc(arena, n, sizeof(double));
    double *in_used = spill_arena_alloc(arena, n, sizeof(double));

    if (!spill_cover_open(&s, prep, budget, parked, amount, arena) || arena->failed)
        return SPILL_ERR_NOMEM;
    for (uint32_t g = 0; g < prep->gap_count; g++)
        score[g] = spill_cover_absence(prep, g);
    order = spill_cover_rank(prep, score, arena);
    if (order == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = 0; i < prep->gap_count && spill_cover_fits(&s) != SPILL_OK; i++) {
        const struct spill_gap *gap = &prep->gaps[order[i]];
        uint64_t bytes = prep->problem->buffers[gap->buffer].bytes;
        double out = (double)spill_link_ns(&prep->problem->out, bytes);
        double in = (double)spill_link_ns(&prep->problem->in, bytes);
        uint32_t first = spill_cyclic_add(gap->out_op, 1, n), k = first, out_ops = 0, in_ops = 0;
        double free_time = 0;

        if (score[order[i]] <= 0 || !spill_cover_spans(prep, order[i], spill_cover_worst(&s)))
            continue;
        for (; out_ops < gap->length && free_time < out; out_ops++, k = k + 1 == n ? 0 : k + 1)
            free_time += (double)prep->problem->ops[k].duration_ns - out_used[k];
        if (free_time < out)
            continue;
        k = gap->use_op == 0 ? n - 1 : gap->use_op - 1;
        for (free_time = 0; in_ops + out_ops < gap->length && free_time < in; in_ops++) {
            free_time += (double)prep->problem->ops[k].duration_ns - in_used[k];
            k = k == 0 ? n - 1 : k - 1;
        }
        if (free_time < in)
            continue;
        for (uint32_t j = 0; j < out_ops; j++) {
            uint32_t op = spill_cyclic_add(first, j, n);
            double part =
                spill_real_min(out, (double)prep->problem->ops[op].duration_ns - out_used[op]);

            out_used[op] += part;
            out -= part;
        }
        for (uint32_t j = 1; j <= in_ops; j++) {
            uint32_t op = gap->use_op >= j ? gap->use_op - j : gap->use_op + n - j;
            double part =
                spill_real_min(in, (double)prep->problem->ops[op].duration_ns - in_used[op]);

            in_used[op] += part;
            in -= part;
        }
        spill_cover_take(&s, order[i], prep->pages[gap->buffer]);
    }
    return spill_cover_in_order(&s, score, false, arena);
}

/* Largest area over the limit first, recomputed after each choice (analysis.cc of G10's artifact).
 */
enum spill_status spill_choose_g10(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena)
{
    struct spill_cover s;
    uint32_t n = prep->problem->op_count;
    double *sum = spill_arena_alloc(arena, (size_t)n + 1, sizeof(double));

    if (sum == NULL || !spill_cover_open(&s, prep, budget, parked, amount, arena))
        return SPILL_ERR_NOMEM;
    while (spill_cover_fits(&s) != SPILL_OK) {
        uint32_t best = UINT32_MAX;
        double most = 0;

        for (uint32_t k = 0; k < n; k++)
            sum[k + 1] =
                sum[k] + (s.excess[k] > 0 ? (double)prep->problem->ops[k].duration_ns + 1e-3 : 0);
        for (uint32_t g = 0; g < prep->gap_count; g++) {
            const struct spill_gap *gap = &prep->gaps[g];
            uint32_t first = spill_cyclic_add(gap->out_op, 1, n), end = first + gap->length;
            double area = end <= n ? sum[end] - sum[first] : sum[n] - sum[first] + sum[end - n];

            area *= prep->pages[gap->buffer];
            if (spill_cover_absence(prep, g) <= 0)
                area *= 1e-6; /* not hidden: last choice (G10 would leave it to page faults) */
            if (amount[g] == 0 && area > most) {
                most = area;
                best = g;
            }
        }
        if (best == UINT32_MAX)
            return SPILL_ERR_INFEASIBLE;
        spill_cover_take(&s, best, prep->pages[prep->gaps[best].buffer]);
    }
    return SPILL_OK;
}
