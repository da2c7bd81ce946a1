/* SPDX-License-Identifier: Apache-2.0 */
/* A program that ends while its copies and its other threads run: with its own status, at once. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUFFERS = 8 };
#define BYTES ((size_t)4 << 20)

static CUcontext context;
static CUdeviceptr buffer[BUFFERS];

static void *work(void *unused)
{
    CUstream stream;
    (void)cuCtxSetCurrent(context);
    (void)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    for (unsigned i = 0;; i++)
        if (cuMemsetD8Async(buffer[i % BUFFERS], 1, BYTES, stream) != CUDA_SUCCESS)
            return unused;
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
    _exit(6);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return 1;
    for (int b = 0; b < BUFFERS; b++)
        if (cuMemAlloc_v2(&buffer[b], BYTES) != CUDA_SUCCESS)
            return 1;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 1;
    if (argc > 1) { /* ends in a signal handler, in the middle of a call */
        signal(SIGALRM, on_alarm);
        alarm(1);
        (void)work(NULL);
    }
    usleep(200000);
    exit(5);
}
