/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/heap.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

#define REGION_BYTES  ((size_t)1 << 20)
#define CLASS_MIN_LOG 4
#define CLASS_COUNT   14 /* 16 B to 128 KiB; larger blocks get their own mapping */

struct free_block {
    struct free_block *next;
};

static struct free_block *free_blocks[CLASS_COUNT];
static char *region_at, *region_end;

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* A favour that older kernels do not know. */
static void populate(char *from, size_t bytes)
{
    uintptr_t page = (uintptr_t)from & ~(uintptr_t)4095;
    (void)madvise((void *)page, (uintptr_t)from + bytes - page, MADV_POPULATE_WRITE);
}

static unsigned size_class(size_t bytes)
{
    unsigned c = 0;
    while (c < CLASS_COUNT && ((size_t)1 << (c + CLASS_MIN_LOG)) < bytes)
        c++;
    return c;
}

void *spill_heap_alloc(size_t bytes)
{
    unsigned c = size_class(bytes);
    if (c == CLASS_COUNT)
        return map(bytes);
    struct free_block *block = free_blocks[c];
    size_t block_bytes = (size_t)1 << (c + CLASS_MIN_LOG);
    if (block != NULL) {
        free_blocks[c] = block->next;
        return memset(block, 0, block_bytes);
    }
    if (region_at == NULL || (size_t)(region_end - region_at) < block_bytes) {
        char *region = map(REGION_BYTES);
        if (region == NULL)
            return NULL;
        region_at = region;
        region_end = region + REGION_BYTES;
    }
    void *p = region_at;
    region_at += block_bytes;
    return p;
}

void spill_heap_free(void *block, size_t bytes)
{
    if (block == NULL)
        return;
    unsigned c = size_class(bytes);
    if (c == CLASS_COUNT) {
        munmap(block, bytes);
        return;
    }
    struct free_block *free_block = block;
    free_block->next = free_blocks[c];
    free_blocks[c] = free_block;
}

size_t spill_heap_next(size_t cap, size_t want, size_t elem)
{
    if (want <= cap)
        return cap;
    size_t next = cap == 0 ? 64 : cap;
    while (next < want)
        next += next * elem < REGION_BYTES ? next : next / 4;
    return next;
}

/* Large arrays keep their pages and take the new ones at once: a page fault for every few elements
 * would cost more than all else that is done for an element. */
static void *grow_mapping(void *array, size_t bytes, size_t new_bytes)
{
    void *bigger = mremap(array, bytes, new_bytes, MREMAP_MAYMOVE);
    if (bigger == MAP_FAILED)
        return NULL;
    populate((char *)bigger + bytes, new_bytes - bytes);
    return bigger;
}

int spill_heap_grow(void **array, size_t *cap, size_t want, size_t elem)
{
    if (want <= *cap)
        return 0;
    size_t new_cap = spill_heap_next(*cap, want, elem), bytes = *cap * elem;
    bool mapped = size_class(bytes) == CLASS_COUNT;
    void *bigger =
        mapped ? grow_mapping(*array, bytes, new_cap * elem) : spill_heap_alloc(new_cap * elem);
    if (bigger == NULL)
        return -1;
    if (!mapped) {
        if (size_class(new_cap * elem) == CLASS_COUNT)
            populate(bigger, new_cap * elem);
        if (*cap != 0)
            memcpy(bigger, *array, bytes);
        spill_heap_free(*array, bytes);
    }
    *array = bigger;
    *cap = new_cap;
    return 0;
}
