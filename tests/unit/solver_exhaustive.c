/* SPDX-License-Identifier: Apache-2.0 */
/* Ours against every plan there is, on instances of a handful of pages: what moves, when it is
 * called back and which frame it has, all tried; copies are queued in order of use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solver/check.h"
#include "solver/solve.h"
#include "tests/unit/solver_random.h"

#define CHOICES_MOST 12
#define PAGES_MOST   6
#define COMBINATIONS 2500

/* One page in one gap: stays (0), or is called back at out_op + n. */
struct choice {
    uint32_t buffer, page, out_op, use_op, length, taken;
};

struct search {
    struct random_problem *r;
    struct choice choices[CHOICES_MOST];
    uint32_t choice_count;
    uint32_t page_base[RANDOM_BUFFERS + 1];
    uint32_t page_total, budget;
    uint64_t best, seen;
};

static uint32_t pages_of(const struct random_problem *r, uint32_t b)
{
    return (uint32_t)((r->buffers[b].bytes + 999) / 1000);
}

/* Lists the choices straight from the accesses; false when there are too many. */
static bool list_choices(struct search *s)
{
    const struct spill_problem *p = &s->r->problem;
    uint32_t n = p->op_count;
    uint64_t combinations = 1;

    s->choice_count = s->page_total = 0;
    for (uint32_t b = 0; b < p->buffer_count; b++) {
        bool touched[RANDOM_OPS] = {false};

        s->page_base[b] = s->page_total;
        s->page_total += pages_of(s->r, b);
        for (uint32_t k = 0; k < n; k++)
            for (uint32_t a = 0; a < p->ops[k].access_count; a++)
                touched[k] |= p->accesses[p->ops[k].access_first + a].buffer == b;
        if (p->buffers[b].life == SPILL_LIFE_PERSISTENT && pages_of(s->r, b) > 0) {
            bool idle = true;

            for (uint32_t k = 0; k < n; k++)
                idle &= !touched[k];
            if (idle)
                return false; /* could be parked: not searched here */
        }
        for (uint32_t k = 0; k < n; k++) {
            uint32_t length = 0, use = (k + 1) % n;

            if (!touched[k] || p->buffers[b].pinned || pages_of(s->r, b) == 0)
                continue;
            while (!touched[use]) {
                length++;
                use = (use + 1) % n;
            }
            if (p->buffers[b].life == SPILL_LIFE_ITERATION) {
                uint32_t birth = p->buffers[b].birth_op;

                if ((use + n - birth) % n <= (k + n - birth) % n)
                    continue; /* its last toucher */
            }
            for (uint32_t page = 0; page < pages_of(s->r, b) && length > 0; page++) {
                if (s->choice_count == CHOICES_MOST)
                    return false;
                s->choices[s->choice_count++] = (struct choice){b, page, k, use, length, 0};
                combinations *= length + 1;
                if (combinations > COMBINATIONS)
                    return false;
            }
        }
    }
    s->page_base[p->buffer_count] = s->page_total;
    return s->page_total <= PAGES_MOST;
}

static void judge(struct search *s, struct spill_plan *plan)
{
    struct spill_outcome outcome;

    if (spill_check_plan(&s->r->problem, plan, &outcome, NULL, 0) == SPILL_OK) {
        s->seen++;
        if (outcome.step_ns < s->best)
            s->best = outcome.step_ns;
    }
}

/* Every assignment of frames, equal ones up to renaming once. */
static void try_frames(struct search *s, struct spill_plan *plan, uint32_t page, uint32_t used)
{
    if (page == s->page_total) {
        plan->frame_count = used;
        judge(s, plan);
        return;
    }
    for (uint32_t frame = 0; frame <= used && frame < s->budget; frame++) {
        plan->frame_of[page] = frame;
        try_frames(s, plan, page + 1, frame == used ? used + 1 : used);
    }
}

static void try_moves(struct search *s)
{
    const struct spill_problem *p = &s->r->problem;
    uint32_t n = p->op_count, in_order[CHOICES_MOST], frames[PAGES_MOST], count = 0, peak = 0;
    uint32_t resident[RANDOM_OPS], host[RANDOM_OPS], most_host = 0;
    struct spill_move moves[CHOICES_MOST];
    struct spill_plan plan = {.moves = moves,
                              .in_order = in_order,
                              .page_base = s->page_base,
                              .frame_of = frames,
                              .page_total = s->page_total};

    memset(host, 0, sizeof(host));
    for (uint32_t k = 0; k < n; k++) {
        resident[k] = 0;
        for (uint32_t b = 0; b < p->buffer_count; b++) {
            const struct spill_buffer *buffer = &p->buffers[b];

            if (buffer->life == SPILL_LIFE_PERSISTENT || buffer->pinned ||
                (k + n - buffer->birth_op) % n <= (buffer->death_op + n - buffer->birth_op) % n)
                resident[k] += pages_of(s->r, b);
        }
    }
    for (uint32_t op = 0; op < n; op++)
        for (uint32_t length = 1; length <= n; length++)
            for (uint32_t c = 0; c < s->choice_count; c++) {
                const struct choice *choice = &s->choices[c];

                if (choice->taken == 0 || choice->out_op != op || choice->length != length)
                    continue;
                for (uint32_t i = 1; i <= choice->taken; i++)
                    resident[(op + i) % n]--;
                for (uint32_t i = 0; i <= choice->length; i++)
                    host[(op + i) % n]++;
                moves[count++] = (struct spill_move){.buffer = choice->buffer,
                                                     .page_first = choice->page,
                                                     .page_count = 1,
                                                     .out_op = op,
                                                     .in_op = (op + choice->taken) % n,
                                                     .use_op = choice->use_op};
            }
    plan.move_count = count;
    count = 0;
    for (uint32_t op = 0; op < n; op++)
        for (uint32_t ahead = 1; ahead <= n; ahead++)
            for (uint32_t m = 0; m < plan.move_count; m++)
                if (moves[m].in_op == op && (moves[m].use_op + n - op - 1) % n + 1 == ahead)
                    in_order[count++] = m;
    for (uint32_t k = 0; k < n; k++) {
        peak = resident[k] > peak ? resident[k] : peak;
        most_host = host[k] > most_host ? host[k] : most_host;
    }
    if (peak > s->budget)
        return;
    plan.peak_pages = peak;
    plan.host_bytes = most_host * p->page_bytes;
    try_frames(s, &plan, 0, 0);
}

static void try_all(struct search *s, uint32_t choice)
{
    if (choice == s->choice_count) {
        try_moves(s);
        return;
    }
    for (uint32_t taken = 0; taken <= s->choices[choice].length; taken++) {
        s->choices[choice].taken = taken;
        try_all(s, choice + 1);
    }
}

static void test_against_all(void **state)
{
    static struct random_problem r;
    uint32_t instances = 0, optimal = 0;
    double ratio = 0;

    (void)state;
    for (uint64_t seed = 1; seed < 4000 && instances < 60; seed++) {
        struct search s = {.r = &r, .best = UINT64_MAX};
        struct spill_solve_obstacle obstacle;
        struct spill_plan *plan = NULL;

        random_make(&r, seed, 7, 4, 2);
        r.problem.out.latency_ns = r.problem.in.latency_ns = 0;
        if (!list_choices(&s) || s.choice_count < 2)
            continue;
        spill_solve_smallest_budget(&r.problem, &obstacle);
        s.budget = (uint32_t)(obstacle.bytes_needed / 1000);
        if (s.budget == 0 || s.budget >= s.page_total)
            continue;
        r.problem.gpu_budget = obstacle.bytes_needed;
        try_all(&s, 0);
        assert_int_equal(spill_solve(&r.problem, NULL, &plan, NULL), SPILL_OK);
        assert_true(s.seen > 0);
        if (plan->bound_ns > s.best)
            print_error("seed %llu: bound %llu, a plan takes %llu\n", (unsigned long long)seed,
                        (unsigned long long)plan->bound_ns, (unsigned long long)s.best);
        assert_true(plan->bound_ns <= s.best);
        if (s.best > 0) {
            instances++;
            ratio += (double)plan->step_ns / (double)s.best;
            optimal += plan->step_ns <= s.best;
        }
        spill_plan_free(plan);
    }
    ratio /= instances;
    print_message("%u instances: %u solved to optimality, %.4f of the optimum on average\n",
                  instances, optimal, ratio);
    assert_true(instances >= 40);
    assert_true(ratio < 1.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_all)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
