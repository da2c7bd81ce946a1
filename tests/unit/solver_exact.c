/* SPDX-License-Identifier: Apache-2.0 */
/* Optimal step times of tiny problems by ways that share no code: every plan tried and judged by
 * the checker, the exact method, and an outside solver of mixed-integer programs. And how near ours
 * comes. tests/bench/exact.sh does the same for more and larger problems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/solver_tiny.h"

static void test_exact_and_ours(void **state)
{
    static struct random_problem r;
    static struct brute s;
    uint32_t instances = 0, infeasible = 0, optimal = 0, missed = 0;
    double ratio = 0;

    (void)state;
    for (uint64_t seed = 1; instances < 60; seed++) {
        uint64_t exact, ours, bound, proof;

        if (!tiny_make(&r, &s, seed, 7, 600, false))
            continue;
        assert_int_equal(tiny_solve(&r.problem, "exact", &exact, &proof), SPILL_OK);
        assert_int_equal(tiny_solve(&r.problem, "ours", &ours, &bound), SPILL_OK);
        if (exact != s.best_ns || (ours != UINT64_MAX && bound > s.best_ns))
            print_error("problem %llu\n", (unsigned long long)seed);
        assert_int_equal(exact, s.best_ns);
        assert_int_equal(proof, s.best_ns);
        assert_true(ours >= s.best_ns);
        if (s.best_ns == UINT64_MAX) {
            infeasible++;
            continue;
        }
        instances++;
        missed += ours == UINT64_MAX;
        if (ours == UINT64_MAX)
            continue;
        assert_true(bound <= s.best_ns);
        ratio += (double)ours / (double)s.best_ns;
        optimal += ours == s.best_ns;
    }
    ratio /= instances - missed;
    print_message("%u problems with a plan: ours finds one in %u, %u of them optimal, %.4f times "
                  "the optimum on average; %u without\n",
                  instances, instances - missed, optimal, ratio, infeasible);
    assert_true(infeasible >= 5);
    assert_int_equal(missed, 0);
    assert_true(ratio < 1.01);
}

static void test_outside_solver(void **state)
{
    static struct random_problem r;
    static struct brute s;
    uint32_t instances = 0;

    (void)state;
    if (system("command -v cbc >/dev/null") != 0) {
        print_message("# SKIP cbc (Debian: coinor-cbc) is not installed\n");
        skip();
    }
    for (uint64_t seed = 1; instances < 12; seed++) {
        double mip = 0;
        int found;

        if (!tiny_make(&r, &s, seed, 6, 60, true))
            continue;
        assert_true(mip_write(&s, "problem.lp"));
        found = mip_solve("problem.lp", 60, &mip);
        if (!tiny_agrees(s.best_ns, found, mip))
            print_error("problem %llu: %llu, cbc says %d %f\n", (unsigned long long)seed,
                        (unsigned long long)s.best_ns, found, mip);
        assert_true(tiny_agrees(s.best_ns, found, mip));
        instances++;
    }
}

/* What is too large is refused at once. */
static void test_too_large(void **state)
{
    static struct random_problem r;
    struct spill_solve_options options = {.method = "exact"};
    struct spill_plan *plan = NULL;

    (void)state;
    random_make(&r, 3, RANDOM_OPS, RANDOM_BUFFERS, 6);
    r.problem.gpu_budget = UINT64_C(1000000);
    assert_int_equal(spill_solve(&r.problem, &options, &plan, NULL), SPILL_ERR_UNSUPPORTED);
    assert_null(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_and_ours),
        cmocka_unit_test(test_outside_solver),
        cmocka_unit_test(test_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
