/* SPDX-License-Identifier: Apache-2.0 */
/* Ops and copies out run in their fixed order, as in simulate.c. A copy in is released when the
 * frames of its pages are free: when the last copy out and the last op that it waits for are over.
 * Indices run on through the iterations, as there. */
#include "solver/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "solver/simulate.h"

#define LAST 4 /* the iteration whose order is kept; by then the first one's start is forgotten */
#define NONE UINT32_MAX

/* The copy in of a move. */
struct job {
    int64_t out, op; /* what it waits for, counted from the iteration of use_op */
    uint32_t next_by_out, next_by_op;
    uint32_t open;  /* waits that are not over yet */
    uint64_t after; /* ns from the start of op `at` to its own */
    int64_t at;     /* the last op that had begun then */
};

struct ready {
    int64_t use;
    uint32_t length, move;
};

struct dispatcher {
    const struct spill_problem *problem;
    const struct spill_prep *prep;
    const struct spill_plan *plan;
    struct job *jobs;
    uint32_t *by_out, *by_op; /* first job that waits for the copy out, the op */
    int64_t *op_out;          /* last copy out whose memory each op's new buffers need */
    uint32_t *due, *back;     /* copies in that each op needs, that have ended */
    struct ready *heap;
    uint32_t heap_count;
    uint64_t now, op_begun, op_until, out_left, in_left; /* copies: ns * 1000 */
    int64_t op_next, out_next;
    bool op_busy, out_busy, in_busy;
    uint32_t in_use; /* the op that the copy in under way is for */
};

static bool sooner(const struct ready *a, const struct ready *b)
{
    if (a->use != b->use)
        return a->use < b->use;
    if (a->length != b->length)
        return a->length < b->length;
    return a->move < b->move;
}

static void push(struct dispatcher *d, struct ready entry)
{
    uint32_t at = d->heap_count++;

    for (; at > 0 && sooner(&entry, &d->heap[(at - 1) / 2]); at = (at - 1) / 2)
        d->heap[at] = d->heap[(at - 1) / 2];
    d->heap[at] = entry;
}

static struct ready pop(struct dispatcher *d)
{
    struct ready top = d->heap[0], last = d->heap[--d->heap_count];
    uint32_t at = 0, child;

    while ((child = 2 * at + 1) < d->heap_count) {
        child += child + 1 < d->heap_count && sooner(&d->heap[child + 1], &d->heap[child]);
        if (!sooner(&d->heap[child], &last))
            break;
        d->heap[at] = d->heap[child];
        at = child;
    }
    d->heap[at] = last;
    return top;
}

static uint32_t modulo(int64_t index, uint32_t n)
{
    return (uint32_t)(index >= 0 ? index % n : (index % n + n) % n);
}

/* One wait of job M of ITERATION is over. */
static void release(struct dispatcher *d, uint32_t m, int64_t iteration)
{
    const struct spill_move *move = &d->plan->moves[m];
    uint32_t n = d->problem->op_count, length = spill_cyclic(move->out_op, move->use_op, n);

    if (--d->jobs[m].open == 0)
        push(d, (struct ready){iteration * n + move->use_op, length == 0 ? n : length, m});
}

/* How far FROM lies behind AT going round; never 0. */
static uint32_t behind(uint32_t from, uint32_t at, uint32_t n)
{
    uint32_t distance = spill_cyclic(from, at, n);

    return distance == 0 ? n : distance;
}

/* What the page of STAY waits for: BEFORE, the frame's guest before it. */
static void heed(struct dispatcher *d, const struct spill_stay *stay,
                 const struct spill_stay *before)
{
    uint32_t n = d->problem->op_count;
    uint32_t last = spill_cyclic_add(before->first_op, before->length - 1, n);
    uint32_t distance = behind(last, stay->first_op, n);

    if (stay->move_in == SPILL_NO_MOVE) {
        if (before->move_out != SPILL_NO_MOVE)
            spill_waits_raise(
                &d->op_out[stay->first_op],
                spill_waits_index(d->plan, before->move_out, stay->first_op, distance));
        return;
    }
    if (before->move_out != SPILL_NO_MOVE)
        spill_waits_raise(&d->jobs[stay->move_in].out,
                          spill_waits_index(d->plan, before->move_out, stay->first_op, distance));
    else
        spill_waits_raise(&d->jobs[stay->move_in].op, (int64_t)stay->first_op - distance);
}

static void collect_waits(struct dispatcher *d, const struct spill_stays *stays)
{
    uint32_t n = d->problem->op_count;

    for (uint32_t k = 0; k < n; k++)
        d->op_out[k] = SPILL_NO_WAIT;
    for (uint32_t m = 0; m < d->plan->move_count; m++) {
        const struct spill_move *move = &d->plan->moves[m];

        d->jobs[m].out =
            spill_waits_index(d->plan, m, move->use_op, behind(move->out_op, move->use_op, n));
        d->jobs[m].op = SPILL_NO_WAIT;
        d->due[move->use_op]++;
    }
    for (uint32_t first = 0, end; first < stays->count; first = end) {
        uint32_t frame = d->plan->frame_of[stays->list[first].page];

        if (frame == SPILL_NO_FRAME)
            break;
        for (end = first; end < stays->count && d->plan->frame_of[stays->list[end].page] == frame;)
            end++;
        for (uint32_t s = first; s < end; s++)
            if (stays->list[s].length < n || stays->list[s].move_in != SPILL_NO_MOVE)
                heed(d, &stays->list[s], &stays->list[s == first ? end - 1 : s - 1]);
    }
}

/* Files every job under the two things it waits for. Those that wait for what lies before the first
 * iteration are released at once. */
static void file_jobs(struct dispatcher *d)
{
    uint32_t n = d->problem->op_count, moves = d->plan->move_count;

    memset(d->by_out, 0xff, moves * sizeof(uint32_t));
    memset(d->by_op, 0xff, n * sizeof(uint32_t));
    for (uint32_t m = 0; m < moves; m++) {
        struct job *job = &d->jobs[m];
        uint32_t out = modulo(job->out, moves), op;

        job->next_by_out = d->by_out[out];
        d->by_out[out] = m;
        job->open = 1;
        if (job->op != SPILL_NO_WAIT) {
            op = modulo(job->op, n);
            job->next_by_op = d->by_op[op];
            d->by_op[op] = m;
            job->open = 2;
            if (job->op < 0)
                release(d, m, 0);
        }
        if (job->out < 0)
            release(d, m, 0);
    }
}

static void end_op(struct dispatcher *d)
{
    int64_t n = d->problem->op_count, op = d->op_next - 1;

    d->op_busy = false;
    for (uint32_t m = d->by_op[op % n]; m != NONE; m = d->jobs[m].next_by_op)
        release(d, m, op / n + (d->jobs[m].op < 0));
}

static void end_out(struct dispatcher *d)
{
    int64_t moves = d->plan->move_count, copy = d->out_next - 1;

    d->out_busy = false;
    for (uint32_t m = d->by_out[copy % moves]; m != NONE; m = d->jobs[m].next_by_out)
        release(d, m, copy / moves + (d->jobs[m].out < 0));
}

static bool try_op(struct dispatcher *d)
{
    int64_t n = d->problem->op_count, moves = d->plan->move_count;
    uint32_t k = (uint32_t)(d->op_next % n);
    int64_t done = d->out_busy ? d->out_next - 1 : d->out_next;

    if (d->op_busy || d->back[k] < d->due[k] ||
        (d->op_out[k] != SPILL_NO_WAIT && done <= d->op_out[k] + d->op_next / n * moves))
        return false;
    d->back[k] = 0;
    d->op_begun = d->now;
    d->op_until = d->now + d->problem->ops[k].duration_ns;
    d->op_busy = true;
    d->op_next++;
    return true;
}

static bool try_out(struct dispatcher *d)
{
    int64_t n = d->problem->op_count, moves = d->plan->move_count;
    const struct spill_move *move = &d->plan->moves[d->out_next % moves];
    int64_t done = d->op_busy ? d->op_next - 1 : d->op_next;

    if (d->out_busy || done <= d->out_next / moves * n + move->out_op)
        return false;
    d->out_left = 1000 * spill_link_ns(&d->problem->out,
                                       spill_prep_bytes(d->prep, move->buffer, move->page_first,
                                                        move->page_count));
    d->out_busy = true;
    d->out_next++;
    return true;
}

static bool try_in(struct dispatcher *d)
{
    uint32_t n = d->problem->op_count;
    const struct spill_move *move;
    struct ready entry;
    struct job *job;

    if (d->in_busy || d->heap_count == 0)
        return false;
    entry = pop(d);
    move = &d->plan->moves[entry.move];
    job = &d->jobs[entry.move];
    job->open = job->op == SPILL_NO_WAIT ? 1 : 2; /* of the next iteration */
    if (entry.use / n <= LAST) {
        job->at = d->op_next - 1 - entry.use / n * (int64_t)n;
        job->after = d->now - d->op_begun;
    }
    d->in_use = move->use_op;
    d->in_left =
        1000 * spill_link_ns(&d->problem->in, spill_prep_bytes(d->prep, move->buffer,
                                                               move->page_first, move->page_count));
    d->in_busy = true;
    return true;
}

/* Moves the clock to the next end, and ends what ends then; false when nothing is running. */
static bool advance(struct dispatcher *d)
{
    uint64_t rate = d->out_busy && d->in_busy ? d->problem->duplex_permille : 1000;
    uint64_t out = d->out_busy ? (d->out_left + rate - 1) / rate : UINT64_MAX;
    uint64_t in = d->in_busy ? (d->in_left + rate - 1) / rate : UINT64_MAX;
    uint64_t step = d->op_busy ? d->op_until - d->now : UINT64_MAX;

    step = out < step ? out : step;
    step = in < step ? in : step;
    if (step == UINT64_MAX)
        return false;
    d->now += step;
    if (d->op_busy && d->op_until == d->now)
        end_op(d);
    d->out_left -= !d->out_busy || out <= step ? d->out_left : rate * step;
    if (d->out_busy && out <= step)
        end_out(d);
    d->in_left -= !d->in_busy || in <= step ? d->in_left : rate * step;
    if (d->in_busy && in <= step) {
        d->in_busy = false;
        d->back[d->in_use]++;
    }
    return true;
}

struct place {
    uint32_t in_op, distance, move;
    uint64_t after;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;

    if (a->in_op != b->in_op)
        return a->in_op < b->in_op ? -1 : 1;
    if (a->after != b->after)
        return a->after < b->after ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->move < b->move ? -1 : a->move > b->move;
}

/* Writes the order of the last iteration into PLAN. */
static void keep_order(const struct dispatcher *d, struct spill_plan *plan, struct place *places)
{
    uint32_t n = d->problem->op_count;

    for (uint32_t m = 0; m < plan->move_count; m++) {
        struct spill_move *move = &plan->moves[m];
        int64_t earliest = (int64_t)move->use_op - behind(move->out_op, move->use_op, n) + 1;
        int64_t at = d->jobs[m].at;
        uint64_t after = d->jobs[m].after;

        if (at < earliest) { /* it came before the next op had begun */
            at = earliest;
            after = 0;
        }
        move->in_op = modulo(at, n);
        places[m] =
            (struct place){move->in_op, spill_cyclic(move->in_op, move->use_op, n), m, after};
    }
    qsort(places, plan->move_count, sizeof(*places), compare_places);
    for (uint32_t i = 0; i < plan->move_count; i++)
        plan->in_order[i] = places[i].move;
}

enum spill_status spill_dispatch(const struct spill_prep *prep, struct spill_plan *plan,
                                 const struct spill_stays *stays, struct spill_arena *arena)
{
    uint32_t n = prep->problem->op_count, moves = plan->move_count;
    struct dispatcher d = {.problem = prep->problem, .prep = prep, .plan = plan};
    struct place *places = spill_arena_alloc(arena, moves, sizeof(*places));

    if (moves == 0)
        return SPILL_OK;
    d.jobs = spill_arena_alloc(arena, moves, sizeof(*d.jobs));
    d.by_out = spill_arena_alloc(arena, moves, sizeof(uint32_t));
    d.heap = spill_arena_alloc(arena, moves, sizeof(*d.heap));
    d.by_op = spill_arena_alloc(arena, n, sizeof(uint32_t));
    d.op_out = spill_arena_alloc(arena, n, sizeof(int64_t));
    d.due = spill_arena_alloc(arena, n, sizeof(uint32_t));
    d.back = spill_arena_alloc(arena, n, sizeof(uint32_t));
    if (arena->failed)
        return SPILL_ERR_NOMEM;
    collect_waits(&d, stays);
    file_jobs(&d);
    while (d.op_next <= (LAST + 1) * (int64_t)n)
        if (!try_op(&d) && !try_out(&d) && !try_in(&d) && !advance(&d))
            return SPILL_ERR_INFEASIBLE;
    keep_order(&d, plan, places);
    return SPILL_OK;
}
