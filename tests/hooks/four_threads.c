/* SPDX-License-Identifier: Apache-2.0 */
/* Four threads, each with a stream of its own, that allocate, launch, copy, wait and free at once.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, STEPS = 60, LAYERS = 6 };
#define BYTES ((size_t)8 << 20)
#define DO(call)                                                                                   \
    do {                                                                                           \
        if ((call) != CUDA_SUCCESS)                                                                \
            exit(1);                                                                               \
    } while (0)

static int function[THREADS];

static void *work(void *arg)
{
    unsigned t = (unsigned)(size_t)arg;
    CUdeviceptr layer[LAYERS], temporary, small;
    CUstream stream;
    char host[256];
    DO(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int l = 0; l < LAYERS; l++)
        DO(cuMemAlloc_v2(&layer[l], BYTES));
    for (int s = 0; s < STEPS; s++)
        for (int l = 0; l < LAYERS; l++) {
            DO(cuMemAlloc_v2(&temporary, BYTES / 2));
            DO(cuMemAlloc_v2(&small, 4096));
            unsigned long long n = (unsigned)s;
            void *params[] = {&layer[l], &temporary, &small, &n, &n, &n, &n, &n};
            DO(cuLaunchKernel((CUfunction)&function[t], (unsigned)l + 1, 1, 1, 1, 1, 1, 0, stream,
                              params, NULL));
            DO(cuMemcpyDtoHAsync_v2(host, small, sizeof(host), stream));
            DO(cuStreamSynchronize(stream));
            DO(cuMemFree_v2(small));
            DO(cuMemFree_v2(temporary));
        }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++)
        DO((CUresult)pthread_create(&threads[t], NULL, work, (void *)t));
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    puts("ran");
    return 0;
}
