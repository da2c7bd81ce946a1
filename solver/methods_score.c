/* SPDX-License-Identifier: Apache-2.0 */
/* Methods that score gaps and take whole buffers in order of score: AutoSwap, Capuchin, G10, and
 * the greedy of Beaumont et al. on the fractional relaxation. */
#include <stdlib.h>
#include <string.h>

#include "solver/methods.h"
#include "solver/realmath.h"

/* Time from the end of out_op to the start of use_op when nothing stalls. */
static double gap_time(const struct spill_prep *prep, const struct spill_gap *gap)
{
    uint32_t n = prep->problem->op_count, first = spill_cyclic_add(gap->out_op, 1, n);

    if (first + gap->length <= n)
        return (double)(prep->start[first + gap->length] - prep->start[first]);
    return (double)(prep->start[n] - prep->start[first] + prep->start[first + gap->length - n]);
}

/* Duration of absence: what of the gap is left when both copies are taken off. */
static double absence(const struct spill_prep *prep, uint32_t g)
{
    const struct spill_gap *gap = &prep->gaps[g];
    uint64_t bytes = prep->problem->buffers[gap->buffer].bytes;

    return gap_time(prep, gap) - (double)spill_link_ns(&prep->problem->out, bytes) -
           (double)spill_link_ns(&prep->problem->in, bytes);
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

struct state {
    const struct spill_prep *prep;
    uint32_t *amount;
    int64_t *excess;
};

static void take(struct state *s, uint32_t g, uint32_t pages)
{
    uint32_t n = s->prep->problem->op_count, k = s->prep->gaps[g].out_op;

    s->amount[g] += pages;
    for (uint32_t i = 0; i < s->prep->gaps[g].length; i++) {
        k = k + 1 == n ? 0 : k + 1;
        s->excess[k] -= pages;
    }
}

static bool spans(const struct spill_prep *prep, uint32_t g, uint32_t op)
{
    uint32_t ahead = spill_cyclic(prep->gaps[g].out_op, op, prep->problem->op_count);

    return ahead > 0 && ahead <= prep->gaps[g].length;
}

static uint32_t worst_op(const struct state *s)
{
    uint32_t worst = 0;

    for (uint32_t k = 1; k < s->prep->problem->op_count; k++)
        if (s->excess[k] > s->excess[worst])
            worst = k;
    return worst;
}

/* Best score first among the gaps over the present peak, until no peak is over the limit. */
static enum spill_status in_order(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                  uint32_t *amount, const double *score, bool in_parts,
                                  struct spill_arena *arena)
{
    struct state s = {prep, amount, spill_method_excess(prep, budget, parked, amount, arena)};
    struct ranked *order = spill_arena_alloc(arena, prep->gap_count, sizeof(*order));

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    for (uint32_t g = 0; g < prep->gap_count; g++)
        order[g] = (struct ranked){score[g], g};
    if (prep->gap_count > 0)
        qsort(order, prep->gap_count, sizeof(*order), compare_scores);
    for (;;) {
        uint32_t worst = worst_op(&s), i = 0, pages;

        if (s.excess[worst] <= 0)
            return SPILL_OK;
        while (i < prep->gap_count &&
               (!spans(prep, order[i].gap, worst) ||
                amount[order[i].gap] == prep->pages[prep->gaps[order[i].gap].buffer]))
            i++;
        if (i == prep->gap_count)
            return SPILL_ERR_INFEASIBLE;
        pages = prep->pages[prep->gaps[order[i].gap].buffer] - amount[order[i].gap];
        if (in_parts && s.excess[worst] < pages)
            pages = (uint32_t)s.excess[worst];
        take(&s, order[i].gap, pages);
    }
}

/* Sum over the gap of what the op times weigh; ops over the limit weigh by how far they are over.
 */
static double weighted(const struct spill_prep *prep, const int64_t *excess, uint32_t g)
{
    uint32_t n = prep->problem->op_count, k = prep->gaps[g].out_op;
    double sum = 0;

    for (uint32_t i = 0; i < prep->gaps[g].length; i++) {
        k = k + 1 == n ? 0 : k + 1;
        if (excess[k] > 0)
            sum += (double)excess[k] * (double)(prep->problem->ops[k].duration_ns + 1);
    }
    return sum;
}

enum kind { DOA, AOA, WDOA };

static void score_all(const struct spill_prep *prep, const int64_t *excess, enum kind kind,
                      double *score)
{
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        double bytes = (double)prep->problem->buffers[prep->gaps[g].buffer].bytes + 1;

        score[g] = kind == WDOA ? weighted(prep, excess, g) : absence(prep, g);
        if (kind == AOA)
            score[g] = score[g] >= 0 ? score[g] * bytes : score[g] / bytes;
    }
}

static enum spill_status autoswap(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                  uint32_t *amount, enum kind kind, struct spill_arena *arena)
{
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    int64_t *excess = spill_method_excess(prep, budget, parked, amount, arena);

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    score_all(prep, excess, kind, score);
    return in_order(prep, budget, parked, amount, score, false, arena);
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

enum spill_status spill_choose_vote(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                    uint32_t *amount, struct spill_arena *arena)
{
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    double *sum = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    struct ranked *order = spill_arena_alloc(arena, prep->gap_count, sizeof(*order));
    int64_t *excess = spill_method_excess(prep, budget, parked, amount, arena);

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    for (int kind = DOA; kind <= WDOA; kind++) {
        score_all(prep, excess, (enum kind)kind, score);
        for (uint32_t g = 0; g < prep->gap_count; g++)
            order[g] = (struct ranked){score[g], g};
        if (prep->gap_count > 0)
            qsort(order, prep->gap_count, sizeof(*order), compare_scores);
        for (uint32_t i = 0; i < prep->gap_count; i++)
            sum[order[i].gap] -= i;
    }
    return in_order(prep, budget, parked, amount, sum, false, arena);
}

/* Greatest free time first; a gap is passed over when its copies do not fit a free part of the
 * links, as Capuchin does, and taken in a second round if that was not enough. */
enum spill_status spill_choose_capuchin(const struct spill_prep *prep, uint32_t budget,
                                        uint32_t parked, uint32_t *amount,
                                        struct spill_arena *arena)
{
    struct state s = {prep, amount, spill_method_excess(prep, budget, parked, amount, arena)};
    struct ranked *order = spill_arena_alloc(arena, prep->gap_count, sizeof(*order));
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    uint32_t n = prep->problem->op_count;
    double *out_used = spill_arena_alloc(arena, n, sizeof(double));
    double *in_used = spill_arena_alloc(arena, n, sizeof(double));

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    score_all(prep, s.excess, DOA, score);
    for (uint32_t g = 0; g < prep->gap_count; g++)
        order[g] = (struct ranked){score[g], g};
    if (prep->gap_count > 0)
        qsort(order, prep->gap_count, sizeof(*order), compare_scores);
    for (uint32_t i = 0; i < prep->gap_count && s.excess[worst_op(&s)] > 0; i++) {
        const struct spill_gap *gap = &prep->gaps[order[i].gap];
        uint64_t bytes = prep->problem->buffers[gap->buffer].bytes;
        double out = (double)spill_link_ns(&prep->problem->out, bytes);
        double in = (double)spill_link_ns(&prep->problem->in, bytes);
        uint32_t first = spill_cyclic_add(gap->out_op, 1, n), k = first, out_ops = 0, in_ops = 0;
        double free_time = 0;

        if (order[i].score <= 0 || !spans(prep, order[i].gap, worst_op(&s)))
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
        take(&s, order[i].gap, prep->pages[gap->buffer]);
    }
    return in_order(prep, budget, parked, amount, score, false, arena);
}

/* Largest area over the limit first, recomputed after each choice (analysis.cc of G10's artifact).
 */
enum spill_status spill_choose_g10(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena)
{
    struct state s = {prep, amount, spill_method_excess(prep, budget, parked, amount, arena)};
    uint32_t n = prep->problem->op_count;
    double *sum = spill_arena_alloc(arena, (size_t)n + 1, sizeof(double));

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    while (s.excess[worst_op(&s)] > 0) {
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
            if (absence(prep, g) <= 0)
                area *= 1e-6; /* not hidden: last choice (G10 would leave it to page faults) */
            if (amount[g] == 0 && area > most) {
                most = area;
                best = g;
            }
        }
        if (best == UINT32_MAX)
            return SPILL_ERR_INFEASIBLE;
        take(&s, best, prep->pages[prep->gaps[best].buffer]);
    }
    return SPILL_OK;
}

/* Activations in trace order, longest absent first, parts of buffers allowed: the fluid greedy. The
 * paper rounds to whole activations afterwards; pages make that needless. */
enum spill_status spill_choose_fluid(const struct spill_prep *prep, uint32_t budget,
                                     uint32_t parked, uint32_t *amount, struct spill_arena *arena)
{
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));

    if (score == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        bool activation = prep->problem->buffers[prep->gaps[g].buffer].life == SPILL_LIFE_ITERATION;

        score[g] = gap_time(prep, &prep->gaps[g]) - (activation ? 0 : 1e18);
    }
    return in_order(prep, budget, parked, amount, score, true, arena);
}
