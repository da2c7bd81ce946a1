/* SPDX-License-Identifier: Apache-2.0 */
/* An iteration's times from the records of its last two runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "profiler/timing.h"
#include "tools/spillway/timeline.h"

enum { OPS = 3, PERIOD = OPS + 1 }; /* an allocation stands before the second op */

static struct spill_logrec records[2 * PERIOD];
static struct spill_trace_op ops[OPS];
static struct spill_recorder rec;
static struct spill_trace trace;

static void op(uint32_t run, uint32_t event, uint64_t duration, int64_t end)
{
    records[run * PERIOD + event] = (struct spill_logrec){.kind = SPILL_LOGREC_OP,
                                                          .duration_ns = duration,
                                                          .end_ns = end,
                                                          .begun = true,
                                                          .ended = true};
}

/* Both runs; LATE is how much longer the second op of run WHICH takes. */
static void play(uint32_t which, int64_t late)
{
    int64_t at = 0;
    for (uint32_t run = 0; run < 2; run++) {
        op(run, 0, 10, at + 10);
        records[run * PERIOD + 1].kind = SPILL_LOGREC_ALLOC;
        at += run == which ? late : 0;
        op(run, 2, 20 + (uint64_t)(run == which ? late : 0), at + 35);
        op(run, 3, 30, at + 70);
        at += 110;
    }
}

static int set_up(void **state)
{
    (void)state;
    memset(records, 0, sizeof(records));
    memset(ops, 0, sizeof(ops));
    play(0, 0);
    rec = (struct spill_recorder){.records = records, .record_count = 2 * PERIOD};
    trace = (struct spill_trace){.ops = ops, .op_count = OPS};
    return 0;
}

static void undisturbed(void **state)
{
    struct spill_timesum sum;
    (void)state;
    spill_timing_fill(&trace, &rec, PERIOD);
    assert_int_equal(ops[0].start_ns, 0);
    assert_int_equal(ops[1].start_ns, 15);
    assert_int_equal(ops[2].start_ns, 40);
    assert_int_equal(trace.step_ns, 110); /* the next first op starts 70 after the last one */
    assert_int_equal(spill_timeline_sum(&trace, &sum), SPILL_OK);
    assert_int_equal(sum.busy_ns, 60);
    assert_int_equal(sum.host_gap_ns, 5 + 5 + 40);
    assert_int_equal(sum.page_gap_ns, 0);
}

/* What disturbs one of the two runs leaves no trace, in durations and in gaps. */
static void outliers(void **state)
{
    (void)state;
    for (uint32_t run = 0; run < 2; run++) {
        play(run, 20000);
        spill_timing_fill(&trace, &rec, PERIOD);
        assert_int_equal(ops[1].duration_ns, 20);
        assert_int_equal(ops[2].start_ns, 40);
        assert_int_equal(trace.step_ns, 110);
    }
}

static void streams_overlap(void **state)
{
    struct spill_timesum sum;
    (void)state;
    for (uint32_t run = 0; run < 2; run++) { /* the last one ended before the second */
        op(run, 2, 15, 110 * run + 35);
        op(run, 3, 10, 110 * run + 20);
    }
    spill_timing_fill(&trace, &rec, PERIOD);
    assert_int_equal(ops[1].start_ns, 20);
    assert_int_equal(ops[2].start_ns, 10);
    assert_int_equal(trace.step_ns, 110);
    assert_int_equal(spill_timeline_sum(&trace, &sum), SPILL_OK);
    assert_int_equal(sum.busy_ns, 35);
    assert_int_equal(sum.host_gap_ns, 75);
}

static void times_missing(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2 * PERIOD; i++)
        records[i].ended = false;
    records[2].duration_ns = 0;
    spill_timing_fill(&trace, &rec, PERIOD);
    assert_int_equal(ops[1].duration_ns, 20);
    assert_int_equal(ops[1].start_ns, 10);
    assert_int_equal(ops[2].start_ns, 30);
    assert_int_equal(trace.step_ns, 60);
}

/* What the pager moves for an allocation counts with the op that waits for it. */
static void paging(void **state)
{
    struct spill_timesum sum;
    (void)state;
    records[PERIOD + 1].paged = 5;
    records[PERIOD + 2].paged = 7;
    spill_timing_fill(&trace, &rec, PERIOD);
    assert_int_equal(trace.paged_bytes, 12);
    assert_int_equal(ops[0].paged_bytes, 0);
    assert_int_equal(ops[1].paged_bytes, 12);
    assert_int_equal(spill_timeline_sum(&trace, &sum), SPILL_OK);
    assert_int_equal(sum.page_gap_ns, 5);
    assert_int_equal(sum.host_gap_ns, 45);
}

static void whole_log(void **state)
{
    (void)state;
    struct spill_trace_op all[2 * OPS];
    memset(all, 0, sizeof(all));
    trace.ops = all;
    trace.op_count = 2 * OPS;
    spill_timing_fill(&trace, &rec, 0);
    assert_int_equal(all[OPS].start_ns, 110);
    assert_int_equal(trace.step_ns, 110 + 40 + 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(undisturbed, set_up),
        cmocka_unit_test_setup(outliers, set_up),
        cmocka_unit_test_setup(streams_overlap, set_up),
        cmocka_unit_test_setup(times_missing, set_up),
        cmocka_unit_test_setup(paging, set_up),
        cmocka_unit_test_setup(whole_log, set_up),
    };
    return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
