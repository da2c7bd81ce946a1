/* SPDX-License-Identifier: Apache-2.0 */
/* The rival that needs no tool: a workload compiled with this header in front takes all its memory
 * from cudaMallocManaged, on a card on which a ballast of ordinary memory leaves only
 * GPU_KIT_LIMIT bytes. The driver then migrates pages on faults. Never more managed memory than
 * the card has free without the ballast: GPU_KIT_NEED bytes must fit, or the program ends with
 * status 77. */
#ifndef SPILL_KIT_MANAGED_H
#define SPILL_KIT_MANAGED_H

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

static size_t kit_bytes(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? 0 : (size_t)strtoull(text, NULL, 10);
}

static void kit_skip(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(77);
}

static void kit_ballast()
{
    size_t limit = kit_bytes("GPU_KIT_LIMIT"), need = kit_bytes("GPU_KIT_NEED"), left, total;
    int pageable = 0;
    void *ballast;
    if (cudaMemGetInfo(&left, &total) != cudaSuccess || need == 0 || need + need / 8 > left)
        kit_skip("the card has less free memory than the program needs");
    if (cudaDeviceGetAttribute(&pageable, cudaDevAttrConcurrentManagedAccess, 0) != cudaSuccess ||
        !pageable)
        kit_skip("managed memory cannot be oversubscribed on this system");
    if (cudaMalloc(&ballast, left - limit) != cudaSuccess)
        kit_skip("no ballast");
}

static cudaError_t kit_managed(void **p, size_t bytes)
{
    static bool ready;
    if (!ready)
        kit_ballast();
    ready = true;
    return cudaMallocManaged(p, bytes);
}

template <typename T> static cudaError_t kit_managed(T **p, size_t bytes)
{
    return kit_managed((void **)p, bytes);
}

#define cudaMalloc kit_managed

#endif
