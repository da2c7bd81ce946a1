/* SPDX-License-Identifier: Apache-2.0 */
/* The table, and the methods that choose by the shape of the network: vDNN, Meng, TFLMS. They know
 * a forward and a backward half; here the op with the most memory divides them. */
#include "solver/methods.h"

#include <stdlib.h>
#include <string.h>

static const struct spill_method methods[] = {
    {"keep-all", "nothing moves", SPILL_RECALL_DEMAND, spill_choose_nothing},
    {"lru", "demand paging, least recently used buffer first; whole buffers; outs start at once",
     SPILL_RECALL_DEMAND, spill_choose_lru},
    {"belady", "demand paging, furthest next use first (Belady 1966); whole buffers",
     SPILL_RECALL_DEMAND, spill_choose_belady},
    {"vdnn-all", "vDNN (MICRO'16), all activations; without its sync at the end of each layer",
     SPILL_RECALL_NEXT, spill_choose_vdnn_all},
    {"vdnn-conv",
     "vDNN (MICRO'16), activations of convolutions: here of the ops that take half the time",
     SPILL_RECALL_NEXT, spill_choose_vdnn_conv},
    {"vdnn-dyn", "vDNN (MICRO'16), the first of none, conv, all that fits; one conv algorithm only",
     SPILL_RECALL_NEXT, spill_choose_vdnn_dyn},
    {"superneurons", "SuperNeurons (PPoPP'18), LRU cache of activations; no recomputation",
     SPILL_RECALL_NEXT, spill_choose_superneurons},
    {"tflms", "TFLMS (ISMM'19), all edges longer than a threshold, the largest threshold that fits",
     SPILL_RECALL_HIDDEN, spill_choose_tflms},
    {"meng", "Meng et al. (LearningSys'17), activations in reverse topological order",
     SPILL_RECALL_HIDDEN, spill_choose_meng},
    {"autoswap-doa", "AutoSwap (arXiv 1903.06631), duration of absence", SPILL_RECALL_HIDDEN,
     spill_choose_doa},
    {"autoswap-aoa", "AutoSwap (arXiv 1903.06631), area of absence", SPILL_RECALL_HIDDEN,
     spill_choose_aoa},
    {"autoswap-wdoa", "AutoSwap (arXiv 1903.06631), weighted duration of absence",
     SPILL_RECALL_HIDDEN, spill_choose_wdoa},
    {"autoswap-vote", "AutoSwap's code (apache/singa): sum of the three ranks", SPILL_RECALL_HIDDEN,
     spill_choose_vote},
    {"capuchin", "Capuchin (ASPLOS'20), free time; no recomputation", SPILL_RECALL_HIDDEN,
     spill_choose_capuchin},
    {"g10", "G10 (MICRO'23), area over the limit, whole tensors; host memory only, no SSD",
     SPILL_RECALL_EAGER, spill_choose_g10},
    {"fluid", "Beaumont et al. (Euro-Par'20), greedy on the fractional relaxation; reconstructed",
     SPILL_RECALL_HIDDEN, spill_choose_fluid},
};

const struct spill_method *spill_method_find(const char *name)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

const struct spill_method *spill_method_at(uint32_t index)
{
    return index < sizeof(methods) / sizeof(methods[0]) ? &methods[index] : NULL;
}

int64_t *spill_method_excess(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                             const uint32_t *amount, struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count;
    int64_t *excess = spill_arena_alloc(arena, n, sizeof(int64_t));
    uint32_t *away = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint32_t));

    if (arena->failed)
        return NULL;
    for (uint32_t g = 0; g < prep->gap_count; g++)
        spill_cyclic_range_add(away, n, spill_cyclic_add(prep->gaps[g].out_op, 1, n),
                               amount[g] == 0 ? 0 : prep->gaps[g].length, amount[g]);
    for (uint32_t k = 0; k < n; k++) {
        away[k] += k == 0 ? 0 : away[k - 1];
        excess[k] = (int64_t)prep->base[k] - parked - budget - away[k];
    }
    return excess;
}

static enum spill_status fits(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                              const uint32_t *amount, struct spill_arena *arena)
{
    int64_t *excess = spill_method_excess(prep, budget, parked, amount, arena);

    if (excess == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < prep->problem->op_count; k++)
        if (excess[k] > 0)
            return SPILL_ERR_INFEASIBLE;
    return SPILL_OK;
}

/* The turning point: the op with the most memory. */
static uint32_t turn(const struct spill_prep *prep)
{
    uint32_t turn = 0;

    for (uint32_t k = 1; k < prep->problem->op_count; k++)
        if (prep->base[k] > prep->base[turn])
            turn = k;
    return turn;
}

/* Is the gap that of an activation between its last forward and its first backward use? */
static bool is_activation(const struct spill_prep *prep, uint32_t g, uint32_t turning)
{
    const struct spill_gap *gap = &prep->gaps[g];
    uint32_t ahead = spill_cyclic(gap->out_op, turning, prep->problem->op_count);

    return prep->problem->buffers[gap->buffer].life == SPILL_LIFE_ITERATION && ahead > 0 &&
           ahead <= gap->length;
}

static uint32_t full(const struct spill_prep *prep, uint32_t g)
{
    return prep->pages[prep->gaps[g].buffer];
}

enum spill_status spill_choose_nothing(const struct spill_prep *prep, uint32_t budget,
                                       uint32_t parked, uint32_t *amount, struct spill_arena *arena)
{
    return fits(prep, budget, parked, amount, arena);
}

enum spill_status spill_choose_vdnn_all(const struct spill_prep *prep, uint32_t budget,
                                        uint32_t parked, uint32_t *amount,
                                        struct spill_arena *arena)
{
    uint32_t turning = turn(prep);

    for (uint32_t g = 0; g < prep->gap_count; g++)
        amount[g] = is_activation(prep, g, turning) ? full(prep, g) : 0;
    return fits(prep, budget, parked, amount, arena);
}

static int compare_longer(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return a[0] != b[0] ? (a[0] > b[0] ? -1 : 1) : a[1] < b[1] ? -1 : a[1] > b[1];
}

enum spill_status spill_choose_vdnn_conv(const struct spill_prep *prep, uint32_t budget,
                                         uint32_t parked, uint32_t *amount,
                                         struct spill_arena *arena)
{
    const struct spill_problem *p = prep->problem;
    uint32_t n = p->op_count, turning = turn(prep);
    uint64_t(*longest)[2] = spill_arena_alloc(arena, n, sizeof(*longest));
    bool *conv = spill_arena_alloc(arena, n, sizeof(bool));
    uint64_t time = 0;

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < n; k++) {
        longest[k][0] = p->ops[k].duration_ns;
        longest[k][1] = k;
    }
    qsort(longest, n, sizeof(*longest), compare_longer);
    for (uint32_t i = 0; i < n && time < prep->compute_ns / 2; i++) {
        conv[longest[i][1]] = true;
        time += longest[i][0];
    }
    for (uint32_t g = 0; g < prep->gap_count; g++)
        amount[g] = 0;
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        uint32_t b = prep->gaps[g].buffer;

        if (!is_activation(prep, g, turning))
            continue;
        for (uint32_t t = prep->touch_first[b]; t < prep->touch_first[b + 1]; t++)
            if (conv[prep->touch[t]])
                amount[g] = full(prep, g);
    }
    return fits(prep, budget, parked, amount, arena);
}

enum spill_status spill_choose_vdnn_dyn(const struct spill_prep *prep, uint32_t budget,
                                        uint32_t parked, uint32_t *amount,
                                        struct spill_arena *arena)
{
    enum spill_status status = spill_choose_nothing(prep, budget, parked, amount, arena);

    if (status == SPILL_ERR_INFEASIBLE)
        status = spill_choose_vdnn_conv(prep, budget, parked, amount, arena);
    if (status == SPILL_ERR_INFEASIBLE)
        status = spill_choose_vdnn_all(prep, budget, parked, amount, arena);
    return status;
}

/* Activations by length of gap, in ops. MENG: the longest first, one by one until it fits, which is
 * the reverse topological order seen from the loss with the short-lived ones kept. Else by
 * threshold. */
static enum spill_status by_length(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena,
                                   bool only_activations)
{
    uint32_t n = prep->problem->op_count, turning = turn(prep), count = 0;
    uint64_t(*order)[2] = spill_arena_alloc(arena, prep->gap_count, sizeof(*order));
    int64_t *excess = spill_method_excess(prep, budget, parked, amount, arena);
    uint32_t over = 0;

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < n; k++)
        over += excess[k] > 0;
    for (uint32_t g = 0; g < prep->gap_count; g++)
        if (!only_activations || is_activation(prep, g, turning)) {
            order[count][0] = prep->gaps[g].length;
            order[count++][1] = g;
        }
    if (count > 0)
        qsort(order, count, sizeof(*order), compare_longer);
    for (uint32_t i = 0; i < count && over > 0; i++) {
        uint32_t g = (uint32_t)order[i][1], k = prep->gaps[g].out_op;

        amount[g] = full(prep, g);
        for (uint32_t j = 0; j < prep->gaps[g].length; j++) {
            k = k + 1 == n ? 0 : k + 1;
            over -= excess[k] > 0 && excess[k] <= (int64_t)amount[g];
            excess[k] -= amount[g];
        }
    }
    return over > 0 ? SPILL_ERR_INFEASIBLE : SPILL_OK;
}

enum spill_status spill_choose_meng(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                    uint32_t *amount, struct spill_arena *arena)
{
    return by_length(prep, budget, parked, amount, arena, true);
}

enum spill_status spill_choose_tflms(const struct spill_prep *prep, uint32_t budget,
                                     uint32_t parked, uint32_t *amount, struct spill_arena *arena)
{
    return by_length(prep, budget, parked, amount, arena, false);
}
