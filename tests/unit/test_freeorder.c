/* SPDX-License-Identifier: Apache-2.0 */
/* A free stands for a barrier between streams, and the per-thread default streams of all threads
 * for one: random ops, frees, and ends of streams, against a model of the driver that keeps, for
 * each stream, what of every other its next op comes after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "replay/freeorder.h"
#include "tests/unit/nodriver.h"

enum { STREAMS = 64, RUNS = 200, OPS = 400, PER_THREAD = 2, EVENTS = 4, OWN = 24 };

/* done[a][b]: ops of b that come before the next op of a; done[a][a]: ops of a. */
static uint32_t done[STREAMS][STREAMS], recorded[EVENTS][STREAMS];
static uint32_t records, waits, device_waits, event_failures, events;

/* Of the calling thread; that of the main thread is PER_THREAD. */
static __thread uint32_t own_stream = PER_THREAD;

static uint32_t number_of(CUstream stream)
{
    uint32_t number = (uint32_t)(uintptr_t)stream;
    return number == PER_THREAD ? own_stream : number;
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
    assert_in_range(++events, 1, EVENTS - 1);
    *event = (CUevent)(uintptr_t)events;
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    assert_in_range((uintptr_t)event, 1, events);
    memcpy(recorded[(uintptr_t)event], done[number_of(stream)], sizeof(recorded[0]));
    records++;
    return CUDA_SUCCESS;
}

static CUresult stream_wait(CUstream stream, CUevent event, unsigned flags)
{
    const uint32_t *seen = recorded[(uintptr_t)event];
    assert_in_range((uintptr_t)event, 1, events);
    assert_int_equal(flags, 0);
    for (uint32_t i = 0; i < STREAMS; i++)
        if (seen[i] > done[number_of(stream)][i])
            done[number_of(stream)][i] = seen[i];
    waits++;
    return CUDA_SUCCESS;
}

static void synchronize(uint32_t number)
{
    for (uint32_t a = 0; a < STREAMS; a++)
        for (uint32_t b = 0; b < STREAMS; b++)
            if (done[number][b] > done[a][b])
                done[a][b] = done[number][b];
}

static CUresult stream_synchronize(CUstream stream)
{
    synchronize(number_of(stream));
    return CUDA_SUCCESS;
}

static CUresult device_synchronize(void)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        synchronize(i);
    device_waits++;
    return CUDA_SUCCESS;
}

static int reset(void **state)
{
    (void)state;
    memset(done, 0, sizeof(done));
    records = waits = device_waits = event_failures = events = 0;
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
    done[number_of(stream_of(stream))][number_of(stream_of(stream))]++;
    assert_int_equal(spill_freeorder_done(o, stream_of(stream)), CUDA_SUCCESS);
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
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        storm(0, 4, seed % 2 == 0, seed);
        assert_int_equal(device_waits, 0);
    }
}

/* --- several threads --- */

struct errand {
    struct spill_freeorder *o;
    const uint32_t *before; /* by stream: ops that must be over */
    uint32_t own;
};

static void run_own(const struct errand *errand)
{
    run_op(errand->o, PER_THREAD);
    for (uint32_t s = 0; s < STREAMS; s++)
        assert_true(done[own_stream][s] >= errand->before[s]);
}

static void *run_errand(void *argument)
{
    const struct errand *errand = argument;
    own_stream = errand->own;
    run_own(errand);
    return NULL;
}

/* The main thread and ever new ones share the handle, beside two plain streams. */
static void storm_of_threads(uint64_t seed)
{
    struct spill_freeorder o = {0};
    uint32_t own = OWN, before[STREAMS] = {0}, in_order[STREAMS] = {0};
    struct errand errand = {&o, in_order, 0};
    pthread_t thread;
    (void)reset(NULL);
    while (own < STREAMS) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        uint32_t what = seed >> 60;
        for (uint32_t s = 0; s < STREAMS; s++) /* of the one stream that they stand for */
            in_order[s] = s == PER_THREAD || s >= OWN ? done[s][s] : before[s];
        if (what < 3) {
            spill_freeorder_free(&o);
            for (uint32_t s = 0; s < STREAMS; s++)
                before[s] = done[s][s];
        } else if (what < 8) {
            run_op(&o, PER_THREAD + 1 + what % 2);
        } else if (what < 12) {
            run_own(&errand);
        } else {
            errand.own = own++;
            assert_int_equal(pthread_create(&thread, NULL, run_errand, &errand), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
        }
    }
}

static void test_threads(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS / 10; seed++) {
        storm_of_threads(seed);
        assert_in_range(device_waits, 0, 3); /* one a stream, before several threads are known of */
    }
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
        cmocka_unit_test_setup(test_threads, reset),
        cmocka_unit_test_setup(test_no_more_than_needed, reset),
        cmocka_unit_test_setup(test_no_event, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
