/* SPDX-License-Identifier: Apache-2.0 */
/* How long ops took, from event pairs whose times are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "preload/base/heap.h"
#include "profiler/timers.h"
#include "tests/unit/nodriver.h"

enum { OPS_MAX = 1000 };

static double times_ms[2 * OPS_MAX]; /* an event is the number of its time, plus 1 */
static struct spill_recorder rec;

static CUevent event(uint32_t number)
{
    return (CUevent)(uintptr_t)(number + 1);
}

static CUresult synchronize(CUevent which)
{
    assert_non_null(which);
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *ms, CUevent from, CUevent to)
{
    *ms = (float)(times_ms[(uintptr_t)to - 1] - times_ms[(uintptr_t)from - 1]);
    return CUDA_SUCCESS;
}

/* Op K, in the order of launches, from START to END microseconds. */
static void op(uint32_t k, double start, double end)
{
    assert_int_equal(SPILL_HEAP_GROW(rec.records, rec.record_cap, (size_t)k + 1), 0);
    assert_int_equal(SPILL_HEAP_GROW(rec.timers, rec.timer_cap, (size_t)k + 1), 0);
    rec.records[k] = (struct spill_logrec){.kind = SPILL_LOGREC_OP, .timer = k};
    rec.timers[k] = (struct spill_timer){event(2 * k), event(2 * k + 1), k};
    times_ms[2 * k] = start / 1000;
    times_ms[2 * k + 1] = end / 1000;
    rec.record_count = rec.timer_count = k + 1;
}

static void expect(uint32_t k, double microseconds)
{
    int64_t off = (int64_t)rec.records[k].duration_ns - (int64_t)(microseconds * 1000);
    if (off < -2 || off > 2) /* a float's last digit */
        fail_msg("op %u: %llu ns", k, (unsigned long long)rec.records[k].duration_ns);
    assert_int_equal(rec.records[k].timer, SPILL_NO_TIMER);
}

static int reset(void **state)
{
    (void)state;
    spill_driver.p_cuEventSynchronize = synchronize;
    spill_driver.p_cuEventElapsedTime = elapsed;
    rec.record_count = rec.timer_count = 0;
    rec.read_timer = SPILL_NO_TIMER;
    return 0;
}

static void one_after_another(void **state)
{
    (void)state;
    op(0, 0, 100);
    op(1, 100, 150);
    op(2, 150.5, 350); /* an event of its own lies between */
    assert_int_equal(spill_timers_harvest(&rec, 0, 3), SPILL_OK);
    expect(0, 100);
    expect(1, 50);
    expect(2, 199.5);
}

/* The second was ready at once and waited for the first to end; the third was launched before the
 * fourth, on another stream, and ran after it. */
static void overlapping(void **state)
{
    (void)state;
    op(0, 0, 100);
    op(1, 0, 130);
    op(2, 130, 200);
    op(3, 130, 190);
    op(4, 200, 220);
    assert_int_equal(spill_timers_harvest(&rec, 0, 5), SPILL_OK);
    expect(0, 100);
    expect(1, 30);
    expect(2, 10);
    expect(3, 60);
    expect(4, 20);
}

static void idle_device(void **state)
{
    (void)state;
    op(0, 0, 100);
    op(1, 150, 204); /* 4 of it is its start, as the next one shows */
    op(2, 300, 304);
    op(3, 304, 310);
    assert_int_equal(spill_timers_harvest(&rec, 0, 4), SPILL_OK);
    expect(0, 100);
    expect(1, 50);
    expect(2, 0.001);
    expect(3, 6);
}

/* Nothing as short as a start was seen: then none is taken off. */
static void idle_and_long(void **state)
{
    (void)state;
    op(0, 0, 100);
    op(1, 150, 200);
    assert_int_equal(spill_timers_harvest(&rec, 0, 2), SPILL_OK);
    expect(1, 50);
}

/* A log of minutes: as exact at its end as at its start. */
static void far_from_the_start(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < OPS_MAX; k++)
        op(k, k * 100000.0, k * 100000.0 + 99999);
    assert_int_equal(spill_timers_harvest(&rec, 0, OPS_MAX), SPILL_OK);
    for (uint32_t k = 0; k < OPS_MAX; k++) {
        int64_t off = (int64_t)rec.records[k].duration_ns - 99999000;
        assert_in_range(off + 3000, 0, 6000); /* a float of 25.6 s is good to 2 us */
    }
}

static CUresult create(CUevent *which, unsigned int flags)
{
    static uint32_t created;
    (void)flags;
    assert_in_range(created, 0, 2 * OPS_MAX - 1);
    *which = event(created++);
    return CUDA_SUCCESS;
}

/* Pairs are used again: what the log holds is one timeline all the same, and so it is where some of
 * it was read before the rest was recorded. */
static void pairs_used_again(void **state)
{
    enum { PAIRS = 10, OPS = 95 };
    static struct spill_logrec records[OPS];
    (void)state;
    spill_driver.p_cuEventCreate = create;
    memset(&rec, 0, sizeof(rec));
    rec.read_timer = SPILL_NO_TIMER;
    rec.records = records;
    rec.record_cap = OPS;
    for (uint32_t k = 0; k < OPS; k++) {
        uint32_t t = spill_timers_take(&rec, PAIRS);
        records[k] = (struct spill_logrec){.kind = SPILL_LOGREC_OP, .timer = t};
        rec.timers[t].record = k;
        times_ms[2 * t] = k * 1.0;
        times_ms[2 * t + 1] = k * 1.0 + 0.25;
        rec.record_count = k + 1;
        if (k == 52)
            assert_int_equal(spill_timers_harvest(&rec, 10, k + 1), SPILL_OK);
    }
    assert_int_equal(spill_timers_harvest(&rec, 0, OPS), SPILL_OK);
    for (uint32_t k = 0; k < OPS; k++) {
        assert_true(records[k].begun && records[k].ended);
        assert_in_range(records[k].begin_ns - (int64_t)k * 1000000 + 100, 0, 200);
        assert_in_range(records[k].end_ns - (int64_t)k * 1000000 - 250000 + 100, 0, 200);
    }
    assert_in_range(spill_timers_elapsed(&rec, 40), 39999900, 40000100);
    rec = (struct spill_recorder){0};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_after_another, reset),
        cmocka_unit_test_setup(overlapping, reset),
        cmocka_unit_test_setup(idle_device, reset),
        cmocka_unit_test_setup(idle_and_long, reset),
        cmocka_unit_test_setup(far_from_the_start, reset),
        cmocka_unit_test_setup(pairs_used_again, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
