/* SPDX-License-Identifier: Apache-2.0 */
/* Memory held over an iteration, and its lanes, on cases small enough to be done by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tools/spillway/holding.h"
#include "tools/spillway/lanes.h"

enum { PAGE = 4096, MANY = 3000 };

static uint64_t pages(const struct spill_holding_point *point)
{
    uint64_t bytes = 0;
    for (int c = 0; c < SPILL_BUFCLASS_COUNT; c++)
        bytes += point->bytes[c];
    assert_int_equal(bytes % PAGE, 0);
    return bytes / PAGE;
}

struct expected {
    uint64_t ns, pages;
    uint32_t op;
};

static void compare(const struct spill_holding *holding, const struct expected *expected,
                    uint32_t count)
{
    assert_int_equal(holding->count, count);
    assert_false(holding->decimated);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(holding->points[i].ns, expected[i].ns);
        assert_int_equal(holding->points[i].op, expected[i].op);
        assert_int_equal(pages(&holding->points[i]), expected[i].pages);
    }
}

/* Four ops of 10 ns. */
static struct spill_trace_op ops[] = {{.duration_ns = 10, .access_count = 1},
                                      {.duration_ns = 10, .access_first = 1, .access_count = 2},
                                      {.duration_ns = 10, .access_first = 3, .access_count = 1},
                                      {.duration_ns = 10, .access_first = 4, .access_count = 1}};
static struct spill_trace_access accesses[] = {{0, 1}, {0, 1}, {1, 2}, {1, 1}, {0, 2}};

static void a_life_across_the_border(void **state)
{
    (void)state;
    struct spill_trace_buffer buffers[] = {
        {.bytes = 1},
        {.bytes = PAGE + 1, .life = SPILL_TRACE_ITERATION, .birth_op = 1, .free_op = 3},
        {.bytes = PAGE, .life = SPILL_TRACE_ITERATION, .birth_op = 3, .free_op = 1},
    };
    const struct spill_trace trace = {.ops = ops,
                                      .accesses = accesses,
                                      .buffers = buffers,
                                      .op_count = 4,
                                      .access_count = 5,
                                      .buffer_count = 3,
                                      .page_bytes = PAGE,
                                      .small_bytes = 2 * PAGE};
    struct spill_facts facts;
    struct spill_holding holding;
    assert_int_equal(spill_facts_build(&trace, &facts), SPILL_OK);
    assert_int_equal(spill_holding_before(&facts, &holding), SPILL_OK);
    /* Small ones 2 and the persistent one 1, always; then the third, the second, the third. */
    compare(&holding, (const struct expected[]){{0, 4, 0}, {10, 5, 1}, {30, 4, 3}}, 3);
    assert_int_equal(holding.length_ns, 40);
    assert_int_equal(holding.peak_bytes, 5 * PAGE);
    assert_int_equal(holding.peak_ns, 10);
    assert_int_equal(holding.points[1].bytes[SPILL_BUFCLASS_SMALL], 2 * PAGE);
    spill_holding_free(&holding);
    spill_facts_free(&facts);
}

/* The GPU waits for 10 ns before op 2. Of the first buffer's 2 pages one leaves, gone at 35, and
 * is on its way back from 2 ns into the next iteration. The second lives from op 1 to op 2. Two of
 * the third's 3 pages are never there. The fourth lives from op 3 to op 0, so that the second takes
 * its place: two peaks, of which the first counts. */
static void a_page_away_across_the_border(void **state)
{
    (void)state;
    struct spill_trace_buffer buffers[] = {
        {.bytes = 2 * PAGE},
        {.bytes = PAGE, .life = SPILL_TRACE_ITERATION, .birth_op = 1, .free_op = 3},
        {.bytes = 3 * PAGE},
        {.bytes = PAGE, .life = SPILL_TRACE_ITERATION, .birth_op = 3, .free_op = 1},
    };
    const struct spill_trace trace = {.ops = ops,
                                      .accesses = accesses,
                                      .buffers = buffers,
                                      .op_count = 4,
                                      .access_count = 5,
                                      .buffer_count = 4,
                                      .page_bytes = PAGE};
    const struct spill_op planned_ops[] = {
        {.duration_ns = 10}, {.duration_ns = 10}, {.duration_ns = 10}, {.duration_ns = 10}};
    const struct spill_buffer planned_buffers[] = {
        {.bytes = 2 * PAGE, .life = SPILL_LIFE_PERSISTENT},
        {.bytes = PAGE, .life = SPILL_LIFE_ITERATION, .birth_op = 1, .death_op = 2},
        {.bytes = 3 * PAGE, .life = SPILL_LIFE_PERSISTENT},
        {.bytes = PAGE, .life = SPILL_LIFE_ITERATION, .birth_op = 3, .death_op = 0},
    };
    struct spill_move move = {.page_first = 1,
                              .page_count = 1,
                              .out_start_ns = 30,
                              .out_end_ns = 35,
                              .in_start_ns = 52,
                              .in_end_ns = 57};
    struct spill_park park = {.buffer = 2, .page_first = 1, .page_count = 2};
    struct spill_plan plan = {
        .moves = &move, .parks = &park, .move_count = 1, .park_count = 1, .step_ns = 50};
    uint64_t op_start[] = {0, 10, 30, 40};
    const struct spill_keptplan planned = {.problem = {.ops = planned_ops,
                                                       .buffers = planned_buffers,
                                                       .op_count = 4,
                                                       .buffer_count = 4,
                                                       .page_bytes = PAGE},
                                           .plan = &plan,
                                           .op_start = op_start};
    struct spill_facts facts;
    struct spill_holding holding;
    assert_int_equal(spill_facts_build(&trace, &facts), SPILL_OK);
    assert_int_equal(spill_holding_after(&facts, &planned, &holding), SPILL_OK);
    compare(&holding,
            (const struct expected[]){{0, 3, 0}, {2, 4, 0}, {10, 4, 1}, {35, 3, 2}, {40, 3, 3}}, 5);
    assert_int_equal(holding.length_ns, 50);
    assert_int_equal(holding.peak_bytes, 4 * PAGE);
    assert_int_equal(holding.peak_ns, 2);
    spill_holding_free(&holding);
    spill_facts_free(&facts);
}

/* More changes than points: the highest of each slice stays, and with it the peak. */
static void many_points_keep_the_peak(void **state)
{
    (void)state;
    static struct spill_trace_op many_ops[MANY];
    static struct spill_trace_buffer many[MANY];
    const struct spill_trace trace = {.ops = many_ops,
                                      .buffers = many,
                                      .op_count = MANY,
                                      .buffer_count = MANY,
                                      .page_bytes = PAGE};
    struct spill_facts facts;
    struct spill_holding holding;
    uint64_t highest = 0;
    for (uint32_t k = 0; k < MANY; k++) {
        many_ops[k].duration_ns = 1;
        many[k] = (struct spill_trace_buffer){.bytes = (k == 1234 ? 9 : 1 + k % 3) * PAGE,
                                              .life = SPILL_TRACE_ITERATION,
                                              .birth_op = k,
                                              .free_op = k + 1};
    }
    assert_int_equal(spill_facts_build(&trace, &facts), SPILL_OK);
    assert_int_equal(spill_holding_before(&facts, &holding), SPILL_OK);
    assert_true(holding.decimated);
    assert_in_range(holding.count, SPILL_HOLDING_POINTS / 2, SPILL_HOLDING_POINTS + 1);
    assert_int_equal(holding.points[0].ns, 0);
    for (uint32_t i = 0; i < holding.count; i++) {
        assert_true(i == 0 || holding.points[i].ns > holding.points[i - 1].ns);
        highest = pages(&holding.points[i]) > highest ? pages(&holding.points[i]) : highest;
    }
    assert_int_equal(highest, 9);
    assert_int_equal(holding.peak_bytes, 9 * PAGE);
    assert_int_equal(holding.peak_ns, 1234);
    spill_holding_free(&holding);
    spill_facts_free(&facts);
}

static void compare_lane(const struct spill_lane *lane, uint64_t busy_ns,
                         const struct spill_lanespan *expected, uint32_t count)
{
    assert_false(lane->decimated);
    assert_int_equal(lane->busy_ns, busy_ns);
    assert_int_equal(lane->count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(lane->spans[i].from_ns, expected[i].from_ns);
        assert_int_equal(lane->spans[i].to_ns, expected[i].to_ns);
        assert_int_equal(lane->spans[i].permille, 1000);
    }
}

/* Two moves, whose copies follow each other on either link; the first copy in begins before the
 * border and ends after it, the second lies in the next iteration. Two waits of the GPU: after op
 * 0, and at the end. */
static void two_moves_and_two_waits(void **state)
{
    (void)state;
    const struct spill_op planned_ops[] = {
        {.duration_ns = 20}, {.duration_ns = 30}, {.duration_ns = 20}};
    struct spill_move moves[] = {
        {.out_start_ns = 20, .out_end_ns = 30, .in_start_ns = 90, .in_end_ns = 110},
        {.out_start_ns = 30, .out_end_ns = 45, .in_start_ns = 110, .in_end_ns = 115},
    };
    struct spill_plan plan = {.moves = moves, .move_count = 2, .step_ns = 100};
    uint64_t op_start[] = {0, 30, 60};
    const struct spill_keptplan planned = {
        .problem = {.ops = planned_ops, .op_count = 3}, .plan = &plan, .op_start = op_start};
    struct spill_lane lanes[SPILL_LANES_COUNT];
    assert_int_equal(spill_lanes_build(&planned, lanes), SPILL_OK);
    compare_lane(&lanes[SPILL_LANES_OUT], 25,
                 (const struct spill_lanespan[]){{20, 30, 0}, {30, 45, 0}}, 2);
    compare_lane(&lanes[SPILL_LANES_IN], 25,
                 (const struct spill_lanespan[]){{0, 10, 0}, {10, 15, 0}, {90, 100, 0}}, 3);
    compare_lane(&lanes[SPILL_LANES_WAIT], 30,
                 (const struct spill_lanespan[]){{20, 30, 0}, {80, 100, 0}}, 2);
    spill_lanes_free(lanes);
}

/* 3000 copies, each busy for 5 of 10 ns: slices of 30 ns, half of each busy. */
static void many_copies_become_slices(void **state)
{
    (void)state;
    static struct spill_move moves[MANY];
    const struct spill_op op = {.duration_ns = 10 * MANY};
    struct spill_plan plan = {.moves = moves, .move_count = MANY, .step_ns = 10 * MANY};
    uint64_t op_start[] = {0};
    const struct spill_keptplan planned = {
        .problem = {.ops = &op, .op_count = 1}, .plan = &plan, .op_start = op_start};
    struct spill_lane lanes[SPILL_LANES_COUNT];
    for (uint32_t m = 0; m < MANY; m++)
        moves[m] = (struct spill_move){.out_start_ns = 10 * m,
                                       .out_end_ns = 10 * m + 5,
                                       .in_start_ns = 10 * m + 5,
                                       .in_end_ns = 10 * m + 10};
    assert_int_equal(spill_lanes_build(&planned, lanes), SPILL_OK);
    for (int l = SPILL_LANES_OUT; l <= SPILL_LANES_IN; l++) {
        assert_true(lanes[l].decimated);
        assert_int_equal(lanes[l].busy_ns, 5 * MANY);
        assert_int_equal(lanes[l].count, SPILL_LANES_SPANS);
        for (uint32_t i = 0; i < lanes[l].count; i++) {
            assert_in_range(lanes[l].spans[i].from_ns, 30 * i - (i > 0), 30 * i);
            /* A slice that rounding moved by 1 ns has 1 ns more or less of 30. */
            assert_in_range(lanes[l].spans[i].permille, 466, 534);
        }
    }
    assert_int_equal(lanes[SPILL_LANES_WAIT].count, 0);
    spill_lanes_free(lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life_across_the_border),
        cmocka_unit_test(a_page_away_across_the_border),
        cmocka_unit_test(many_points_keep_the_peak),
        cmocka_unit_test(two_moves_and_two_waits),
        cmocka_unit_test(many_copies_become_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
