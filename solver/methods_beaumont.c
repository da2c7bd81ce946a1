/* SPDX-License-Identifier: Apache-2.0 */
/* Fluid and greedy; what is reconstructed and how stands in methods.h. */
#include "solver/cover.h"
#include "solver/methods.h"

/* The fluid choice: activations by length of their idle time, and after them the rest, or nothing
 * but activations. */
static enum spill_status flow(struct spill_cover *cover, bool only_activations,
                              struct spill_arena *arena)
{
    const struct spill_prep *prep = cover->prep;
    uint32_t turn = spill_cover_turn(prep);
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));

    if (score == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        bool iteration = prep->problem->buffers[prep->gaps[g].buffer].life == SPILL_LIFE_ITERATION;

        score[g] = spill_cover_time(prep, g) - (iteration ? 0 : 1e18);
        if (only_activations && !spill_cover_is_activation(prep, g, turn))
            score[g] = SPILL_COVER_NEVER;
    }
    return spill_cover_in_order(cover, score, true, arena);
}

enum spill_status spill_choose_fluid(const struct spill_prep *prep, uint32_t budget,
                                     uint32_t parked, uint32_t *amount, struct spill_arena *arena)
{
    struct spill_cover cover;

    if (!spill_cover_open(&cover, prep, budget, parked, amount, arena))
        return SPILL_ERR_NOMEM;
    return flow(&cover, false, arena);
}

enum spill_status spill_choose_greedy(const struct spill_prep *prep, uint32_t budget,
                                      uint32_t parked, uint32_t *amount, struct spill_arena *arena)
{
    double *part = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    struct spill_cover cover;
    enum spill_status status;

    if (part == NULL || !spill_cover_open(&cover, prep, budget, parked, amount, arena))
        return SPILL_ERR_NOMEM;
    status = flow(&cover, true, arena);
    if (status != SPILL_OK)
        return status;
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        part[g] =
            amount[g] == 0 ? SPILL_COVER_NEVER : (double)amount[g] / spill_cover_full(prep, g);
        if (amount[g] > 0)
            spill_cover_take(&cover, g, -(int64_t)amount[g]);
    }
    return spill_cover_in_order(&cover, part, false, arena);
}
