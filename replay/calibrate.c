/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/calibrate.h"

#define ROUNDS      8
#define SMALL_BYTES 256

struct bench {
    struct spill_device *dev;
    CUdeviceptr page[2];
    char *host[2];
    CUevent start[2], end[2];
    bool failed;
};

static void check(struct bench *b, CUresult result)
{
    b->failed = b->failed || result != CUDA_SUCCESS;
}

static uint64_t elapsed_ns(struct bench *b, CUevent from, CUevent to)
{
    float ms = 0;
    check(b, SPILL_CU(cuEventSynchronize)(to));
    check(b, SPILL_CU(cuEventElapsedTime)(&ms, from, to));
    return ms <= 0 ? 1 : (uint64_t)((double)ms * 1e6);
}

/* Enqueues ROUNDS copies of BYTES on the out (0) or in (1) stream between its two events. */
static void enqueue(struct bench *b, int direction, size_t bytes)
{
    CUstream stream = direction == 0 ? b->dev->out_stream : b->dev->in_stream;
    check(b, SPILL_CU(cuEventRecord)(b->start[direction], stream));
    for (int i = 0; i < ROUNDS; i++)
        check(b, direction == 0
                     ? SPILL_CU(cuMemcpyDtoHAsync_v2)(b->host[0], b->page[0], bytes, stream)
                     : SPILL_CU(cuMemcpyHtoDAsync_v2)(b->page[1], b->host[1], bytes, stream));
    check(b, SPILL_CU(cuEventRecord)(b->end[direction], stream));
}

/* Time of one copy of BYTES alone. */
static uint64_t time_one(struct bench *b, int direction, size_t bytes)
{
    enqueue(b, direction, bytes);
    return elapsed_ns(b, b->start[direction], b->end[direction]) / ROUNDS;
}

static void fit(struct spill_trace_link *link, uint64_t small_ns, uint64_t large_ns,
                uint64_t large_bytes)
{
    uint64_t slope_ns = large_ns > small_ns ? large_ns - small_ns : 1;
    link->bytes_per_s =
        (uint64_t)((__uint128_t)(large_bytes - SMALL_BYTES) * 1000000000 / slope_ns);
    link->latency_ns = small_ns;
}

static void measure(struct bench *b, struct spill_links *links)
{
    size_t bytes = b->dev->page_bytes;
    uint64_t alone[2];
    /* Page 1 goes out first: copies in write back what it holds. */
    check(b, SPILL_CU(cuMemcpyDtoHAsync_v2)(b->host[1], b->page[1], bytes, b->dev->out_stream));
    check(b, SPILL_CU(cuStreamSynchronize)(b->dev->out_stream));
    for (int direction = 0; direction < 2; direction++) {
        uint64_t small_ns = time_one(b, direction, SMALL_BYTES);
        alone[direction] = time_one(b, direction, bytes);
        fit(direction == 0 ? &links->out : &links->in, small_ns, alone[direction], bytes);
    }
    enqueue(b, 0, bytes);
    enqueue(b, 1, bytes);
    uint64_t both = 0;
    for (int direction = 0; direction < 2; direction++) {
        uint64_t ns = elapsed_ns(b, b->start[direction], b->end[direction]) / ROUNDS;
        if (ns > both)
            both = ns;
    }
    uint64_t slower = alone[0] > alone[1] ? alone[0] : alone[1];
    links->duplex_permille = both <= slower ? 1000 : (uint32_t)(slower * 1000 / both);
}

/* Two pages that hold data and a frame. */
static unsigned find_pages(struct bench *b)
{
    unsigned found = 0;
    for (uint32_t f = 0; f < b->dev->frame_count && found < 2; f++) {
        uint32_t page = b->dev->frames[f].page;
        if (page != SPILL_NO_BUFFER && b->dev->pages[page].frame == f)
            b->page[found++] = spill_device_addr(b->dev, page);
    }
    return found;
}

void spill_calibrate(struct spill_device *dev, struct spill_links *links)
{
    struct bench b = {.dev = dev};
    if (find_pages(&b) < 2)
        return;             /* a loop over small buffers at the program's start: later */
    links->measured = true; /* once, whatever comes of it */
    b.host[0] = spill_hostpool_take(&dev->host);
    b.host[1] = spill_hostpool_take(&dev->host);
    if (b.host[0] != NULL && b.host[1] != NULL && spill_hostpool_pinned(&dev->host, b.host[0]) &&
        spill_hostpool_pinned(&dev->host, b.host[1])) {
        for (int i = 0; i < 2; i++) {
            check(&b, SPILL_CU(cuEventCreate)(&b.start[i], CU_EVENT_DEFAULT));
            check(&b, SPILL_CU(cuEventCreate)(&b.end[i], CU_EVENT_DEFAULT));
        }
        if (!b.failed)
            measure(&b, links);
        if (b.failed)
            *links = (struct spill_links){.measured = true};
    }
    for (int i = 0; i < 2; i++)
        if (b.host[i] != NULL)
            spill_hostpool_give(&dev->host, b.host[i]);
}
