/* SPDX-License-Identifier: Apache-2.0 */
/* Time is cut at `instants` (starts of ops). Between two of them lies a slot: compute of fixed
 * length, and a stall of any length at the end. Pages flow: N_k -> B_k by a copy out in slot k, B_k
 * -> B_{k-1} back in time to the slot in which their gap begins, from there to E_d over the gap's
 * own arc, E_d -> E_{d-1} back in time to the slot of the copy in, E_k -> N_k by it. N_{k-1} -> N_k
 * are the pages that stay, at most the budget. Copies take the slot's time and its stall; one more
 * row says that a flow round the cycle neither creates nor loses pages. The sum of the stalls is
 * minimised. What is relaxed: copies are fluid and of no latency, except that a gap too small to
 * fill the pages it frees pays its latency; memory is looked at only at the instants. Bounding by
 * per-step link rows is in OffMate's model (hal-04660745); the flow form, in which the rows stay
 * few and hardly entangled, is ours. */
#include "solver/relax.h"

#include <stdbool.h>
#include <string.h>

#include "solver/interior.h"
#include "solver/realmath.h"

#define ACCURACY 1e-6
#define THRIFT   1e-4 /* of a page's link time, for each page moved: no moves without need */

struct model {
    const struct spill_prep *prep;
    struct spill_arena *arena;
    struct spill_relax *relax;
    uint32_t slots;
    uint32_t *instant;        /* op of each */
    uint32_t *slot_of;        /* op -> slot */
    double *base;             /* pages held at each instant when nothing moves */
    uint32_t *gap_col;        /* UINT32_MAX: gap not in the model */
    double *gap_weight;       /* link time of a page of the gap, in full pages */
    double out_ns, in_ns;     /* link time of a page */
    struct spill_interior lp; /* in pages, and the link time of a page out */
    uint32_t first_link_row;
};

/* When op K begins in the timing that the instants are chosen for. */
static double begins(const struct model *m, uint32_t k)
{
    const uint64_t *start = m->relax->op_start != NULL ? m->relax->op_start : m->prep->start;

    return (double)start[k];
}

/* Instants: every op or, where those are too many, op 0 and in each stretch of equal time the op
 * with most pages. */
static bool choose_instants(struct model *m)
{
    const struct spill_prep *prep = m->prep;
    uint32_t n = prep->problem->op_count, most = m->relax->instants < n ? m->relax->instants : n;
    uint32_t *pick = spill_arena_alloc(m->arena, most, sizeof(uint32_t));
    double weight = (double)m->relax->step_ns / most + 1;

    m->instant = spill_arena_alloc(m->arena, (size_t)most + 1, sizeof(uint32_t));
    m->slot_of = spill_arena_alloc(m->arena, n, sizeof(uint32_t));
    if (m->arena->failed)
        return false;
    memset(pick, 0xff, most * sizeof(*pick));
    for (uint32_t k = 0; k < n; k++) {
        uint32_t stretch = most == n ? k : (uint32_t)(begins(m, k) / weight);

        if (stretch >= most)
            stretch = most - 1;
        if (pick[stretch] == UINT32_MAX || prep->base[k] > prep->base[pick[stretch]])
            pick[stretch] = k;
    }
    m->slots = 0;
    m->instant[m->slots++] = 0;
    for (uint32_t i = 0; i < most; i++)
        if (pick[i] != UINT32_MAX && pick[i] != 0)
            m->instant[m->slots++] = pick[i];
    for (uint32_t k = 0, slot = 0; k < n; k++) {
        if (slot + 1 < m->slots && m->instant[slot + 1] == k)
            slot++;
        m->slot_of[k] = slot;
    }
    return true;
}

/* Is an instant strictly inside the gap? Without one the gap frees nothing the model sees. */
static bool spans_instant(const struct model *m, const struct spill_gap *gap)
{
    uint32_t n = m->prep->problem->op_count;
    uint32_t next = m->slot_of[gap->out_op] + 1 == m->slots ? 0 : m->slot_of[gap->out_op] + 1;
    uint32_t ahead = spill_cyclic(gap->out_op, m->instant[next], n);

    return (ahead == 0 ? n : ahead) <= gap->length;
}

/* Weighs each gap, and takes off the base what gaps free beyond their link time: a page of few
 * bytes takes less of the link than a full one, yet at least its share of a copy's latency. */
static bool weigh_gaps(struct model *m)
{
    const struct spill_prep *prep = m->prep;
    const struct spill_problem *p = prep->problem;
    uint32_t n = p->op_count;
    double *given = spill_arena_alloc(m->arena, (size_t)n + 1, sizeof(double));
    double free_bytes =
        spill_real_min((double)p->out.latency_ns * 1e-9 * (double)p->out.bytes_per_s,
                       (double)p->in.latency_ns * 1e-9 * (double)p->in.bytes_per_s);
    double sum = 0;

    m->gap_weight = spill_arena_alloc(m->arena, prep->gap_count, sizeof(double));
    m->base = spill_arena_alloc(m->arena, m->slots, sizeof(double));
    if (m->arena->failed)
        return false;
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        const struct spill_gap *gap = &prep->gaps[g];
        uint32_t pages = prep->pages[gap->buffer], first = gap->out_op + 1;
        double weight = ((double)p->buffers[gap->buffer].bytes + free_bytes) /
                        ((double)pages * (double)p->page_bytes);
        double gift = weight < 1 ? (1 - weight) * pages : 0;

        m->gap_weight[g] = weight < 1 ? weight : 1;
        first = first >= n ? first - n : first;
        given[first] += gift;
        if (first + gap->length <= n) {
            given[first + gap->length] -= gift;
        } else {
            given[n] -= gift;
            given[0] += gift;
            given[first + gap->length - n] -= gift;
        }
    }
    for (uint32_t k = 0, slot = 0; k < n; k++) {
        sum += given[k];
        if (m->instant[slot] == k) {
            double pages = (double)(prep->base[k] - m->relax->parked) - sum - 1e-6;

            m->base[slot] = spill_real_max(pages, 0);
            if (slot + 1 < m->slots)
                slot++;
        }
    }
    return true;
}

/* A column with up to four entries; rows that are UINT32_MAX are none. */
static uint32_t add(struct model *m, double cost, double upper, const uint32_t row[4],
                    const double value[4])
{
    uint32_t column = spill_interior_column(&m->lp, cost, upper);

    for (int i = 0; i < 4; i++)
        if (row[i] != UINT32_MAX && value[i] != 0)
            spill_interior_entry(&m->lp, row[i], value[i]);
    return column;
}

static void add_slot(struct model *m, uint32_t k, double most_waiting)
{
    const struct spill_prep *prep = m->prep;
    uint32_t s = m->slots, before = k == 0 ? s - 1 : k - 1, next = k + 1 == s ? 0 : k + 1;
    uint32_t end = k + 1 == s ? prep->problem->op_count : m->instant[k + 1];
    uint32_t held = k, leave = s + k, back = 2 * s + k, out = 3 * s + k, in = 4 * s + k;
    uint32_t round = k == 0 ? 5 * s : UINT32_MAX;
    double ns = (double)(prep->start[end] - prep->start[m->instant[k]]);
    double full = (double)prep->problem->duplex_permille / 1000;
    /* at half speed while both are busy, each takes time from the other */
    double share = full >= 0.5 ? (1 - full) / full : 1;

    m->lp.rhs[held] = m->base[next] - m->base[k];
    m->lp.rhs[out] = ns / m->out_ns;
    m->lp.rhs[in] = ns / m->in_ns;
    add(m, 0, m->relax->budget, (uint32_t[]){before, held, round, UINT32_MAX},
        (double[]){1, -1, 1, 0});
    add(m, 0, most_waiting, (uint32_t[]){held, leave, out, in},
        (double[]){1, -1, 1, share * m->out_ns / m->in_ns});
    add(m, 0, most_waiting, (uint32_t[]){back, held, in, out},
        (double[]){1, -1, 1, share * m->in_ns / m->out_ns});
    add(m, 0, most_waiting, (uint32_t[]){leave, s + before, round, UINT32_MAX},
        (double[]){1, -1, -1, 0});
    add(m, 0, most_waiting, (uint32_t[]){back, 2 * s + before, round, UINT32_MAX},
        (double[]){1, -1, -1, 0});
    add(m, 1, SPILL_INTERIOR_OPEN, (uint32_t[]){out, in, UINT32_MAX, UINT32_MAX},
        (double[]){-1, -m->out_ns / m->in_ns, 0, 0});
    add(m, 0, SPILL_INTERIOR_OPEN, (uint32_t[]){out, UINT32_MAX, UINT32_MAX, UINT32_MAX},
        (double[]){1, 0, 0, 0});
    add(m, 0, SPILL_INTERIOR_OPEN, (uint32_t[]){in, UINT32_MAX, UINT32_MAX, UINT32_MAX},
        (double[]){1, 0, 0, 0});
}

static enum spill_status build(struct model *m)
{
    const struct spill_prep *prep = m->prep;
    const struct spill_problem *p = prep->problem;
    uint32_t s = m->slots, n = p->op_count;
    double page = (double)p->page_bytes, most_waiting = 1;
    enum spill_status status = spill_interior_open(&m->lp, 5 * s + 1, 8 * s + prep->gap_count,
                                                   23 * s + 3 * prep->gap_count, m->arena);

    m->gap_col = spill_arena_alloc(m->arena, prep->gap_count, sizeof(uint32_t));
    if (status != SPILL_OK || m->arena->failed)
        return SPILL_ERR_NOMEM;
    m->first_link_row = 3 * s;
    m->out_ns = page * 1e9 / (double)p->out.bytes_per_s;
    m->in_ns = page * 1e9 / (double)p->in.bytes_per_s;
    for (uint32_t g = 0; g < prep->gap_count; g++)
        most_waiting += prep->pages[prep->gaps[g].buffer] * m->gap_weight[g];
    m->lp.rhs[5 * s] = m->base[0];
    for (uint32_t k = 0; k < s; k++)
        add_slot(m, k, most_waiting);
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        const struct spill_gap *gap = &prep->gaps[g];
        uint32_t last = gap->use_op == 0 ? n - 1 : gap->use_op - 1;
        /* op 0 of the next iteration is so far ahead */
        uint32_t round = n - gap->out_op <= gap->length ? 5 * s : UINT32_MAX;

        m->gap_col[g] = UINT32_MAX;
        if (spans_instant(m, gap))
            m->gap_col[g] = add(m, THRIFT, prep->pages[gap->buffer] * m->gap_weight[g],
                                (uint32_t[]){s + m->slot_of[gap->out_op], 2 * s + m->slot_of[last],
                                             round, UINT32_MAX},
                                (double[]){1, -1, 1, 0});
    }
    return SPILL_OK;
}

/* A lower bound on the sum of the stalls by weak duality, whatever the prices are; in units of a
 * page's link time. */
static double dual_value(struct model *m)
{
    struct spill_interior *lp = &m->lp;
    double value = 0, size = 0, most = 1;

    /* Slack in a link costs nothing, and a stall costs no more than its length. */
    for (uint32_t r = m->first_link_row; r < 5 * m->slots; r++)
        lp->y[r] = spill_real_min(lp->y[r], 0);
    for (uint32_t k = 0; k < m->slots; k++)
        most =
            spill_real_max(most, -(lp->y[m->first_link_row + k] +
                                   lp->y[m->first_link_row + m->slots + k] * m->out_ns / m->in_ns));
    for (uint32_t r = 0; r < lp->row_count; r++) {
        lp->y[r] /= most;
        value += lp->rhs[r] * lp->y[r];
        size += lp->rhs[r] * lp->y[r] < 0 ? -lp->rhs[r] * lp->y[r] : lp->rhs[r] * lp->y[r];
    }
    for (uint32_t j = 0; j < lp->col_count; j++) {
        double reduced = lp->cost[j] == 1 ? 1 : 0;

        for (uint32_t a = lp->col_first[j]; a < lp->col_first[j + 1]; a++)
            reduced -= lp->value[a] * lp->y[lp->row[a]];
        if (reduced < 0 && lp->upper[j] < SPILL_INTERIOR_OPEN)
            value += reduced * lp->upper[j];
    }
    return value - 1e-10 * size; /* what rounding may have added */
}

enum spill_status spill_relax_solve(struct spill_relax *relax, const struct spill_prep *prep,
                                    struct spill_arena *arena)
{
    struct spill_arena scratch = {0};
    struct model m = {.prep = prep, .arena = &scratch, .relax = relax};
    enum spill_status status = SPILL_ERR_NOMEM;

    relax->bound_ns = (double)prep->compute_ns;
    relax->amount = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    if (relax->amount == NULL)
        return SPILL_ERR_NOMEM;
    if (prep->peak <= relax->budget + relax->parked || prep->problem->op_count < 2)
        return SPILL_OK;
    if (choose_instants(&m) && weigh_gaps(&m))
        status = build(&m);
    if (status == SPILL_OK)
        status = spill_interior_solve(&m.lp, ACCURACY, relax->rounds, &scratch);
    for (uint32_t g = 0; g < prep->gap_count && status == SPILL_OK; g++) {
        double units = m.gap_col[g] != UINT32_MAX ? m.lp.x[m.gap_col[g]] : 0;

        relax->amount[g] = units > 0 ? units / m.gap_weight[g] : 0;
    }
    if (status == SPILL_OK)
        relax->bound_ns =
            spill_real_max(relax->bound_ns, (double)prep->compute_ns + dual_value(&m) * m.out_ns);
    spill_arena_free(&scratch);
    return status;
}
