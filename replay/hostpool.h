/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory for pages that are out: mmap'ed at its exact size (an allocator's rounding to powers
 * of two cost others twice their memory), touched, then pinned by cuMemHostRegister. The pager
 * takes single pages from chunks; a plan gets one slab. */
#ifndef SPILL_HOSTPOOL_H
#define SPILL_HOSTPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spill_hostchunk {
    char *base;
    size_t bytes;
    bool pinned;
};

struct spill_hostpool {
    uint64_t limit; /* bytes; includes the slabs */
    uint64_t bytes; /* mapped now */
    uint64_t peak_bytes;
    size_t page_bytes;
    struct spill_hostchunk *chunks; /* of single pages */
    size_t chunk_cap;
    uint32_t chunk_count;
    char **free_pages; /* stack */
    size_t free_cap;
    uint32_t free_count;
    bool pin_refused; /* the driver would not pin: said, and not tried again for single pages */
};

void spill_hostpool_boot(struct spill_hostpool *pool, uint64_t limit, size_t page_bytes);

/* A page, NULL when the limit or the machine's memory is reached. */
char *spill_hostpool_take(struct spill_hostpool *pool);
void spill_hostpool_give(struct spill_hostpool *pool, char *page);

/* Gives chunks back to the system none of whose pages is in use. May wait for the device. */
void spill_hostpool_trim(struct spill_hostpool *pool);

/* A pinned slab of BYTES; base NULL when it cannot be had (then errors were said). */
struct spill_hostchunk spill_hostpool_slab(struct spill_hostpool *pool, size_t bytes);
void spill_hostpool_drop_slab(struct spill_hostpool *pool, struct spill_hostchunk *slab);

#endif
