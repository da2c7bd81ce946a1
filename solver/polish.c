/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/polish.h"

/* Considers the draft as it is, if it keeps within the budget and finds frames. */
static enum spill_status judge(struct spill_job *job)
{
    const struct spill_prep *prep = job->prep;
    enum spill_status status;
    uint32_t *resident, unplaced;
    bool fits = true;

    job->draft.budget = prep->budget_pages;
    resident = spill_draft_resident(&job->draft, prep, job->arena);
    if (resident == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < prep->problem->op_count; k++)
        fits = fits && resident[k] <= prep->budget_pages;
    if (!fits)
        return SPILL_OK;
    status = spill_draft_evaluate(&job->draft, prep, job->arena);
    if (status == SPILL_OK)
        status = spill_job_frames(job, prep->budget_pages, false, true, &fits, &unplaced);
    return status == SPILL_OK && fits ? spill_job_consider(job) : status;
}

enum spill_status spill_polish(struct spill_job *job)
{
    uint32_t n = job->prep->problem->op_count;

    for (uint32_t i = 0; i < 3 * job->best.piece_count && spill_job_goes_on(job); i++) {
        struct spill_arena_block *mark = job->arena->blocks;
        const struct spill_piece *before = job->best.pieces;
        enum spill_status status = spill_draft_copy(&job->draft, &job->best, job->arena);
        struct spill_piece *piece = &job->draft.pieces[i / 3];
        const struct spill_gap *gap;
        uint32_t away;

        if (status != SPILL_OK)
            return status;
        gap = &job->prep->gaps[piece->gap];
        away = spill_cyclic(gap->out_op, piece->in_op, n);
        if (i % 3 == 0 && away > 1)
            piece->in_op = piece->in_op == 0 ? n - 1 : piece->in_op - 1;
        else if (i % 3 == 1 && away < gap->length)
            piece->in_op = spill_cyclic_add(piece->in_op, 1, n);
        else
            *piece = job->draft.pieces[--job->draft.piece_count];
        status = judge(job);
        if (job->best.pieces == before)
            spill_arena_release(job->arena, mark);
        if (status != SPILL_OK)
            return status;
    }
    return SPILL_OK;
}
