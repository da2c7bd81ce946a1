/* SPDX-License-Identifier: Apache-2.0 */
/* See races.h. Touches of kernels are found by faults, page by page, so this mode is slow. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault.h"
#include "grid.h"
#include "memory.h"
#include "races.h"
#include "stream.h"
#include "touched.h"

#define SLOTS         64 /* of the vector clock; streams share them from the 65th on */
#define TOUCHES       6
#define HOST_BUCKETS  65536
#define OPENED_LATELY 64
#define FATAL_STATUS  86

struct touch {
    const char *name; /* NULL: empty */
    uint64_t id;
    uint32_t tick, slot;
    uint16_t low, high; /* bytes of the subpage, inclusive */
    bool write;
};

struct shadow {
    struct touch touches[TOUCHES];
    uint32_t next;
};

struct host_shadow {
    struct host_shadow *next;
    uint64_t page;
    struct shadow shadow;
};

bool simgpu_races_on;
static bool comparing, fatal;
uint64_t simgpu_races_grain = 4096;
static uint32_t ticks[SLOTS], host_clock[SLOTS];
static uint32_t gone[SIMGPU_MAX_DEVICES][2][SLOTS]; /* streams: non-blocking, blocking */
static struct shadow **frames[SIMGPU_MAX_DEVICES];
static struct host_shadow *host_pages[HOST_BUCKETS];
static struct simgpu_op *now;
static const char *now_name;
static uint64_t *opened; /* 2 MiB pages that this operation has open somewhere */
static size_t opened_count, opened_room;

void simgpu_races_load(void)
{
    const char *text = getenv("SIMGPU_RACES");
    comparing = text != NULL && *text != '\0' && strcmp(text, "off") != 0;
    fatal = comparing && strcmp(text, "fatal") == 0;
    const char *size = getenv("SIMGPU_GRAIN");
    if (size != NULL && (!simgpu_config_size(size, &simgpu_races_grain) ||
                         simgpu_races_grain < 4096 || simgpu_races_grain > SIMGPU_GRAIN_MOST ||
                         (simgpu_races_grain & (simgpu_races_grain - 1)) != 0)) {
        simgpu_say("SIMGPU_GRAIN=%s is no power of two from 4KiB to 64KiB", size);
        simgpu_races_grain = 4096;
    }
    simgpu_races_on = simgpu_touched_load() || comparing;
}

static uint32_t *clock_of(struct simgpu_op *op)
{
    if (op->clock == NULL)
        op->clock = calloc(SLOTS, sizeof *op->clock);
    if (op->clock == NULL)
        abort();
    return op->clock;
}

static void join(uint32_t *into, const uint32_t *from)
{
    for (int i = 0; i < SLOTS; i++)
        if (from[i] > into[i])
            into[i] = from[i];
}

void simgpu_races_join(struct simgpu_op *op, const struct simgpu_op *earlier)
{
    if (simgpu_races_on && earlier->clock != NULL)
        join(clock_of(op), earlier->clock);
}

void simgpu_races_submit(struct simgpu_op *op)
{
    if (!simgpu_races_on)
        return;
    uint32_t *c = clock_of(op);
    /* Nodes of a graph are not ordered by their stream: each gets a place that few others have. */
    op->slot = op->apart ? SLOTS / 2 + op->slot % (SLOTS / 2) : (uint32_t)(op->stream->id % SLOTS);
    join(c, host_clock);
    c[op->slot] = ++ticks[op->slot];
}

void simgpu_races_host_saw(const struct simgpu_op *op)
{
    if (simgpu_races_on && op->clock != NULL)
        join(host_clock, op->clock);
}

void simgpu_races_stream_gone(const struct simgpu_op *last, bool blocking)
{
    if (simgpu_races_on && last != NULL && last->clock != NULL)
        join(gone[last->device->ordinal][blocking], last->clock);
}

void simgpu_races_host_saw_gone(const struct simgpu_device *device, bool blocking_only)
{
    join(host_clock, gone[device->ordinal][true]);
    if (!blocking_only)
        join(host_clock, gone[device->ordinal][false]);
}

void simgpu_races_join_gone(struct simgpu_op *op)
{
    if (simgpu_races_on)
        join(clock_of(op), gone[op->device->ordinal][true]);
}

void simgpu_races_forget(struct simgpu_op *op)
{
    free(op->clock);
    op->clock = NULL;
}

static void report(const struct touch *old, const struct touch *new, uint64_t address)
{
    simgpu_stats.races++;
    simgpu_say("race: %s (op %llu, stream %u) %s and %s (op %llu, stream %u) %s %#llx, unordered",
               old->name, (unsigned long long)old->id, old->slot, old->write ? "wrote" : "read",
               new->name, (unsigned long long)new->id, new->slot, new->write ? "writes" : "reads",
               (unsigned long long)(address + new->low));
    if (fatal)
        _exit(FATAL_STATUS);
}

static void record(struct shadow *s, uint64_t page, uint32_t low, uint32_t high, bool write)
{
    if (!comparing)
        return;
    const struct touch t = {
        now_name, now->id, now->clock[now->slot], now->slot, (uint16_t)low, (uint16_t)high, write};
    struct touch *place = NULL;
    for (int i = 0; i < TOUCHES; i++) {
        struct touch *e = &s->touches[i];
        bool ordered = e->name == NULL || now->clock[e->slot] >= e->tick;
        if (e->name != NULL && !ordered && e->low <= high && low <= e->high && (e->write || write))
            report(e, &t, page);
        /* An older touch that this one covers has nothing more to say. */
        if (e->name == NULL ||
            (ordered && low <= e->low && e->high <= high && (write || !e->write))) {
            e->name = NULL;
            if (place == NULL)
                place = e;
        }
    }
    if (place == NULL)
        place = &s->touches[s->next++ % TOUCHES];
    *place = t;
}

static struct shadow *frame_shadow(const struct simgpu_device *device, uint32_t frame, bool make)
{
    struct shadow ***all = &frames[device->ordinal];
    if (*all == NULL && make)
        *all = calloc(simgpu_config.capacity / SIMGPU_PAGE, sizeof(struct shadow *));
    if (*all == NULL)
        return NULL;
    if ((*all)[frame] == NULL && make)
        (*all)[frame] = calloc(SIMGPU_PAGE / simgpu_races_grain, sizeof(struct shadow));
    return (*all)[frame];
}

static struct shadow *host_shadow(uint64_t page)
{
    struct host_shadow **bucket = &host_pages[page / simgpu_races_grain % HOST_BUCKETS],
                       *s = *bucket;
    while (s != NULL && s->page != page)
        s = s->next;
    if (s == NULL && (s = calloc(1, sizeof *s)) != NULL) {
        s->page = page;
        s->next = *bucket;
        *bucket = s;
    }
    return s != NULL ? &s->shadow : NULL;
}

/* What stands behind a device address now. */
static bool locate(uint64_t address, struct simgpu_device **device, uint32_t *frame)
{
    const struct simgpu_map *map = simgpu_space_map_at(address);
    if (map == NULL)
        return false;
    *device = map->phys->device;
    *frame = map->phys->frames[(address - map->va) / SIMGPU_PAGE];
    return true;
}

void simgpu_races_begin(struct simgpu_op *op)
{
    now = op;
    now_name = op->type->name;
    if (op->launch_name != NULL)
        now_name = op->launch_name;
}

static void remember_open(uint64_t address)
{
    uint64_t page = address / SIMGPU_PAGE * SIMGPU_PAGE;
    for (size_t i = opened_count; i > 0 && i + OPENED_LATELY > opened_count; i--)
        if (opened[i - 1] == page)
            return; /* shutting a page is dear */
    if (opened_count == opened_room) {
        /* mmap, not malloc: this may be called from the fault handler. */
        size_t room = opened_room != 0 ? opened_room * 2 : 4096;
        uint64_t *grown = mmap(NULL, room * sizeof *grown, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (grown == MAP_FAILED)
            abort();
        if (opened_room != 0) {
            memcpy(grown, opened, opened_count * sizeof *grown);
            munmap(opened, opened_room * sizeof *opened);
        }
        opened = grown;
        opened_room = room;
    }
    opened[opened_count++] = page;
}

void simgpu_races_end(void)
{
    simgpu_touched_end(now);
    for (size_t i = 0; i < opened_count; i++)
        if (simgpu_space_map_at(opened[i]) != NULL)
            mprotect((void *)(uintptr_t)opened[i], SIMGPU_PAGE, PROT_NONE);
    opened_count = 0;
    now = NULL;
}

void simgpu_races_range(uint64_t address, uint64_t bytes, bool write)
{
    if (!simgpu_races_on || now == NULL)
        return;
    bool on_device = simgpu_space_holds(address);
    if (!on_device && simgpu_host_find(address) == NULL)
        return; /* pageable: the copy is synchronous or staged */
    if (on_device)
        simgpu_touched_add(address, bytes, write);
    for (uint64_t at = address, end = address + bytes; at < end;) {
        uint64_t page = at / simgpu_races_grain * simgpu_races_grain;
        uint64_t stop = page + simgpu_races_grain < end ? page + simgpu_races_grain : end;
        struct shadow *s = NULL;
        struct simgpu_device *device;
        uint32_t frame;
        if (!on_device) {
            s = host_shadow(page);
        } else if (locate(at, &device, &frame)) {
            s = frame_shadow(device, frame, true);
            if (s != NULL)
                s += page % SIMGPU_PAGE / simgpu_races_grain;
        }
        if (s != NULL)
            record(s, page, (uint32_t)(at - page), (uint32_t)(stop - 1 - page), write);
        at = stop;
    }
    /* Open what is known, so that it does not fault as a touch of the whole subpage. */
    if (!on_device)
        return;
    for (uint64_t page = address / SIMGPU_PAGE * SIMGPU_PAGE; page < address + bytes;
         page += SIMGPU_PAGE)
        if (simgpu_space_open(page))
            remember_open(page);
}

bool simgpu_races_fault(uint64_t address, bool write)
{
    struct simgpu_device *device;
    uint32_t frame;
    unsigned int access = simgpu_space_access_at(address);
    if (now == NULL || !(access & (write ? 2u : 1u)) || !locate(address, &device, &frame))
        return false;
    simgpu_frame_poison(device, frame);
    struct shadow *s = frame_shadow(device, frame, true);
    uint64_t page = address / simgpu_races_grain * simgpu_races_grain;
    simgpu_touched_add(page, simgpu_races_grain, write);
    if (s != NULL)
        record(s + page % SIMGPU_PAGE / simgpu_races_grain, page, 0, simgpu_races_grain - 1, write);
    remember_open(address);
    return mprotect((void *)(uintptr_t)page, simgpu_races_grain,
                    PROT_READ | (write ? PROT_WRITE : 0)) == 0;
}

void simgpu_races_clear(const struct simgpu_device *device, uint32_t frame, uint64_t from,
                        uint64_t to)
{
    if (!simgpu_races_on)
        return;
    struct shadow *s = frame_shadow(device, frame, false);
    if (s != NULL)
        memset(s + from / simgpu_races_grain, 0, (to - from) / simgpu_races_grain * sizeof *s);
}
