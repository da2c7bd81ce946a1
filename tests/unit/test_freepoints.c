/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed in stream order and given out in another stream: random frees, allocations,
 * orders and ends of streams, against a model of the driver that keeps, for each stream, what of
 * every other its next op comes after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "replay/freepoints.h"
#include "tests/unit/nodriver.h"

enum { STREAMS = 24, RUNS = 200, OPS = 400, PER_THREAD = 2, PLACES = 12, EVENTS = 64 };

/* done[a][b]: ops of b that come before the next op of a; done[a][a]: ops of a. An event holds the
 * row of its stream at its last record. */
static uint32_t done[STREAMS][STREAMS], recorded[EVENTS][STREAMS];
/* The last op of each; and what streams that went away had before them: only the device knows. */
static uint32_t issued[STREAMS], ended[STREAMS];
static uint32_t host[STREAMS]; /* what the host waited for: all it does comes after that */
static uint32_t events, records, waits, host_waits, failures;

static uint32_t number_of(const void *handle)
{
    return (uint32_t)(uintptr_t)handle;
}

static CUstream stream_of(uint32_t number)
{
    return (CUstream)(uintptr_t)number;
}

static bool fails(void)
{
    return failures > 0 && failures-- > 0;
}

static CUresult event_create(CUevent *event, unsigned flags)
{
    assert_int_equal(flags, CU_EVENT_DISABLE_TIMING);
    if (fails())
        return CUDA_ERROR_OUT_OF_MEMORY;
    assert_true(events + 1 < EVENTS);
    *event = (CUevent)(uintptr_t)++events;
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    if (fails())
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(recorded[number_of(event)], done[number_of(stream)], sizeof(recorded[0]));
    records++;
    return CUDA_SUCCESS;
}

static void join(uint32_t *into, const uint32_t *from)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        if (from[i] > into[i])
            into[i] = from[i];
}

static CUresult stream_wait(CUstream stream, CUevent event, unsigned flags)
{
    assert_int_equal(flags, 0);
    if (fails())
        return CUDA_ERROR_OUT_OF_MEMORY;
    join(done[number_of(stream)], recorded[number_of(event)]);
    waits++;
    return CUDA_SUCCESS;
}

static void host_saw(const uint32_t *row)
{
    join(host, row);
    for (uint32_t s = 0; s < STREAMS; s++)
        join(done[s], host);
}

static CUresult stream_synchronize(CUstream stream)
{
    host_waits++;
    host_saw(done[number_of(stream)]);
    return CUDA_SUCCESS;
}

static int reset(void **state)
{
    (void)state;
    memset(done, 0, sizeof(done));
    memset(issued, 0, sizeof(issued));
    memset(ended, 0, sizeof(ended));
    memset(host, 0, sizeof(host));
    events = records = waits = host_waits = failures = 0;
    spill_driver.p_cuEventCreate = event_create;
    spill_driver.p_cuEventRecord = event_record;
    spill_driver.p_cuStreamWaitEvent = stream_wait;
    spill_driver.p_cuStreamSynchronize = stream_synchronize;
    return 0;
}

static CUresult see(void *arg, CUevent event)
{
    (void)arg;
    host_saw(recorded[number_of(event)]);
    return CUDA_SUCCESS;
}

/* A place in memory: free, with what was done before its free point; or in use. */
struct place {
    bool used;
    spill_freemark mark;
    uint32_t before[STREAMS];
};

static void give(struct spill_freepoints *f, struct place *p, uint32_t stream)
{
    done[stream][stream] = ++issued[stream]; /* its last user */
    memcpy(p->before, done[stream], sizeof(p->before));
    assert_int_equal(spill_freepoints_add(f, stream_of(stream), &p->mark), CUDA_SUCCESS);
    p->used = false;
}

static void assert_after(const struct place *p, uint32_t stream)
{
    for (uint32_t s = 0; s < STREAMS; s++)
        assert_true(done[stream][s] >= p->before[s]);
}

static void take(struct spill_freepoints *f, struct place *p, uint32_t stream, bool at_once)
{
    struct spill_freemarks marks = {0};
    spill_freepoints_gather(&marks, p->mark);
    if (at_once)
        assert_int_equal(spill_freepoints_pass(f, &marks, see, NULL), CUDA_SUCCESS);
    else
        assert_int_equal(spill_freepoints_follow(f, &marks, stream_of(stream)), CUDA_SUCCESS);
    assert_after(p, stream);
    p->used = true;
}

static void drain(struct spill_freepoints *f)
{
    for (uint32_t s = 0; s < STREAMS; s++)
        host_saw(done[s]);
    host_saw(ended);
    spill_freepoints_drained(f);
}

/* STREAMS_USED from FIRST on; FAILING: the driver fails now and then, but when it is to follow. */
static void storm(uint32_t first, uint32_t streams_used, bool failing, uint64_t seed)
{
    struct spill_freepoints f = {0};
    struct place places[PLACES];
    (void)reset(NULL);
    memset(places, 0, sizeof(places));
    for (uint32_t i = 0; i < OPS; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        uint32_t stream = first + (uint32_t)(seed >> 33) % streams_used, what = seed >> 60;
        struct place *p = &places[(seed >> 40) % PLACES];
        if (what == 0) {
            drain(&f);
        } else if (what ==
                   1) { /* the handle may be another stream's then, which waited for nothing */
            spill_freepoints_end(&f, stream_of(stream));
            join(ended, done[stream]);
            memcpy(done[stream], host, sizeof(host));
        } else if (what == 2) { /* the program's own order */
            join(done[stream], done[first + (seed >> 20) % streams_used]);
        } else if (p->used) {
            failures = failing && what == 3;
            give(&f, p, stream);
            failures = 0;
        } else {
            take(&f, p, stream, what == 4);
        }
    }
}

static void test_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        storm(PER_THREAD + 1, 1 + seed % 5, false, seed);
        assert_int_equal(host_waits, 0);
    }
    assert_int_not_equal(waits, 0);
}

static void test_many_streams(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        storm(PER_THREAD + 1, SPILL_FREEPOINTS + 1 + seed % 4, false, seed);
        assert_int_equal(host_waits, 0);
        assert_true(events <= SPILL_FREEPOINTS);
    }
}

static void test_failures(void **state)
{
    uint32_t waited = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        storm(PER_THREAD + 1, 1 + seed % 20, true, seed);
        waited += host_waits;
    }
    assert_int_not_equal(waited, 0);
}

/* Its handle means another stream in each thread, with other ops before it. */
static void other_thread(uint32_t after)
{
    memset(done[PER_THREAD], 0, sizeof(done[PER_THREAD]));
    done[after][after] = ++issued[after];
    join(done[PER_THREAD], done[after]);
}

static void test_per_thread_stream(void **state)
{
    struct spill_freepoints f = {0};
    struct place a = {0}, b = {0};
    (void)state;
    other_thread(7);
    give(&f, &a, PER_THREAD);
    other_thread(8);
    give(&f, &b, PER_THREAD);
    take(&f, &a, 5, false);
    take(&f, &b, 5, false);
    give(&f, &a, 5);
    for (uint32_t thread = 9; thread < 12; thread++) {
        other_thread(thread);
        take(&f, &a, PER_THREAD, false);
        a.used = false;
    }
}

static void test_no_more_than_needed(void **state)
{
    struct spill_freepoints f = {0};
    struct place a = {0}, b = {0};
    (void)state;
    give(&f, &a, 5);
    take(&f, &a, 5, false); /* the same stream */
    assert_int_equal(waits, 0);
    give(&f, &a, 5);
    give(&f, &b, 5);
    take(&f, &a, 6, false);
    assert_int_equal(waits, 1);
    give(&f, &a, 6);
    give(&f, &a, 5);
    take(&f, &a, 6, false);
    a.used = false;
    take(&f, &a, 6, false); /* it has come after that already */
    assert_int_equal(waits, 2);
    take(&f, &b, 6, false);
    assert_int_equal(waits, 2);
    give(&f, &b, 5);
    drain(&f);
    take(&f, &b, 7, false);
    assert_int_equal(waits, 2);
    assert_int_equal(records, 6);
    assert_int_equal(host_waits, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, reset),
        cmocka_unit_test_setup(test_many_streams, reset),
        cmocka_unit_test_setup(test_failures, reset),
        cmocka_unit_test_setup(test_per_thread_stream, reset),
        cmocka_unit_test_setup(test_no_more_than_needed, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
