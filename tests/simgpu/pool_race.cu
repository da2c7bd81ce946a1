// SPDX-License-Identifier: Apache-2.0
// Memory that is allocated on one stream, used on another, and freed on the first. With -DFORGET=1
// it is used without an order after the allocation, with -DFORGET=2 it is freed without one after
// the use.
#include <cuda_runtime.h>
#include <cstdio>

#ifndef FORGET
#define FORGET 0
#endif

__global__ void fill(int *x, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = value;
}

int main()
{
    const int n = 1000;
    int *x = NULL;
    cudaStream_t a, b;
    cudaEvent_t there, used;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&there, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&used, cudaEventDisableTiming);
    for (int step = 0; step < 4; step++) {
        cudaMallocAsync((void **)&x, n * sizeof(int), a);
        cudaEventRecord(there, a);
        if (FORGET != 1)
            cudaStreamWaitEvent(b, there, 0);
        fill<<<4, 256, 0, b>>>(x, step, n);
        cudaEventRecord(used, b);
        if (FORGET != 2)
            cudaStreamWaitEvent(a, used, 0);
        cudaFreeAsync(x, a);
    }
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
