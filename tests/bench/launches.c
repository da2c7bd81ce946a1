/* SPDX-License-Identifier: Apache-2.0 */
/* A step of launches of an 8-parameter kernel over layers of 8 MiB, forward and back, many times
 * over; prints the nanoseconds that a launch took the host, for a few stretches of steps. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LAYERS 24
#define REPEAT 20 /* launches of each layer, each way */
#define BYTES  ((size_t)8 << 20)

static CUdeviceptr layer[LAYERS];

static void launch(unsigned l, unsigned back, unsigned r)
{
    static int functions[4];
    CUdeviceptr in = layer[l], out = layer[(l + 1) % LAYERS];
    unsigned long long n = BYTES, scale = r, rest[4] = {1, 2, 3, 4};
    void *params[] = {&in, &out, &n, &scale, &rest[0], &rest[1], &rest[2], &rest[3]};
    /* Another grid each time: the step is to be the shortest thing that repeats. */
    if (cuLaunchKernel((CUfunction)&functions[r % 4], 128 + 2 * r + back, 1, 1, 256, 1, 1, 0, NULL,
                       params, NULL) != CUDA_SUCCESS)
        exit(1);
}

static unsigned step(void)
{
    for (unsigned l = 0; l < LAYERS; l++)
        for (unsigned r = 0; r < REPEAT; r++)
            launch(l, 0, r);
    for (unsigned l = LAYERS; l-- > 0;)
        for (unsigned r = 0; r < REPEAT; r++)
            launch(l, 1, r);
    return 2 * LAYERS * REPEAT;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The least over ROUNDS stretches of STEPS steps: others use this machine. */
static double measure(unsigned steps, unsigned rounds)
{
    double least = 1e300;
    for (unsigned r = 0; r < rounds; r++) {
        unsigned launches = 0;
        double start = now_ns();
        for (unsigned s = 0; s < steps; s++)
            launches += step();
        double ns = (now_ns() - start) / launches;
        least = ns < least ? ns : least;
    }
    return least;
}

/* Usage: launches FIRST ROUNDS: steps before the measurement, stretches in it. */
int main(int argc, char **argv)
{
    if (argc != 3)
        return 64;
    for (unsigned l = 0; l < LAYERS; l++)
        if (cuMemAlloc_v2(&layer[l], BYTES) != CUDA_SUCCESS)
            return 1;
    for (int s = atoi(argv[1]); s > 0; s--)
        (void)step();
    printf("%.1f\n", measure(1, (unsigned)atoi(argv[2])));
    return 0;
}
