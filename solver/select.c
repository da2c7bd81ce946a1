/* SPDX-License-Identifier: Apache-2.0 */
/* A gap's worth only falls while others are taken, because fewer ops are over the limit: so the
 * gaps are kept in a heap by their last known worth, and only the best is looked at again (lazy
 * greedy, Minoux 1978). */
#include "solver/select.h"

#include "solver/ranges.h"
#include "solver/realmath.h"

/* A gap this close to the best is as good: many are alike, and each choice lowers them all a
 * little. The more gaps, the less it matters which of them comes first. */
#define NEAR_ABOVE 5000
#define NEAR(gaps) ((gaps) > 25000 ? 0.85 : 1 - 6e-6 * (gaps))

struct cover {
    const struct spill_prep *prep;
    const struct spill_select *want;
    uint32_t *amount;
    struct spill_ranges excess; /* pages over the budget, of the ops that are */
    struct spill_ranges away;   /* pages on the host while each op runs */
    uint64_t *area;             /* Fenwick tree of weight over the ops over the budget */
    double *factor;             /* worth of a gap's page for each ns of area */
    double *key;                /* worth when last looked at */
    uint32_t *heap;
    uint32_t heap_count;
};

static uint64_t area_before(const struct cover *c, uint32_t op)
{
    uint64_t sum = 0;

    for (; op > 0; op &= op - 1)
        sum += c->area[op];
    return sum;
}

static void area_change(struct cover *c, uint32_t op, uint64_t delta)
{
    for (op++; op <= c->prep->problem->op_count; op += op & (0u - op))
        c->area[op] += delta;
}

static uint64_t gap_area(const struct cover *c, const struct spill_gap *gap)
{
    uint32_t n = c->prep->problem->op_count, first = spill_cyclic_add(gap->out_op, 1, n);
    uint32_t end = first + gap->length;

    if (end <= n)
        return area_before(c, end) - area_before(c, first);
    return area_before(c, n) - area_before(c, first) + area_before(c, end - n);
}

/* What does not change of a gap's worth: less when it is too short to hide its copies, more when
 * its pages are small. Small pages cost less of the link than they free; the root keeps them from
 * winning outright, since each is a copy of its own. */
static double fixed_factor(const struct spill_prep *prep, double trust, uint32_t g)
{
    const struct spill_problem *p = prep->problem;
    const struct spill_gap *gap = &prep->gaps[g];
    uint32_t n = p->op_count, first = spill_cyclic_add(gap->out_op, 1, n);
    uint32_t end = first + gap->length;
    /* one more ns keeps gaps of no time usable */
    double time =
        1.0 + (double)(end <= n ? prep->start[end] - prep->start[first]
                                : prep->start[n] - prep->start[first] + prep->start[end - n]);
    double copies =
        (double)(spill_link_ns(&p->out, p->page_bytes) + spill_link_ns(&p->in, p->page_bytes));
    double full = (double)p->page_bytes * 1e9 / (double)p->out.bytes_per_s;
    double price = (double)spill_link_ns(&p->out, p->buffers[gap->buffer].bytes);

    return (1.0 - trust + trust * time / (time + 4 * copies)) /
           spill_real_root((price + 1) / (full * prep->pages[gap->buffer] + 1));
}

static bool before(const struct cover *c, uint32_t a, uint32_t b)
{
    return c->key[a] != c->key[b] ? c->key[a] > c->key[b] : a < b;
}

static void sift(struct cover *c, uint32_t at)
{
    for (;;) {
        uint32_t best = at, child = 2 * at + 1, swap;

        if (child < c->heap_count && before(c, c->heap[child], c->heap[best]))
            best = child;
        if (child + 1 < c->heap_count && before(c, c->heap[child + 1], c->heap[best]))
            best = child + 1;
        if (best == at)
            return;
        swap = c->heap[at];
        c->heap[at] = c->heap[best];
        c->heap[best] = swap;
        at = best;
    }
}

/* Pages the host can still take in the gap. They are there from out_op until use_op begins. */
static uint32_t host_room(struct cover *c, const struct spill_gap *gap)
{
    int64_t most = spill_ranges_most(&c->away, gap->out_op, gap->length + 1);
    int64_t room = (int64_t)c->want->host - c->want->parked - most;

    return room <= 0 ? 0 : room > UINT32_MAX ? UINT32_MAX : (uint32_t)room;
}

static void take(struct cover *c, uint32_t g, uint32_t pages)
{
    const struct spill_gap *gap = &c->prep->gaps[g];
    uint32_t n = c->prep->problem->op_count, op;

    spill_ranges_add(&c->away, gap->out_op, gap->length + 1, pages);
    spill_ranges_add(&c->excess, spill_cyclic_add(gap->out_op, 1, n), gap->length, -(int64_t)pages);
    while ((op = spill_ranges_take_low(&c->excess)) != UINT32_MAX)
        area_change(c, op, 0 - (c->want->weight[op] + 1));
}

static bool cover_open(struct cover *c, struct spill_arena *arena)
{
    const struct spill_prep *prep = c->prep;
    uint32_t n = prep->problem->op_count;

    c->area = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint64_t));
    c->factor = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    c->key = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    c->heap = spill_arena_alloc(arena, prep->gap_count, sizeof(uint32_t));
    if (!spill_ranges_open(&c->excess, n, arena) || !spill_ranges_open(&c->away, n, arena))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        spill_ranges_add(&c->excess, k, 1,
                         (int64_t)prep->base[k] - c->want->parked - c->want->budget);
        area_change(c, k, c->want->weight[k] + 1);
    }
    for (uint32_t op; (op = spill_ranges_take_low(&c->excess)) != UINT32_MAX;)
        area_change(c, op, 0 - (c->want->weight[op] + 1));
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        uint32_t room = c->amount[g] == 0 ? 0 : host_room(c, &prep->gaps[g]);

        c->amount[g] = c->amount[g] < room ? c->amount[g] : room;
        if (c->amount[g] > 0)
            take(c, g, c->amount[g]);
    }
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        c->factor[g] = fixed_factor(prep, c->want->trust, g);
        c->key[g] = (double)gap_area(c, &prep->gaps[g]) * c->factor[g];
        c->heap[c->heap_count++] = g;
    }
    for (uint32_t i = c->heap_count / 2; i-- > 0;)
        sift(c, i);
    return true;
}

/* The largest worth below the top, as last known. */
static double runner_up(const struct cover *c)
{
    double one = c->heap_count > 1 ? c->key[c->heap[1]] : 0;
    double two = c->heap_count > 2 ? c->key[c->heap[2]] : 0;

    return one > two ? one : two;
}

static void drop_top(struct cover *c)
{
    c->heap[0] = c->heap[--c->heap_count];
    sift(c, 0);
}

static enum spill_status cover(struct cover *c)
{
    uint32_t n = c->prep->problem->op_count;
    double near = c->prep->gap_count > NEAR_ABOVE ? NEAR(c->prep->gap_count) : 1;

    while (area_before(c, n) > 0) {
        const struct spill_gap *gap;
        uint32_t g, add, room;
        int64_t most;
        double now;

        if (c->heap_count == 0)
            return SPILL_ERR_INFEASIBLE;
        g = c->heap[0];
        gap = &c->prep->gaps[g];
        add = c->prep->pages[gap->buffer] - c->amount[g];
        now = (double)gap_area(c, gap) * c->factor[g];
        if (add == 0 || now <= 0) {
            drop_top(c);
            continue;
        }
        if (now < near * runner_up(c)) { /* it has fallen: look at it again in its place */
            c->key[g] = now;
            sift(c, 0);
            continue;
        }
        most = spill_ranges_most(&c->excess, spill_cyclic_add(gap->out_op, 1, n), gap->length);
        room = host_room(c, gap);
        add = most < add ? (uint32_t)most : add;
        add = room < add ? room : add;
        if (add == 0) {
            drop_top(c);
            continue;
        }
        c->amount[g] += add;
        take(c, g, add);
    }
    return SPILL_OK;
}

enum spill_status spill_select_cover(const struct spill_prep *prep, const struct spill_select *want,
                                     uint32_t *amount)
{
    struct spill_arena scratch = {0};
    struct cover c = {.prep = prep, .want = want, .amount = amount};
    enum spill_status status = cover_open(&c, &scratch) ? cover(&c) : SPILL_ERR_NOMEM;

    spill_arena_free(&scratch);
    return status;
}
