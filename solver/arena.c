/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/arena.h"

#include <stdint.h>
#include <stdlib.h>

struct spill_arena_block {
    struct spill_arena_block *next;
    max_align_t data[];
};

void *spill_arena_alloc(struct spill_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    struct spill_arena_block *block;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2) {
        arena->failed = 1;
        return NULL;
    }
    block = calloc(1, sizeof(*block) + bytes + 1);
    if (block == NULL) {
        arena->failed = 1;
        return NULL;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    return block->data;
}

void spill_arena_release(struct spill_arena *arena, struct spill_arena_block *mark)
{
    while (arena->blocks != mark) {
        struct spill_arena_block *next = arena->blocks->next;

        free(arena->blocks);
        arena->blocks = next;
    }
}

void spill_arena_free(struct spill_arena *arena)
{
    spill_arena_release(arena, NULL);
}
