// SPDX-License-Identifier: Apache-2.0
// Virtual times of simple things in microseconds, with the bounds that the model (README.md) gives
// for the default card: "name value low high" a line.
#include <cuda_runtime.h>
#include <cstdio>

__global__ void busy(float *p, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += p[i & 15];
    p[16 + threadIdx.x] = s;
}

static cudaEvent_t a, b;
static cudaStream_t s, t;

static float between()
{
    float ms;
    cudaEventSynchronize(b);
    cudaEventElapsedTime(&ms, a, b);
    return ms * 1000;
}

int main()
{
    const size_t n = 16 << 20;
    char *host, *dev, *dev2;
    float *f;
    cudaEvent_t e;
    cudaMallocHost(&host, 2 * n);
    cudaMalloc(&dev, n);
    cudaMalloc(&dev2, n);
    cudaMalloc(&f, 4096);
    cudaMemset(f, 0, 4096);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaDeviceSynchronize();
    busy<<<1, 1, 0, s>>>(f, 1); // the first launch loads the image
    cudaDeviceSynchronize();

    cudaEventRecord(a, s); // 16 MiB at 16 GB/s: 1049 us, and 5 us latency
    cudaMemcpyAsync(dev, host, n, cudaMemcpyHostToDevice, s);
    cudaEventRecord(b, s);
    printf("pinned_copy %.3f 1050 1060\n", between());

    cudaEventRecord(a, s); // the two directions overlap
    cudaStreamWaitEvent(t, a, 0);
    cudaMemcpyAsync(dev, host, n, cudaMemcpyHostToDevice, s);
    cudaMemcpyAsync(host + n, dev2, n, cudaMemcpyDeviceToHost, t);
    cudaEventRecord(e, t);
    cudaStreamWaitEvent(s, e, 0);
    cudaEventRecord(b, s);
    printf("both_directions %.3f 1050 1075\n", between());

    cudaEventRecord(a, s); // one engine a direction: these do not
    cudaStreamWaitEvent(t, a, 0);
    cudaMemcpyAsync(dev, host, n, cudaMemcpyHostToDevice, s);
    cudaMemcpyAsync(dev2, host, n, cudaMemcpyHostToDevice, t);
    cudaEventRecord(e, t);
    cudaStreamWaitEvent(s, e, 0);
    cudaEventRecord(b, s);
    printf("one_direction_twice %.3f 2100 2125\n", between());

    cudaEventRecord(
        a, s); // a copy and a kernel overlap: 64 threads, 100,000 iterations at 1e11 a second
    cudaStreamWaitEvent(t, a, 0);
    busy<<<1, 64, 0, s>>>(f, 100000);
    cudaMemcpyAsync(dev, host, n / 2, cudaMemcpyHostToDevice, t);
    cudaEventRecord(e, t);
    cudaStreamWaitEvent(s, e, 0);
    cudaEventRecord(b, s);
    printf("copy_under_kernel %.3f 525 545\n", between());

    cudaDeviceSynchronize();
    cudaEventRecord(a, s);
    busy<<<1, 64, 0, s>>>(f, 100000);
    cudaEventRecord(b, s);
    printf("kernel %.3f 64 72\n", between());

    cudaEventRecord(a, s); // 32 MiB of traffic at 1 TB/s
    cudaMemcpyAsync(dev, dev2, n, cudaMemcpyDeviceToDevice, s);
    cudaEventRecord(b, s);
    printf("copy_in_the_device %.3f 33 38\n", between());
}
