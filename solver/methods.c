/* SPDX-License-Identifier: Apache-2.0 */
/* The table, and the methods that choose by the shape of the network: vDNN, Meng, TFLMS. They know
 * a forward and a backward half; here the op with the most memory divides them. */
#include "solver/methods.h"

#include <stdlib.h>
#include <string.h>

#include "solver/cover.h"

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
    {"autoswap-swdoa",
     "AutoSwap (arXiv 1903.06631), submodular weighted duration of absence: weighted anew after "
     "each choice; reconstructed from its name",
     SPILL_RECALL_HIDDEN, spill_choose_swdoa},
    {"autoswap-vote", "AutoSwap's code (apache/singa): sum of the three ranks", SPILL_RECALL_HIDDEN,
     spill_choose_vote},
    {"capuchin", "Capuchin (ASPLOS'20), free time; no recomputation", SPILL_RECALL_HIDDEN,
     spill_choose_capuchin},
    {"g10", "G10 (MICRO'23), area over the limit, whole tensors; host memory only, no SSD",
     SPILL_RECALL_EAGER, spill_choose_g10},
    {"fluid", "Beaumont et al. (Euro-Par'20), the fractional relaxation itself, in pages",
     SPILL_RECALL_HIDDEN, spill_choose_fluid},
    {"beaumont-greedy",
     "Beaumont et al. (Euro-Par'20), greedy on the fractional relaxation; reconstructed",
     SPILL_RECALL_HIDDEN, spill_choose_greedy},
    {"beaumont-dp",
     "Beaumont et al. (Euro-Par'20), dynamic program on the chain; reconstructed from POFO "
     "(NeurIPS'21)",
     SPILL_RECALL_HIDDEN, spill_choose_dp},
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

static enum spill_status fits(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                              uint32_t *amount, struct spill_arena *arena)
{
    struct spill_cover cover;

    return spill_cover_open(&cover, prep, budget, parked, amount, arena) ? spill_cover_fits(&cover)
                                                                         : SPILL_ERR_NOMEM;
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
    uint32_t turning = spill_cover_turn(prep);

    for (uint32_t g = 0; g < prep->gap_count; g++)
        amount[g] = spill_cover_is_activation(prep, g, turning) ? spill_cover_full(prep, g) : 0;
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
    uint32_t n = p->op_count, turning = spill_cover_turn(prep);
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

        if (!spill_cover_is_activation(prep, g, turning))
            continue;
        for (uint32_t t = prep->touch_first[b]; t < prep->touch_first[b + 1]; t++)
            if (conv[prep->touch[t]])
                amount[g] = spill_cover_full(prep, g);
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

/* By length of gap in ops, the longest first, one by one until it fits. */
static enum spill_status by_length(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena,
                                   bool only_activations)
{
    uint32_t turn = spill_cover_turn(prep);
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    uint32_t *order;
    struct spill_cover cover;

    if (score == NULL || !spill_cover_open(&cover, prep, budget, parked, amount, arena))
        return SPILL_ERR_NOMEM;
    for (uint32_t g = 0; g < prep->gap_count; g++)
        score[g] = only_activations && !spill_cover_is_activation(prep, g, turn)
                       ? SPILL_COVER_NEVER
                       : prep->gaps[g].length;
    order = spill_cover_rank(prep, score, arena);
    if (order == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = 0; i < prep->gap_count && score[order[i]] > SPILL_COVER_NEVER &&
                         spill_cover_fits(&cover) != SPILL_OK;
         i++)
        spill_cover_take(&cover, order[i], spill_cover_full(prep, order[i]));
    return spill_cover_fits(&cover);
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
