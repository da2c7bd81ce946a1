// SPDX-License-Identifier: Apache-2.0
// Prints the results of three allocations and two registrations.
#include <cuda_runtime.h>
#include <cstdio>

int main()
{
    static char block[2][8192];
    void *p;
    for (int i = 0; i < 3; i++)
        printf("%d\n", (int)cudaMalloc(&p, 1000));
    for (int i = 0; i < 2; i++)
        printf("%d\n", (int)cudaHostRegister(block[i], 4096, 0));
}
