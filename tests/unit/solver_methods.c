/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of other systems on a network of three layers: forward ops 0 1 2, backward ops 3 4 5
 * of 1000 ns each. Activation A1 is touched by ops 0 and 5, A2 by 1 and 4, A3 by 2 and 3; one page
 * each, and there is room for two. All three are alive at ops 2 and 3, so one must leave: A1, whose
 * gap is the longest, unless the method moves everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "solver/check.h"
#include "solver/methods.h"
#include "solver/solve.h"
#include "tests/unit/solver_random.h"

struct fixture {
    struct spill_op ops[6];
    struct spill_access accesses[6];
    struct spill_buffer buffers[3];
    struct spill_problem problem;
};

static void make(struct fixture *f, uint64_t page_ns)
{
    memset(f, 0, sizeof(*f));
    for (uint32_t k = 0; k < 6; k++) {
        f->ops[k] = (struct spill_op){1000, k, 1};
        f->accesses[k] = (struct spill_access){k < 3 ? k : 5 - k, SPILL_ACCESS_UNKNOWN};
    }
    for (uint32_t b = 0; b < 3; b++)
        f->buffers[b] = (struct spill_buffer){
            .bytes = 1000, .life = SPILL_LIFE_ITERATION, .birth_op = b, .death_op = 5 - b};
    f->problem = (struct spill_problem){.ops = f->ops,
                                        .accesses = f->accesses,
                                        .buffers = f->buffers,
                                        .op_count = 6,
                                        .access_count = 6,
                                        .buffer_count = 3,
                                        .out = {0, UINT64_C(1000000000000) / page_ns},
                                        .in = {0, UINT64_C(1000000000000) / page_ns},
                                        .duplex_permille = 1000,
                                        .page_bytes = 1000,
                                        .gpu_budget = 2000,
                                        .host_budget = UINT64_MAX};
}

/* Which activations the method moves, one bit each; -1 when it has no plan. */
static int moved_by(const char *name)
{
    struct spill_solve_options options = {name, 0};
    struct spill_plan *plan = NULL;
    struct fixture f;
    int moved = 0;

    make(&f, 1000);
    if (spill_solve(&f.problem, &options, &plan, NULL) != SPILL_OK)
        return -1;
    assert_int_equal(spill_check_plan(&f.problem, plan, NULL, NULL, 0), SPILL_OK);
    for (uint32_t m = 0; m < plan->move_count; m++)
        moved |= 1 << plan->moves[m].buffer;
    spill_plan_free(plan);
    return moved;
}

static void test_choices(void **state)
{
    static const char *const only_first[] = {"lru",
                                             "belady",
                                             "superneurons",
                                             "tflms",
                                             "meng",
                                             "autoswap-doa",
                                             "autoswap-aoa",
                                             "autoswap-wdoa",
                                             "autoswap-vote",
                                             "autoswap-swdoa",
                                             "beaumont-greedy",
                                             "beaumont-dp",
                                             "capuchin",
                                             "g10",
                                             "fluid",
                                             "ours"};

    (void)state;
    assert_int_equal(moved_by("keep-all"), -1);
    assert_int_equal(moved_by("vdnn-all"), 3);  /* A3 has no gap */
    assert_int_equal(moved_by("vdnn-conv"), 3); /* its "conv" ops are the first three */
    assert_int_equal(moved_by("vdnn-dyn"), 3);
    for (size_t i = 0; i < sizeof(only_first) / sizeof(only_first[0]); i++) {
        if (moved_by(only_first[i]) != 1)
            print_error("%s moves %d\n", only_first[i], moved_by(only_first[i]));
        assert_int_equal(moved_by(only_first[i]), 1);
    }
}

/* Copies of 5000 ns: A1 leaves in [1000, 6000], so op 2 waits for its memory; A3 dies at 8000 and
 * A1 is back at 13000, so op 5 waits: 14000 in all. Whatever one does, each way takes 5000 of which
 * two ops at most hide 2000. */
static void test_bound_by_hand(void **state)
{
    struct spill_plan *plan = NULL;
    struct fixture f;

    (void)state;
    make(&f, 1000);
    assert_int_equal(spill_solve(&f.problem, NULL, &plan, NULL), SPILL_OK);
    assert_int_equal(plan->step_ns, 6000);
    assert_int_equal(plan->bound_ns, 6000);
    spill_plan_free(plan);
    make(&f, 5000);
    assert_int_equal(spill_solve(&f.problem, NULL, &plan, NULL), SPILL_OK);
    assert_int_equal(plan->step_ns, 14000);
    assert_in_range(plan->bound_ns, 11500, 14000);
    spill_plan_free(plan);
}

static void test_unknown(void **state)
{
    struct spill_solve_options options = {"no-such-method", 0};
    struct spill_plan *plan = NULL;
    struct fixture f;

    (void)state;
    make(&f, 1000);
    assert_int_equal(spill_solve(&f.problem, &options, &plan, NULL), SPILL_ERR_NOT_FOUND);
    assert_null(plan);
    f.problem.page_bytes = 0;
    assert_int_equal(spill_solve(&f.problem, NULL, &plan, NULL), SPILL_ERR_INVAL);
}

/* Every method's plan is legal, and none beats the bound that comes with ours. */
static void test_random(void **state)
{
    static struct random_problem r;

    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct spill_solve_obstacle obstacle;
        const struct spill_method *method;
        struct spill_plan *ours = NULL;

        random_make(&r, seed, RANDOM_OPS, RANDOM_BUFFERS, 6);
        spill_solve_smallest_budget(&r.problem, &obstacle);
        r.problem.gpu_budget = obstacle.bytes_needed + obstacle.bytes_needed / 3000 * 1000;
        assert_int_equal(spill_solve(&r.problem, NULL, &ours, NULL), SPILL_OK);
        for (uint32_t i = 0; (method = spill_method_at(i)) != NULL; i++) {
            struct spill_solve_options options = {method->name, 0};
            struct spill_outcome outcome;
            struct spill_plan *plan = NULL;

            assert_ptr_equal(spill_method_find(method->name), method);
            if (spill_solve(&r.problem, &options, &plan, NULL) != SPILL_OK)
                continue;
            assert_int_equal(spill_check_plan(&r.problem, plan, &outcome, NULL, 0), SPILL_OK);
            assert_true(outcome.step_ns >= ours->bound_ns);
            spill_plan_free(plan);
        }
        spill_plan_free(ours);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_bound_by_hand),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
