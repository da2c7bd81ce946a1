/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/probe_cuda.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/base/hostmem.h"
#include "preload/base/size.h"

enum { SIZE_TEXT = 24, TIMES = 4, PORTABLE = 1 };
#define MIB        ((size_t)1 << 20)
#define COPY_MOST  (64 * MIB)
#define COPY_LEAST (2 * MIB)
#define PIN_LEAST  (64 * MIB)
#define PIN_MOST   (1024 * MIB)

/* BYTES of touched host memory; NULL: there is none. */
static void *map(size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    (void)madvise(base, bytes, MADV_HUGEPAGE);
    memset(base, 1, bytes);
    return base;
}

/* Bytes a second of the fastest of several copies; 0: a call failed. */
static double measure(const struct spill_probe_cuda *cuda, void *host, uint64_t device,
                      size_t bytes, bool out)
{
    void *event[2] = {NULL, NULL};
    float least = 0;
    bool fine = cuda->event_create(&event[0], 0) == 0 && cuda->event_create(&event[1], 0) == 0;
    for (int i = 0; fine && i < TIMES; i++) {
        float ms = 0;
        fine = cuda->event_record(event[0], NULL) == 0 &&
               (out ? cuda->copy_out(host, device, bytes, NULL)
                    : cuda->copy_in(device, host, bytes, NULL)) == 0 &&
               cuda->event_record(event[1], NULL) == 0 && cuda->event_wait(event[1]) == 0 &&
               cuda->event_elapsed(&ms, event[0], event[1]) == 0 && ms > 0;
        if (fine && (least == 0 || ms < least))
            least = ms;
    }
    for (int i = 0; i < 2; i++)
        if (event[i] != NULL)
            (void)cuda->event_destroy(event[i]);
    return fine ? (double)bytes / (double)least * 1e3 : 0;
}

void spill_probe_links(const struct spill_probe_cuda *cuda, int on, struct spill_findings *found)
{
    uint64_t device = 0;
    size_t bytes = COPY_MOST;
    int result = 0;
    char name[128] = "";
    while (bytes >= COPY_LEAST && cuda->alloc(&device, bytes) != 0)
        bytes /= 2;
    if (bytes < COPY_LEAST) {
        spill_finding_add(found, SPILL_FINDING_WARN, "links",
                          "end what else uses the GPU (nvidia-smi), then try again",
                          "not measured: the GPU's memory is full");
        return;
    }
    (void)cuda->device_name(name, sizeof(name), on);
    void *host = map(bytes);
    if (host != NULL)
        result = cuda->host_register(host, bytes, PORTABLE);
    double out = 0, in = 0;
    if (host != NULL && result == 0) {
        out = measure(cuda, host, device, bytes, true);
        in = measure(cuda, host, device, bytes, false);
        (void)cuda->host_unregister(host);
    }
    if (out > 0 && in > 0)
        spill_finding_add(found, SPILL_FINDING_OK, "links", NULL,
                          "%.1f GB/s to the host, %.1f GB/s to the GPU%s", out / 1e9, in / 1e9,
                          strstr(name, "SimGPU") != NULL ? " (simulated)" : "");
    else
        spill_finding_add(found, SPILL_FINDING_WARN, "links", NULL, "not measured: %s",
                          result != 0 ? spill_probe_error(cuda, result) : "a copy failed");
    if (host != NULL)
        munmap(host, bytes);
    (void)cuda->free(device);
}

/* Growing pieces, no more than an eighth of the memory: a probe must not push others out. */
void spill_probe_pinning(const struct spill_probe_cuda *cuda, struct spill_findings *found)
{
    size_t most = spill_hostmem_available() / 8, had = 0;
    int result = 0;
    char a[SIZE_TEXT], b[SIZE_TEXT];
    most = most < PIN_MOST ? most : PIN_MOST;
    void *base = most >= PIN_LEAST ? map(most) : NULL;
    for (size_t bytes = PIN_LEAST; base != NULL && bytes <= most; bytes *= 2) {
        result = cuda->host_register(base, bytes, PORTABLE);
        if (result != 0)
            break;
        had = bytes;
        (void)cuda->host_unregister(base);
    }
    if (base != NULL)
        munmap(base, most);
    spill_size_format(had, a, sizeof(a));
    if (result == 0 && had > 0)
        spill_finding_add(found, SPILL_FINDING_OK, "pinning", NULL,
                          "%s of host memory pinned in one piece; more was not tried", a);
    else if (result == 0)
        spill_finding_add(found, SPILL_FINDING_WARN, "pinning", "free host memory",
                          "not tried: only %s of host memory available",
                          spill_size_format(spill_hostmem_available(), b, sizeof(b)));
    else
        spill_finding_add(
            found, had > 0 ? SPILL_FINDING_WARN : SPILL_FINDING_BAD, "pinning",
            "raise the locked-memory limit (ulimit -l; of a container: --ulimit "
            "memlock=-1; of WSL: memory= in .wslconfig), or give a smaller --host-mem",
            "%s%s%s is refused: %s", had > 0 ? a : "", had > 0 ? " can be pinned, but " : "",
            spill_size_format(had > 0 ? had * 2 : PIN_LEAST, b, sizeof(b)),
            spill_probe_error(cuda, result));
}
