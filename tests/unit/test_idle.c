/* SPDX-License-Identifier: Apache-2.0 */
/* The longest gap of a buffer, by hand-made traces. Ops last 1, 2, 4, 8 and 16 ns, so that every
 * gap is the sum of other ops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tools/spillway/idle.h"

enum { OPS = 5 };

/* One buffer used by the ops whose bits are set in USES. */
static struct spill_idle gap(uint32_t life, uint32_t birth, uint32_t end, unsigned uses)
{
    struct spill_trace_op ops[OPS] = {{0}};
    struct spill_trace_access accesses[OPS] = {{0}};
    struct spill_trace_buffer buffer = {
        .bytes = 1000, .life = life, .birth_op = birth, .free_op = end};
    struct spill_trace trace = {.ops = ops,
                                .accesses = accesses,
                                .buffers = &buffer,
                                .op_count = OPS,
                                .buffer_count = 1,
                                .page_bytes = 4096};
    struct spill_idle *list, first;
    for (uint32_t k = 0; k < OPS; k++) {
        ops[k].duration_ns = UINT64_C(1) << k;
        ops[k].access_first = trace.access_count;
        ops[k].access_count = uses >> k & 1;
        trace.access_count += ops[k].access_count;
    }
    assert_int_equal(spill_idle_find(&trace, &list), SPILL_OK);
    first = list[0];
    free(list);
    return first;
}

static void expect(struct spill_idle got, uint64_t ns, uint32_t after, uint32_t before)
{
    assert_int_equal(got.ns, ns);
    assert_int_equal(got.after_op, after);
    assert_int_equal(got.before_op, before);
}

static void persistent(void **state)
{
    (void)state;
    /* Used by 0, 2, 3 and 4: idle during 1 only. */
    expect(gap(SPILL_TRACE_PERSISTENT, 0, 0, 0x1d), 2, 0, 2);
    /* Used by 0 and 4: the gap in the middle is all there is. */
    expect(gap(SPILL_TRACE_PERSISTENT, 0, 0, 0x11), 2 + 4 + 8, 0, 4);
}

static void persistent_wraps(void **state)
{
    (void)state;
    /* Used by op 1 and 2: idle during 3, 4 and 0 of the next iteration. */
    expect(gap(SPILL_TRACE_PERSISTENT, 0, 0, 0x06), 8 + 16 + 1, 2, 1);
    /* Used once: idle all the rest. */
    expect(gap(SPILL_TRACE_PERSISTENT, 0, 0, 0x10), 1 + 2 + 4 + 8, 4, 4);
    /* Never used. */
    expect(gap(SPILL_TRACE_PERSISTENT, 0, 0, 0), 31, SPILL_TRACE_NONE, SPILL_TRACE_NONE);
}

static void iteration(void **state)
{
    (void)state;
    /* From 0 to 3 and on to 4; dead afterwards, so there is no gap around the border. */
    expect(gap(SPILL_TRACE_ITERATION, 0, 5, 0x19), 2 + 4, 0, 3);
    expect(gap(SPILL_TRACE_ITERATION, 1, 3, 0x06), 0, SPILL_TRACE_NONE, SPILL_TRACE_NONE);
    expect(gap(SPILL_TRACE_ITERATION, 1, 3, 0x02), 0, SPILL_TRACE_NONE, SPILL_TRACE_NONE);
    expect(gap(SPILL_TRACE_ITERATION, 1, 3, 0), 0, SPILL_TRACE_NONE, SPILL_TRACE_NONE);
}

static void iteration_across_the_border(void **state)
{
    (void)state;
    /* Born before op 3, freed before op 2: lives 3, 4, 0, 1. Dead at 2. */
    expect(gap(SPILL_TRACE_ITERATION, 3, 2, 0x0a), 16 + 1, 3, 1);
    expect(gap(SPILL_TRACE_ITERATION, 4, 2, 0x12), 1, 4, 1);
}

static void sorted_by_weight(void **state)
{
    struct spill_trace_op ops[2] = {{.duration_ns = 10, .access_count = 2}, {.duration_ns = 10}};
    struct spill_trace_access accesses[2] = {{.buffer = 0}, {.buffer = 1}};
    struct spill_trace_buffer buffers[3] = {{.bytes = 10}, {.bytes = 30}, {.bytes = 14}};
    struct spill_trace trace = {.ops = ops,
                                .accesses = accesses,
                                .buffers = buffers,
                                .op_count = 2,
                                .access_count = 2,
                                .buffer_count = 3,
                                .page_bytes = 8};
    struct spill_idle *list;
    uint64_t bytes;
    (void)state;
    assert_int_equal(spill_idle_find(&trace, &list), SPILL_OK);
    assert_int_equal(list[0].buffer, 1); /* 30 x 10 */
    assert_int_equal(list[1].buffer, 2); /* 14 x 20: never used */
    assert_int_equal(list[2].buffer, 0);
    free(list);
    assert_int_equal(spill_idle_largest_op(&trace, &bytes), 0);
    assert_int_equal(bytes, 16 + 32); /* whole pages of 8 */
}

static void empty(void **state)
{
    struct spill_trace trace = {.page_bytes = 8};
    struct spill_idle *list;
    uint64_t bytes;
    (void)state;
    assert_int_equal(spill_idle_find(&trace, &list), SPILL_OK);
    free(list);
    assert_int_equal(spill_idle_largest_op(&trace, &bytes), SPILL_TRACE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(persistent),       cmocka_unit_test(persistent_wraps),
        cmocka_unit_test(iteration),        cmocka_unit_test(iteration_across_the_border),
        cmocka_unit_test(sorted_by_weight), cmocka_unit_test(empty),
    };
    return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
