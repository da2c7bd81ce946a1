/* SPDX-License-Identifier: Apache-2.0 */
/* Time is cut at `instants` (starts of ops). Between two of them lies a slot: compute of fixed
 * length, and a stall of any length at the end. Pages flow: N_k -> B_k by a copy out in slot k, B_k
 * -> B_{k-1} back in time to the slot in which their gap begins, from there to E_d over the gap's
 * own arc, E_d -> E_{d-1} back in time to the slot of the copy in, E_k -> N_k by it. N_{k-1} -> N_k
 * are the pages that stay, at most the budget. Every variable is in two balances with opposite
 * signs, so with prices fixed this is a minimum-cost flow, integral in its units. Two prices are
 * adjusted outside: theta[k]: a stall costs max(out, in) time on the links; theta of it is charged
 * to copies out, the rest to copies in, which is never more; slack:    a flow round the cycle must
 * not create or lose pages; it is the price of breaking this. Any prices give a valid bound (weak
 * duality); subgradient steps raise it (Held, Wolfe, Crowder 1974, with Polyak's step). What is
 * relaxed: copies are fluid and of no latency, except that a gap too small to fill the pages it
 * frees pays its latency; memory is looked at only at the instants. The idea of bounding by
 * per-step link rows is in OffMate's model (hal-04660745); the flow form is ours. */
#include "solver/relax.h"

#include <string.h>

#include "solver/network.h"
#include "solver/realmath.h"

#define UNIT        64   /* flow units in a page */
#define SCALE       16   /* cost units in a nanosecond */
#define SLACK_MOST  1000 /* times the link time of a page: no price is higher in earnest */
#define IDLE_ROUNDS 12   /* without progress: give up */
#define MEAN_ROUNDS 30

struct model {
    const struct spill_prep *prep;
    struct spill_arena *arena;
    struct spill_relax *relax;
    uint32_t slots;
    uint32_t *instant; /* op of each */
    uint32_t *slot_of; /* op -> slot */
    uint64_t *base;    /* units held at each instant when nothing moves */
    struct spill_network net;
    uint32_t *stall_out, *stall_in;         /* arcs of each slot */
    uint32_t *gap_arc;                      /* UINT32_MAX: gap not in the model */
    double *gap_weight;                     /* link time of a page of the gap, in full pages */
    uint32_t hold_arc, back_arc, early_arc; /* those that cross the border of the iteration */
    bool *crosses;                          /* gap arcs that do */
    double out_ns, in_ns;                   /* link time of a unit */
    double *theta;
    double slack;
    double thrift; /* ns charged for each unit moved: among equal flows the one that moves less */
};

/* Instants: op 0, and in each stretch of equal compute time the op with most pages. */
static bool choose_instants(struct model *m)
{
    const struct spill_prep *prep = m->prep;
    uint32_t n = prep->problem->op_count, most = m->relax->instants < n ? m->relax->instants : n;
    uint32_t *pick = spill_arena_alloc(m->arena, most, sizeof(uint32_t));
    double weight = (double)prep->compute_ns / most + 1;

    m->instant = spill_arena_alloc(m->arena, (size_t)most + 1, sizeof(uint32_t));
    m->slot_of = spill_arena_alloc(m->arena, n, sizeof(uint32_t));
    if (m->arena->failed)
        return false;
    memset(pick, 0xff, most * sizeof(*pick));
    for (uint32_t k = 0; k < n; k++) {
        uint32_t stretch = most == n ? k : (uint32_t)((double)prep->start[k] / weight);

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
    m->base = spill_arena_alloc(m->arena, m->slots, sizeof(uint64_t));
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

            m->base[slot] = pages > 0 ? (uint64_t)(pages * UNIT) : 0;
            if (slot + 1 < m->slots)
                slot++;
        }
    }
    return true;
}

static int64_t units_in(double ns, const struct spill_link *link, double page_bytes)
{
    double units = ns * 1e-9 * (double)link->bytes_per_s / page_bytes * UNIT;

    return units > 1e15 ? INT64_C(1000000000000000) : spill_real_up(units);
}

static enum spill_status build(struct model *m)
{
    const struct spill_prep *prep = m->prep;
    const struct spill_problem *p = prep->problem;
    uint32_t s = m->slots, n = p->op_count;
    double page = (double)p->page_bytes;
    enum spill_status status =
        spill_network_init(&m->net, 3 * s, 7 * s + prep->gap_count, m->arena);

    m->stall_out = spill_arena_alloc(m->arena, s, sizeof(uint32_t));
    m->stall_in = spill_arena_alloc(m->arena, s, sizeof(uint32_t));
    m->gap_arc = spill_arena_alloc(m->arena, prep->gap_count, sizeof(uint32_t));
    m->crosses = spill_arena_alloc(m->arena, prep->gap_count, sizeof(bool));
    m->theta = spill_arena_alloc(m->arena, s, sizeof(double));
    if (status != SPILL_OK || m->arena->failed)
        return SPILL_ERR_NOMEM;
    m->out_ns = page / UNIT * 1e9 / (double)p->out.bytes_per_s;
    m->in_ns = page / UNIT * 1e9 / (double)p->in.bytes_per_s;
#define N(k) (k)
#define B(k) (s + (k))
#define E(k) (2 * s + (k))
    for (uint32_t k = 0; k < s; k++) {
        uint32_t before = k == 0 ? s - 1 : k - 1, next = k + 1 == s ? 0 : k + 1;
        uint32_t end = k + 1 == s ? n : m->instant[k + 1];
        double ns = (double)(prep->start[end] - prep->start[m->instant[k]]);
        uint32_t arc;

        m->net.supply[N(k)] = (int64_t)m->base[next] - (int64_t)m->base[k];
        arc = spill_network_add(&m->net, N(before), N(k), (int64_t)m->relax->budget * UNIT, 0);
        m->hold_arc = k == 0 ? arc : m->hold_arc;
        spill_network_add(&m->net, N(k), B(k), units_in(ns, &p->out, page), 0);
        m->stall_out[k] = spill_network_add(&m->net, N(k), B(k), SPILL_NETWORK_OPEN, 0);
        arc = spill_network_add(&m->net, B(k), B(before), SPILL_NETWORK_OPEN, 0);
        m->back_arc = k == 0 ? arc : m->back_arc;
        spill_network_add(&m->net, E(k), N(k), units_in(ns, &p->in, page), 0);
        m->stall_in[k] = spill_network_add(&m->net, E(k), N(k), SPILL_NETWORK_OPEN, 0);
        arc = spill_network_add(&m->net, E(k), E(before), SPILL_NETWORK_OPEN, 0);
        m->early_arc = k == 0 ? arc : m->early_arc;
        m->theta[k] = 0.5;
    }
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        const struct spill_gap *gap = &prep->gaps[g];
        uint32_t last = gap->use_op == 0 ? n - 1 : gap->use_op - 1;
        double units = prep->pages[gap->buffer] * m->gap_weight[g] * UNIT;
        uint32_t to_border = n - gap->out_op; /* op 0 of the next iteration is so far ahead */

        m->gap_arc[g] = UINT32_MAX;
        if (!spans_instant(m, gap))
            continue;
        m->crosses[g] = to_border <= gap->length;
        m->gap_arc[g] = spill_network_add(&m->net, B(m->slot_of[gap->out_op]), E(m->slot_of[last]),
                                          spill_real_up(units), 0);
    }
#undef N
#undef B
#undef E
    return SPILL_OK;
}

static void set_costs(struct model *m)
{
    int64_t slack = (int64_t)(m->slack * SCALE);

    for (uint32_t k = 0; k < m->slots; k++) {
        m->net.cost[m->stall_out[k]] = (int64_t)(m->theta[k] * m->out_ns * SCALE);
        m->net.cost[m->stall_in[k]] = (int64_t)((1 - m->theta[k]) * m->in_ns * SCALE);
    }
    for (uint32_t g = 0; g < m->prep->gap_count; g++)
        if (m->gap_arc[g] != UINT32_MAX)
            m->net.cost[m->gap_arc[g]] = (int64_t)(m->thrift * SCALE) - (m->crosses[g] ? slack : 0);
    m->net.cost[m->hold_arc] = -slack;
    m->net.cost[m->back_arc] = slack;
    m->net.cost[m->early_arc] = slack;
}

/* Pages (in units) that the flow has lost on its way round. */
static double lost_pages(const struct model *m)
{
    const int64_t *flow = m->net.flow;
    double lost = (double)m->base[0] - (double)flow[m->hold_arc] + (double)flow[m->back_arc] +
                  (double)flow[m->early_arc];

    for (uint32_t g = 0; g < m->prep->gap_count; g++)
        if (m->gap_arc[g] != UINT32_MAX && m->crosses[g])
            lost -= (double)flow[m->gap_arc[g]];
    return lost;
}

__extension__ typedef __int128 wide_t;

/* Dual value of the last tree, in ns of stall: valid whether or not the flow is optimal. Exact
 * sums: the terms are many orders of magnitude larger than the result. */
static double dual_value(const struct model *m)
{
    const struct spill_network *net = &m->net;
    wide_t value = (wide_t)(int64_t)(m->slack * SCALE) * (wide_t)m->base[0];

    for (uint32_t v = 0; v < net->node_count; v++)
        value -= (wide_t)net->potential[v] * net->supply[v];
    for (uint32_t a = 0; a < net->arc_count; a++) {
        int64_t reduced = net->cost[a] + net->potential[net->from[a]] - net->potential[net->to[a]];

        if (reduced < 0)
            value += (wide_t)reduced * net->capacity[a];
    }
    return (double)value / SCALE;
}

/* Optimum for the current prices. */
static enum spill_status evaluate(struct model *m, double *value, double *lost)
{
    enum spill_status status;

    set_costs(m);
    status = spill_network_solve(&m->net, 200 * (int64_t)m->net.arc_count);
    m->relax->pivots += m->net.pivots;
    *value = dual_value(m);
    *lost = lost_pages(m);
    return status;
}

/* What one optimal flow says. At the right price of lost pages there are two: one that loses pages
 * and one that gains some; their mixture that does neither solves the problem for the current
 * theta. */
struct side {
    bool known;
    double lost;
    double *lean;   /* of each slot: ns by which copies out need a longer stall than copies in */
    double *amount; /* pages moved in each gap */
};

static void note_side(const struct model *m, struct side *side, double lost)
{
    side->known = true;
    side->lost = lost;
    for (uint32_t k = 0; k < m->slots; k++)
        side->lean[k] = (double)m->net.flow[m->stall_out[k]] * m->out_ns -
                        (double)m->net.flow[m->stall_in[k]] * m->in_ns;
    for (uint32_t g = 0; g < m->prep->gap_count; g++)
        if (m->gap_arc[g] != UINT32_MAX)
            side->amount[g] = (double)m->net.flow[m->gap_arc[g]] / UNIT / m->gap_weight[g];
}

/* Raises the bound over slack for the current theta by bisection around the last answer. REACH is
 * how far to look and adapts: the answer moves ever less as theta settles. */
static enum spill_status price_lost_pages(struct model *m, struct side side[2], double *reach,
                                          double *best)
{
    double cap = SLACK_MOST * (m->out_ns + m->in_ns);
    double low = spill_real_max(0, m->slack - *reach),
           high = spill_real_min(cap, m->slack + *reach);
    double value, lost, most = -1e300;
    double at = m->slack;

    side[0].known = side[1].known = false;
    for (int i = 0; i < 10 && (i < 5 || !side[0].known || !side[1].known); i++) {
        enum spill_status status;

        m->slack = 0.5 * (low + high);
        status = evaluate(m, &value, &lost);
        if (status != SPILL_OK)
            return status;
        *best = spill_real_max(*best, value);
        if (value > most) {
            most = value;
            at = m->slack;
        }
        note_side(m, &side[lost > 0 ? 0 : 1], lost);
        if (lost > 0)
            low = m->slack;
        else
            high = m->slack;
        if (i >= 3 && ((!side[0].known && low == 0) || (!side[1].known && high >= cap)))
            break;
        if (i >= 1 && (!side[0].known || !side[1].known)) { /* it lies outside: look further */
            if (lost > 0)
                high = spill_real_min(cap, high + *reach);
            else
                low = spill_real_max(0, low - *reach);
            *reach = spill_real_min(cap, *reach * 1.5);
        }
    }
    if (side[0].known && side[1].known)
        *reach = spill_real_max(*reach * 0.6, 1e-3 * m->out_ns);
    m->slack = at;
    return SPILL_OK;
}

/* One round of prices. False in GO_ON when theta has nothing to gain. */
static void step_theta(struct model *m, const struct side side[2], double value, double target,
                       double *direction, bool *go_on)
{
    double mix = 1, norm = 0, step;

    if (side[0].known && side[1].known)
        mix = side[1].lost / (side[1].lost - side[0].lost);
    else if (!side[0].known)
        mix = 0;
    for (uint32_t k = 0; k < m->slots; k++) {
        double lean = mix * (side[0].known ? side[0].lean[k] : 0) +
                      (1 - mix) * (side[1].known ? side[1].lean[k] : 0);

        direction[k] = 0.5 * direction[k] + lean;
        norm += direction[k] * direction[k];
    }
    for (uint32_t g = 0; g < m->prep->gap_count; g++)
        m->relax->amount[g] = mix * (side[0].known ? side[0].amount[g] : 0) +
                              (1 - mix) * (side[1].known ? side[1].amount[g] : 0);
    *go_on = norm > 0;
    step = *go_on ? spill_real_max(target - value, 0.002 * target) / norm : 0;
    for (uint32_t k = 0; k < m->slots; k++)
        m->theta[k] = spill_real_min(1, spill_real_max(0, m->theta[k] + step * direction[k]));
}

enum spill_status spill_relax_solve(struct spill_relax *relax, const struct spill_prep *prep,
                                    struct spill_arena *arena)
{
    struct model m = {.prep = prep, .arena = arena, .relax = relax};
    double compute = (double)prep->compute_ns, best = 0, reach;
    struct side side[2] = {{0}, {0}};
    double *direction, *mean;
    uint32_t peak = 0;
    bool go_on = true;
    enum spill_status status;

    relax->pivots = 0;
    relax->bound_ns = compute;
    relax->amount = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    if (relax->amount == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < prep->problem->op_count; k++)
        peak = prep->base[k] > peak ? prep->base[k] : peak;
    if (peak <= relax->budget + relax->parked)
        return SPILL_OK;
    if (!choose_instants(&m) || !weigh_gaps(&m))
        return SPILL_ERR_NOMEM;
    status = build(&m);
    direction = spill_arena_alloc(arena, m.slots, sizeof(double));
    mean = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    for (int i = 0; i < 2; i++) {
        side[i].lean = spill_arena_alloc(arena, m.slots, sizeof(double));
        side[i].amount = spill_arena_alloc(arena, prep->gap_count, sizeof(double));
    }
    if (status != SPILL_OK || arena->failed)
        return SPILL_ERR_NOMEM;
    m.slack = reach = m.out_ns;
    for (uint32_t round = 0, idle = 0; round < relax->rounds && go_on && idle < IDLE_ROUNDS;
         round++) {
        double round_best = 0, target;

        status = price_lost_pages(&m, side, &reach, &round_best);
        if (status != SPILL_OK)
            return status == SPILL_ERR_INFEASIBLE ? SPILL_OK : status;
        idle = round_best > best * 1.0002 ? 0 : idle + 1;
        best = spill_real_max(best, round_best);
        if (compute + best >= relax->target_ns * 0.9999 && relax->target_ns > 0)
            break; /* the known plan is optimal */
        target = relax->target_ns > compute ? relax->target_ns - compute : 1.2 * best + 1;
        step_theta(&m, side, round_best, target, direction, &go_on);
    }
    relax->bound_ns = compute + best;
    /* The same prices, for amounts that move nothing without need. One flow is an extreme answer;
     * the mean over several rounds of prices comes close to solving the relaxation (as in Barahona
     * and Anbil's volume algorithm, 2000). */
    m.thrift = 0.02 * m.out_ns;
    reach = 0.1 * m.out_ns;
    for (uint32_t round = 0; round < MEAN_ROUNDS; round++) {
        double value = 0;

        status = price_lost_pages(&m, side, &reach, &value);
        if (status != SPILL_OK)
            break;
        step_theta(&m, side, value, best, direction, &go_on);
        for (uint32_t g = 0; g < prep->gap_count; g++)
            mean[g] += relax->amount[g] / MEAN_ROUNDS;
    }
    for (uint32_t g = 0; g < prep->gap_count; g++)
        relax->amount[g] = mean[g];
    return status == SPILL_ERR_INFEASIBLE ? SPILL_OK : status;
}
