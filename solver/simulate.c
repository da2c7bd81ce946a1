/* SPDX-License-Identifier: Apache-2.0 */
/* Three servers: the ops, the out link and the in link. Each works through its queue in host order;
 * the head of a queue starts once everything it waits for is done. Because queues are FIFO, a wait
 * on several copies is a wait on the last of them, so each item waits for at most one index per
 * server. Indices run on through the iterations: copy i of iteration t is number t * move_count +
 * i.
 *
 * The system is max-plus linear (at full duplex), so its timing becomes periodic; the loop ends
 * when two iterations have the same timing to the nanosecond. */
#include "solver/simulate.h"

#include <string.h>

#define RING            4   /* iterations whose times are kept */
#define ITERATIONS_MOST 160 /* then the later half is averaged */

struct times {
    uint64_t *op_start, *op_end, *out_start, *out_end, *in_start, *in_end;
};

struct machine {
    const struct spill_problem *problem;
    const struct spill_plan *plan;
    const struct spill_waits *waits;
    struct times ring[RING];
    uint64_t *out_ns,
        *in_ns; /* duration of each copy on an idle machine; in_ns in in_order's order */
    uint64_t now;
    uint64_t begun[RING]; /* start of op 0 */
    /* server: index of the next item to start, busy, work left (ns * 1000) */
    int64_t op_next, out_next, in_next;
    uint64_t op_until, out_left, in_left;
    bool op_busy, out_busy, in_busy;
    uint64_t stall_in[RING], stall_memory[RING];
    uint64_t last_op_end;
};

void spill_waits_raise(int64_t *slot, int64_t value)
{
    if (value > *slot)
        *slot = value;
}

int64_t spill_waits_index(const struct spill_plan *plan, uint32_t m, uint32_t at, uint32_t delta)
{
    return at >= delta ? (int64_t)m : (int64_t)m - plan->move_count;
}

bool spill_waits_of_data(struct spill_waits *waits, const struct spill_prep *prep,
                         const struct spill_plan *plan, struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count, moves = plan->move_count;

    waits->op_in = spill_arena_alloc(arena, n, sizeof(int64_t));
    waits->op_out = spill_arena_alloc(arena, n, sizeof(int64_t));
    waits->in_out = spill_arena_alloc(arena, moves, sizeof(int64_t));
    waits->in_op = spill_arena_alloc(arena, moves, sizeof(int64_t));
    if (arena->failed)
        return false;
    for (uint32_t k = 0; k < n; k++)
        waits->op_in[k] = waits->op_out[k] = SPILL_NO_WAIT;
    for (uint32_t i = 0; i < moves; i++) {
        uint32_t m = plan->in_order[i];
        const struct spill_move *move = &plan->moves[m];
        uint32_t ahead = spill_cyclic(move->in_op, move->use_op, n);

        spill_waits_raise(&waits->op_in[move->use_op],
                          move->use_op >= ahead ? (int64_t)i : (int64_t)i - moves);
        waits->in_op[i] = SPILL_NO_WAIT;
        waits->in_out[i] =
            spill_waits_index(plan, m, move->in_op, spill_cyclic(move->out_op, move->in_op, n));
    }
    return true;
}

/* Adds what the frames demand: a stay begins when the one before it on its frame is over. */
static bool waits_of_frames(struct spill_waits *waits, const struct spill_prep *prep,
                            const struct spill_plan *plan, const struct spill_stays *stays,
                            struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count;
    uint32_t *place = spill_arena_alloc(arena, plan->move_count, sizeof(uint32_t));

    if (place == NULL)
        return false;
    for (uint32_t i = 0; i < plan->move_count; i++)
        place[plan->in_order[i]] = i;
    for (uint32_t first = 0, end; first < stays->count; first = end) {
        uint32_t frame = plan->frame_of[stays->list[first].page];

        if (frame == SPILL_NO_FRAME)
            break;
        for (end = first; end < stays->count && plan->frame_of[stays->list[end].page] == frame;)
            end++;
        for (uint32_t s = first; s < end; s++) {
            const struct spill_stay *stay = &stays->list[s];
            const struct spill_stay *before = &stays->list[s == first ? end - 1 : s - 1];
            uint32_t last = spill_cyclic_add(before->first_op, before->length - 1, n);
            uint32_t at = stay->first_op;

            if (stay->length == n && stay->move_in == SPILL_NO_MOVE)
                continue;
            if (stay->move_in != SPILL_NO_MOVE)
                at = plan->moves[stay->move_in].in_op;
            if (before->move_out != SPILL_NO_MOVE)
                spill_waits_raise(
                    stay->move_in == SPILL_NO_MOVE ? &waits->op_out[at]
                                                   : &waits->in_out[place[stay->move_in]],
                    spill_waits_index(plan, before->move_out, at, spill_cyclic(last, at, n)));
            else if (stay->move_in != SPILL_NO_MOVE)
                spill_waits_raise(&waits->in_op[place[stay->move_in]],
                                  (int64_t)at - spill_cyclic(last, at, n));
        }
    }
    return true;
}

static bool time_copies(struct machine *machine, const struct spill_prep *prep,
                        struct spill_arena *arena)
{
    const struct spill_plan *plan = machine->plan;

    machine->out_ns = spill_arena_alloc(arena, plan->move_count, sizeof(uint64_t));
    machine->in_ns = spill_arena_alloc(arena, plan->move_count, sizeof(uint64_t));
    if (arena->failed)
        return false;
    for (uint32_t i = 0; i < plan->move_count; i++) {
        const struct spill_move *out = &plan->moves[i], *in = &plan->moves[plan->in_order[i]];

        machine->out_ns[i] =
            spill_link_ns(&prep->problem->out,
                          spill_prep_bytes(prep, out->buffer, out->page_first, out->page_count));
        machine->in_ns[i] = spill_link_ns(
            &prep->problem->in, spill_prep_bytes(prep, in->buffer, in->page_first, in->page_count));
    }
    return true;
}

static bool alloc_ring(struct machine *machine, struct spill_arena *arena)
{
    uint32_t n = machine->problem->op_count, moves = machine->plan->move_count;

    for (int r = 0; r < RING; r++) {
        struct times *times = &machine->ring[r];

        times->op_start = spill_arena_alloc(arena, n, sizeof(uint64_t));
        times->op_end = spill_arena_alloc(arena, n, sizeof(uint64_t));
        times->out_start = spill_arena_alloc(arena, moves, sizeof(uint64_t));
        times->out_end = spill_arena_alloc(arena, moves, sizeof(uint64_t));
        times->in_start = spill_arena_alloc(arena, moves, sizeof(uint64_t));
        times->in_end = spill_arena_alloc(arena, moves, sizeof(uint64_t));
    }
    return !arena->failed;
}

static int64_t ops_done(const struct machine *m)
{
    return m->op_busy ? m->op_next - 1 : m->op_next;
}

static int64_t outs_done(const struct machine *m)
{
    return m->out_busy ? m->out_next - 1 : m->out_next;
}

static int64_t ins_done(const struct machine *m)
{
    return m->in_busy ? m->in_next - 1 : m->in_next;
}

/* End time of a copy by its running index, 0 for one before the first iteration. */
static uint64_t ended(struct machine *m, int64_t index, bool in)
{
    uint32_t moves = m->plan->move_count;
    const struct times *times;

    if (index < 0)
        return 0;
    times = &m->ring[index / moves % RING];
    return (in ? times->in_end : times->out_end)[index % moves];
}

static bool try_op(struct machine *m)
{
    uint32_t n = m->problem->op_count;
    int64_t moves = m->plan->move_count;
    int64_t iteration = m->op_next / n;
    uint32_t k = (uint32_t)(m->op_next % n), r = (uint32_t)(iteration % RING);
    int64_t in = m->waits->op_in[k], out = m->waits->op_out[k];

    if (m->op_busy)
        return false;
    in = in == SPILL_NO_WAIT ? -1 : in + iteration * moves;
    out = out == SPILL_NO_WAIT ? -1 : out + iteration * moves;
    if (ins_done(m) <= in || outs_done(m) <= out)
        return false;
    if (k == 0) {
        m->begun[r] = m->now;
        m->stall_in[r] = m->stall_memory[r] = 0;
    }
    if (m->now > m->last_op_end)
        *(ended(m, out, false) >= m->now ? &m->stall_memory[r] : &m->stall_in[r]) +=
            m->now - m->last_op_end;
    m->ring[r].op_start[k] = m->now;
    m->op_until = m->now + m->problem->ops[k].duration_ns;
    m->op_busy = true;
    m->op_next++;
    return true;
}

static bool try_out(struct machine *m)
{
    int64_t moves = m->plan->move_count;
    int64_t iteration;
    uint32_t i;

    if (m->out_busy || moves == 0)
        return false;
    iteration = m->out_next / moves;
    i = (uint32_t)(m->out_next % moves);
    if (ops_done(m) <= iteration * m->problem->op_count + m->plan->moves[i].out_op)
        return false;
    m->ring[iteration % RING].out_start[i] = m->now;
    m->out_left = m->out_ns[i] * 1000;
    m->out_busy = true;
    m->out_next++;
    return true;
}

static bool try_in(struct machine *m)
{
    int64_t moves = m->plan->move_count, n = m->problem->op_count;
    int64_t iteration;
    uint32_t i;

    if (m->in_busy || moves == 0)
        return false;
    iteration = m->in_next / moves;
    i = (uint32_t)(m->in_next % moves);
    if (m->op_next <= iteration * n + m->plan->moves[m->plan->in_order[i]].in_op ||
        (m->waits->in_op[i] != SPILL_NO_WAIT &&
         ops_done(m) <= iteration * n + m->waits->in_op[i]) ||
        outs_done(m) <= iteration * moves + m->waits->in_out[i])
        return false;
    m->ring[iteration % RING].in_start[i] = m->now;
    m->in_left = m->in_ns[i] * 1000;
    m->in_busy = true;
    m->in_next++;
    return true;
}

/* Ends whatever ends now. */
static void finish(struct machine *m)
{
    uint32_t n = m->problem->op_count;
    int64_t moves = m->plan->move_count;

    if (m->op_busy && m->op_until == m->now) {
        int64_t op = m->op_next - 1;

        m->op_busy = false;
        m->last_op_end = m->now;
        m->ring[op / n % RING].op_end[op % n] = m->now;
    }
    if (m->out_busy && m->out_left == 0) {
        int64_t copy = m->out_next - 1;

        m->out_busy = false;
        m->ring[copy / moves % RING].out_end[copy % moves] = m->now;
    }
    if (m->in_busy && m->in_left == 0) {
        int64_t copy = m->in_next - 1;

        m->in_busy = false;
        m->ring[copy / moves % RING].in_end[copy % moves] = m->now;
    }
}

/* Moves the clock to the next end; false when nothing is running. */
static bool advance(struct machine *m)
{
    uint64_t rate = m->out_busy && m->in_busy ? m->problem->duplex_permille : 1000;
    uint64_t step = UINT64_MAX;

    if (m->op_busy)
        step = m->op_until - m->now;
    if (m->out_busy && (m->out_left + rate - 1) / rate < step)
        step = (m->out_left + rate - 1) / rate;
    if (m->in_busy && (m->in_left + rate - 1) / rate < step)
        step = (m->in_left + rate - 1) / rate;
    if (step == UINT64_MAX)
        return false;
    m->now += step;
    if (m->out_busy)
        m->out_left -= m->out_left < rate * step ? m->out_left : rate * step;
    if (m->in_busy)
        m->in_left -= m->in_left < rate * step ? m->in_left : rate * step;
    return true;
}

/* Do the iterations in ring slots A and B have the same timing, each counted from its own start? */
static bool same_timing(const struct machine *m, uint32_t a, uint32_t b)
{
    const struct times *one = &m->ring[a], *two = &m->ring[b];
    uint64_t shift = m->begun[b] - m->begun[a];

    for (uint32_t k = 0; k < m->problem->op_count; k++)
        if (one->op_start[k] + shift != two->op_start[k])
            return false;
    for (uint32_t i = 0; i < m->plan->move_count; i++)
        if (one->out_end[i] + shift != two->out_end[i] ||
            one->in_start[i] + shift != two->in_start[i] ||
            one->in_end[i] + shift != two->in_end[i])
            return false;
    return true;
}

static void report(const struct machine *m, uint32_t r, struct spill_timeline *timeline,
                   struct spill_outcome *outcome)
{
    const struct times *times = &m->ring[r];

    outcome->stall_in_ns = m->stall_in[r];
    outcome->stall_memory_ns = m->stall_memory[r];
    for (uint32_t k = 0; k < m->problem->op_count; k++)
        timeline->op_start[k] = times->op_start[k] - m->begun[r];
    for (uint32_t i = 0; i < m->plan->move_count; i++) {
        uint32_t j = m->plan->in_order[i];

        timeline->out_start[i] = times->out_start[i] - m->begun[r];
        timeline->out_end[i] = times->out_end[i] - m->begun[r];
        timeline->in_start[j] = times->in_start[i] - m->begun[r];
        timeline->in_end[j] = times->in_end[i] - m->begun[r];
        outcome->out_busy_ns += times->out_end[i] - times->out_start[i];
        outcome->in_busy_ns += times->in_end[i] - times->in_start[i];
    }
}

bool spill_timeline_open(struct spill_timeline *timeline, uint32_t ops, uint32_t moves,
                         struct spill_arena *arena)
{
    timeline->op_start = spill_arena_alloc(arena, ops, sizeof(uint64_t));
    timeline->out_start = spill_arena_alloc(arena, moves, sizeof(uint64_t));
    timeline->out_end = spill_arena_alloc(arena, moves, sizeof(uint64_t));
    timeline->in_start = spill_arena_alloc(arena, moves, sizeof(uint64_t));
    timeline->in_end = spill_arena_alloc(arena, moves, sizeof(uint64_t));
    return !arena->failed;
}

enum spill_status spill_simulate_waits(const struct spill_prep *prep, const struct spill_plan *plan,
                                       const struct spill_waits *waits,
                                       struct spill_timeline *timeline,
                                       struct spill_outcome *outcome, struct spill_arena *arena)
{
    struct machine m = {.problem = prep->problem, .plan = plan, .waits = waits};
    int64_t n = prep->problem->op_count, judged = 0;
    uint64_t half_begun = 0;

    if (!time_copies(&m, prep, arena) || !alloc_ring(&m, arena))
        return SPILL_ERR_NOMEM;
    for (;;) {
        int64_t iteration = (m.op_next - 1) / n;

        if (m.op_busy && (m.op_next - 1) % n == 0 && iteration > judged) {
            /* op 0 of `iteration` has begun: all copies of the last but one are over by then */
            judged = iteration;
            if (judged == ITERATIONS_MOST / 2)
                half_begun = m.now;
            if (judged >= 3 &&
                same_timing(&m, (uint32_t)((judged - 3) % RING), (uint32_t)((judged - 2) % RING)))
                outcome->step_ns = m.begun[(judged - 1) % RING] - m.begun[(judged - 2) % RING];
            else if (judged == ITERATIONS_MOST)
                outcome->step_ns = (m.now - half_begun) / (ITERATIONS_MOST / 2);
            else
                goto go_on;
            report(&m, (uint32_t)((judged - 2) % RING), timeline, outcome);
            /* An overloaded link drifts for long before it shows in the step time. */
            if (outcome->step_ns < outcome->out_busy_ns && prep->problem->duplex_permille == 1000)
                outcome->step_ns = outcome->out_busy_ns;
            if (outcome->step_ns < outcome->in_busy_ns && prep->problem->duplex_permille == 1000)
                outcome->step_ns = outcome->in_busy_ns;
            return SPILL_OK;
        }
    go_on:
        if (try_op(&m) || try_out(&m) || try_in(&m))
            continue;
        if (!advance(&m))
            return SPILL_ERR_INFEASIBLE;
        finish(&m);
    }
}

enum spill_status spill_simulate(const struct spill_prep *prep, const struct spill_plan *plan,
                                 const struct spill_stays *stays, struct spill_timeline *timeline,
                                 struct spill_outcome *outcome, struct spill_arena *arena)
{
    struct spill_waits waits;

    if (!spill_waits_of_data(&waits, prep, plan, arena) ||
        !waits_of_frames(&waits, prep, plan, stays, arena))
        return SPILL_ERR_NOMEM;
    return spill_simulate_waits(prep, plan, &waits, timeline, outcome, arena);
}
