/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of one solver call: many tables, one release. Zeroed; never handed to the caller.
 */
#ifndef SPILL_ARENA_H
#define SPILL_ARENA_H

#include <stddef.h>

struct spill_arena_block;

struct spill_arena {
    struct spill_arena_block *blocks;
    int failed; /* sticky: set by the first allocation that failed, so callers may test once */
};

/* COUNT zeroed elements of SIZE bytes; never NULL unless memory ran out (COUNT may be 0). */
void *spill_arena_alloc(struct spill_arena *arena, size_t count, size_t size);
void spill_arena_free(struct spill_arena *arena);
/* Frees what was allocated since arena->blocks was MARK. */
void spill_arena_release(struct spill_arena *arena, struct spill_arena_block *mark);

#endif
