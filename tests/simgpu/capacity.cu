// SPDX-License-Identifier: Apache-2.0
// How many 2 MiB allocations fit, after one was freed and taken again.
#include <cuda_runtime.h>
#include <cstdio>

int main()
{
    void *p = nullptr, *q;
    int n = 0;
    while (cudaMalloc(&q, 2 << 20) == cudaSuccess) {
        p = q;
        n++;
    }
    if (cudaGetLastError() != cudaErrorMemoryAllocation || cudaFree(p) != cudaSuccess ||
        cudaMalloc(&p, (2 << 20) + 1) != cudaErrorMemoryAllocation ||
        cudaMalloc(&p, 2 << 20) != cudaSuccess || cudaMalloc(&p, 1) != cudaErrorMemoryAllocation)
        n = -1;
    printf("%d\n", n);
}
