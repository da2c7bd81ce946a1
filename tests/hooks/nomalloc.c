/* SPDX-License-Identifier: Apache-2.0 */
/* After its start no hook may call the host's malloc, which may be instrumented, or waiting for us.
 * The allocator here aborts when it is called on a thread that is inside a driver call: through
 * recording, planning (a thread of its own), guarded iterations and replay. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static __thread int inside;

static void refuse(void)
{
    void *frames[32];
    if (!inside)
        return;
    inside = 0;
    int count = backtrace(frames, 32);
    fprintf(stderr, "malloc inside a hook:\n");
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
    abort();
}

void *malloc(size_t bytes)
{
    refuse();
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    refuse();
    return __libc_calloc(count, bytes);
}

void *realloc(void *p, size_t bytes)
{
    refuse();
    return __libc_realloc(p, bytes);
}

#define CALL(call)                                                                                 \
    do {                                                                                           \
        inside = started;                                                                          \
        CUresult result_ = call;                                                                   \
        inside = 0;                                                                                \
        if (result_ != CUDA_SUCCESS)                                                               \
            exit(1);                                                                               \
    } while (0)

enum { LAYERS = 24, STEPS = 30 };
#define BYTES ((size_t)8 << 20)

int main(int argc, char **argv)
{
    CUdeviceptr weights[LAYERS], work;
    static int function;
    int started = 0;
    (void)argv;
    for (int l = 0; l < LAYERS; l++)
        CALL(cuMemAlloc_v2(&weights[l], BYTES));
    for (int s = 0; s < STEPS; s++) {
        started = argc > 1 ? 0 : 1;
        for (unsigned k = 0; k < 2 * LAYERS; k++) {
            unsigned l = k < LAYERS ? k : 2 * LAYERS - 1 - k;
            CALL(cuMemAlloc_v2(&work, BYTES));
            unsigned long long n = BYTES;
            void *params[] = {&weights[l], &work, &n, &n, &n, &n, &n, &n};
            CALL(
                cuLaunchKernel((CUfunction)&function, k + 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
            CALL(cuMemFree_v2(work));
        }
        usleep(s < 10 ? 20000 : 0); /* the planner's turn */
    }
    puts("ran");
    return 0;
}
