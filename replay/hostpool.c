/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/hostpool.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/base/driver.h"
#include "preload/base/heap.h"
#include "preload/base/log.h"
#include "preload/base/size.h"

#define CHUNK_PAGES 16

void spill_hostpool_boot(struct spill_hostpool *pool, uint64_t limit, size_t page_bytes)
{
    memset(pool, 0, sizeof(*pool));
    pool->limit = limit;
    pool->page_bytes = page_bytes;
}

static struct spill_hostchunk map_chunk(struct spill_hostpool *pool, size_t bytes)
{
    struct spill_hostchunk chunk = {NULL, bytes, false};
    if (bytes > pool->limit || pool->bytes > pool->limit - bytes)
        return chunk;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return chunk;
    (void)madvise(base, bytes, MADV_HUGEPAGE);
    /* A forked child must not share, and thereby copy, what the device reads. */
    (void)madvise(base, bytes, MADV_DONTFORK);
    for (size_t i = 0; i < bytes; i += 4096)
        ((volatile char *)base)[i] = 0;
    chunk.base = base;
    pool->bytes += bytes;
    if (pool->bytes > pool->peak_bytes)
        pool->peak_bytes = pool->bytes;
    CUresult result = SPILL_CU(cuMemHostRegister_v2)(base, bytes, CU_MEMHOSTREGISTER_PORTABLE);
    chunk.pinned = result == CUDA_SUCCESS;
    if (!chunk.pinned && !pool->pin_refused) {
        char size[32];
        pool->pin_refused = true;
        spill_log(SPILL_LOG_WARN,
                  "cannot pin %s of host memory (%s); raise the locked-memory limit (ulimit -l) or "
                  "lower SPILLWAY_HOST_MEM; moving through unpinned memory, slowly",
                  spill_size_format(bytes, size, sizeof(size)), spill_driver_error(result));
    }
    return chunk;
}

static void unmap_chunk(struct spill_hostpool *pool, struct spill_hostchunk *chunk)
{
    if (chunk->base == NULL)
        return;
    if (chunk->pinned)
        (void)SPILL_CU(cuMemHostUnregister)(chunk->base);
    munmap(chunk->base, chunk->bytes);
    pool->bytes -= chunk->bytes;
    chunk->base = NULL;
}

char *spill_hostpool_take(struct spill_hostpool *pool)
{
    if (pool->free_count == 0) {
        size_t pages = CHUNK_PAGES;
        struct spill_hostchunk chunk = map_chunk(pool, pages * pool->page_bytes);
        if (chunk.base == NULL) {
            pages = 1; /* the last pages under the limit */
            chunk = map_chunk(pool, pool->page_bytes);
        }
        if (chunk.base == NULL)
            return NULL;
        if (SPILL_HEAP_GROW(pool->free_pages, pool->free_cap, pool->free_count + pages) != 0 ||
            SPILL_HEAP_GROW(pool->chunks, pool->chunk_cap, (size_t)pool->chunk_count + 1) != 0) {
            unmap_chunk(pool, &chunk);
            return NULL;
        }
        pool->chunks[pool->chunk_count++] = chunk;
        for (size_t i = pages; i-- > 0;)
            pool->free_pages[pool->free_count++] = chunk.base + i * pool->page_bytes;
    }
    return pool->free_pages[--pool->free_count];
}

void spill_hostpool_give(struct spill_hostpool *pool, char *page)
{
    if (SPILL_HEAP_GROW(pool->free_pages, pool->free_cap, (size_t)pool->free_count + 1) == 0)
        pool->free_pages[pool->free_count++] = page;
}

static bool inside(const struct spill_hostchunk *chunk, const char *page)
{
    return page >= chunk->base && page < chunk->base + chunk->bytes;
}

void spill_hostpool_trim(struct spill_hostpool *pool)
{
    for (uint32_t c = pool->chunk_count; c-- > 0;) {
        struct spill_hostchunk *chunk = &pool->chunks[c];
        size_t unused = 0;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < pool->free_count; i++)
            unused += inside(chunk, pool->free_pages[i]) ? pool->page_bytes : 0;
        if (unused != chunk->bytes)
            continue;
        for (uint32_t i = 0; i < pool->free_count; i++)
            if (!inside(chunk, pool->free_pages[i]))
                pool->free_pages[kept++] = pool->free_pages[i];
        pool->free_count = kept;
        unmap_chunk(pool, chunk);
        *chunk = pool->chunks[--pool->chunk_count];
    }
}

struct spill_hostchunk spill_hostpool_slab(struct spill_hostpool *pool, size_t bytes)
{
    struct spill_hostchunk slab = map_chunk(pool, bytes);
    if (slab.base != NULL && !slab.pinned)
        unmap_chunk(pool,
                    &slab); /* a copy from unpinned memory blocks the host: no plan may use it */
    return slab;
}

void spill_hostpool_drop_slab(struct spill_hostpool *pool, struct spill_hostchunk *slab)
{
    unmap_chunk(pool, slab);
}
