// SPDX-License-Identifier: Apache-2.0
// Cases about order work on single numbers in device memory.
#ifndef CELLS_H
#define CELLS_H

#include "simtest.h"

static inline int *cell(int value = 0)
{
    int *p;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemcpy(p, &value, 4, cudaMemcpyHostToDevice));
    // A copy from pageable memory may return before it has arrived, and other streams do not wait
    // for it.
    OK(cudaDeviceSynchronize());
    return p;
}

static inline int read(const int *p)
{
    int value = -1;
    OK(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
    return value;
}

static inline cudaStream_t stream(unsigned int flags = cudaStreamNonBlocking)
{
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, flags));
    return s;
}

#endif
