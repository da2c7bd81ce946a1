/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the program's managed buffers: by address range (one table look-up a page, for the
 * pointer scan) and by exact address (uthash, for frees and questions). All ranges lie in one
 * reserved span of device addresses, so "is this word a pointer of ours" costs two compares. */
#ifndef SPILL_BUFMAP_H
#define SPILL_BUFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/base/status.h"
#include "preload/base/uthash_heap.h"

#define SPILL_NO_BUFFER UINT32_MAX
#define SPILL_NO_PLAN   UINT32_MAX

struct spill_buf {
    uint64_t addr;
    uint64_t bytes;
    uint64_t serial; /* of this allocation: never reused */
    uint64_t stamp;  /* last scan that met it, so that an op lists it once, */
    uint32_t touch;  /* and where in its list */
    uint32_t first_page;
    uint32_t page_count;
    uint32_t plan_id; /* its number in the active plan, or SPILL_NO_PLAN */
    uint32_t pin;     /* enum spill_trace_pin */
    uint32_t site;    /* number of its call site in stack.h */
    uint32_t next_free;
    UT_hash_handle hh;
};

struct spill_bufmap {
    uint64_t base; /* of the span */
    uint64_t end;
    unsigned page_shift;
    uint32_t slot_count; /* slots in use or on the free list */
    uint32_t free_slot;
    uint32_t live_count;
    uint64_t live_bytes; /* of live buffers, as asked for */
    uint64_t live_pages;
    uint64_t next_serial;
    uint32_t
        *slot_of_page; /* SPILL_NO_BUFFER + 1 == 0: stored plus one, so that zero pages mean none */
    struct spill_buf *bufs; /* never moves: uthash keeps pointers */
    struct spill_buf *by_addr;
};

enum spill_status spill_bufmap_boot(struct spill_bufmap *map, uint64_t base, uint64_t bytes,
                                    unsigned page_shift);

void spill_bufmap_end(struct spill_bufmap *map);

/* Adds a buffer at ADDR (a page boundary of the span); *SLOT is its number. */
enum spill_status spill_bufmap_add(struct spill_bufmap *map, uint64_t addr, uint64_t bytes,
                                   uint32_t *slot);
void spill_bufmap_remove(struct spill_bufmap *map, uint32_t slot);

/* The live buffer whose range holds ADDR, or SPILL_NO_BUFFER. */
static inline uint32_t spill_bufmap_find(const struct spill_bufmap *map, uint64_t addr)
{
    if (addr < map->base || addr >= map->end)
        return SPILL_NO_BUFFER;
    return map->slot_of_page[(addr - map->base) >> map->page_shift] - 1;
}

/* The live buffer that starts at exactly ADDR, or SPILL_NO_BUFFER. */
uint32_t spill_bufmap_at(const struct spill_bufmap *map, uint64_t addr);

#endif
