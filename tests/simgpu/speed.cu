// SPDX-License-Identifier: Apache-2.0
// How fast the simulator itself is, in processor time, so that a busy machine hardly matters.
// Prints "name value" lines; the launches are of an empty kernel of one thread.
#include <cuda_runtime.h>
#include <cstdio>
#include <ctime>

__global__ void empty(int *)
{
}
__global__ void fill(int *p)
{
    p[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

static double now()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

template <class F> static double seconds(F f)
{
    cudaDeviceSynchronize();
    double start = now();
    f();
    cudaDeviceSynchronize();
    return now() - start;
}

int main()
{
    const int launches = 200000, copies = 50;
    const size_t n = 16 << 20;
    int *p;
    char *host, *device, *other;
    cudaStream_t s[4];
    cudaEvent_t e;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    cudaMalloc(&p, n);
    cudaMallocHost(&host, n);
    cudaMalloc(&device, n);
    cudaMalloc(&other, n);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    for (cudaStream_t &t : s)
        cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    empty<<<1, 1>>>(p);
    fill<<<4096, 1024>>>(p);
    cudaMemcpy(device, host, n, cudaMemcpyHostToDevice);
    cudaMemcpy(other, host, n, cudaMemcpyHostToDevice);

    double t = seconds([&] {
        for (int i = 0; i < launches; i++)
            empty<<<1, 1>>>(p);
    });
    printf("launches_per_second %.0f\n", launches / t);
    t = seconds([&] {
        for (int i = 0; i < launches; i++)
            empty<<<1, 1, 0, s[i & 3]>>>(p);
    });
    printf("launches_on_4_streams_per_second %.0f\n", launches / t);
    t = seconds([&] {
        for (int i = 0; i < launches / 2; i++) {
            cudaEventRecord(e, s[i & 3]);
            cudaStreamWaitEvent(s[(i + 1) & 3], e, 0);
        }
    });
    printf("records_and_waits_per_second %.0f\n", launches / t);
    cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal);
    for (int i = 0; i < 100; i++)
        empty<<<1, 1, 0, s[0]>>>(p);
    cudaStreamEndCapture(s[0], &g);
    cudaGraphInstantiate(&exec, g, 0);
    t = seconds([&] {
        for (int i = 0; i < launches / 100; i++)
            cudaGraphLaunch(exec, s[0]);
    });
    printf("graph_nodes_per_second %.0f\n", launches / t);
    t = seconds([&] {
        for (int i = 0; i < 5; i++)
            fill<<<4096, 1024>>>(p);
    });
    printf("threads_per_second %.0f\n", 5 * 4096 * 1024 / t);

    static const struct {
        const char *name;
        cudaMemcpyKind kind;
    } ways[] = {{"htod", cudaMemcpyHostToDevice},
                {"dtoh", cudaMemcpyDeviceToHost},
                {"dtod", cudaMemcpyDeviceToDevice}};
    for (const auto &way : ways) {
        void *to = way.kind == cudaMemcpyDeviceToHost ? host : device;
        void *from = way.kind == cudaMemcpyHostToDevice ? host : other;
        t = seconds([&] {
            for (int i = 0; i < copies; i++)
                cudaMemcpyAsync(to, from, n, way.kind);
        });
        printf("copied_%s_gb_per_second %.1f\n", way.name, copies * n / t / 1e9);
    }
    t = seconds([&] {
        for (int i = 0; i < copies; i++)
            cudaMemset(device, i, n);
    });
    printf("set_gb_per_second %.1f\n", copies * n / t / 1e9);
}
