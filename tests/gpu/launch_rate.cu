/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch costs the host: a program bound by launches, of one kernel of eight parameters.
 * Prints the nanoseconds a launch, the best of several rounds.
 *
 *   launch_rate         eight buffers of 4 MiB, all in use all the time
 *   launch_rate idle    eight more, which two launches of a step touch: with less memory than all
 *                       need, a plan has something to move, and most launches do not wait for it */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#ifdef __SIMGPU__
enum { ROUNDS = 20, STEPS = 5, LAUNCHES = 50 };
#else
enum { ROUNDS = 40, STEPS = 20, LAUNCHES = 400 };
#endif
enum { BUFFERS = 8, BYTES = 4 << 20 };

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

static float *used[BUFFERS], *idle[BUFFERS];

static void step(bool with_idle)
{
    if (with_idle)
        for (int i = 0; i < BUFFERS; i += 4)
            eight<<<1, 32>>>(idle[i], idle[i + 1], idle[i + 2], idle[i + 3], i, 0.5f, 0, 0L);
    for (int i = 0; i < LAUNCHES; i++)
        /* Grids that differ, or eight launches would be taken for an iteration. */
        eight<<<1 + i % 61, 32>>>(used[i % 8], used[(i + 1) % 8], used[(i + 2) % 8],
                                  used[(i + 3) % 8], i, 0.5f, 0, 0L);
}

int main(int argc, char **argv)
{
    bool with_idle = argc == 2 && strcmp(argv[1], "idle") == 0;
    double best = 1e18;
    if (argc > 1 && !with_idle)
        return 64;
    for (int i = 0; i < BUFFERS; i++)
        CHECK(cudaMalloc((void **)&used[i], BYTES));
    for (int i = 0; i < BUFFERS && with_idle; i++)
        CHECK(cudaMalloc((void **)&idle[i], BYTES));
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(cudaDeviceSynchronize());
        double start = now_ns();
        for (int i = 0; i < STEPS; i++)
            step(with_idle);
        double took = (now_ns() - start) / (STEPS * LAUNCHES);
        /* The first rounds are watched and planned. */
        if (round >= ROUNDS / 2 && took < best)
            best = took;
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.0f\n", best);
    return 0;
}
