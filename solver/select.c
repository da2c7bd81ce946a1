/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/select.h"

#include <math.h>
#include <stdbool.h>

struct cover {
    const struct spill_prep *prep;
    const struct spill_select *want;
    uint32_t *amount;
    int64_t *excess; /* pages over the budget at each op */
    uint32_t *away;  /* pages on the host while each op runs */
    bool *closed;    /* gaps the host has no room for */
    uint64_t *area;  /* prefix sums of weight over the ops that are over the budget */
};

static uint64_t range_sum(const uint64_t *prefix, uint32_t n, uint32_t first, uint32_t count)
{
    if (first + count <= n)
        return prefix[first + count] - prefix[first];
    return prefix[n] - prefix[first] + prefix[first + count - n];
}

static int64_t most_excess(const struct cover *c, const struct spill_gap *gap)
{
    uint32_t n = c->prep->problem->op_count, k = spill_cyclic_add(gap->out_op, 1, n);
    int64_t most = 0;

    for (uint32_t i = 0; i < gap->length; i++) {
        if (c->excess[k] > most)
            most = c->excess[k];
        k = k + 1 == n ? 0 : k + 1;
    }
    return most;
}

static void sum_areas(struct cover *c)
{
    uint32_t n = c->prep->problem->op_count;

    for (uint32_t k = 0; k < n; k++)
        c->area[k + 1] = c->area[k] + (c->excess[k] > 0 ? c->want->weight[k] + 1 : 0);
}

/* Worth of one page in the gap: time over the limit that it removes; less when the gap is too short
 * to hide the copies. */
static double worth(const struct cover *c, uint32_t g)
{
    const struct spill_prep *prep = c->prep;
    const struct spill_gap *gap = &prep->gaps[g];
    uint32_t n = prep->problem->op_count, first = spill_cyclic_add(gap->out_op, 1, n);
    uint32_t left = prep->pages[gap->buffer] - c->amount[g];
    double area = (double)range_sum(c->area, n, first, gap->length);
    double time;
    double copies, full, price;

    if (left == 0 || area <= 0 || c->closed[g])
        return 0;
    /* op_start is itself a prefix sum; one more ns keeps gaps of no time usable */
    time = 1 + (double)range_sum(c->want->op_start, n, first, gap->length);
    copies = (double)(spill_link_ns(&prep->problem->out, prep->problem->page_bytes) +
                      spill_link_ns(&prep->problem->in, prep->problem->page_bytes));
    /* Small pages cost less of the link than they free; the root keeps them from winning outright,
     * since each is a copy of its own. */
    full = (double)prep->problem->page_bytes * 1e9 / (double)prep->problem->out.bytes_per_s;
    price = (double)spill_link_ns(&prep->problem->out, prep->problem->buffers[gap->buffer].bytes);
    area /= sqrt((price + 1) / (full * prep->pages[gap->buffer] + 1));
    return area * (1.0 - c->want->trust + c->want->trust * time / (time + 4 * copies));
}

/* Pages the host can still take in the gap. They are there from out_op until use_op begins. */
static uint32_t host_room(const struct cover *c, const struct spill_gap *gap)
{
    uint32_t n = c->prep->problem->op_count, k = gap->out_op, most = 0;

    for (uint32_t i = 0; i <= gap->length; i++) {
        most = c->away[k] > most ? c->away[k] : most;
        k = k + 1 == n ? 0 : k + 1;
    }
    return most + c->want->parked >= c->want->host ? 0 : c->want->host - c->want->parked - most;
}

static void take(struct cover *c, uint32_t g, uint32_t pages)
{
    const struct spill_gap *gap = &c->prep->gaps[g];
    uint32_t n = c->prep->problem->op_count, k = gap->out_op;

    for (uint32_t i = 0; i <= gap->length; i++) {
        c->away[k] += pages;
        if (i > 0)
            c->excess[k] -= pages;
        k = k + 1 == n ? 0 : k + 1;
    }
}

static bool cover_open(struct cover *c, struct spill_arena *arena)
{
    const struct spill_prep *prep = c->prep;
    uint32_t n = prep->problem->op_count;

    c->excess = spill_arena_alloc(arena, n, sizeof(int64_t));
    c->away = spill_arena_alloc(arena, n, sizeof(uint32_t));
    c->closed = spill_arena_alloc(arena, prep->gap_count, sizeof(bool));
    c->area = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint64_t));
    if (arena->failed)
        return false;
    for (uint32_t k = 0; k < n; k++)
        c->excess[k] = (int64_t)prep->base[k] - c->want->parked - c->want->budget;
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        uint32_t room = c->amount[g] == 0 ? 0 : host_room(c, &prep->gaps[g]);

        c->amount[g] = c->amount[g] < room ? c->amount[g] : room;
        if (c->amount[g] > 0)
            take(c, g, c->amount[g]);
    }
    return true;
}

enum spill_status spill_select_cover(const struct spill_prep *prep, const struct spill_select *want,
                                     uint32_t *amount, struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count;
    struct cover c = {.prep = prep, .want = want, .amount = amount};

    if (!cover_open(&c, arena))
        return SPILL_ERR_NOMEM;
    for (;;) {
        double best_worth = 0;
        uint32_t best = UINT32_MAX, add, room;
        int64_t most;

        sum_areas(&c);
        if (c.area[n] == 0)
            return SPILL_OK;
        for (uint32_t g = 0; g < prep->gap_count; g++) {
            double value = worth(&c, g);

            if (value > best_worth) {
                best = g;
                best_worth = value;
            }
        }
        if (best == UINT32_MAX)
            return SPILL_ERR_INFEASIBLE;
        most = most_excess(&c, &prep->gaps[best]);
        add = prep->pages[prep->gaps[best].buffer] - amount[best];
        room = host_room(&c, &prep->gaps[best]);
        if (most < add)
            add = (uint32_t)most;
        if (room < add)
            add = room;
        if (add == 0) {
            c.closed[best] = true;
            continue;
        }
        amount[best] += add;
        take(&c, best, add);
    }
}
