/* SPDX-License-Identifier: Apache-2.0 */
/* Mutation of frames: in a plan of the solver one page is given another frame, or two pages
 * exchange theirs, in every way there is. The referee refuses a plan if, and only if, two pages of
 * a frame are on the device at the same op, which is counted here op by op and page by page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "solver/check.h"
#include "solver/solve.h"
#include "tests/unit/solver_random.h"

enum { PAGES_MOST = 80 };

static uint8_t here[PAGES_MOST][RANDOM_OPS]; /* is the page on the device at the op? */
static uint32_t harmful, harmless;

static void set_range(uint32_t page, uint32_t count, uint32_t from, uint32_t ops, uint32_t op_count,
                      uint8_t value)
{
    for (uint32_t p = page; p < page + count; p++)
        for (uint32_t k = 0; k < ops; k++)
            here[p][(from + k) % op_count] = value;
}

static void fill_here(const struct spill_problem *problem, const struct spill_plan *plan)
{
    uint32_t n = problem->op_count;
    memset(here, 0, sizeof(here));
    for (uint32_t b = 0; b < problem->buffer_count; b++) {
        const struct spill_buffer *buffer = &problem->buffers[b];
        uint32_t base = plan->page_base[b], count = plan->page_base[b + 1] - base;
        if (buffer->life == SPILL_LIFE_PERSISTENT || buffer->pinned)
            set_range(base, count, 0, n, n, 1);
        else
            set_range(base, count, buffer->birth_op,
                      (buffer->death_op + n - buffer->birth_op) % n + 1, n, 1);
    }
    for (uint32_t m = 0; m < plan->move_count; m++) {
        const struct spill_move *move = &plan->moves[m];
        uint32_t absent = (move->in_op + n - move->out_op) % n; /* out_op + 1 to in_op */
        set_range(plan->page_base[move->buffer] + move->page_first, move->page_count,
                  move->out_op + 1, absent, n, 0);
    }
    for (uint32_t i = 0; i < plan->park_count; i++)
        set_range(plan->page_base[plan->parks[i].buffer] + plan->parks[i].page_first,
                  plan->parks[i].page_count, 0, n, n, 0);
}

static int meet(const struct spill_problem *problem, uint32_t p, uint32_t q)
{
    for (uint32_t k = 0; k < problem->op_count; k++)
        if (here[p][k] && here[q][k])
            return 1;
    return 0;
}

/* Do two pages of one frame meet? */
static int collides(const struct spill_problem *problem, const struct spill_plan *plan)
{
    for (uint32_t p = 0; p < plan->page_total; p++)
        for (uint32_t q = 0; q < p; q++)
            if (plan->frame_of[p] != SPILL_NO_FRAME && plan->frame_of[p] == plan->frame_of[q] &&
                meet(problem, p, q))
                return 1;
    return 0;
}

/* OF_FRAMES: nothing but frames was changed, so they are what it is refused for. */
static void judge(const struct spill_problem *problem, const struct spill_plan *plan, int of_frames)
{
    struct spill_outcome outcome;
    char complaint[200];
    int wrong = collides(problem, plan);
    enum spill_status status =
        spill_check_plan(problem, plan, &outcome, complaint, sizeof(complaint));
    assert_int_equal(status, wrong ? SPILL_ERR_INFEASIBLE : SPILL_OK);
    if (wrong && of_frames)
        assert_non_null(strstr(complaint, "frame"));
    harmful += wrong != 0;
    harmless += wrong == 0;
}

static void mutate(const struct spill_problem *problem, struct spill_plan *plan)
{
    fill_here(problem, plan);
    assert_false(collides(problem, plan));
    for (uint32_t p = 0; p < plan->page_total; p++) {
        uint32_t own = plan->frame_of[p];
        for (uint32_t f = 0; own != SPILL_NO_FRAME && f < plan->frame_count; f++) {
            plan->frame_of[p] = f;
            if (f != own)
                judge(problem, plan, 1);
        }
        plan->frame_of[p] = own;
        for (uint32_t q = 0; own != SPILL_NO_FRAME && q < p; q++) {
            uint32_t other = plan->frame_of[q];
            if (other == SPILL_NO_FRAME || other == own)
                continue;
            plan->frame_of[p] = other;
            plan->frame_of[q] = own;
            judge(problem, plan, 1);
            plan->frame_of[p] = own;
            plan->frame_of[q] = other;
        }
    }
}

static void test_frames(void **state)
{
    static struct random_problem r;
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct spill_solve_obstacle obstacle;
        struct spill_plan *plan = NULL;
        random_make(&r, seed, RANDOM_OPS, 8, 4);
        spill_solve_smallest_budget(&r.problem, &obstacle);
        r.problem.gpu_budget = obstacle.bytes_needed + 1000 * (seed % 3);
        assert_int_equal(spill_solve(&r.problem, NULL, &plan, &obstacle), SPILL_OK);
        assert_in_range(plan->page_total, 0, PAGES_MOST);
        mutate(&r.problem, plan);
        spill_plan_free(plan);
    }
    print_message("frames: %u mutations put two pages into one frame at one op, all refused; %u do "
                  "not, none refused\n",
                  harmful, harmless);
    assert_true(harmful > 500 && harmless > 500);
}

/* The next move on the in link, or the one before it, keeps its place if M comes in one op earlier.
 */
static int can_come_earlier(const struct spill_plan *plan, uint32_t m)
{
    uint32_t at = 0;
    while (plan->in_order[at] != m)
        at++;
    return plan->moves[m].in_op > 0 && plan->moves[m].in_op != plan->moves[m].out_op + 1 &&
           plan->moves[m].in_op != plan->moves[m].out_op &&
           (at == 0 || plan->moves[plan->in_order[at - 1]].in_op < plan->moves[m].in_op);
}

/* A copy in that is brought forward, into the stay that has the frame before it. */
static void test_hand_overs(void **state)
{
    static struct random_problem r;
    (void)state;
    harmful = harmless = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct spill_solve_obstacle obstacle;
        struct spill_plan *plan = NULL;
        random_make(&r, seed, RANDOM_OPS, 8, 4);
        spill_solve_smallest_budget(&r.problem, &obstacle);
        r.problem.gpu_budget = obstacle.bytes_needed;
        assert_int_equal(spill_solve(&r.problem, NULL, &plan, &obstacle), SPILL_OK);
        for (uint32_t m = 0; m < plan->move_count; m++) {
            if (!can_come_earlier(plan, m))
                continue;
            plan->moves[m].in_op--;
            fill_here(&r.problem, plan);
            judge(&r.problem, plan, 0);
            plan->moves[m].in_op++;
        }
        spill_plan_free(plan);
    }
    print_message("hand-overs: %u copies in brought forward into the stay before, all refused; %u "
                  "into no stay, none refused\n",
                  harmful, harmless);
    assert_true(harmful > 50 && harmless > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_hand_overs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
