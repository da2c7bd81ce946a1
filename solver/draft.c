/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/draft.h"

#include <stdlib.h>
#include <string.h>

static uint32_t longest_piece(const struct spill_problem *problem, uint32_t latencies)
{
    const struct spill_link *slow =
        problem->in.bytes_per_s < problem->out.bytes_per_s ? &problem->in : &problem->out;
    uint64_t latency = problem->in.latency_ns > problem->out.latency_ns ? problem->in.latency_ns
                                                                        : problem->out.latency_ns;
    double bytes = (double)latencies * (double)latency * 1e-9 * (double)slow->bytes_per_s;
    double pages = bytes / (double)problem->page_bytes;

    return pages >= 1048576.0 ? 1048576 : pages < 1.0 ? 1 : (uint32_t)pages;
}

enum spill_status spill_draft_build(struct spill_draft *draft, const struct spill_prep *prep,
                                    const uint32_t *amount, uint32_t latencies,
                                    struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count, most = longest_piece(prep->problem, latencies);
    size_t count = 0;

    for (uint32_t g = 0; g < prep->gap_count; g++)
        count += (amount[g] + most - 1) / most;
    draft->pieces = spill_arena_alloc(arena, count, sizeof(*draft->pieces));
    if (draft->pieces == NULL)
        return SPILL_ERR_NOMEM;
    draft->piece_count = 0;
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        uint32_t parts = (amount[g] + most - 1) / most, first = 0;

        for (uint32_t i = 0; i < parts; i++) {
            uint32_t pages = (amount[g] - first + parts - i - 1) / (parts - i);
            uint32_t use = prep->gaps[g].use_op;

            draft->pieces[draft->piece_count++] =
                (struct spill_piece){g, first, pages, use == 0 ? n - 1 : use - 1};
            first += pages;
        }
    }
    return SPILL_OK;
}

struct sort_key {
    uint32_t piece, major, minor;
};

static int compare_keys(const void *left, const void *right)
{
    const struct sort_key *a = left, *b = right;

    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor < b->minor ? -1 : 1;
    return a->piece < b->piece ? -1 : a->piece > b->piece;
}

static enum spill_status fill_parks(struct spill_draft *draft, const struct spill_prep *prep,
                                    struct spill_arena *arena)
{
    uint32_t left = draft->parked;
    uint32_t count = 0;

    for (uint32_t b = 0; b < prep->problem->buffer_count; b++)
        count += prep->parkable[b];
    draft->plan.parks = spill_arena_alloc(arena, count, sizeof(struct spill_park));
    if (draft->plan.parks == NULL)
        return SPILL_ERR_NOMEM;
    draft->plan.park_count = 0;
    for (uint32_t b = 0; b < prep->problem->buffer_count && left > 0; b++) {
        uint32_t pages = prep->pages[b] < left ? prep->pages[b] : left;

        if (!prep->parkable[b] || pages == 0)
            continue;
        draft->plan.parks[draft->plan.park_count++] = (struct spill_park){b, 0, pages};
        left -= pages;
    }
    return SPILL_OK;
}

enum spill_status spill_draft_plan(struct spill_draft *draft, const struct spill_prep *prep,
                                   struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count, count = draft->piece_count;
    struct sort_key *keys = spill_arena_alloc(arena, count, sizeof(*keys));
    struct spill_plan *plan = &draft->plan;

    draft->piece_of = spill_arena_alloc(arena, count, sizeof(uint32_t));
    plan->moves = spill_arena_alloc(arena, count, sizeof(*plan->moves));
    plan->in_order = spill_arena_alloc(arena, count, sizeof(uint32_t));
    if (arena->failed)
        return SPILL_ERR_NOMEM;
    plan->move_count = count;
    /* On the out link the shortest gap goes first: it has the least time for both copies. */
    for (uint32_t i = 0; i < count; i++) {
        const struct spill_gap *gap = &prep->gaps[draft->pieces[i].gap];

        keys[i] = (struct sort_key){i, gap->out_op, gap->length};
    }
    if (count > 0)
        qsort(keys, count, sizeof(*keys), compare_keys);
    for (uint32_t m = 0; m < count; m++) {
        const struct spill_piece *piece = &draft->pieces[keys[m].piece];
        const struct spill_gap *gap = &prep->gaps[piece->gap];

        draft->piece_of[m] = keys[m].piece;
        plan->moves[m] = (struct spill_move){.buffer = gap->buffer,
                                             .page_first = piece->page_first,
                                             .page_count = piece->page_count,
                                             .out_op = gap->out_op,
                                             .in_op = piece->in_op,
                                             .use_op = gap->use_op};
    }
    for (uint32_t m = 0; m < count; m++)
        keys[m] = (struct sort_key){m, plan->moves[m].in_op,
                                    spill_cyclic(plan->moves[m].in_op, plan->moves[m].use_op, n)};
    if (count > 0)
        qsort(keys, count, sizeof(*keys), compare_keys);
    for (uint32_t i = 0; i < count; i++)
        plan->in_order[i] = keys[i].piece;
    return fill_parks(draft, prep, arena);
}

static void *duplicate(struct spill_arena *arena, const void *from, size_t count, size_t size)
{
    void *to = spill_arena_alloc(arena, count, size);

    if (to != NULL && count > 0)
        memcpy(to, from, count * size);
    return to;
}

enum spill_status spill_draft_copy(struct spill_draft *to, const struct spill_draft *from,
                                   struct spill_arena *arena)
{
    uint32_t count = from->piece_count;

    *to = *from;
    to->pieces = duplicate(arena, from->pieces, count, sizeof(*to->pieces));
    to->plan.moves = duplicate(arena, from->plan.moves, count, sizeof(*to->plan.moves));
    to->plan.in_order = duplicate(arena, from->plan.in_order, count, sizeof(uint32_t));
    return arena->failed ? SPILL_ERR_NOMEM : SPILL_OK;
}

uint32_t *spill_draft_resident(const struct spill_draft *draft, const struct spill_prep *prep,
                               struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count;
    uint32_t *resident = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint32_t));

    if (resident == NULL)
        return NULL;
    for (uint32_t i = 0; i < draft->piece_count; i++) {
        const struct spill_piece *piece = &draft->pieces[i];
        uint32_t out_op = prep->gaps[piece->gap].out_op;

        spill_cyclic_range_add(resident, n, spill_cyclic_add(out_op, 1, n),
                               spill_cyclic(out_op, piece->in_op, n), 0u - piece->page_count);
    }
    for (uint32_t k = 1; k < n; k++)
        resident[k] += resident[k - 1];
    for (uint32_t k = 0; k < n; k++)
        resident[k] += prep->base[k] - draft->parked;
    return resident;
}

/* The copies out seen from one point of the cycle: SUM[i] pages leave with the first i of two
 * cycles. */
struct outs {
    uint64_t *sum;       /* 2 * moves + 1 */
    uint32_t *before_op; /* copies out with out_op < k; op_count + 1 entries */
    uint32_t moves;
};

static bool list_outs(struct outs *outs, const struct spill_plan *plan, uint32_t n,
                      struct spill_arena *arena)
{
    outs->moves = plan->move_count;
    outs->sum = spill_arena_alloc(arena, 2 * (size_t)plan->move_count + 1, sizeof(uint64_t));
    outs->before_op = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint32_t));
    if (arena->failed)
        return false;
    for (uint32_t i = 0; i < 2 * plan->move_count; i++)
        outs->sum[i + 1] = outs->sum[i] + plan->moves[i % plan->move_count].page_count;
    for (uint32_t m = 0; m < plan->move_count; m++)
        outs->before_op[plan->moves[m].out_op + 1]++;
    for (uint32_t k = 0; k < n; k++)
        outs->before_op[k + 1] += outs->before_op[k];
    return true;
}

/* The copies out of ops < K have been launched; ROOM pages may still be on their way. Which copy
 * out must be over? SPILL_NO_WAIT when none. */
static int64_t last_that_must_be_over(const struct outs *outs, uint32_t k, uint64_t room)
{
    uint32_t end = outs->before_op[k] + outs->moves;
    uint32_t low = outs->before_op[k], high = end;

    while (low < high) { /* fewest of the oldest copies that must be over */
        uint32_t middle = (low + high) / 2;

        if (outs->sum[end] - outs->sum[middle] > room)
            low = middle + 1;
        else
            high = middle;
    }
    return low == outs->before_op[k] ? SPILL_NO_WAIT : (int64_t)low - 1 - outs->moves;
}

/* Memory is granted in host order from one pool: a new stay waits until so many copies out are over
 * that what is held, pages still on their way out included, fits the budget. */
static bool waits_of_counts(struct spill_waits *waits, const struct spill_draft *draft,
                            const struct spill_prep *prep, struct spill_arena *arena)
{
    const struct spill_plan *plan = &draft->plan;
    uint32_t n = prep->problem->op_count, budget = draft->budget;
    uint32_t *resident = spill_draft_resident(draft, prep, arena);
    uint32_t *births = spill_arena_alloc(arena, n, sizeof(uint32_t));
    struct outs outs;
    uint32_t i = 0;

    if (!list_outs(&outs, plan, n, arena) || arena->failed)
        return false;
    for (uint32_t b = 0; b < prep->problem->buffer_count; b++)
        if (prep->problem->buffers[b].life == SPILL_LIFE_ITERATION &&
            prep->problem->buffers[b].pinned == 0)
            births[prep->problem->buffers[b].birth_op] += prep->pages[b];
    for (uint32_t k = 0; k < n; k++) {
        uint32_t next = k + 1 == n ? 0 : k + 1, first = i;
        uint64_t called = 0, all = 0, after;

        if (births[k] > 0)
            spill_waits_raise(&waits->op_out[k],
                              last_that_must_be_over(&outs, k, budget - resident[k]));
        for (; i < plan->move_count && plan->moves[plan->in_order[i]].in_op == k; i++)
            all += plan->moves[plan->in_order[i]].page_count;
        after = resident[next] - births[next] - all; /* when op k's own pages have left or died */
        for (uint32_t j = first; j < i; j++) {
            called += plan->moves[plan->in_order[j]].page_count;
            if (resident[k] + called <= budget) {
                spill_waits_raise(&waits->in_out[j],
                                  last_that_must_be_over(&outs, k, budget - resident[k] - called));
            } else {
                spill_waits_raise(&waits->in_op[j], k);
                spill_waits_raise(&waits->in_out[j],
                                  last_that_must_be_over(&outs, k + 1, budget - after - called));
            }
        }
    }
    return true;
}

enum spill_status spill_draft_evaluate(struct spill_draft *draft, const struct spill_prep *prep,
                                       struct spill_arena *arena)
{
    enum spill_status status = spill_draft_plan(draft, prep, arena);
    struct spill_arena scratch = {0};
    struct spill_waits waits;

    if (status != SPILL_OK)
        return status;
    memset(&draft->outcome, 0, sizeof(draft->outcome));
    status = SPILL_ERR_NOMEM;
    if (spill_timeline_open(&draft->when, prep->problem->op_count, draft->piece_count, arena) &&
        spill_waits_of_data(&waits, prep, &draft->plan, &scratch) &&
        waits_of_counts(&waits, draft, prep, &scratch))
        status = spill_simulate_waits(prep, &draft->plan, &waits, &draft->when, &draft->outcome,
                                      &scratch);
    spill_arena_free(&scratch);
    return status;
}
