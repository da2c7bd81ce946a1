/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of plan.h is tested from the plan's own tables; nothing here trusts a method. */
#include "solver/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/simulate.h"

struct referee {
    const struct spill_prep *prep;
    const struct spill_plan *plan;
    struct spill_arena *arena;
    char *complaint;
    uint32_t complaint_len;
};

__attribute__((format(printf, 2, 3))) static enum spill_status complain(const struct referee *r,
                                                                        const char *format, ...)
{
    va_list args;

    if (r->complaint != NULL && r->complaint_len > 0) {
        va_start(args, format);
        vsnprintf(r->complaint, r->complaint_len, format, args);
        va_end(args);
    }
    return SPILL_ERR_INFEASIBLE;
}

/* The toucher that follows OUT_OP in the buffer's order, or SPILL_NO_MOVE when there is none. */
static uint32_t next_toucher(const struct spill_prep *prep, uint32_t b, uint32_t out_op)
{
    uint32_t first = prep->touch_first[b], last = prep->touch_first[b + 1];

    for (uint32_t t = first; t < last; t++)
        if (prep->touch[t] == out_op) {
            if (t + 1 < last)
                return prep->touch[t + 1];
            return prep->problem->buffers[b].life == SPILL_LIFE_PERSISTENT ? prep->touch[first]
                                                                           : SPILL_NO_MOVE;
        }
    return SPILL_NO_MOVE;
}

static enum spill_status check_move(const struct referee *r, uint32_t m)
{
    const struct spill_problem *problem = r->prep->problem;
    const struct spill_move *move = &r->plan->moves[m];
    uint32_t n = problem->op_count;
    uint32_t distance;

    if (move->buffer >= problem->buffer_count || move->out_op >= n || move->in_op >= n ||
        move->use_op >= n)
        return complain(r, "move %u: names a buffer or an op that does not exist", m);
    if (problem->buffers[move->buffer].pinned != 0)
        return complain(r, "move %u: buffer %u is pinned", m, move->buffer);
    if (move->page_count == 0 || move->page_first > r->prep->pages[move->buffer] ||
        move->page_count > r->prep->pages[move->buffer] - move->page_first)
        return complain(r, "move %u: pages outside buffer %u", m, move->buffer);
    if (next_toucher(r->prep, move->buffer, move->out_op) != move->use_op)
        return complain(r,
                        "move %u: ops %u and %u are not neighbours among the touchers of buffer %u",
                        m, move->out_op, move->use_op, move->buffer);
    distance = spill_cyclic(move->out_op, move->use_op, n);
    if (distance == 0)
        distance = n;
    if (move->in_op == move->out_op || spill_cyclic(move->out_op, move->in_op, n) >= distance)
        return complain(r, "move %u: in_op %u is not between out_op %u and use_op %u", m,
                        move->in_op, move->out_op, move->use_op);
    if (m > 0 && r->plan->moves[m - 1].out_op > move->out_op)
        return complain(r, "move %u: moves are not sorted by out_op", m);
    return SPILL_OK;
}

static enum spill_status check_in_order(const struct referee *r)
{
    const struct spill_plan *plan = r->plan;
    bool *seen = spill_arena_alloc(r->arena, plan->move_count, sizeof(bool));

    if (seen == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = 0; i < plan->move_count; i++) {
        uint32_t m = plan->in_order[i];

        if (m >= plan->move_count || seen[m])
            return complain(r, "in_order is not a permutation of the moves");
        seen[m] = true;
        if (i > 0 && plan->moves[plan->in_order[i - 1]].in_op > plan->moves[m].in_op)
            return complain(r, "in_order is not sorted by in_op");
    }
    return SPILL_OK;
}

static int compare_moves(const void *left, const void *right)
{
    const struct spill_move *a = left, *b = right;

    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    if (a->out_op != b->out_op)
        return a->out_op < b->out_op ? -1 : 1;
    return a->page_first < b->page_first ? -1 : a->page_first > b->page_first;
}

static enum spill_status check_no_overlap(const struct referee *r)
{
    uint32_t count = r->plan->move_count;
    struct spill_move *sorted = spill_arena_alloc(r->arena, count, sizeof(*sorted));

    if (sorted == NULL)
        return SPILL_ERR_NOMEM;
    if (count == 0)
        return SPILL_OK;
    memcpy(sorted, r->plan->moves, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_moves);
    for (uint32_t m = 1; m < count; m++)
        if (sorted[m].buffer == sorted[m - 1].buffer && sorted[m].out_op == sorted[m - 1].out_op &&
            sorted[m].page_first - sorted[m - 1].page_first < sorted[m - 1].page_count)
            return complain(r, "buffer %u: page %u moves twice in the gap after op %u",
                            sorted[m].buffer, sorted[m].page_first, sorted[m].out_op);
    return SPILL_OK;
}

static enum spill_status check_parks(const struct referee *r)
{
    const struct spill_prep *prep = r->prep;
    bool *parked = spill_arena_alloc(r->arena, prep->page_total, sizeof(bool));

    if (parked == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = 0; i < r->plan->park_count; i++) {
        const struct spill_park *park = &r->plan->parks[i];

        if (park->buffer >= prep->problem->buffer_count || !prep->parkable[park->buffer] ||
            park->page_first > prep->pages[park->buffer] ||
            park->page_count > prep->pages[park->buffer] - park->page_first)
            return complain(r, "park %u: not pages of an untouched persistent buffer", i);
        for (uint32_t j = 0; j < park->page_count; j++) {
            uint32_t page = prep->page_base[park->buffer] + park->page_first + j;

            if (parked[page])
                return complain(r, "park %u: page parked twice", i);
            parked[page] = true;
        }
    }
    return SPILL_OK;
}

/* The residency rule, and the host memory of pages that are away: from out_op until use_op starts.
 */
static enum spill_status check_memory(const struct referee *r, struct spill_outcome *outcome)
{
    const struct spill_prep *prep = r->prep;
    const struct spill_plan *plan = r->plan;
    uint32_t n = prep->problem->op_count, parked = 0, most_host = 0, peak = 0;
    uint32_t *absent = spill_arena_alloc(r->arena, (size_t)n + 1, sizeof(uint32_t));
    uint32_t *host = spill_arena_alloc(r->arena, (size_t)n + 1, sizeof(uint32_t));

    if (r->arena->failed)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = 0; i < plan->park_count; i++)
        parked += plan->parks[i].page_count;
    for (uint32_t m = 0; m < plan->move_count; m++) {
        const struct spill_move *move = &plan->moves[m];
        uint32_t held = spill_cyclic(move->out_op, move->use_op, n);

        spill_cyclic_range_add(absent, n, spill_cyclic_add(move->out_op, 1, n),
                               spill_cyclic(move->out_op, move->in_op, n), move->page_count);
        spill_cyclic_range_add(host, n, move->out_op, held == 0 ? n : held, move->page_count);
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t resident;

        if (k > 0) {
            absent[k] += absent[k - 1];
            host[k] += host[k - 1];
        }
        resident = prep->base[k] - absent[k] - parked;
        if (resident > prep->budget_pages)
            return complain(r, "op %u: %u pages resident, the budget is %u", k, resident,
                            prep->budget_pages);
        peak = resident > peak ? resident : peak;
        most_host = host[k] > most_host ? host[k] : most_host;
    }
    if (plan->peak_pages != peak)
        return complain(r, "peak_pages is %u, should be %u", plan->peak_pages, peak);
    outcome->host_bytes = (uint64_t)(most_host + parked) * prep->problem->page_bytes;
    if (outcome->host_bytes > prep->problem->host_budget)
        return complain(r, "host memory: %llu bytes needed, the budget is %llu",
                        (unsigned long long)outcome->host_bytes,
                        (unsigned long long)prep->problem->host_budget);
    if (plan->host_bytes != outcome->host_bytes)
        return complain(r, "host_bytes is %llu, should be %llu",
                        (unsigned long long)plan->host_bytes,
                        (unsigned long long)outcome->host_bytes);
    return SPILL_OK;
}

static enum spill_status check_frames(const struct referee *r, const struct spill_stays *stays)
{
    const struct spill_plan *plan = r->plan;
    uint32_t n = r->prep->problem->op_count;

    for (uint32_t first = 0, end; first < stays->count; first = end) {
        uint32_t frame = plan->frame_of[stays->list[first].page];
        uint32_t hosted = 0;

        if (frame == SPILL_NO_FRAME)
            return complain(r, "page %u: resident at op %u without a frame",
                            stays->list[first].page, stays->list[first].first_op);
        for (end = first; end < stays->count && plan->frame_of[stays->list[end].page] == frame;
             end++)
            hosted += stays->list[end].length;
        /* Sorted by first_op: each must end before the next begins, the last before the first. */
        for (uint32_t s = first; s < end; s++) {
            const struct spill_stay *stay = &stays->list[s];
            const struct spill_stay *next = &stays->list[s + 1 == end ? first : s + 1];
            uint32_t room = spill_cyclic(stay->first_op, next->first_op, n);

            if (end - first > 1 && stay->length > room)
                return complain(r, "frame %u: pages %u and %u both stay at op %u", frame,
                                stay->page, next->page, next->first_op);
        }
        if (hosted > n)
            return complain(r, "frame %u: stays longer than an iteration", frame);
    }
    return SPILL_OK;
}

static enum spill_status check_tables(const struct referee *r)
{
    const struct spill_prep *prep = r->prep;
    const struct spill_plan *plan = r->plan;

    if (plan->page_total != prep->page_total ||
        memcmp(plan->page_base, prep->page_base,
               ((size_t)prep->problem->buffer_count + 1) * sizeof(uint32_t)) != 0)
        return complain(r, "page_base does not number the pages of the problem's buffers");
    if (plan->frame_count > prep->budget_pages)
        return complain(r, "%u frames, the budget is %u", plan->frame_count, prep->budget_pages);
    for (uint32_t page = 0; page < prep->page_total; page++)
        if (plan->frame_of[page] != SPILL_NO_FRAME && plan->frame_of[page] >= plan->frame_count)
            return complain(r, "page %u: frame %u does not exist", page, plan->frame_of[page]);
    return SPILL_OK;
}

struct change {
    uint64_t time;
    int64_t pages;
};

static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left, *b = right;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->pages < b->pages ? -1 : a->pages > b->pages; /* leave before you enter */
}

struct sweep {
    struct change *changes;
    size_t count;
    int64_t held; /* at the border between two iterations */
    uint64_t step;
};

/* PAGES more (or fewer, when negative) are held in [FROM, TO), every iteration. */
static void sweep_add(struct sweep *sweep, uint64_t from, uint64_t to, int64_t pages)
{
    uint64_t start = from % sweep->step, end = start + (to > from ? to - from : 0);

    if (end >= sweep->step) {
        sweep->held += pages;
        end -= sweep->step;
    }
    sweep->changes[sweep->count++] = (struct change){start, pages};
    sweep->changes[sweep->count++] = (struct change){end, -pages};
}

/* Most pages held at one moment: a buffer is held from its birth to the end of its last op, a moved
 * page is not held from the end of its copy out to the start of its copy in. */
static enum spill_status measure_peak(const struct referee *r,
                                      const struct spill_timeline *timeline,
                                      struct spill_outcome *outcome)
{
    const struct spill_problem *problem = r->prep->problem;
    const struct spill_plan *plan = r->plan;
    size_t room = 2 * ((size_t)problem->buffer_count + plan->move_count);
    struct sweep sweep = {.step = outcome->step_ns > 0 ? outcome->step_ns : 1};
    int64_t most;

    sweep.changes = spill_arena_alloc(r->arena, room, sizeof(*sweep.changes));
    if (sweep.changes == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = 0; i < plan->park_count; i++)
        sweep.held -= plan->parks[i].page_count;
    for (uint32_t b = 0; b < problem->buffer_count; b++) {
        const struct spill_buffer *buffer = &problem->buffers[b];
        uint32_t birth = buffer->birth_op, death = buffer->death_op;

        if (buffer->life == SPILL_LIFE_PERSISTENT || buffer->pinned != 0)
            sweep.held += r->prep->pages[b];
        else
            sweep_add(&sweep, timeline->op_start[birth],
                      timeline->op_start[death] + problem->ops[death].duration_ns +
                          (death < birth ? outcome->step_ns : 0),
                      r->prep->pages[b]);
    }
    for (uint32_t m = 0; m < plan->move_count; m++) {
        const struct spill_move *move = &plan->moves[m];

        sweep_add(&sweep, timeline->out_end[m],
                  timeline->in_start[m] + (move->in_op < move->out_op ? outcome->step_ns : 0),
                  -(int64_t)move->page_count);
    }
    if (sweep.count > 0)
        qsort(sweep.changes, sweep.count, sizeof(*sweep.changes), compare_changes);
    most = sweep.held;
    for (size_t i = 0; i < sweep.count; i++) {
        sweep.held += sweep.changes[i].pages;
        most = sweep.held > most ? sweep.held : most;
    }
    outcome->peak_bytes = (uint64_t)most * problem->page_bytes;
    return SPILL_OK;
}

static enum spill_status check_all(const struct referee *r, struct spill_outcome *outcome,
                                   uint64_t *op_start)
{
    enum spill_status status = check_tables(r);
    struct spill_stays stays;
    struct spill_timeline timeline;

    for (uint32_t m = 0; status == SPILL_OK && m < r->plan->move_count; m++)
        status = check_move(r, m);
    if (status == SPILL_OK)
        status = check_in_order(r);
    if (status == SPILL_OK)
        status = check_no_overlap(r);
    if (status == SPILL_OK)
        status = check_parks(r);
    if (status == SPILL_OK)
        status = check_memory(r, outcome);
    if (status != SPILL_OK)
        return status;
    if (!spill_stays_build(&stays, r->prep, r->plan, r->arena))
        return SPILL_ERR_NOMEM;
    status = check_frames(r, &stays);
    if (status != SPILL_OK)
        return status;
    if (!spill_timeline_open(&timeline, r->prep->problem->op_count, r->plan->move_count, r->arena))
        return SPILL_ERR_NOMEM;
    status = spill_simulate(r->prep, r->plan, &stays, &timeline, outcome, r->arena);
    if (status == SPILL_ERR_INFEASIBLE)
        return complain(r, "deadlock: an op waits for a copy that never starts");
    if (status == SPILL_OK && op_start != NULL)
        memcpy(op_start, timeline.op_start, r->prep->problem->op_count * sizeof(*op_start));
    return status != SPILL_OK ? status : measure_peak(r, &timeline, outcome);
}

enum spill_status spill_check_timed(const struct spill_problem *problem,
                                    const struct spill_plan *plan, struct spill_outcome *outcome,
                                    uint64_t *op_start, char *complaint, uint32_t complaint_len)
{
    struct spill_arena arena = {0};
    struct spill_prep prep;
    struct spill_outcome found = {0};
    struct referee r = {&prep, plan, &arena, complaint, complaint_len};
    enum spill_status status;

    if (complaint != NULL && complaint_len > 0)
        complaint[0] = '\0';
    status = spill_prep_build(&prep, problem, &arena);
    if (status == SPILL_ERR_INVAL)
        complain(&r, "the problem is malformed");
    if (status == SPILL_OK)
        status = check_all(&r, &found, op_start);
    spill_arena_free(&arena);
    if (status == SPILL_OK && outcome != NULL)
        *outcome = found;
    return status;
}

enum spill_status spill_check_plan(const struct spill_problem *problem,
                                   const struct spill_plan *plan, struct spill_outcome *outcome,
                                   char *complaint, uint32_t complaint_len)
{
    return spill_check_timed(problem, plan, outcome, NULL, complaint, complaint_len);
}
