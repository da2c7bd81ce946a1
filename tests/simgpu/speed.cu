// SPDX-License-Identifier: Apache-2.0
// How fast the simulator itself is, in real time: launches of an empty kernel a second, and GB/s of
// copies.
#include <cuda_runtime.h>
#include <cstdio>
#include <ctime>

__global__ void empty(int *)
{
}

static double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main()
{
    const int launches = 200000;
    const size_t n = 16 << 20;
    int *p;
    char *host, *device;
    cudaMalloc(&p, 4);
    cudaMallocHost(&host, n);
    cudaMalloc(&device, n);
    empty<<<1, 1>>>(p);
    cudaMemcpy(device, host, n, cudaMemcpyHostToDevice);
    double t = now();
    for (int i = 0; i < launches; i++)
        empty<<<1, 1>>>(p);
    cudaDeviceSynchronize();
    double a = now();
    for (int i = 0; i < 50; i++)
        cudaMemcpyAsync(device, host, n, cudaMemcpyHostToDevice);
    cudaDeviceSynchronize();
    double b = now();
    printf("launches_per_second %.0f\ncopied_gb_per_second %.1f\n", launches / (a - t),
           50 * n / (b - a) / 1e9);
}
