/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/heap.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

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

int spill_heap_grow(void **array, size_t *cap, size_t want, size_t elem)
{
    if (want <= *cap)
        return 0;
    size_t new_cap = *cap == 0 ? 64 : *cap;
    while (new_cap < want)
        new_cap *= 2;
    void *bigger = spill_heap_alloc(new_cap * elem);
    if (bigger == NULL)
        return -1;
    if (*cap != 0)
        memcpy(bigger, *array, *cap * elem);
    spill_heap_free(*array, *cap * elem);
    *array = bigger;
    *cap = new_cap;
    return 0;
}
