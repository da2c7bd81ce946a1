/* SPDX-License-Identifier: Apache-2.0 */
/* Device addresses: one span, reserved inaccessible at the first use of a device, with a page
 * table. A mapping is an mmap of the device's memfd over the span, so that two mappings of one
 * frame are true aliases and an address without a mapping faults. Addresses are handed out in
 * ascending order and are not reused until the span has been walked through: a stale pointer hits
 * nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memory.h"
#include "races.h"

#define SPAN_START ((uint64_t)0x200000000000)
#define SPAN_BYTES ((uint64_t)48 << 40)
/* In the page table: the access bits are in force in the host's page tables as well. */
#define PAGE_OPEN 4u

static bool eager; /* poison when access is given, not at the first touch */
static uint64_t span_start, span_bytes, cursor;
/* A page's mapping, with its access bits and PAGE_OPEN in its lowest bits; sparse, the kernel gives
 * zeros. */
static uintptr_t *table;
static struct simgpu_reservation **reservations; /* ascending */
static size_t reserved, reserved_room;
static unsigned long long next_id;

bool simgpu_space_boot(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const char *preload = getenv("LD_PRELOAD");
    span_bytes = SPAN_BYTES;
    /* Valgrind keeps books about every page of it, and takes each first touch for a program's
     * error. */
    eager = preload != NULL && strstr(preload, "vgpreload") != NULL;
    if (eager)
        span_bytes = (uint64_t)32 << 30;
    void *at = mmap((void *)SPAN_START, span_bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    /* Under a tool that owns the address space a smaller span somewhere else has to do. */
    while (at == MAP_FAILED && span_bytes > ((uint64_t)1 << 32)) {
        span_bytes /= 2;
        at = mmap(NULL, span_bytes, PROT_NONE, flags, -1, 0);
    }
    if (at == MAP_FAILED) {
        simgpu_say("cannot reserve device addresses: %s", strerror(errno));
        return false;
    }
    madvise(at, span_bytes, MADV_DONTDUMP);
    span_start = ((uintptr_t)at + SIMGPU_PAGE - 1) / SIMGPU_PAGE * SIMGPU_PAGE;
    span_bytes -= SIMGPU_PAGE;
    cursor = span_start + SIMGPU_PAGE;
    table =
        mmap(NULL, span_bytes / SIMGPU_PAGE * sizeof *table, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (table == MAP_FAILED) {
        simgpu_say("cannot reserve a page table: %s", strerror(errno));
        return false;
    }
    return true;
}

bool simgpu_space_holds(uint64_t address)
{
    return address - span_start < span_bytes;
}

static size_t page_of(uint64_t address)
{
    return (address - span_start) / SIMGPU_PAGE;
}

/* The first reservation that ends after ADDRESS. */
static size_t index_of(uint64_t address)
{
    size_t low = 0, high = reserved;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (reservations[mid]->va + reservations[mid]->bytes <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct simgpu_reservation *simgpu_space_find(uint64_t address)
{
    size_t i = index_of(address);
    return i < reserved && reservations[i]->va <= address ? reservations[i] : NULL;
}

static bool is_free(uint64_t va, uint64_t bytes)
{
    if (va < span_start + SIMGPU_PAGE || va + bytes > span_start + span_bytes || va + bytes < va)
        return false;
    size_t i = index_of(va);
    return i == reserved || reservations[i]->va >= va + bytes;
}

static uint64_t find_place(uint64_t bytes, uint64_t alignment, uint64_t from)
{
    uint64_t va = (from + alignment - 1) / alignment * alignment;
    for (size_t i = index_of(va); i < reserved && reservations[i]->va < va + bytes; i++)
        va = (reservations[i]->va + reservations[i]->bytes + alignment - 1) / alignment * alignment;
    return va + bytes <= span_start + span_bytes && va + bytes > va ? va : 0;
}

struct simgpu_reservation *simgpu_space_reserve(uint64_t bytes, uint64_t alignment, uint64_t hint)
{
    uint64_t va = 0;
    if (alignment < SIMGPU_PAGE)
        alignment = SIMGPU_PAGE;
    if (bytes > span_bytes)
        return NULL;
    if (hint != 0 && hint % alignment == 0 && is_free(hint, bytes))
        va = hint;
    if (va == 0)
        va = find_place(bytes, alignment, cursor);
    if (va == 0)
        va = find_place(bytes, alignment, span_start + SIMGPU_PAGE);
    struct simgpu_reservation *r = va != 0 ? calloc(1, sizeof *r) : NULL;
    if (r == NULL)
        return NULL;
    if (reserved == reserved_room) {
        size_t room = reserved_room != 0 ? reserved_room * 2 : 256;
        struct simgpu_reservation **grown = realloc(reservations, room * sizeof *grown);
        if (grown == NULL) {
            free(r);
            return NULL;
        }
        reservations = grown;
        reserved_room = room;
    }
    r->va = va;
    r->bytes = bytes;
    r->id = ++next_id;
    size_t at = index_of(va);
    memmove(&reservations[at + 1], &reservations[at], (reserved - at) * sizeof *reservations);
    reservations[at] = r;
    reserved++;
    /* One page stays free behind each range, so that running off its end faults. */
    if (va >= cursor)
        cursor = va + bytes + SIMGPU_PAGE;
    return r;
}

void simgpu_space_free(struct simgpu_reservation *r)
{
    size_t at = index_of(r->va);
    reserved--;
    memmove(&reservations[at], &reservations[at + 1], (reserved - at) * sizeof *reservations);
    free(r);
}

struct simgpu_map *simgpu_space_map_at(uint64_t address)
{
    if (!simgpu_space_holds(address))
        return NULL;
    return (struct simgpu_map *)(table[page_of(address)] & ~(uintptr_t)7);
}

unsigned int simgpu_space_access_at(uint64_t address)
{
    return simgpu_space_holds(address) ? table[page_of(address)] & 3 : 0;
}

static uint32_t frame_at(const struct simgpu_map *map, uint64_t va)
{
    return map->phys->frames[(va - map->va) / SIMGPU_PAGE];
}

CUresult simgpu_space_map(uint64_t va, struct simgpu_phys *phys)
{
    struct simgpu_map *map = malloc(sizeof *map);
    if (map == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *map = (struct simgpu_map){va, phys->bytes, phys};
    int fd = simgpu_frames_fd(phys->device);
    for (size_t i = 0, n; i < phys->count; i += n) {
        for (n = 1; i + n < phys->count && phys->frames[i + n] == phys->frames[i] + n;)
            n++;
        void *at = (void *)(uintptr_t)(va + i * SIMGPU_PAGE);
        if (mmap(at, n * SIMGPU_PAGE, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
                 (off_t)(phys->frames[i] * SIMGPU_PAGE)) != at) {
            simgpu_say("cannot map %zu pages: %s%s", n, strerror(errno),
                       errno == ENOMEM ? " (see sysctl vm.max_map_count)" : "");
            mmap((void *)(uintptr_t)va, phys->bytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
            free(map);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    for (size_t i = 0; i < phys->count; i++)
        table[page_of(va) + i] = (uintptr_t)map;
    phys->mappings++;
    return CUDA_SUCCESS;
}

void simgpu_space_unmap(struct simgpu_map *map)
{
    mmap((void *)(uintptr_t)map->va, map->bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    memset(&table[page_of(map->va)], 0, map->bytes / SIMGPU_PAGE * sizeof *table);
    map->phys->mappings--;
    simgpu_phys_drop(map->phys);
    free(map);
}

static int protection(unsigned int access)
{
    return (access & 1 ? PROT_READ : 0) | (access & 2 ? PROT_WRITE : 0);
}

CUresult simgpu_space_set_access(uint64_t va, uint64_t bytes, unsigned int access)
{
    for (uint64_t at = va; at < va + bytes; at += SIMGPU_PAGE)
        if (simgpu_space_map_at(at) == NULL)
            return CUDA_ERROR_INVALID_VALUE;
    uint64_t run = va;
    int run_prot = -1;
    for (uint64_t at = va;; at += SIMGPU_PAGE) {
        int prot = -1;
        if (at < va + bytes) {
            struct simgpu_map *map = simgpu_space_map_at(at);
            /* A page of a fresh frame stays shut until it is touched: simgpu_space_fault poisons
             * it. */
            if (eager)
                simgpu_frame_poison(map->phys->device, frame_at(map, at));
            bool fresh =
                simgpu_races_on || simgpu_frame_fresh(map->phys->device, frame_at(map, at));
            table[page_of(at)] = (uintptr_t)map | access | (fresh ? 0 : PAGE_OPEN);
            prot = fresh ? PROT_NONE : protection(access);
        }
        if (prot == run_prot)
            continue;
        if (run_prot >= 0 && mprotect((void *)(uintptr_t)run, at - run, run_prot) != 0) {
            simgpu_say("cannot set access: %s%s", strerror(errno),
                       errno == ENOMEM ? " (see sysctl vm.max_map_count)" : "");
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        run = at;
        run_prot = prot;
        if (prot < 0)
            break;
    }
    return CUDA_SUCCESS;
}

bool simgpu_space_open(uint64_t page)
{
    struct simgpu_map *map = simgpu_space_map_at(page);
    unsigned int access = simgpu_space_access_at(page);
    if (map == NULL || access == 0)
        return false;
    simgpu_frame_poison(map->phys->device, frame_at(map, page));
    table[page_of(page)] |= PAGE_OPEN;
    return mprotect((void *)(uintptr_t)page, SIMGPU_PAGE, protection(access)) == 0;
}

bool simgpu_space_fault(uint64_t address, bool write)
{
    if (!simgpu_space_holds(address))
        return false;
    if (simgpu_races_on)
        return simgpu_races_fault(address, write);
    if (table[page_of(address)] & PAGE_OPEN)
        return false; /* a write to read-only memory */
    return simgpu_space_open(address / SIMGPU_PAGE * SIMGPU_PAGE);
}
