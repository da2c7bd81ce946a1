/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of random problems: every plan passes the referee, and a plan exists wherever one must.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "solver/check.h"
#include "solver/solve.h"
#include "tests/unit/solver_random.h"

static void check_budget(struct random_problem *r, uint64_t seed, uint64_t pages)
{
    struct spill_plan *plan = NULL, *again = NULL;
    struct spill_solve_obstacle obstacle;
    struct spill_outcome outcome;
    char complaint[200];
    enum spill_status status;

    r->problem.gpu_budget = pages * 1000 + 500;
    status = spill_solve(&r->problem, NULL, &plan, &obstacle);
    if (status != SPILL_OK)
        print_error("seed %llu, %llu pages: no plan (%d)\n", (unsigned long long)seed,
                    (unsigned long long)pages, (int)status);
    assert_int_equal(status, SPILL_OK);
    status = spill_check_plan(&r->problem, plan, &outcome, complaint, sizeof(complaint));
    if (status != SPILL_OK)
        print_error("seed %llu, %llu pages: %s\n", (unsigned long long)seed,
                    (unsigned long long)pages, complaint);
    assert_int_equal(status, SPILL_OK);
    assert_int_equal(outcome.step_ns, plan->step_ns);
    assert_true(plan->bound_ns <= plan->step_ns);
    assert_true(plan->bound_ns >= plan->compute_ns);
    assert_true(outcome.peak_bytes <= r->problem.gpu_budget);
    assert_int_equal(spill_solve(&r->problem, NULL, &again, NULL), SPILL_OK);
    assert_int_equal(again->move_count, plan->move_count);
    if (plan->move_count > 0)
        assert_memory_equal(again->moves, plan->moves, plan->move_count * sizeof(*plan->moves));
    if (plan->page_total > 0)
        assert_memory_equal(again->frame_of, plan->frame_of,
                            plan->page_total * sizeof(*plan->frame_of));
    spill_plan_free(again);
    spill_plan_free(plan);
}

static void fuzz(uint64_t first, uint64_t last, uint32_t ops, uint32_t buffers, uint32_t pages)
{
    static struct random_problem r;

    for (uint64_t seed = first; seed < last; seed++) {
        struct spill_solve_obstacle obstacle;
        uint64_t least, total = 0;

        random_make(&r, seed, ops, buffers, pages);
        for (uint32_t b = 0; b < r.problem.buffer_count; b++)
            total += (r.buffers[b].bytes + 999) / 1000;
        spill_solve_smallest_budget(&r.problem, &obstacle);
        assert_true(obstacle.bytes_needed <= total * 1000);
        least = obstacle.bytes_needed / 1000;
        for (uint64_t budget = least; budget <= total; budget += 1 + (total - least) / 3)
            check_budget(&r, seed, budget);
        check_budget(&r, seed, total);
        if (least > 0) {
            struct spill_plan *plan = NULL;

            r.problem.gpu_budget = least * 1000 - 1;
            if (spill_solve(&r.problem, NULL, &plan, &obstacle) == SPILL_OK)
                spill_plan_free(plan);
            else
                assert_true(obstacle.bytes_needed > r.problem.gpu_budget);
        }
    }
}

/* A host budget is kept, or the answer is that there is no plan, never a wrong one. */
static void test_host_budget(void **state)
{
    static struct random_problem r;
    uint32_t solved = 0, refused = 0;

    (void)state;
    for (uint64_t seed = 30000; seed < 30300; seed++) {
        struct spill_solve_obstacle obstacle;
        struct spill_plan *plan = NULL;
        uint64_t total = 0;

        random_make(&r, seed, RANDOM_OPS, RANDOM_BUFFERS, 20);
        for (uint32_t b = 0; b < r.problem.buffer_count; b++)
            total += (r.buffers[b].bytes + 999) / 1000;
        spill_solve_smallest_budget(&r.problem, &obstacle);
        if (total == 0 || obstacle.bytes_needed / 1000 > total)
            continue;
        r.problem.gpu_budget =
            obstacle.bytes_needed +
            1000 * random_below(&r, (uint32_t)(total - obstacle.bytes_needed / 1000 + 1));
        r.problem.host_budget = 1000 * random_below(&r, (uint32_t)total);
        if (spill_solve(&r.problem, NULL, &plan, &obstacle) == SPILL_OK) {
            struct spill_outcome outcome;

            assert_int_equal(spill_check_plan(&r.problem, plan, &outcome, NULL, 0), SPILL_OK);
            spill_plan_free(plan);
            solved++;
        } else {
            assert_true(obstacle.bytes_needed <= r.problem.gpu_budget);
            refused++;
        }
    }
    print_message("host budget: %u solved, %u refused\n", solved, refused);
    assert_true(solved > refused);
}

static void test_small(void **state)
{
    (void)state;
    fuzz(1, 500, 6, 5, 3);
}

static void test_medium(void **state)
{
    (void)state;
    fuzz(10000, 10150, RANDOM_OPS, RANDOM_BUFFERS, 6);
}

static void test_large_buffers(void **state)
{
    (void)state;
    fuzz(20000, 20040, RANDOM_OPS, RANDOM_BUFFERS, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_medium),
        cmocka_unit_test(test_large_buffers),
        cmocka_unit_test(test_host_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
