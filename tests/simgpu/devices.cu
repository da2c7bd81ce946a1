// SPDX-License-Identifier: Apache-2.0
// Several devices and several threads: what the Programming Guide says under "Multi-Device System".
// The cases that need a second device are skipped without one.
#include "simtest.h"
#include <pthread.h>

__global__ void add_to(int *p, int v)
{
    *p += v;
}

static bool two_devices()
{
    int n = 0;
    OK(cudaGetDeviceCount(&n));
    if (n >= 2)
        return true;
    skip("one device");
    return false;
}

static int *cell()
{
    int *p = nullptr;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemset(p, 0, 4));
    OK(cudaDeviceSynchronize());
    return p;
}

static int read(const int *p)
{
    int v = -1;
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDefault));
    return v;
}

CASE(device_zero_is_the_default)
{
    int d = -1;
    OK(cudaGetDevice(&d));
    EQUAL(d, 0);
}

CASE(a_device_that_is_not_there)
{
    int n = 0, d = -1;
    OK(cudaGetDeviceCount(&n));
    GIVES(cudaSetDevice(n), cudaErrorInvalidDevice);
    GIVES(cudaSetDevice(-1), cudaErrorInvalidDevice);
    OK(cudaGetDevice(&d));
    EQUAL(d, 0);
}

CASE(memory_belongs_to_the_device_that_was_current)
{
    if (!two_devices())
        return;
    OK(cudaSetDevice(1));
    int *p = cell();
    OK(cudaSetDevice(0));
    cudaPointerAttributes at;
    OK(cudaPointerGetAttributes(&at, p));
    EQUAL(at.device, 1);
    EQUAL(at.type, cudaMemoryTypeDevice);
}

CASE(each_device_has_its_own_memory)
{
    if (!two_devices())
        return;
    size_t before, after, total;
    OK(cudaSetDevice(1));
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaSetDevice(0));
    void *p;
    OK(cudaMalloc(&p, 16 << 20));
    OK(cudaSetDevice(1));
    OK(cudaMemGetInfo(&after, &total));
    EQUAL(before, after);
}

CASE(copy_between_devices)
{
    if (!two_devices())
        return;
    int *a = cell();
    add_to<<<1, 1>>>(a, 11);
    OK(cudaSetDevice(1));
    int *b = cell();
    OK(cudaMemcpyPeer(b, 1, a, 0, 4));
    EQUAL(read(b), 11);
}

CASE(copy_between_devices_in_stream_order)
{
    if (!two_devices())
        return;
    cudaStream_t s;
    OK(cudaSetDevice(1));
    int *b = cell();
    OK(cudaSetDevice(0));
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    int *a = cell();
    add_to<<<1, 1, 0, s>>>(a, 3);
    OK(cudaMemcpyPeerAsync(b, 1, a, 0, 4, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(read(b), 3);
}

CASE(unified_addresses_tell_the_devices_apart)
{
    if (!two_devices())
        return;
    int *a = cell();
    add_to<<<1, 1>>>(a, 7);
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(1));
    int *b = cell();
    CHECK(a != b);
    OK(cudaMemcpy(b, a, 4, cudaMemcpyDefault));
    EQUAL(read(b), 7);
}

CASE(a_launch_into_a_stream_of_another_device_fails)
{
    if (!two_devices())
        return;
    cudaStream_t s0;
    int *a = cell();
    OK(cudaStreamCreate(&s0));
    OK(cudaSetDevice(1));
    add_to<<<1, 1, 0, s0>>>(a, 1);
    GIVES(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

CASE(a_copy_in_a_stream_of_another_device_succeeds)
{
    if (!two_devices())
        return;
    cudaStream_t s0;
    int *a = cell(), v = 4;
    OK(cudaStreamCreate(&s0));
    OK(cudaSetDevice(1));
    OK(cudaMemcpyAsync(a, &v, 4, cudaMemcpyHostToDevice, s0));
    OK(cudaStreamSynchronize(s0));
    EQUAL(read(a), 4);
}

CASE(an_event_of_another_device_cannot_be_recorded)
{
    if (!two_devices())
        return;
    cudaEvent_t e0;
    cudaStream_t s1;
    OK(cudaFree(0));
    OK(cudaEventCreate(&e0));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&s1));
    GIVES(cudaEventRecord(e0, s1), cudaErrorInvalidResourceHandle);
}

CASE(an_event_of_another_device_can_be_waited_for)
{
    if (!two_devices())
        return;
    cudaEvent_t e0;
    cudaStream_t s0, s1;
    OK(cudaStreamCreateWithFlags(&s0, cudaStreamNonBlocking));
    OK(cudaEventCreate(&e0));
    int *a = cell();
    add_to<<<1, 1, 0, s0>>>(a, 6);
    OK(cudaEventRecord(e0, s0));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
    int *b;
    OK(cudaMalloc(&b, 4));
    OK(cudaStreamWaitEvent(s1, e0, 0));
    OK(cudaMemcpyPeerAsync(b, 1, a, 0, 4, s1));
    OK(cudaStreamSynchronize(s1));
    EQUAL(read(b), 6);
    OK(cudaEventSynchronize(e0));
    OK(cudaEventQuery(e0));
}

CASE(reset_of_one_device_leaves_the_other)
{
    if (!two_devices())
        return;
    int *a = cell();
    add_to<<<1, 1>>>(a, 5);
    OK(cudaSetDevice(1));
    cell();
    OK(cudaDeviceReset());
    OK(cudaSetDevice(0));
    EQUAL(read(a), 5);
}

static void *device_of_a_thread(void *)
{
    int d = -1;
    OK(cudaGetDevice(&d));
    return (void *)(long)d;
}
CASE(the_current_device_is_the_threads)
{
    if (!two_devices())
        return;
    pthread_t t;
    void *d;
    OK(cudaSetDevice(1));
    pthread_create(&t, nullptr, device_of_a_thread, nullptr);
    pthread_join(t, &d);
    EQUAL((long)d, 0);
}

struct Job {
    cudaStream_t stream;
    int *cell, result;
};
static void *many_launches(void *arg)
{
    Job *j = (Job *)arg;
    for (int i = 0; i < 500; i++)
        add_to<<<1, 1, 0, j->stream>>>(j->cell, i % 3);
    OK(cudaMemcpyAsync(&j->result, j->cell, 4, cudaMemcpyDeviceToHost, j->stream));
    OK(cudaStreamSynchronize(j->stream));
    return nullptr;
}
CASE(two_threads_on_two_streams)
{
    pthread_t t[2];
    Job jobs[2] = {};
    for (Job &j : jobs) {
        j.cell = cell();
        OK(cudaStreamCreateWithFlags(&j.stream, cudaStreamNonBlocking));
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], nullptr, many_launches, &jobs[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], nullptr);
    EQUAL(jobs[0].result, 499);
    EQUAL(jobs[1].result, 499);
}

static void *fails(void *)
{
    CHECK(cudaMalloc((void **)nullptr, 4) != cudaSuccess);
    return nullptr;
}
CASE(the_last_error_is_the_threads)
{
    pthread_t t;
    OK(cudaFree(0));
    pthread_create(&t, nullptr, fails, nullptr);
    pthread_join(t, nullptr);
    OK(cudaGetLastError());
}
