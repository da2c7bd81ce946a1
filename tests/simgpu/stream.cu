// SPDX-License-Identifier: Apache-2.0
// Streams, events and what orders work, as the programming guide and the API reference document it.
#include "simtest.h"

#include "cells.h"

__global__ void set_to(int *p, int v)
{
    *p = v;
}
__global__ void add_to(int *p, int v)
{
    *p += v;
}
__global__ void copy_to(int *to, const int *from)
{
    *to = *from;
}

static cudaEvent_t event(unsigned int flags = cudaEventDisableTiming)
{
    cudaEvent_t e;
    OK(cudaEventCreateWithFlags(&e, flags));
    return e;
}

CASE(a_stream_keeps_its_order)
{
    int *p = cell();
    cudaStream_t s = stream();
    for (int i = 0; i < 100; i++) {
        add_to<<<1, 1, 0, s>>>(p, i);
        if (i % 10 == 9)
            set_to<<<1, 1, 0, s>>>(p, i);
    }
    OK(cudaStreamSynchronize(s));
    EQUAL(read(p), 99);
}
CASE(an_event_orders_two_streams)
{
    int *p = cell(), *q = cell();
    cudaStream_t s = stream(), t = stream();
    cudaEvent_t e = event();
    set_to<<<1, 1, 0, s>>>(p, 7);
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(t, e, 0));
    copy_to<<<1, 1, 0, t>>>(q, p);
    OK(cudaStreamSynchronize(t));
    EQUAL(read(q), 7);
}
CASE(waiting_for_a_never_recorded_event_is_nothing)
{
    int *p = cell();
    cudaStream_t s = stream();
    OK(cudaStreamWaitEvent(s, event(), 0));
    set_to<<<1, 1, 0, s>>>(p, 3);
    OK(cudaStreamSynchronize(s));
    EQUAL(read(p), 3);
}
CASE(a_wait_captures_the_record_at_its_call)
{
    // The second record comes after the wait was enqueued: it must not be waited for, or this would
    // hang.
    int *p = cell();
    cudaStream_t s = stream(), t = stream();
    cudaEvent_t e = event(), f = event();
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(t, e, 0));
    set_to<<<1, 1, 0, t>>>(p, 1);
    OK(cudaEventRecord(f, t));
    OK(cudaStreamWaitEvent(s, f, 0));
    OK(cudaEventRecord(e, s));
    OK(cudaDeviceSynchronize());
    EQUAL(read(p), 1);
}
CASE(destroying_an_event_keeps_its_waits)
{
    int *p = cell(), *q = cell();
    cudaStream_t s = stream(), t = stream();
    cudaEvent_t e = event();
    set_to<<<1, 1, 0, s>>>(p, 9);
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(t, e, 0));
    OK(cudaEventDestroy(e));
    copy_to<<<1, 1, 0, t>>>(q, p);
    OK(cudaStreamSynchronize(t));
    EQUAL(read(q), 9);
}
CASE(destroying_a_stream_lets_its_work_finish)
{
    int *p = cell();
    cudaStream_t s = stream();
    for (int i = 0; i < 50; i++)
        add_to<<<1, 1, 0, s>>>(p, 1);
    OK(cudaStreamDestroy(s));
    OK(cudaDeviceSynchronize());
    EQUAL(read(p), 50);
}
CASE(legacy_stream_waits_for_blocking_streams)
{
    int *p = cell(), *q = cell();
    cudaStream_t s = stream(cudaStreamDefault);
    set_to<<<1, 1, 0, s>>>(p, 4);
    copy_to<<<1, 1>>>(q, p);
    OK(cudaDeviceSynchronize());
    EQUAL(read(q), 4);
}
CASE(blocking_streams_wait_for_the_legacy_stream)
{
    int *p = cell(), *q = cell();
    cudaStream_t s = stream(cudaStreamDefault);
    set_to<<<1, 1>>>(p, 5);
    copy_to<<<1, 1, 0, s>>>(q, p);
    OK(cudaStreamSynchronize(s));
    EQUAL(read(q), 5);
}
CASE(the_legacy_stream_orders_two_blocking_streams)
{
    int *p = cell(), *q = cell(), *r = cell();
    cudaStream_t s = stream(cudaStreamDefault), t = stream(cudaStreamDefault);
    set_to<<<1, 1, 0, s>>>(p, 6);
    set_to<<<1, 1>>>(r, 1);
    copy_to<<<1, 1, 0, t>>>(q, p);
    OK(cudaStreamSynchronize(t));
    EQUAL(read(q), 6);
}
CASE(per_thread_stream_orders_with_the_legacy_stream)
{
    int *p = cell(), *q = cell();
    set_to<<<1, 1, 0, cudaStreamPerThread>>>(p, 8);
    copy_to<<<1, 1, 0, cudaStreamLegacy>>>(q, p);
    OK(cudaDeviceSynchronize());
    EQUAL(read(q), 8);
}
CASE(work_of_a_destroyed_stream_is_waited_for_by_the_legacy_stream)
{
    int *p = cell(), *q = cell();
    cudaStream_t s = stream(cudaStreamDefault);
    set_to<<<1, 1, 0, s>>>(p, 11);
    OK(cudaStreamDestroy(s));
    copy_to<<<1, 1>>>(q, p);
    OK(cudaDeviceSynchronize());
    EQUAL(read(q), 11);
}
CASE(stream_query_becomes_ready)
{
    int *p = cell();
    cudaStream_t s = stream();
    for (int i = 0; i < 20; i++)
        add_to<<<1, 1, 0, s>>>(p, 1);
    cudaError_t r;
    while ((r = cudaStreamQuery(s)) == cudaErrorNotReady) {
    }
    OK(r);
    EQUAL(read(p), 20);
}
CASE(event_query_becomes_ready)
{
    int *p = cell();
    cudaStream_t s = stream();
    cudaEvent_t e = event();
    set_to<<<1, 1, 0, s>>>(p, 2);
    OK(cudaEventRecord(e, s));
    cudaError_t r;
    while ((r = cudaEventQuery(e)) == cudaErrorNotReady) {
    }
    OK(r);
    EQUAL(read(p), 2);
}
CASE(not_ready_is_not_a_sticky_error)
{
    int *p = cell();
    cudaStream_t s = stream();
    for (int i = 0; i < 50; i++) {
        add_to<<<1, 1, 0, s>>>(p, 1);
        cudaStreamQuery(s);
    }
    OK(cudaGetLastError());
    OK(cudaStreamSynchronize(s));
}
CASE(never_recorded_event_is_complete)
{
    cudaEvent_t e = event();
    OK(cudaEventQuery(e));
    OK(cudaEventSynchronize(e));
}
CASE(event_synchronize_sees_the_work_before_it)
{
    int *host;
    int *p = cell();
    OK(cudaMallocHost(&host, 4));
    cudaStream_t s = stream();
    cudaEvent_t e = event();
    set_to<<<1, 1, 0, s>>>(p, 12);
    OK(cudaMemcpyAsync(host, p, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaEventRecord(e, s));
    OK(cudaEventSynchronize(e));
    EQUAL(*host, 12);
}
CASE(elapsed_time_is_positive_and_additive)
{
    int *p = cell();
    cudaEvent_t a = event(cudaEventDefault), b = event(cudaEventDefault),
                c = event(cudaEventDefault);
    OK(cudaEventRecord(a, 0));
    for (int i = 0; i < 10; i++)
        add_to<<<1, 1>>>(p, 1);
    OK(cudaEventRecord(b, 0));
    for (int i = 0; i < 10; i++)
        add_to<<<1, 1>>>(p, 1);
    OK(cudaEventRecord(c, 0));
    OK(cudaEventSynchronize(c));
    float ab, bc, ac;
    OK(cudaEventElapsedTime(&ab, a, b));
    OK(cudaEventElapsedTime(&bc, b, c));
    OK(cudaEventElapsedTime(&ac, a, c));
    CHECK(ab > 0 && bc > 0);
    CHECK(ac > (ab + bc) * 0.999f && ac < (ab + bc) * 1.001f);
}
CASE(elapsed_time_needs_timing_events)
{
    float ms;
    cudaEvent_t a = event(), b = event();
    OK(cudaEventRecord(a, 0));
    OK(cudaEventRecord(b, 0));
    OK(cudaDeviceSynchronize());
    GIVES(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);
}
CASE(elapsed_time_needs_recorded_events)
{
    float ms;
    cudaEvent_t a = event(cudaEventDefault), b = event(cudaEventDefault);
    OK(cudaEventRecord(a, 0));
    OK(cudaDeviceSynchronize());
    GIVES(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);
}
CASE(interprocess_events_cannot_time)
{
    cudaEvent_t e;
    GIVES(cudaEventCreateWithFlags(&e, cudaEventInterprocess), cudaErrorInvalidValue);
    OK(cudaEventCreateWithFlags(&e, cudaEventInterprocess | cudaEventDisableTiming));
}
CASE(unknown_event_flags_are_refused)
{
    cudaEvent_t e;
    GIVES(cudaEventCreateWithFlags(&e, 0x80), cudaErrorInvalidValue);
}
CASE(unknown_stream_flags_are_refused)
{
    cudaStream_t s;
    GIVES(cudaStreamCreateWithFlags(&s, 0x80), cudaErrorInvalidValue);
}
CASE(priorities_have_a_range_and_are_clamped)
{
    int least = 9, greatest = 9, got = 9;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest <= 0);
    cudaStream_t s;
    OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest - 100));
    OK(cudaStreamGetPriority(s, &got));
    EQUAL(got, greatest);
    OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, least + 100));
    OK(cudaStreamGetPriority(s, &got));
    EQUAL(got, least);
}
CASE(stream_flags_are_remembered)
{
    unsigned int flags = 9;
    OK(cudaStreamGetFlags(stream(cudaStreamNonBlocking), &flags));
    EQUAL(flags, cudaStreamNonBlocking);
    OK(cudaStreamGetFlags(stream(cudaStreamDefault), &flags));
    EQUAL(flags, cudaStreamDefault);
}
CASE(stream_ids_differ)
{
    unsigned long long a, b;
    OK(cudaStreamGetId(stream(), &a));
    OK(cudaStreamGetId(stream(), &b));
    CHECK(a != b);
}

static void note(void *p)
{
    int *cells = (int *)p;
    cells[1] = cells[0];
}
CASE(host_functions_run_in_stream_order)
{
    int *host;
    int *p = cell();
    OK(cudaMallocHost(&host, 8));
    host[0] = host[1] = 0;
    cudaStream_t s = stream();
    set_to<<<1, 1, 0, s>>>(p, 21);
    OK(cudaMemcpyAsync(host, p, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaLaunchHostFunc(s, note, host));
    OK(cudaMemcpyAsync(p, host + 1, 4, cudaMemcpyHostToDevice, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(host[1], 21);
    EQUAL(read(p), 21);
}
static cudaError_t from_callback;
static void forbidden(void *p)
{
    from_callback = cudaDeviceSynchronize();
}
CASE(host_functions_may_not_call_cuda)
{
    cudaStream_t s = stream();
    from_callback = cudaSuccess;
    OK(cudaLaunchHostFunc(s, forbidden, nullptr));
    OK(cudaStreamSynchronize(s));
    EQUAL(from_callback, cudaErrorNotPermitted);
}
static void callback(cudaStream_t, cudaError_t status, void *p)
{
    *(int *)p = status == cudaSuccess ? 33 : -1;
}
CASE(callbacks_get_the_status)
{
    static int got;
    cudaStream_t s = stream();
    OK(cudaStreamAddCallback(s, callback, &got, 0));
    OK(cudaStreamSynchronize(s));
    EQUAL(got, 33);
}
CASE(device_synchronize_waits_for_all_streams)
{
    int *p = cell(), *q = cell(), *host;
    OK(cudaMallocHost(&host, 8));
    cudaStream_t s = stream(), t = stream();
    set_to<<<1, 1, 0, s>>>(p, 1);
    set_to<<<1, 1, 0, t>>>(q, 2);
    OK(cudaMemcpyAsync(host, p, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaMemcpyAsync(host + 1, q, 4, cudaMemcpyDeviceToHost, t));
    OK(cudaDeviceSynchronize());
    EQUAL(host[0] + host[1], 3);
}
CASE(free_waits_for_work_that_uses_the_memory)
{
    int *p = cell(), *host;
    OK(cudaMallocHost(&host, 4));
    cudaStream_t s = stream();
    set_to<<<1, 1, 0, s>>>(p, 77);
    OK(cudaMemcpyAsync(host, p, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaFree(p));
    EQUAL(*host, 77);
}
CASE(record_of_a_stream_by_null_handle)
{
    int *p = cell();
    cudaEvent_t e = event(), f = event();
    set_to<<<1, 1>>>(p, 4);
    OK(cudaEventRecord(e, 0));
    OK(cudaEventRecord(f));
    OK(cudaEventSynchronize(e));
    OK(cudaEventSynchronize(f));
    EQUAL(read(p), 4);
}
CASE(wait_value_waits_for_a_write_of_another_stream)
{
    driver_up();
    int *p = cell(), *flag = cell(), *q = cell();
    CUstream s = stream(), t = stream();
    OK(cuStreamWaitValue32(t, (CUdeviceptr)flag, 5, CU_STREAM_WAIT_VALUE_GEQ));
    copy_to<<<1, 1, 0, t>>>(q, p);
    set_to<<<1, 1, 0, s>>>(p, 13);
    OK(cuStreamWriteValue32(s, (CUdeviceptr)flag, 6, 0));
    OK(cudaDeviceSynchronize());
    EQUAL(read(q), 13);
}
CASE(stream_context)
{
    driver_up();
    CUstream s;
    CUcontext c;
    OK(cuStreamCreate(&s, 0));
    OK(cuStreamGetCtx(s, &c));
    CHECK(c == context0);
}
