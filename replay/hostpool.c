/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/hostpool.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/base/driver.h"
#include "preload/base/heap.h"
#include "preload/base/log.h"
#include "preload/base/size.h"
#include "replay/hosttouch.h"

#define GROW_PAGES 16

/* Of all pools: the limit is the process's, whichever device takes first. */
static uint64_t all_in_use;

void spill_hostpool_boot(struct spill_hostpool *pool, uint64_t limit, size_t page_bytes)
{
    memset(pool, 0, sizeof(*pool));
    pool->limit = limit;
    pool->pinnable = UINT64_MAX;
    pool->page_bytes = page_bytes;
}

static size_t in_use(const struct spill_hostpool *pool)
{
    return pool->page_count * pool->page_bytes;
}

/* What this pool may grow to beside the others. */
static uint64_t limit_of(const struct spill_hostpool *pool)
{
    uint64_t others = all_in_use - in_use(pool);
    return pool->limit > others ? pool->limit - others : 0;
}

static void set_page_count(struct spill_hostpool *pool, size_t pages)
{
    all_in_use = all_in_use - in_use(pool) + pages * pool->page_bytes;
    pool->page_count = (uint32_t)pages;
}

/* Addresses only: nothing is used of the memory before it is grown into. */
static bool reserve(struct spill_hostpool *pool)
{
    size_t align = pool->page_bytes;
    for (uint64_t room = pool->limit / align * align; room >= align;
         room = room / 2 / align * align) {
        void *range =
            mmap(NULL, room + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED)
            continue; /* more than the process may have of addresses */
        pool->base = (char *)(((uintptr_t)range + align - 1) / align * align);
        pool->room = room;
        /* A forked child must not share, and thereby copy, what the device reads. */
        (void)madvise(pool->base, room, MADV_DONTFORK);
        spill_hosttouch_prefer(pool->base, room);
        return true;
    }
    return false;
}

/* --- pinning --- */

static CUresult pin(struct spill_hostpool *pool, size_t bytes)
{
    if (SPILL_HEAP_GROW(pool->parts, pool->part_cap, (size_t)pool->part_count + 1) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = SPILL_CU(cuMemHostRegister_v2)(pool->base + pool->pinned, bytes,
                                                     CU_MEMHOSTREGISTER_PORTABLE);
    if (result != CUDA_SUCCESS)
        return result;
    pool->parts[pool->part_count++] = bytes;
    pool->pinned += bytes;
    return CUDA_SUCCESS;
}

static void unpin_last(struct spill_hostpool *pool)
{
    pool->pinned -= pool->parts[--pool->part_count];
    (void)SPILL_CU(cuMemHostUnregister)(pool->base + pool->pinned);
}

/* Pins what is in use and is not pinned yet, or as much of it as the driver will. */
static void pin_rest(struct spill_hostpool *pool)
{
    size_t page = pool->page_bytes, want = in_use(pool) - pool->pinned;
    CUresult why = CUDA_SUCCESS;
    while (pool->pinned < in_use(pool) && want >= page && pool->pinned < pool->pinnable) {
        size_t rest = in_use(pool) - pool->pinned;
        want = want < rest ? want : rest;
        CUresult result = pin(pool, want);
        if (result == CUDA_SUCCESS)
            continue;
        why = result;
        want = want / 2 / page * page;
    }
    if (why == CUDA_SUCCESS || pool->pinned == in_use(pool))
        return;
    char size[32];
    pool->pinnable = pool->pinned;
    spill_log_once(SPILL_LOG_WARN,
                   "cannot pin more than %s of host memory (%s): plans are made for that, and what "
                   "does not fit moves slowly; raise the locked-memory limit (ulimit -l)",
                   spill_size_format(pool->pinnable, size, sizeof(size)), spill_driver_error(why));
}

/* --- growing and shrinking --- */

/* PAGES more, not pinned. */
static bool grow(struct spill_hostpool *pool, size_t pages)
{
    size_t bytes = pages * pool->page_bytes;
    if (pool->base == NULL && !reserve(pool))
        return false;
    uint64_t most = limit_of(pool) < pool->room ? limit_of(pool) : pool->room;
    if (in_use(pool) + bytes > most ||
        SPILL_HEAP_GROW(pool->taken, pool->taken_cap, pool->page_count + pages) != 0)
        return false;
    char *from = pool->base + in_use(pool);
    if (mprotect(from, bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    spill_hosttouch(from, bytes);
    memset(pool->taken + pool->page_count, 0, pages);
    set_page_count(pool, pool->page_count + pages);
    if (in_use(pool) > pool->peak_bytes)
        pool->peak_bytes = in_use(pool);
    return true;
}

void spill_hostpool_trim(struct spill_hostpool *pool)
{
    uint32_t keep = pool->page_count;
    while (keep > 0 && !pool->taken[keep - 1])
        keep--;
    while (pool->part_count > 0 &&
           pool->pinned - pool->parts[pool->part_count - 1] >= keep * pool->page_bytes)
        unpin_last(pool);
    /* What is pinned together goes together. */
    size_t bytes = keep * pool->page_bytes > pool->pinned ? keep * pool->page_bytes : pool->pinned;
    if (bytes == in_use(pool))
        return;
    char *from = pool->base + bytes;
    (void)madvise(from, in_use(pool) - bytes, MADV_DONTNEED);
    (void)mprotect(from, in_use(pool) - bytes, PROT_NONE);
    set_page_count(pool, bytes / pool->page_bytes);
    if (pool->lowest > pool->page_count)
        pool->lowest = pool->page_count;
}

/* --- pages --- */

char *spill_hostpool_take(struct spill_hostpool *pool)
{
    while (pool->lowest < pool->page_count && pool->taken[pool->lowest])
        pool->lowest++;
    if (pool->lowest == pool->page_count) {
        if (!grow(pool, GROW_PAGES) && !grow(pool, 1)) /* the last pages under the limit */
            return NULL;
        pin_rest(pool);
    }
    pool->taken[pool->lowest] = 1;
    return pool->base + pool->lowest * pool->page_bytes;
}

void spill_hostpool_give(struct spill_hostpool *pool, char *page)
{
    uint32_t index = spill_hostpool_index(pool, page);
    pool->taken[index] = 0;
    if (index < pool->lowest)
        pool->lowest = index;
}

/* --- a plan's part --- */

uint64_t spill_hostpool_plannable(const struct spill_hostpool *pool)
{
    uint64_t limit = limit_of(pool);
    uint64_t most = limit < pool->page_bytes ? 0 : limit - pool->page_bytes;
    return most < pool->pinnable ? most : pool->pinnable;
}

bool spill_hostpool_slab(struct spill_hostpool *pool, size_t bytes)
{
    size_t pages = bytes / pool->page_bytes;
    if (bytes == 0 || (pool->part_count > 0 && pool->parts[0] >= bytes))
        return true;
    if (bytes > pool->pinnable ||
        (pages > pool->page_count && !grow(pool, pages - pool->page_count)))
        return false;
    bool pinned = false;
    for (int tries = 0; tries < 2 && !pinned && bytes <= pool->pinnable; tries++) {
        while (pool->part_count > 0)
            unpin_last(pool);
        pinned = pin(pool, bytes) == CUDA_SUCCESS;
        pin_rest(pool);
    }
    return pinned;
}

void spill_hostpool_claim(struct spill_hostpool *pool, size_t bytes)
{
    uint32_t pages = (uint32_t)(bytes / pool->page_bytes);
    if (pool->page_count == 0)
        return;
    if (pages > pool->page_count)
        pages = pool->page_count;
    memset(pool->taken, 1, pages);
    memset(pool->taken + pages, 0, pool->page_count - pages);
    pool->lowest = pages;
}

void spill_hostpool_keep(struct spill_hostpool *pool, const char *page)
{
    pool->taken[spill_hostpool_index(pool, page)] = 1;
}

void spill_hostpool_end(struct spill_hostpool *pool)
{
    while (pool->part_count > 0)
        unpin_last(pool);
    if (pool->base != NULL)
        munmap(pool->base, pool->room);
    spill_heap_free(pool->taken, pool->taken_cap * sizeof(*pool->taken));
    spill_heap_free(pool->parts, pool->part_cap * sizeof(*pool->parts));
    pool->base = NULL;
    pool->taken = NULL;
    pool->parts = NULL;
    pool->taken_cap = pool->part_cap = pool->room = pool->pinned = 0;
    set_page_count(pool, 0);
    pool->part_count = pool->lowest = 0;
}
