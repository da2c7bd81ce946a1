// SPDX-License-Identifier: Apache-2.0
// A producer on one stream, a consumer on another, a copy back on a third. With -DFORGET=n the n-th
// wait is left out: the program is then wrong, and the simulator must show it under some seed.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#ifndef FORGET
#define FORGET 0
#endif

__global__ void fill(float *x, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = v;
}

__global__ void add(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += x[i];
}

static void wait(int number, cudaStream_t stream, cudaEvent_t event)
{
    if (number != FORGET)
        cudaStreamWaitEvent(stream, event, 0);
}

int main()
{
    const int n = 1000, steps = 4;
    float *x, *y, *host;
    cudaStream_t a, b, c;
    cudaEvent_t filled, added, copied;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&added, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&copied, cudaEventDisableTiming);
    cudaMalloc(&x, n * sizeof *x);
    cudaMalloc(&y, n * sizeof *y);
    cudaMallocHost(&host, steps * n * sizeof *host);
    cudaMemset(y, 0, n * sizeof *y);
    cudaDeviceSynchronize();
    for (int s = 0; s < steps; s++) {
        if (s > 0)
            wait(1, a, added); // x is still being read
        fill<<<4, 256, 0, a>>>(x, s + 1, n);
        cudaEventRecord(filled, a);
        wait(2, b, filled);
        if (s > 0)
            wait(3, b, copied); // y is still being copied
        add<<<4, 256, 0, b>>>(x, y, n);
        cudaEventRecord(added, b);
        wait(4, c, added);
        cudaMemcpyAsync(host + s * n, y, n * sizeof *host, cudaMemcpyDeviceToHost, c);
        cudaEventRecord(copied, c);
    }
    if (FORGET != 5)
        cudaStreamSynchronize(c);
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < n; i++)
            if (host[s * n + i] != (s + 1) * (s + 2) / 2) {
                printf("wrong: step %d is %g\n", s, host[s * n + i]);
                return 1;
            }
    puts("right");
    return 0;
}
