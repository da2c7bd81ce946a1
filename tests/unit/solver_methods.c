/* SPDX-License-Identifier: Apache-2.0 */
/* What the methods of other systems move, on cases small enough to check by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "solver/check.h"
#include "solver/methods.h"
#include "solver/solve.h"
#include "tests/unit/solver_random.h"

/* A problem drawn as a picture: a string a buffer and a character an op. An activation: x where an
 * op touches it, - where it is alive and idle, . where it is not. A weight: o where an op touches
 * it. */
enum { OPS_MOST = 12, BUFFERS_MOST = 8 };

struct picture {
    const char *buffers[BUFFERS_MOST];
    uint32_t pages[BUFFERS_MOST];
    const char *durations; /* of each op, in 1000 ns; NULL: 1 each */
    uint64_t page_ns;      /* of each copy; 0: 100 */
    uint32_t budget;       /* pages */
};

struct fixture {
    struct spill_op ops[OPS_MOST];
    struct spill_access accesses[OPS_MOST * BUFFERS_MOST];
    struct spill_buffer buffers[BUFFERS_MOST];
    struct spill_problem problem;
};

static void make(struct fixture *f, const struct picture *picture)
{
    uint64_t rate = UINT64_C(1000000000000) / (picture->page_ns != 0 ? picture->page_ns : 100);
    struct spill_problem *p = &f->problem;

    memset(f, 0, sizeof(*f));
    *p = (struct spill_problem){.ops = f->ops,
                                .accesses = f->accesses,
                                .buffers = f->buffers,
                                .op_count = (uint32_t)strlen(picture->buffers[0]),
                                .out = {0, rate},
                                .in = {0, rate},
                                .duplex_permille = 1000,
                                .page_bytes = 1000,
                                .gpu_budget = picture->budget * UINT64_C(1000),
                                .host_budget = UINT64_MAX};
    for (uint32_t b = 0; b < BUFFERS_MOST && picture->buffers[b] != NULL; b++) {
        const char *life = picture->buffers[b];

        assert_int_equal(strlen(life), p->op_count);
        f->buffers[p->buffer_count++] = (struct spill_buffer){
            .bytes = picture->pages[b] * UINT64_C(1000),
            .life = strchr(life, 'o') != NULL ? SPILL_LIFE_PERSISTENT : SPILL_LIFE_ITERATION,
            .birth_op = (uint32_t)strcspn(life, "x"),
            .death_op = (uint32_t)(strrchr(life, 'x') != NULL ? strrchr(life, 'x') - life : 0)};
    }
    for (uint32_t k = 0; k < p->op_count; k++) {
        uint64_t length = picture->durations != NULL ? (uint64_t)(picture->durations[k] - '0') : 1;

        f->ops[k] = (struct spill_op){1000 * length, p->access_count, 0};
        for (uint32_t b = 0; b < p->buffer_count; b++)
            if (picture->buffers[b][k] == 'x' || picture->buffers[b][k] == 'o') {
                f->accesses[p->access_count++] = (struct spill_access){b, SPILL_ACCESS_UNKNOWN};
                f->ops[k].access_count++;
            }
    }
}

/* Which buffers the method moves, as letters, a for the first; "-" when it has no plan. */
static const char *moved_by(const char *name, const struct picture *picture)
{
    static char letters[BUFFERS_MOST + 1];
    struct spill_solve_options options = {.method = name};
    struct spill_plan *plan = NULL;
    struct fixture f;
    uint32_t count = 0;

    make(&f, picture);
    if (spill_solve(&f.problem, &options, &plan, NULL) != SPILL_OK)
        return "-";
    assert_int_equal(spill_check_plan(&f.problem, plan, NULL, NULL, 0), SPILL_OK);
    for (uint32_t b = 0; b < f.problem.buffer_count; b++) {
        bool moved = false;

        for (uint32_t m = 0; m < plan->move_count; m++)
            moved |= plan->moves[m].buffer == b;
        if (moved)
            letters[count++] = (char)('a' + b);
    }
    letters[count] = '\0';
    spill_plan_free(plan);
    return letters;
}

struct expected {
    const char *method, *moved;
};

static void check_all(const struct picture *picture, const struct expected *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *moved = moved_by(expected[i].method, picture);

        if (strcmp(moved, expected[i].moved) != 0)
            print_error("%s:\n", expected[i].method);
        assert_string_equal(moved, expected[i].moved);
    }
}
#define CHECK(picture, ...)                                                                        \
    do {                                                                                           \
        static const struct expected expected_[] = {__VA_ARGS__};                                  \
        check_all(&(picture), expected_, sizeof(expected_) / sizeof(expected_[0]));                \
    } while (0)

/* Three layers, a page each. All are alive at ops 2 and 3, and there is room for two: one must
 * leave. That is a, whose gap is the longest, unless the method moves everything. c has no gap. */
static const struct picture layers = {
    .buffers = {"x----x", ".x--x.", "..xx.."}, .pages = {1, 1, 1}, .page_ns = 1000, .budget = 2};

static void test_layers(void **state)
{
    (void)state;
    CHECK(layers, {"keep-all", "-"}, {"lru", "a"}, {"belady", "a"}, {"vdnn-all", "ab"},
          {"superneurons", "a"}, {"tflms", "a"}, {"meng", "a"}, {"autoswap-doa", "a"},
          {"autoswap-aoa", "a"}, {"autoswap-wdoa", "a"}, {"autoswap-swdoa", "a"},
          {"autoswap-vote", "a"}, {"capuchin", "a"}, {"g10", "a"}, {"fluid", "a"},
          {"beaumont-greedy", "a"}, {"beaumont-dp", "a"}, {"exact", "a"}, {"ours", "a"});
}

/* With room for all three, who moves only when needed moves nothing. */
static void test_room_for_all(void **state)
{
    struct picture picture = layers;

    (void)state;
    picture.budget = 3;
    CHECK(picture, {"keep-all", ""}, {"vdnn-all", "ab"}, {"vdnn-dyn", ""}, {"lru", ""},
          {"belady", ""}, {"superneurons", ""}, {"tflms", ""}, {"meng", ""}, {"autoswap-doa", ""},
          {"autoswap-aoa", ""}, {"autoswap-wdoa", ""}, {"autoswap-swdoa", ""},
          {"autoswap-vote", ""}, {"capuchin", ""}, {"g10", ""}, {"fluid", ""},
          {"beaumont-greedy", ""}, {"beaumont-dp", ""}, {"exact", ""}, {"ours", ""});
}

/* Ops 1 and 4 take 18 of 22: they are the "convolutions", and b is theirs. Where moving b is not
 * enough, vdnn-dyn goes on to moving all. */
static void test_conv(void **state)
{
    struct picture picture = layers;

    (void)state;
    picture.durations = "191191";
    picture.pages[0] = 3;
    picture.page_ns = 9000; /* a takes longer than all the ops */
    picture.budget = 4;
    CHECK(picture, {"vdnn-conv", "b"}, {"vdnn-dyn", "b"}, {"vdnn-all", "ab"});
    picture.pages[0] = 4; /* 6 pages at ops 2 and 3: without b 5 */
    CHECK(picture, {"vdnn-conv", "-"}, {"vdnn-dyn", "ab"}, {"vdnn-all", "ab"});
}

/* d is a weight with the longest gap of all, ops 1 to 5. Those that know activations only, or move
 * weights only after them, take a. */
static void test_weight(void **state)
{
    static const struct picture picture = {.buffers = {"x----x", ".x--x.", "..xx..", "o-----"},
                                           .pages = {1, 1, 1, 1},
                                           .page_ns = 1000,
                                           .budget = 3};

    (void)state;
    CHECK(picture, {"tflms", "d"}, {"autoswap-doa", "d"}, {"capuchin", "d"}, {"meng", "a"},
          {"superneurons", "a"}, {"vdnn-all", "ab"}, {"fluid", "a"}, {"beaumont-greedy", "a"},
          {"beaumont-dp", "a"});
}

/* At op 2 c needs a page of two: a was used longer ago, b will be used later. */
static void test_paging(void **state)
{
    static const struct picture picture = {
        .buffers = {"x--x....", ".x-----x", "..x....."}, .pages = {1, 1, 1}, .budget = 2};

    (void)state;
    CHECK(picture, {"lru", "a"}, {"superneurons", "a"}, {"belady", "b"});
}

/* Op 4 is 1 page over the budget and op 5, the worst, 3; all of a, b, c span op 5. Free of copies
 * are: a 10000 - 600 = 9400 ns, b 10000 - 800 = 9200, c 2000 - 600. Times the size: b, a, c. What
 * is over the limit, summed over the gap: a and b 3, c 1 + 3. Only c spans op 4: it must leave in
 * any case, so a or b were not needed. The ranks add up to 2 for a, 3 for b, 4 for c. G10 counts
 * how long the limit is exceeded, not by how much: a 3 x 1, b 4 x 1, c 3 x 2. */
static void test_scores(void **state)
{
    static const struct picture picture = {
        .buffers = {"....x--x", "....x--x", "...x--x.", "....x...", ".....x.."},
        .pages = {3, 4, 3, 1, 3},
        .durations = "11111191",
        .budget = 10};

    (void)state;
    CHECK(picture, {"autoswap-doa", "ac"}, {"autoswap-aoa", "bc"}, {"autoswap-wdoa", "c"},
          {"autoswap-swdoa", "c"}, {"autoswap-vote", "ac"}, {"capuchin", "ac"}, {"g10", "c"});
}

/* Over the budget: op 1 by 3, op 4 by 4, op 6 by 1. a and b score 7, c 5. After a, ops 4 and 6 lack
 * 1 each; by the old scores b leaves and then, for op 6, c too; anew, b scores 1 and c 2. Op 7
 * needs the whole budget, so that no draft of less is tried. */
static void test_weighed_anew(void **state)
{
    static const struct picture picture = {.buffers = {"x----x..", "x----x..", "...x---x",
                                                       ".x......", "....x...", "......x.",
                                                       ".......x"},
                                           .pages = {3, 3, 2, 5, 4, 7, 6},
                                           .budget = 8};

    (void)state;
    CHECK(picture, {"autoswap-wdoa", "abc"}, {"autoswap-swdoa", "ac"});
}

/* a has 3 pages, and one page must go at ops 2 and 3. The fluid choice is a third of a, rounded to
 * a: 6000 ns a way, of which one page is copied during op 1; at the turning point two pages are
 * still to go and two to come, 8000 ns. With b it is one page a way: 4000 ns. */
static void test_dynamic_program(void **state)
{
    struct picture picture = layers;

    (void)state;
    picture.pages[0] = 3;
    picture.page_ns = 2000;
    picture.budget = 4;
    CHECK(picture, {"fluid", "a"}, {"beaumont-greedy", "a"}, {"beaumont-dp", "b"});
    picture.page_ns = 250; /* a is gone when op 2 begins, b is not */
    CHECK(picture, {"beaumont-dp", "a"});
}

/* Copies of 5000 ns: a leaves in [1000, 6000], so op 2 waits for its memory; c dies at 8000 and a
 * is back at 13000, so op 5 waits: 14000 in all. With b instead of a, op 2 begins at 7000 and op 4
 * at 14000. So small a problem is searched to the end, and 14000 proven. */
static void test_bound_by_hand(void **state)
{
    struct picture slow = layers;
    struct spill_plan *plan = NULL;
    struct fixture f;

    (void)state;
    make(&f, &layers);
    assert_int_equal(spill_solve(&f.problem, NULL, &plan, NULL), SPILL_OK);
    assert_int_equal(plan->step_ns, 6000);
    assert_int_equal(plan->bound_ns, 6000);
    spill_plan_free(plan);
    slow.page_ns = 5000;
    make(&f, &slow);
    assert_int_equal(spill_solve(&f.problem, NULL, &plan, NULL), SPILL_OK);
    assert_int_equal(plan->step_ns, 14000);
    assert_int_equal(plan->bound_ns, 14000);
    spill_plan_free(plan);
}

static void test_unknown(void **state)
{
    struct spill_solve_options options = {.method = "no-such-method"};
    struct spill_plan *plan = NULL;
    struct fixture f;

    (void)state;
    make(&f, &layers);
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
            struct spill_solve_options options = {.method = method->name};
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
        cmocka_unit_test(test_layers),        cmocka_unit_test(test_room_for_all),
        cmocka_unit_test(test_conv),          cmocka_unit_test(test_weight),
        cmocka_unit_test(test_paging),        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_weighed_anew),  cmocka_unit_test(test_dynamic_program),
        cmocka_unit_test(test_bound_by_hand), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
