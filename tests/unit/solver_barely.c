/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets that only just hold what is there: nothing moves. And with a page less, something does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solver/check.h"
#include "solver/prep.h"
#include "solver/solve.h"
#include "tests/unit/solver_random.h"

/* Most pages alive at one op; 0 when a life crosses the border of the iteration, since pages that
 * are then on two frames at once may need more frames than that. */
static uint32_t peak_of(const struct spill_problem *problem)
{
    struct spill_arena arena = {0};
    struct spill_prep prep;
    uint32_t peak;

    assert_int_equal(spill_prep_build(&prep, problem, &arena), SPILL_OK);
    peak = prep.peak;
    for (uint32_t b = 0; b < problem->buffer_count; b++)
        if (problem->buffers[b].life == SPILL_LIFE_ITERATION &&
            problem->buffers[b].death_op < problem->buffers[b].birth_op)
            peak = 0;
    spill_arena_free(&arena);
    return peak;
}

static void assert_nothing_moves(const struct spill_problem *problem, const char *method)
{
    struct spill_solve_options options = {.method = method};
    struct spill_plan *plan = NULL;
    struct spill_outcome outcome;

    assert_int_equal(spill_solve(problem, &options, &plan, NULL), SPILL_OK);
    assert_int_equal(plan->move_count, 0);
    assert_int_equal(plan->park_count, 0);
    assert_int_equal(plan->frame_count, plan->peak_pages);
    assert_int_equal(plan->step_ns, plan->compute_ns);
    assert_int_equal(spill_check_plan(problem, plan, &outcome, NULL, 0), SPILL_OK);
    spill_plan_free(plan);
}

static void barely(void **state)
{
    uint32_t tried = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct random_problem random;
        struct spill_problem *problem = &random.problem;
        struct spill_plan *plan = NULL;
        uint32_t peak;

        random_make(&random, seed, RANDOM_OPS, RANDOM_BUFFERS, 200);
        peak = peak_of(problem);
        if (peak == 0)
            continue;
        tried++;
        problem->gpu_budget = peak * problem->page_bytes;
        assert_nothing_moves(problem, "ours");
        assert_nothing_moves(problem, "keep-all");
        problem->gpu_budget += problem->page_bytes - 1; /* a page short of one byte is none */
        assert_nothing_moves(problem, "ours");
        problem->gpu_budget = peak * problem->page_bytes - 1;
        if (spill_solve(problem, NULL, &plan, NULL) == SPILL_OK) {
            assert_true(plan->move_count + plan->park_count > 0);
            assert_true(plan->frame_count < peak);
            spill_plan_free(plan);
        }
    }
    assert_true(tried > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(barely)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
