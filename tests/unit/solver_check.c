/* SPDX-License-Identifier: Apache-2.0 */
/* The referee on a plan small enough to check by hand.
 *
 * Four ops of 1000 ns. A (persistent, one page) is touched by op 0, B (one page) lives in op 2
 * only, and there is one frame. A copy of a page takes 1000 ns each way. A leaves in [1000, 2000],
 * B runs in [2000, 3000], A comes back in [3000, 4000]: nothing waits and a step takes 4000 ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "solver/check.h"

struct fixture {
    struct spill_op ops[4];
    struct spill_access accesses[2];
    struct spill_buffer buffers[3];
    struct spill_problem problem;
    struct spill_move moves[2];
    struct spill_park parks[1];
    uint32_t in_order[2];
    uint32_t page_base[4];
    uint32_t frame_of[3];
    struct spill_plan plan;
    struct spill_outcome outcome;
    char complaint[200];
};

static void make(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    for (int k = 0; k < 4; k++)
        f->ops[k].duration_ns = 1000;
    f->ops[0].access_count = 1;
    f->ops[2].access_first = 1;
    f->ops[2].access_count = 1;
    f->accesses[0] = (struct spill_access){0, SPILL_ACCESS_WRITE};
    f->accesses[1] = (struct spill_access){1, SPILL_ACCESS_UNKNOWN};
    f->buffers[0] = (struct spill_buffer){.bytes = 1000, .life = SPILL_LIFE_PERSISTENT};
    f->buffers[1] = (struct spill_buffer){
        .bytes = 1000, .life = SPILL_LIFE_ITERATION, .birth_op = 2, .death_op = 2};
    f->buffers[2] = (struct spill_buffer){.bytes = 0, .life = SPILL_LIFE_PERSISTENT};
    f->problem = (struct spill_problem){.ops = f->ops,
                                        .accesses = f->accesses,
                                        .buffers = f->buffers,
                                        .op_count = 4,
                                        .access_count = 2,
                                        .buffer_count = 3,
                                        .out = {0, 1000000000},
                                        .in = {0, 1000000000},
                                        .duplex_permille = 1000,
                                        .page_bytes = 1000,
                                        .gpu_budget = 1000,
                                        .host_budget = 1000};
    f->moves[0] = (struct spill_move){
        .buffer = 0, .page_first = 0, .page_count = 1, .out_op = 0, .in_op = 2, .use_op = 0};
    f->page_base[1] = 1;
    f->page_base[2] = f->page_base[3] = 2;
    f->plan = (struct spill_plan){.moves = f->moves,
                                  .parks = f->parks,
                                  .in_order = f->in_order,
                                  .page_base = f->page_base,
                                  .frame_of = f->frame_of,
                                  .move_count = 1,
                                  .page_total = 2,
                                  .frame_count = 1,
                                  .peak_pages = 1,
                                  .host_bytes = 1000};
}

static enum spill_status judge(struct fixture *f)
{
    return spill_check_plan(&f->problem, &f->plan, &f->outcome, f->complaint, sizeof(f->complaint));
}

static void rejects(struct fixture *f, const char *reason)
{
    assert_int_equal(judge(f), SPILL_ERR_INFEASIBLE);
    if (strstr(f->complaint, reason) == NULL)
        print_error("complaint: %s\n", f->complaint);
    assert_non_null(strstr(f->complaint, reason));
}

static void test_times(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    assert_int_equal(judge(&f), SPILL_OK);
    assert_int_equal(f.outcome.step_ns, 4000);
    assert_int_equal(f.outcome.stall_in_ns, 0);
    assert_int_equal(f.outcome.stall_memory_ns, 0);
    assert_int_equal(f.outcome.out_busy_ns, 1000);
    assert_int_equal(f.outcome.in_busy_ns, 1000);
    assert_int_equal(f.outcome.peak_bytes, 1000);
    assert_int_equal(f.outcome.host_bytes, 1000);
}

/* The copy out ends at 2500: op 2 waits 500 ns for memory; the copy in ends with op 3. */
static void test_waits_for_memory(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    f.problem.out.latency_ns = 500;
    assert_int_equal(judge(&f), SPILL_OK);
    assert_int_equal(f.outcome.step_ns, 4500);
    assert_int_equal(f.outcome.stall_memory_ns, 500);
    assert_int_equal(f.outcome.stall_in_ns, 0);
}

/* The copy in runs in [3000, 4700]: op 0 waits 700 ns for it. */
static void test_waits_for_copy_in(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    f.problem.in.latency_ns = 700;
    assert_int_equal(judge(&f), SPILL_OK);
    assert_int_equal(f.outcome.step_ns, 4700);
    assert_int_equal(f.outcome.stall_in_ns, 700);
}

/* B, now persistent, is touched by op 1 and leaves while A comes back, both from 2000 on: at 0.4 of
 * the rate they take until 4500, and op 0 waits 500 ns. B comes back in [4500, 5500], during op 0.
 */
static void test_shared_link(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    f.ops[1].access_first = 1;
    f.ops[1].access_count = 1;
    f.ops[2].access_count = 0;
    f.buffers[1].life = SPILL_LIFE_PERSISTENT;
    f.moves[1] = (struct spill_move){
        .buffer = 1, .page_first = 0, .page_count = 1, .out_op = 1, .in_op = 3, .use_op = 1};
    f.in_order[1] = 1;
    f.frame_of[1] = 1;
    f.plan.move_count = 2;
    f.plan.frame_count = f.plan.peak_pages = 2;
    f.problem.gpu_budget = f.problem.host_budget = f.plan.host_bytes = 2000;
    assert_int_equal(judge(&f), SPILL_OK);
    assert_int_equal(f.outcome.step_ns, 4000);
    f.problem.duplex_permille = 500;
    assert_int_equal(judge(&f), SPILL_OK);
    assert_int_equal(f.outcome.step_ns, 4000);
    f.problem.duplex_permille = 400;
    assert_int_equal(judge(&f), SPILL_OK);
    assert_int_equal(f.outcome.step_ns, 4500);
    assert_int_equal(f.outcome.stall_in_ns, 500);
    assert_int_equal(f.outcome.out_busy_ns, 1000 + 2500);
}

static void test_rules(void **state)
{
    struct fixture f;

    (void)state;
    make(&f), f.problem.gpu_budget = 999, rejects(&f, "frames");
    make(&f), f.moves[0].in_op = 1, rejects(&f, "resident");
    make(&f), f.moves[0].in_op = 0, rejects(&f, "not between");
    make(&f), f.moves[0].out_op = 1, rejects(&f, "neighbours");
    make(&f), f.moves[0].use_op = 2, rejects(&f, "neighbours");
    make(&f), f.moves[0].page_count = 2, rejects(&f, "outside");
    make(&f), f.moves[0].buffer = 7, rejects(&f, "does not exist");
    make(&f), f.buffers[0].pinned = 1, rejects(&f, "pinned");
    make(&f), f.problem.host_budget = 999, rejects(&f, "host memory");
    make(&f), f.plan.move_count = 0, rejects(&f, "resident");
    make(&f), f.frame_of[0] = SPILL_NO_FRAME, rejects(&f, "without a frame");
    make(&f), f.frame_of[0] = 1, rejects(&f, "does not exist");
    make(&f), f.in_order[0] = 1, rejects(&f, "permutation");
    make(&f), f.page_base[1] = 2, rejects(&f, "page_base");
    make(&f), f.plan.park_count = 1, rejects(&f, "park");
    make(&f), f.moves[1] = f.moves[0], f.in_order[1] = 1, f.plan.move_count = 2;
    rejects(&f, "moves twice");
    make(&f), f.problem.page_bytes = 0;
    assert_int_equal(judge(&f), SPILL_ERR_INVAL);
    assert_non_null(strstr(f.complaint, "malformed"));
}

/* A frame cannot serve two pages at one op even where the budget would allow both. */
static void test_shared_frame(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    f.problem.gpu_budget = 2000;
    f.plan.move_count = 0;
    f.plan.host_bytes = 0;
    f.plan.peak_pages = 2;
    rejects(&f, "both stay");
    f.frame_of[1] = 1;
    f.plan.frame_count = 2;
    assert_int_equal(judge(&f), SPILL_OK);
    assert_int_equal(f.outcome.step_ns, 4000);
    assert_int_equal(f.outcome.peak_bytes, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),        cmocka_unit_test(test_waits_for_memory),
        cmocka_unit_test(test_shared_link),  cmocka_unit_test(test_waits_for_copy_in),
        cmocka_unit_test(test_shared_frame), cmocka_unit_test(test_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
