/* SPDX-License-Identifier: Apache-2.0 */
/* A free stands for a barrier between streams: random ops, frees, and ends of streams, against a
 * model of the driver that keeps, for each stream, what of every other its next op comes after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "replay/freeorder.h"
#include "tests/unit/nodriver.h"

enum { STREAMS = 24, RUNS = 200, OPS = 400, PER_THREAD = 2, EVENT = 99 };

/* done[a][b]: ops of b that come before the next op of a; done[a][a]: ops of a. */
static uint32_t done[STREAMS][STREAMS], recorded[STREAMS];
static uint32_t records, waits, device_waits, event_failures;

static uint32_t number_of(CUstream stream)
{
    return (uint32_t)(uintptr_t)stream;
}

static CUstream stream_of(uint32_t number)
{
    return (CUstream)(uintptr_t)number;
}

static CUresult event_create(CUevent *event, unsigned flags)
{
    assert_int_equal(flags, CU_EVENT_DISABLE_TIMING);
    if (event_failures > 0 && event_failures-- > 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *event = (CUevent)(uintptr_t)EVENT;
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    assert_int_equal((uintptr_t)event, EVENT);
    assert_int_not_equal(number_of(stream), PER_THREAD);
    memcpy(recorded, done[number_of(stream)], sizeof(recorded));
    records++;
    return CUDA_SUCCESS;
}

static CUresult stream_wait(CUstream stream, CUevent event, unsigned flags)
{
    assert_int_equal((uintptr_t)event, EVENT);
    assert_int_equal(flags, 0);
    for (uint32_t i = 0; i < STREAMS; i++)
        if (recorded[i] > done[number_of(stream)][i])
            done[number_of(stream)][i] = recorded[i];
    waits++;
    return CUDA_SUCCESS;
}

static CUresult stream_synchronize(CUstream stream)
{
    for (uint32_t a = 0; a < STREAMS; a++)
        for (uint32_t b = 0; b < STREAMS; b++)
            if (done[number_of(stream)][b] > done[a][b])
                done[a][b] = done[number_of(stream)][b];
    return CUDA_SUCCESS;
}

static CUresult device_synchronize(void)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        (void)stream_synchronize(stream_of(i));
    device_waits++;
    return CUDA_SUCCESS;
}

static int reset(void **state)
{
    (void)state;
    memset(done, 0, sizeof(done));
    records = waits = device_waits = event_failures = 0;
    spill_driver.p_cuEventCreate = event_create;
    spill_driver.p_cuEventRecord = event_record;
    spill_driver.p_cuStreamWaitEvent = stream_wait;
    spill_driver.p_cuStreamSynchronize = stream_synchronize;
    spill_driver.p_cuCtxSynchronize = device_synchronize;
    return 0;
}

static void run_op(struct spill_freeorder *o, uint32_t stream)
{
    assert_int_equal(spill_freeorder_op(o, stream_of(stream)), CUDA_SUCCESS);
    done[stream][stream]++;
}

/* STREAMS_USED from FIRST on; with ENDS they go away and come back. */
static void storm(uint32_t first, uint32_t streams_used, bool ends, uint64_t seed)
{
    struct spill_freeorder o = {0};
    uint32_t before[STREAMS] = {0};
    (void)reset(NULL);
    for (uint32_t i = 0; i < OPS; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        uint32_t stream = first + (uint32_t)(seed >> 33) % streams_used, what = seed >> 60;
        if (what < 5) {
            spill_freeorder_free(&o);
            for (uint32_t s = 0; s < STREAMS; s++)
                before[s] = done[s][s];
        } else if (what == 5 && ends) {
            spill_freeorder_end(&o, stream_of(stream));
        } else {
            run_op(&o, stream);
            for (uint32_t s = 0; s < STREAMS; s++)
                assert_true(done[stream][s] >= before[s]);
        }
    }
}

static void test_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        storm(PER_THREAD + 1, 1 + seed % 5, seed % 2 == 0, seed);
        assert_int_equal(device_waits, 0);
    }
}

static void test_many_streams(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++)
        storm(PER_THREAD + 1, SPILL_FREEORDER_STREAMS + 1 + seed % 4, seed % 2 == 0, seed);
    assert_int_not_equal(device_waits, 0);
}

static void test_per_thread_stream(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++)
        storm(0, 4, seed % 2 == 0, seed);
}

static void test_no_more_than_needed(void **state)
{
    struct spill_freeorder o = {0};
    (void)state;
    for (uint32_t i = 0; i < 8; i++) { /* one stream: nothing to order */
        run_op(&o, 5);
        spill_freeorder_free(&o);
    }
    assert_int_equal(records + waits + device_waits, 0);
    run_op(&o, 6);
    assert_int_equal(waits, 1);
    run_op(&o, 6); /* until the next free, it may run beside the other */
    run_op(&o, 5);
    assert_int_equal(waits, 2); /* for the free that came before the first op of 6, to be safe */
    run_op(&o, 6);
    run_op(&o, 5);
    assert_int_equal(waits, 2);
    spill_freeorder_free(&o);
    spill_freeorder_free(&o);
    run_op(&o, 6);
    assert_int_equal(waits, 3);
    assert_int_equal(device_waits, 0);
}

static void test_no_event(void **state)
{
    struct spill_freeorder o = {0};
    (void)state;
    event_failures = 1;
    run_op(&o, 5);
    spill_freeorder_free(&o);
    run_op(&o, 6);
    assert_int_equal(device_waits, 1);
    assert_int_equal(done[6][5], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, reset),
        cmocka_unit_test_setup(test_many_streams, reset),
        cmocka_unit_test_setup(test_per_thread_stream, reset),
        cmocka_unit_test_setup(test_no_more_than_needed, reset),
        cmocka_unit_test_setup(test_no_event, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
