/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/hosttouch.h"

#include <linux/mempolicy.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/driver.h"

#define SHARE_BYTES ((size_t)256 << 20) /* at least, for each thread */
#define THREADS_MAX 8
#define NODES_MAX   1024

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

void spill_hosttouch_prefer(char *base, size_t bytes)
{
    unsigned long nodes[NODES_MAX / (8 * sizeof(unsigned long))] = {0};
    int node = -1;
    CUdevice device;
    if (SPILL_CU(cuCtxGetDevice)(&device) != CUDA_SUCCESS ||
        SPILL_CU(cuDeviceGetAttribute)(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device) !=
            CUDA_SUCCESS ||
        node < 0 || node >= NODES_MAX)
        return;
    nodes[(size_t)node / (8 * sizeof(*nodes))] = 1UL << ((size_t)node % (8 * sizeof(*nodes)));
    (void)syscall(SYS_mbind, base, bytes, MPOL_PREFERRED, nodes, (unsigned long)NODES_MAX, 0UL);
}

struct share {
    char *base;
    size_t bytes;
};

static void *touch(void *argument)
{
    const struct share *share = argument;
    if (madvise(share->base, share->bytes, MADV_POPULATE_WRITE) != 0)
        for (size_t i = 0; i < share->bytes; i += 4096)
            ((volatile char *)share->base)[i] = 0;
    return NULL;
}

void spill_hosttouch(char *base, size_t bytes)
{
    pthread_t threads[THREADS_MAX];
    struct share shares[THREADS_MAX];
    bool started[THREADS_MAX] = {false};
    sigset_t all, before;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = bytes / SHARE_BYTES;
    (void)madvise(base, bytes, MADV_HUGEPAGE);
    if (cpus > 0 && count > (size_t)cpus)
        count = (size_t)cpus;
    if (count > THREADS_MAX)
        count = THREADS_MAX;
    if (count < 2) {
        struct share one = {base, bytes};
        (void)touch(&one);
        return;
    }
    /* The program's signal handlers must never run on a thread it does not know of. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < count; i++) {
        size_t from = bytes / count * i / 4096 * 4096;
        size_t to = i + 1 == count ? bytes : bytes / count * (i + 1) / 4096 * 4096;
        shares[i] = (struct share){base + from, to - from};
        started[i] = pthread_create(&threads[i], NULL, touch, &shares[i]) == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (size_t i = 0; i < count; i++)
        if (started[i])
            (void)pthread_join(threads[i], NULL);
        else
            (void)touch(&shares[i]);
}
