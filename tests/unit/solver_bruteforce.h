/* SPDX-License-Identifier: Apache-2.0 */
/* Every plan of a tiny problem, judged by the checker: which runs of pages leave in which gap,
 * after which op each comes back, the order of the copies on either link, and the frame of every
 * page. Written from problem.h and plan.h alone; nothing is left out for being hopeless. Idle
 * weights, which could be parked, are not searched. */
#ifndef SPILL_SOLVER_BRUTEFORCE_H
#define SPILL_SOLVER_BRUTEFORCE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "solver/check.h"
#include "solver/plan.h"
#include "solver/problem.h"

enum { BRUTE_OPS = 16, BRUTE_BUFFERS = 8, BRUTE_GAPS = 10, BRUTE_MOVES = 12, BRUTE_PAGES = 6 };

struct brute_gap {
    uint32_t buffer, out_op, use_op, length;
};

struct brute {
    const struct spill_problem *problem;
    struct brute_gap gaps[BRUTE_GAPS];
    uint32_t gap_count, page_total, budget, pages[BRUTE_BUFFERS];
    uint32_t page_base[BRUTE_BUFFERS + 1];
    struct spill_move chosen[BRUTE_MOVES]; /* in no order */
    uint32_t chosen_count;
    struct spill_move moves[BRUTE_MOVES];
    uint32_t in_order[BRUTE_MOVES], frames[BRUTE_PAGES];
    struct spill_plan plan;
    uint64_t choices; /* ways to decide what moves and when it comes back */
    uint64_t seen;    /* plans that the checker accepted */
    uint64_t best_ns; /* UINT64_MAX: no plan */
    bool counting;
};

static inline bool brute_touches(const struct spill_problem *p, uint32_t op, uint32_t b)
{
    for (uint32_t a = 0; a < p->ops[op].access_count; a++)
        if (p->accesses[p->ops[op].access_first + a].buffer == b)
            return true;
    return false;
}

static inline bool brute_alive(const struct spill_problem *p, uint32_t op, uint32_t b)
{
    const struct spill_buffer *buffer = &p->buffers[b];
    uint32_t n = p->op_count;

    return buffer->life == SPILL_LIFE_PERSISTENT || buffer->pinned != 0 ||
           (op + n - buffer->birth_op) % n <= (buffer->death_op + n - buffer->birth_op) % n;
}

/* The gap that begins after OUT_OP; false when the buffer does not idle there. */
static inline bool brute_find_gap(const struct spill_problem *p, uint32_t b, uint32_t out_op,
                                  struct brute_gap *gap)
{
    const struct spill_buffer *buffer = &p->buffers[b];
    uint32_t n = p->op_count;

    *gap = (struct brute_gap){b, out_op, (out_op + 1) % n, 0};
    if (buffer->pinned != 0 || !brute_touches(p, out_op, b))
        return false;
    while (!brute_touches(p, gap->use_op, b)) {
        gap->length++;
        gap->use_op = (gap->use_op + 1) % n;
    }
    if (buffer->life == SPILL_LIFE_ITERATION &&
        (gap->use_op + n - buffer->birth_op) % n <= (out_op + n - buffer->birth_op) % n)
        return false; /* its last toucher */
    return gap->length > 0;
}

/* Lists pages and gaps; false when the problem is not for this search. */
static inline bool brute_open(struct brute *s, const struct spill_problem *problem)
{
    memset(s, 0, sizeof(*s));
    s->problem = problem;
    s->best_ns = UINT64_MAX;
    s->budget = (uint32_t)(problem->gpu_budget / problem->page_bytes);
    if (problem->op_count > BRUTE_OPS || problem->buffer_count > BRUTE_BUFFERS)
        return false;
    for (uint32_t b = 0; b < problem->buffer_count; b++) {
        uint32_t touchers = 0;

        s->pages[b] =
            (uint32_t)((problem->buffers[b].bytes + problem->page_bytes - 1) / problem->page_bytes);
        s->page_base[b + 1] = s->page_total += s->pages[b];
        for (uint32_t k = 0; k < problem->op_count; k++) {
            bool touched = brute_touches(problem, k, b);

            touchers += touched;
            if (s->pages[b] == 0 || !touched)
                continue;
            if (s->gap_count == BRUTE_GAPS)
                return false;
            s->gap_count += brute_find_gap(problem, b, k, &s->gaps[s->gap_count]);
        }
        if (touchers == 0 && s->pages[b] > 0 && problem->buffers[b].life == SPILL_LIFE_PERSISTENT)
            return false;
    }
    return s->page_total <= BRUTE_PAGES;
}

static inline void brute_judge(struct brute *s)
{
    struct spill_outcome outcome;

    if (spill_check_plan(s->problem, &s->plan, &outcome, NULL, 0) != SPILL_OK)
        return;
    s->seen++;
    if (outcome.step_ns < s->best_ns)
        s->best_ns = outcome.step_ns;
}

/* Every assignment of frames, those that differ in names only once. */
static inline void brute_frames(struct brute *s, uint32_t page, uint32_t used)
{
    if (page == s->page_total) {
        s->plan.frame_count = used;
        brute_judge(s);
        return;
    }
    for (uint32_t frame = 0; frame <= used && frame < s->budget; frame++) {
        s->frames[page] = frame;
        brute_frames(s, page + 1, frame == used ? used + 1 : used);
    }
}

/* Every order of the copies in, then every order of frames. TAKEN: a bit a move. */
static inline void brute_in_orders(struct brute *s, uint32_t place, uint32_t taken)
{
    uint32_t first = UINT32_MAX;

    if (place == s->chosen_count) {
        brute_frames(s, 0, 0);
        return;
    }
    for (uint32_t m = 0; m < s->chosen_count; m++)
        if ((taken >> m & 1) == 0 && s->moves[m].in_op < first)
            first = s->moves[m].in_op;
    for (uint32_t m = 0; m < s->chosen_count; m++)
        if ((taken >> m & 1) == 0 && s->moves[m].in_op == first) {
            s->in_order[place] = m;
            brute_in_orders(s, place + 1, taken | 1u << m);
        }
}

static inline void brute_out_orders(struct brute *s, uint32_t place, uint32_t taken)
{
    uint32_t first = UINT32_MAX;

    if (place == s->chosen_count) {
        brute_in_orders(s, 0, 0);
        return;
    }
    for (uint32_t m = 0; m < s->chosen_count; m++)
        if ((taken >> m & 1) == 0 && s->chosen[m].out_op < first)
            first = s->chosen[m].out_op;
    for (uint32_t m = 0; m < s->chosen_count; m++)
        if ((taken >> m & 1) == 0 && s->chosen[m].out_op == first) {
            s->moves[place] = s->chosen[m];
            brute_out_orders(s, place + 1, taken | 1u << m);
        }
}

/* The two figures of the plan that follow from the moves alone. */
static inline void brute_plan(struct brute *s)
{
    uint32_t n = s->problem->op_count, peak = 0, most_host = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t resident = 0, host = 0;

        for (uint32_t b = 0; b < s->problem->buffer_count; b++)
            resident += brute_alive(s->problem, k, b) ? s->pages[b] : 0;
        for (uint32_t m = 0; m < s->chosen_count; m++) {
            const struct spill_move *move = &s->chosen[m];
            uint32_t since = (k + n - move->out_op) % n;
            uint32_t held = (move->use_op + n - move->out_op - 1) % n + 1;

            resident -=
                since > 0 && since <= (move->in_op + n - move->out_op) % n ? move->page_count : 0;
            host += since < held ? move->page_count : 0;
        }
        peak = resident > peak ? resident : peak;
        most_host = host > most_host ? host : most_host;
    }
    s->plan = (struct spill_plan){.moves = s->moves,
                                  .in_order = s->in_order,
                                  .page_base = s->page_base,
                                  .frame_of = s->frames,
                                  .move_count = s->chosen_count,
                                  .page_total = s->page_total,
                                  .peak_pages = peak,
                                  .host_bytes = most_host * s->problem->page_bytes};
    if (peak <= s->budget)
        brute_out_orders(s, 0, 0);
}

static inline void brute_decide(struct brute *s, uint32_t g, uint32_t page)
{
    const struct brute_gap *gap = &s->gaps[g];

    if (g == s->gap_count) {
        s->choices++;
        if (!s->counting)
            brute_plan(s);
        return;
    }
    if (page == s->pages[gap->buffer]) {
        brute_decide(s, g + 1, 0);
        return;
    }
    brute_decide(s, g, page + 1); /* it stays */
    for (uint32_t pages = 1; page + pages <= s->pages[gap->buffer]; pages++)
        for (uint32_t away = 1; away <= gap->length; away++) {
            if (s->chosen_count == BRUTE_MOVES)
                continue;
            s->chosen[s->chosen_count++] =
                (struct spill_move){.buffer = gap->buffer,
                                    .page_first = page,
                                    .page_count = pages,
                                    .out_op = gap->out_op,
                                    .in_op = (gap->out_op + away) % s->problem->op_count,
                                    .use_op = gap->use_op};
            brute_decide(s, g, page + pages);
            s->chosen_count--;
        }
}

/* How many choices there are before orders and frames. */
static inline uint64_t brute_count(struct brute *s)
{
    s->counting = true;
    s->choices = 0;
    brute_decide(s, 0, 0);
    s->counting = false;
    return s->choices;
}

/* Leaves the least step time in best_ns. */
static inline void brute_search(struct brute *s)
{
    s->choices = 0;
    brute_decide(s, 0, 0);
}

#endif
