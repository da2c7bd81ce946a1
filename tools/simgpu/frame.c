/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory: one memfd per device, cut into 2 MiB frames. Frames are handed out lowest first
 * and in one run where possible, so that neighbouring mappings become one area of the kernel's
 * (65,530 areas are all that a process gets). A frame that was given back is fresh again: its next
 * owner finds poison. Poison is written at first touch, else a large simulated card would need that
 * much real memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"
#include "races.h"

struct pool {
    int fd;
    uint32_t count, free;
    uint32_t lowest; /* no free frame below */
    uint8_t *used, *fresh;
    unsigned char *window; /* all frames in order, for our own use */
};

static struct pool pools[SIMGPU_MAX_DEVICES];

bool simgpu_frames_boot(struct simgpu_device *device)
{
    struct pool *p = &pools[device->ordinal];
    p->count = p->free = (uint32_t)(simgpu_config.capacity / SIMGPU_PAGE);
    uint64_t bytes = p->count * SIMGPU_PAGE;
    p->fd = memfd_create("simgpu", MFD_CLOEXEC);
    p->used = calloc(p->count, 1);
    p->fresh = malloc(p->count);
    if (p->fd < 0 || p->used == NULL || p->fresh == NULL || ftruncate(p->fd, (off_t)bytes) != 0) {
        simgpu_say("no backing for %llu MiB of device memory: %s",
                   (unsigned long long)(bytes >> 20), strerror(errno));
        return false;
    }
    memset(p->fresh, 1, p->count);
    p->window = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, p->fd, 0);
    if (p->window == MAP_FAILED) {
        simgpu_say("cannot map %llu MiB: %s", (unsigned long long)(bytes >> 20), strerror(errno));
        return false;
    }
    madvise(p->window, bytes, MADV_HUGEPAGE);
    madvise(p->window, bytes, MADV_DONTDUMP);
    return true;
}

uint64_t simgpu_frames_free_bytes(const struct simgpu_device *device)
{
    return pools[device->ordinal].free * SIMGPU_PAGE;
}

int simgpu_frames_fd(const struct simgpu_device *device)
{
    return pools[device->ordinal].fd;
}

bool simgpu_frame_fresh(const struct simgpu_device *device, uint32_t frame)
{
    return pools[device->ordinal].fresh[frame];
}

void *simgpu_frame_window(const struct simgpu_device *device, uint32_t frame)
{
    return pools[device->ordinal].window + frame * SIMGPU_PAGE;
}

void simgpu_frame_poison(struct simgpu_device *device, uint32_t frame)
{
    struct pool *p = &pools[device->ordinal];
    if (!p->fresh[frame])
        return;
    p->fresh[frame] = 0;
    uint32_t *at = (uint32_t *)(void *)(p->window + frame * SIMGPU_PAGE);
    for (size_t i = 0; i < SIMGPU_PAGE / sizeof *at; i++)
        at[i] = SIMGPU_POISON;
}

/* The first run of COUNT free frames, or COUNT if there is none. */
static uint32_t find_run(const struct pool *p, size_t count)
{
    size_t run = 0;
    for (uint32_t i = p->lowest; i < p->count; i++) {
        run = p->used[i] ? 0 : run + 1;
        if (run == count)
            return i + 1 - (uint32_t)count;
    }
    return p->count;
}

struct simgpu_phys *simgpu_phys_create(struct simgpu_device *device, uint64_t bytes)
{
    struct pool *p = &pools[device->ordinal];
    size_t count = (bytes + SIMGPU_PAGE - 1) / SIMGPU_PAGE;
    uint64_t held = (p->count - p->free + count) * SIMGPU_PAGE;
    if (count == 0 || count > p->free || held > simgpu_inject_capacity())
        return NULL;
    struct simgpu_phys *phys = malloc(sizeof *phys + count * sizeof *phys->frames);
    if (phys == NULL)
        return NULL;
    *phys = (struct simgpu_phys){
        .magic = SIMGPU_PHYS_MAGIC, .device = device, .bytes = count * SIMGPU_PAGE, .count = count};
    uint32_t at = find_run(p, count);
    if (at == p->count)
        at = p->lowest;
    for (size_t got = 0; got < count; at++) {
        if (p->used[at])
            continue;
        p->used[at] = 1;
        phys->frames[got++] = at;
    }
    while (p->lowest < p->count && p->used[p->lowest])
        p->lowest++;
    p->free -= (uint32_t)count;
    simgpu_stats.physical_bytes += phys->bytes;
    if (simgpu_stats.physical_bytes > simgpu_stats.peak_physical_bytes)
        simgpu_stats.peak_physical_bytes = simgpu_stats.physical_bytes;
    return phys;
}

void simgpu_phys_drop(struct simgpu_phys *phys)
{
    if (phys->handles != 0 || phys->mappings != 0)
        return;
    struct pool *p = &pools[phys->device->ordinal];
    for (size_t i = 0; i < phys->count; i++) {
        uint32_t frame = phys->frames[i];
        p->used[frame] = 0;
        p->fresh[frame] = 1;
        simgpu_races_clear(phys->device, frame, 0, SIMGPU_PAGE);
        if (frame < p->lowest)
            p->lowest = frame;
    }
    p->free += (uint32_t)phys->count;
    simgpu_stats.physical_bytes -= phys->bytes;
    phys->magic = 0;
    free(phys);
}
