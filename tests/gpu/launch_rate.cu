/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch costs the host: a program bound by launches, of one kernel of eight parameters.
 * Prints the nanoseconds a launch, the best of several rounds. */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#ifdef __SIMGPU__
enum { ROUNDS = 20, STEPS = 5 };
#else
enum { ROUNDS = 40, STEPS = 20 };
#endif
enum { LAUNCHES = 50, BUFFERS = 8, BYTES = 4 << 20 };

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != cudaSuccess)                                                                 \
            exit(1);                                                                               \
    } while (0)

__global__ void eight(float *a, float *b, float *c, float *d, int n, float x, int m, long k)
{
    if (n < 0)
        a[0] = b[0] + c[0] + d[0] + x + (float)(m + k);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
    float *buffer[BUFFERS];
    double best = 1e18;
    for (int i = 0; i < BUFFERS; i++)
        CHECK(cudaMalloc((void **)&buffer[i], BYTES));
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(cudaDeviceSynchronize());
        double start = now_ns();
        for (int step = 0; step < STEPS; step++)
            for (int i = 0; i < LAUNCHES; i++)
                eight<<<1, 32>>>(buffer[i % 8], buffer[(i + 1) % 8], buffer[(i + 2) % 8],
                                 buffer[(i + 3) % 8], i, 0.5f, step, 0L);
        double took = (now_ns() - start) / (STEPS * LAUNCHES);
        /* The first rounds are watched and planned. */
        if (round >= ROUNDS / 2 && took < best)
            best = took;
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.0f\n", best);
    return 0;
}
