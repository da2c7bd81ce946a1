/* SPDX-License-Identifier: Apache-2.0 */
/* Paging methods: walk the accesses, and when memory is full evict a buffer, until two iterations
 * evict the same. A buffer evicted in a gap moves in that gap. */
#include <string.h>

#include "solver/cover.h"
#include "solver/methods.h"

enum policy { LRU, BELADY };

struct pager {
    const struct spill_prep *prep;
    enum policy policy;
    bool only_iteration; /* weights stay */
    uint32_t budget;
    bool *resident;
    uint64_t *used_at; /* running number of the last op that touched it */
    uint32_t *gap_now; /* the gap each buffer is in; UINT32_MAX: none that can move */
    uint64_t pages;
};

static bool touches(const struct spill_prep *prep, uint32_t op, uint32_t b)
{
    const struct spill_op *o = &prep->problem->ops[op];

    for (uint32_t a = 0; a < o->access_count; a++)
        if (prep->problem->accesses[o->access_first + a].buffer == b)
            return true;
    return false;
}

/* Ops until buffer B, which is in a gap, is used again. */
static uint32_t next_use(const struct pager *p, uint32_t b, uint32_t op)
{
    return spill_cyclic(op, p->prep->gaps[p->gap_now[b]].use_op, p->prep->problem->op_count);
}

/* Evicts until PAGES more fit; false when that cannot be. */
static bool make_room(struct pager *p, uint32_t pages, uint32_t op, uint32_t *amount)
{
    while (p->pages + pages > p->budget) {
        uint32_t victim = UINT32_MAX;

        for (uint32_t b = 0; b < p->prep->problem->buffer_count; b++) {
            if (!p->resident[b] || p->gap_now[b] == UINT32_MAX || touches(p->prep, op, b) ||
                (p->only_iteration && p->prep->problem->buffers[b].life == SPILL_LIFE_PERSISTENT))
                continue;
            if (victim == UINT32_MAX ||
                (p->policy == LRU ? p->used_at[b] < p->used_at[victim]
                                  : next_use(p, b, op) > next_use(p, victim, op)))
                victim = b;
        }
        if (victim == UINT32_MAX)
            return false;
        p->resident[victim] = false;
        p->pages -= p->prep->pages[victim];
        amount[p->gap_now[victim]] = p->prep->pages[victim];
    }
    return true;
}

/* The gap that begins when OP touches B. */
static uint32_t gap_after(const struct spill_prep *prep, uint32_t b, uint32_t op)
{
    for (uint32_t g = prep->gap_first[b]; g < prep->gap_first[b + 1]; g++)
        if (prep->gaps[g].out_op == op)
            return g;
    return UINT32_MAX;
}

static bool walk_op(struct pager *p, uint32_t op, uint64_t number, uint32_t *amount)
{
    const struct spill_problem *problem = p->prep->problem;
    const struct spill_op *o = &problem->ops[op];

    for (uint32_t b = 0; b < problem->buffer_count; b++) {
        bool born = problem->buffers[b].life == SPILL_LIFE_ITERATION &&
                    problem->buffers[b].pinned == 0 && problem->buffers[b].birth_op == op;

        if (p->resident[b] || !(born || touches(p->prep, op, b)))
            continue;
        if (!make_room(p, p->prep->pages[b], op, amount))
            return false;
        p->resident[b] = true;
        p->pages += p->prep->pages[b];
    }
    for (uint32_t a = 0; a < o->access_count; a++) {
        uint32_t b = problem->accesses[o->access_first + a].buffer;

        p->used_at[b] = number;
        p->gap_now[b] = gap_after(p->prep, b, op);
    }
    for (uint32_t b = 0; b < problem->buffer_count; b++)
        if (problem->buffers[b].life == SPILL_LIFE_ITERATION && problem->buffers[b].pinned == 0 &&
            problem->buffers[b].death_op == op && p->resident[b]) {
            p->resident[b] = false;
            p->pages -= p->prep->pages[b];
            p->gap_now[b] = UINT32_MAX;
        }
    return true;
}

static enum spill_status page(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                              uint32_t *amount, enum policy policy, bool only_iteration,
                              struct spill_arena *arena)
{
    const struct spill_problem *problem = prep->problem;
    uint32_t n = problem->op_count, buffers = problem->buffer_count;
    struct pager p = {prep, policy, only_iteration, budget + parked, NULL, NULL, NULL, 0};
    uint32_t *sum = spill_arena_alloc(arena, prep->gap_count, sizeof(uint32_t));
    struct spill_cover cover;

    p.resident = spill_arena_alloc(arena, buffers, sizeof(bool));
    p.used_at = spill_arena_alloc(arena, buffers, sizeof(uint64_t));
    p.gap_now = spill_arena_alloc(arena, buffers, sizeof(uint32_t));
    if (arena->failed)
        return SPILL_ERR_NOMEM;
    for (uint32_t b = 0; b < buffers; b++) {
        p.gap_now[b] = UINT32_MAX;
        if (problem->buffers[b].pinned != 0 || prep->parkable[b] ||
            (problem->buffers[b].life == SPILL_LIFE_PERSISTENT &&
             prep->touch_first[b] == prep->touch_first[b + 1])) {
            p.resident[b] = true; /* here for good; what is parked was added to the budget */
            p.pages += prep->pages[b];
        }
    }
    for (uint64_t round = 0; round < 3; round++) {
        memset(amount, 0, prep->gap_count * sizeof(*amount));
        for (uint32_t k = 0; k < n; k++)
            if (!walk_op(&p, k, round * n + k + 1, amount))
                return SPILL_ERR_INFEASIBLE;
        for (uint32_t g = 0; g < prep->gap_count && round > 0; g++)
            sum[g] = sum[g] > amount[g] ? sum[g] : amount[g];
    }
    /* Evictions of two iterations together: they may alternate. */
    memcpy(amount, sum, prep->gap_count * sizeof(*amount));
    if (!spill_cover_open(&cover, prep, budget, parked, amount, arena))
        return SPILL_ERR_NOMEM;
    return spill_cover_fits(&cover);
}

enum spill_status spill_choose_lru(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena)
{
    return page(prep, budget, parked, amount, LRU, false, arena);
}

enum spill_status spill_choose_superneurons(const struct spill_prep *prep, uint32_t budget,
                                            uint32_t parked, uint32_t *amount,
                                            struct spill_arena *arena)
{
    return page(prep, budget, parked, amount, LRU, true, arena);
}

enum spill_status spill_choose_belady(const struct spill_prep *prep, uint32_t budget,
                                      uint32_t parked, uint32_t *amount, struct spill_arena *arena)
{
    return page(prep, budget, parked, amount, BELADY, false, arena);
}
