/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted step times on cases done by hand, and what a program's streams and events order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "profiler/streamorder.h"
#include "replay/script.h"
#include "solver/fromtrace.h"
#include "solver/solve.h"
#include "tests/unit/nodriver.h"

enum { PAGE = 4096, OPS = 4, AFTERS = 4 };

/* A touches X; B, with Y, needs the whole memory of one page, so X leaves and comes back for C, on
 * a stream of its own that waits for B; D touches nothing. A copy takes 60 us. */
static void make_iteration(struct spill_iteration *it, const struct spill_iteration_after *of_d)
{
    static const uint64_t durations[OPS] = {100000, 100000, 50000, 300000};
    static const uint32_t streams[OPS] = {0, 0, 1, 0}, touched[OPS] = {0, 1, 0, SPILL_TRACE_NONE};
    struct spill_trace *t = &it->trace;
    memset(it, 0, sizeof(*it));
    t->op_count = OPS;
    t->buffer_count = 2;
    t->page_bytes = PAGE;
    t->out = t->in = (struct spill_trace_link){10000, (uint64_t)PAGE * 20000};
    it->op_cap = it->match_cap = it->event_cap = it->access_cap = OPS;
    it->buffer_cap = it->slot_cap = 2;
    it->after_cap = AFTERS;
    t->ops = spill_heap_alloc(OPS * sizeof(*t->ops));
    it->ops = spill_heap_alloc(OPS * sizeof(*it->ops));
    it->events = spill_heap_alloc(OPS * sizeof(*it->events));
    t->accesses = spill_heap_alloc(OPS * sizeof(*t->accesses));
    t->buffers = spill_heap_alloc(2 * sizeof(*t->buffers));
    it->live_slot = spill_heap_alloc(2 * sizeof(*it->live_slot));
    it->afters = spill_heap_alloc(AFTERS * sizeof(*it->afters));
    for (uint32_t b = 0; b < 2; b++)
        t->buffers[b].bytes = PAGE;
    t->buffers[0].life = SPILL_TRACE_PERSISTENT;
    t->buffers[1] = (struct spill_trace_buffer){
        .bytes = PAGE, .life = SPILL_TRACE_ITERATION, .birth_op = 1, .free_op = 2};
    it->live_slot[1] = SPILL_NO_BUFFER;
    for (uint32_t k = 0; k < OPS; k++) {
        t->ops[k].duration_ns = durations[k];
        t->ops[k].stream = streams[k];
        t->ops[k].access_first = t->access_count;
        t->ops[k].access_count = touched[k] != SPILL_TRACE_NONE;
        if (touched[k] != SPILL_TRACE_NONE)
            t->accesses[t->access_count++] =
                (struct spill_trace_access){touched[k], SPILL_ACCESS_UNKNOWN};
        it->events[it->event_count++] = (struct spill_iteration_event){SPILL_LOGREC_OP, k};
    }
    it->afters[it->after_count++] = (struct spill_iteration_after){1, false}; /* C after B */
    it->ops[2].after_count = 1;
    it->afters[it->after_count++] = (struct spill_iteration_after){2 - OPS, false}; /* A after C */
    it->ops[0].after_first = 1;
    it->ops[0].after_count = 1;
    if (of_d != NULL) {
        it->afters[it->after_count++] = *of_d;
        it->ops[3].after_first = 2;
        it->ops[3].after_count = 1;
    }
}

static struct spill_steptime predict(const struct spill_iteration_after *of_d)
{
    struct spill_iteration it;
    struct spill_problem problem;
    struct spill_plan *plan = NULL;
    struct spill_script *script = NULL;
    make_iteration(&it, of_d);
    assert_int_equal(spill_fromtrace(&it.trace, PAGE, UINT64_MAX, &problem), SPILL_OK);
    assert_int_equal(spill_solve(&problem, NULL, &plan, NULL), SPILL_OK);
    assert_int_equal(plan->move_count, 1);
    assert_int_equal(plan->step_ns, 670000); /* the solver's clock knows one stream */
    assert_int_equal(spill_script_build(&it, &problem, plan, &script), SPILL_OK);
    struct spill_steptime time = script->predicted;
    spill_script_free(script);
    spill_fromtrace_free(&problem);
    return time;
}

/* A 0-100, copy out -160, B -260, copy in -320 while D runs -560, C -610. */
static void other_streams_go_on(void **state)
{
    (void)state;
    struct spill_steptime time = predict(NULL);
    assert_int_equal(time.step_ns, 610000);
    assert_int_equal(time.wait_memory_ns, 60000);
    assert_int_equal(time.wait_in_ns, 0);
    assert_int_equal(time.out_ns, 60000);
    assert_int_equal(time.in_ns, 60000);
}

/* A 0-100, copy out -160, B -260, copy in -320, C -370, D -670. */
static void what_waits_for_them_does_not(void **state)
{
    (void)state;
    struct spill_iteration_after after[] = {{2, false}, {2, true}};
    for (int host = 0; host < 2; host++) {
        struct spill_steptime time = predict(&after[host]);
        assert_int_equal(time.step_ns, 670000);
        assert_int_equal(time.wait_memory_ns, 60000);
        assert_int_equal(time.wait_in_ns, 60000);
    }
}

static bool holds(const struct spill_afters *after, uint32_t record)
{
    for (unsigned i = 0; i < SPILL_STREAMORDER_AFTER; i++)
        if (after->record[i] == record + 1)
            return true;
    return false;
}

static bool is_empty(const struct spill_afters *after)
{
    struct spill_afters none = {{0}};
    return memcmp(after, &none, sizeof(none)) == 0;
}

static CUresult never_blocking(CUstream stream, unsigned int *flags)
{
    (void)stream;
    *flags = CU_STREAM_NON_BLOCKING;
    return CUDA_SUCCESS;
}

static void events_order_streams(void **state)
{
    struct spill_streamorder order = {0};
    CUstream a = (CUstream)(uintptr_t)64, b = (CUstream)(uintptr_t)128;
    CUevent event = (CUevent)(uintptr_t)256, other = (CUevent)(uintptr_t)512;
    (void)state;
    spill_driver.p_cuStreamGetFlags = never_blocking;
    spill_streamorder_reset(&order);
    struct spill_afters after = spill_streamorder_op(&order, a, 0);
    assert_true(is_empty(&after));
    after = spill_streamorder_op(&order, CU_STREAM_LEGACY, 1);
    assert_true(is_empty(&after)); /* non-blocking streams do not care for it */
    spill_streamorder_record(&order, event, a);
    (void)spill_streamorder_op(&order, a, 2); /* the event is not after this one */
    spill_streamorder_wait(&order, event, b);
    spill_streamorder_record(&order, other, b); /* after what B waits for, though it has no op */
    after = spill_streamorder_op(&order, b, 3);
    assert_true(holds(&after, 0) && !holds(&after, 2));
    after = spill_streamorder_of_event(&order, other);
    assert_true(holds(&after, 0) && !holds(&after, 3));
    after = spill_streamorder_op(&order, b, 4);
    assert_true(is_empty(&after)); /* that wait is over for what follows on B */
    after = spill_streamorder_of_stream(&order, NULL);
    assert_true(holds(&after, 1) && holds(&after, 2) && holds(&after, 4));
    spill_streamorder_reset(&order); /* another log: its records are numbered anew */
    after = spill_streamorder_of_event(&order, event);
    assert_true(is_empty(&after));
    spill_streamorder_end(&order);
}

static void the_default_stream_waits(void **state)
{
    struct spill_streamorder order = {0};
    CUstream a = (CUstream)(uintptr_t)64;
    (void)state;
    spill_driver.p_cuStreamGetFlags = NULL; /* not known: blocking, as streams are by default */
    spill_streamorder_reset(&order);
    (void)spill_streamorder_op(&order, a, 0);
    struct spill_afters after = spill_streamorder_op(&order, CU_STREAM_LEGACY, 1);
    assert_true(holds(&after, 0));
    after = spill_streamorder_op(&order, a, 2);
    assert_true(holds(&after, 1));
    spill_streamorder_end(&order);
}

/* Of more than can be kept the youngest stay. */
static void the_oldest_go(void **state)
{
    struct spill_afters after = {{0}};
    (void)state;
    for (uint32_t i = 1; i <= SPILL_STREAMORDER_AFTER + 3; i++)
        spill_streamorder_add(&after, &(struct spill_afters){{i}});
    for (uint32_t i = 0; i < SPILL_STREAMORDER_AFTER + 3; i++)
        assert_int_equal(holds(&after, i), i >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_streams_go_on),  cmocka_unit_test(what_waits_for_them_does_not),
        cmocka_unit_test(events_order_streams), cmocka_unit_test(the_default_stream_waits),
        cmocka_unit_test(the_oldest_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
