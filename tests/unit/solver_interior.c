/* SPDX-License-Identifier: Apache-2.0 */
/* The interior-point method, judged by weak duality, which the test computes itself: what x costs
 * is no less than what y proves, so when the two are close both are near the optimum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solver/interior.h"
#include "tests/unit/solver_random.h"

/* Most that a row is missed by, the cost of x, and what y proves that no x can cost less than. */
struct verdict {
    double missed, cost, proven;
};

static struct verdict judge(const struct spill_interior *lp)
{
    struct verdict verdict = {0, 0, 0};

    for (uint32_t r = 0; r < lp->row_count; r++) {
        double missed = lp->rhs[r];

        for (uint32_t j = 0; j < lp->col_count; j++)
            for (uint32_t a = lp->col_first[j]; a < lp->col_first[j + 1]; a++)
                missed -= lp->row[a] == r ? lp->value[a] * lp->x[j] : 0;
        missed = missed < 0 ? -missed : missed;
        verdict.missed = missed > verdict.missed ? missed : verdict.missed;
        verdict.proven += lp->rhs[r] * lp->y[r];
    }
    for (uint32_t j = 0; j < lp->col_count; j++) {
        double reduced = lp->cost[j];

        assert_true(lp->x[j] >= 0 && lp->x[j] <= lp->upper[j] * (1 + 1e-9));
        for (uint32_t a = lp->col_first[j]; a < lp->col_first[j + 1]; a++)
            reduced -= lp->value[a] * lp->y[lp->row[a]];
        if (reduced < 0) /* a column without an upper bound is no more than 1000 in these tests */
            verdict.proven += reduced * (lp->upper[j] < SPILL_INTERIOR_OPEN ? lp->upper[j] : 1000);
        verdict.cost += lp->cost[j] * lp->x[j];
    }
    return verdict;
}

static void assert_optimal(const struct spill_interior *lp)
{
    struct verdict verdict = judge(lp);

    assert_true(verdict.missed < 1e-4);
    assert_true(verdict.cost - verdict.proven < 1e-3);
    assert_true(verdict.cost - verdict.proven > -1e-3);
}

/* Two plants of 3 and 4, two towns that want 2 and 4: from the first plant 1 and 5, from the second
 * 2 and 3 each. Of the first plant 2 go to the first town, all else comes from the second: 14. */
static void by_hand(void **state)
{
    static const double cost[2][2] = {{1, 5}, {2, 3}};
    struct spill_arena arena = {0};
    struct spill_interior lp;

    (void)state;
    assert_int_equal(spill_interior_open(&lp, 4, 6, 10, &arena), SPILL_OK);
    for (uint32_t plant = 0; plant < 2; plant++)
        for (uint32_t town = 0; town < 2; town++) {
            spill_interior_column(&lp, cost[plant][town], SPILL_INTERIOR_OPEN);
            spill_interior_entry(&lp, plant, 1);
            spill_interior_entry(&lp, 2 + town, 1);
        }
    for (uint32_t plant = 0; plant < 2; plant++) { /* what is left over */
        spill_interior_column(&lp, 0, 4);
        spill_interior_entry(&lp, plant, 1);
    }
    lp.rhs[0] = 3;
    lp.rhs[1] = 4;
    lp.rhs[2] = 2;
    lp.rhs[3] = 4;
    assert_int_equal(spill_interior_solve(&lp, 1e-8, 50, &arena), SPILL_OK);
    assert_true(judge(&lp).cost > 14 - 1e-4 && judge(&lp).cost < 14 + 1e-4);
    assert_optimal(&lp);
    spill_arena_free(&arena);
}

/* Random sparse programs that have a solution, some with a row that depends on the others. */
static void by_duality(void **state)
{
    enum { ROWS = 12, COLS = 30 };

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct spill_arena arena = {0};
        struct spill_interior lp;
        struct random_problem random = {.state = seed};

        assert_int_equal(spill_interior_open(&lp, ROWS, COLS, 4 * COLS, &arena), SPILL_OK);
        for (uint32_t j = 0; j < COLS; j++) {
            double upper = 1 + (double)random_below(&random, 9);
            double inside = upper * (double)random_below(&random, 5) / 4;

            spill_interior_column(&lp, (double)random_below(&random, 12) - 2, upper);
            for (uint32_t r = (uint32_t)random_below(&random, 4); r < ROWS - 1;
                 r += 4 + (uint32_t)random_below(&random, 4)) {
                double value = (double)random_below(&random, 7) - 3;

                spill_interior_entry(&lp, r, value);
                lp.rhs[r] += value * inside;
                if (r == 0 && seed % 2 == 0) { /* the last row is the first once more */
                    spill_interior_entry(&lp, ROWS - 1, value);
                    lp.rhs[ROWS - 1] += value * inside;
                }
            }
        }
        assert_int_equal(spill_interior_solve(&lp, 1e-8, 80, &arena), SPILL_OK);
        assert_optimal(&lp);
        spill_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(by_duality)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
