// SPDX-License-Identifier: Apache-2.0
// Programs compiled for the per-thread default stream: a stream of 0 is the thread's own.
// Compile with: -default-stream per-thread
#include "simtest.h"
#include <pthread.h>

__global__ void add_to(int *p, int v)
{
    *p += v;
}

static int *cell()
{
    int *p = nullptr;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemset(p, 0, 4));
    OK(cudaDeviceSynchronize());
    return p;
}

CASE(launches_go_to_the_threads_stream)
{
    int *p = cell(), v = 0;
    cudaGraph_t g;
    size_t n = 0;
    // The legacy stream cannot be captured; the thread's can, and then takes what names stream 0 or
    // none.
    OK(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
    add_to<<<1, 1>>>(p, 1);
    add_to<<<1, 1, 0, 0>>>(p, 1);
    add_to<<<1, 1, 0, cudaStreamPerThread>>>(p, 1);
    OK(cudaMemsetAsync(p, 0, 4));
    OK(cudaStreamEndCapture(cudaStreamPerThread, &g));
    OK(cudaGraphGetNodes(g, nullptr, &n));
    EQUAL(n, 4);
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    EQUAL(v, 0);
}

CASE(its_order_is_a_streams_order)
{
    int *p = cell(), v = 0;
    for (int i = 0; i < 100; i++)
        add_to<<<1, 1>>>(p, 1);
    OK(cudaMemcpyAsync(&v, p, 4, cudaMemcpyDeviceToHost, 0));
    OK(cudaStreamSynchronize(0));
    EQUAL(v, 100);
}

CASE(a_plain_copy_is_in_the_threads_stream)
{
    int *p = cell(), v = 0;
    add_to<<<1, 1>>>(p, 8);
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    EQUAL(v, 8);
}

CASE(the_legacy_stream_still_has_its_handle)
{
    int *p = cell(), v = 0;
    cudaGraph_t g;
    CHECK(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal) != cudaSuccess);
    (void)g;
    add_to<<<1, 1, 0, cudaStreamLegacy>>>(p, 2);
    add_to<<<1, 1>>>(p, 3); // the thread's stream is a blocking one
    OK(cudaMemcpyAsync(&v, p, 4, cudaMemcpyDeviceToHost, cudaStreamLegacy));
    OK(cudaStreamSynchronize(cudaStreamLegacy));
    EQUAL(v, 5);
}

static unsigned long long ids[2];
static void *own_id(void *arg)
{
    OK(cudaStreamGetId(0, (unsigned long long *)arg));
    return nullptr;
}
CASE(each_thread_has_its_own)
{
    pthread_t t;
    unsigned long long legacy = 0;
    OK(cudaFree(0));
    own_id(&ids[0]);
    pthread_create(&t, nullptr, own_id, &ids[1]);
    pthread_join(t, nullptr);
    OK(cudaStreamGetId(cudaStreamLegacy, &legacy));
    CHECK(ids[0] != ids[1]);
    CHECK(ids[0] != legacy && ids[1] != legacy);
}

CASE(the_driver_has_the_same_default)
{
    int *p = cell(), v = 0;
    CUgraph g;
    OK(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemsetD32Async((CUdeviceptr)p, 9, 1, nullptr));
    OK(cuStreamEndCapture(CU_STREAM_PER_THREAD, &g));
    OK(cuMemcpyDtoH(&v, (CUdeviceptr)p, 4));
    EQUAL(v, 0);
}
