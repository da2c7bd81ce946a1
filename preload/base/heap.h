/* SPDX-License-Identifier: Apache-2.0 */
/* Our own memory inside the host process: mmap'ed, so that no hook ever calls the host's malloc
 * (which may itself be instrumented, or be waiting for us). Growing arrays only; blocks come from
 * one bump region and are recycled by size class. Callers serialise (the engine's turnstile does).
 */
#ifndef SPILL_HEAP_H
#define SPILL_HEAP_H

#include <stddef.h>

/* Zeroed memory, 16-byte aligned; NULL when the kernel refuses. */
void *spill_heap_alloc(size_t bytes);

/* Gives a block of BYTES (the size it was asked with) back. NULL is fine. */
void spill_heap_free(void *block, size_t bytes);

/* Makes room for at least WANT elements of ELEM bytes in *ARRAY, which holds *CAP; keeps the
 * contents, zeroes the rest. Grows by doubling, and from a MiB on by a quarter. Returns 0, or -1
 * when there is no memory (nothing changed). */
int spill_heap_grow(void **array, size_t *cap, size_t want, size_t elem);

/* What spill_heap_grow would make of CAP. */
size_t spill_heap_next(size_t cap, size_t want, size_t elem);

#define SPILL_HEAP_GROW(array, cap, want)                                                          \
    spill_heap_grow((void **)&(array), &(cap), (want), sizeof(*(array)))

#endif
