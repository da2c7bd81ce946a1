/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory for pages that are out: one range of addresses, in use from its start on, mmap'ed at
 * its exact size (an allocator's rounding to powers of two cost others twice their memory),
 * touched, then pinned by cuMemHostRegister. The pager takes single pages of it. A plan has its
 * first bytes, pinned at once: the same memory, so a plan that comes into force or goes needs no
 * other. */
#ifndef SPILL_HOSTPOOL_H
#define SPILL_HOSTPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spill_hostpool {
    uint64_t limit;    /* bytes that may be in use by all pools of the process together */
    uint64_t pinnable; /* bytes that the driver pins; UINT64_MAX until it refuses some */
    uint64_t peak_bytes;
    size_t page_bytes;
    char *base;          /* of the range; NULL: none yet */
    size_t room;         /* bytes of it */
    uint32_t page_count; /* in use: the first ones */
    uint8_t *taken;      /* by page */
    size_t taken_cap;
    uint32_t lowest; /* no page below it is free */
    size_t *parts;   /* bytes of each registered part, from the start on without a gap */
    size_t part_cap;
    uint32_t part_count;
    size_t pinned; /* bytes of all parts */
};

void spill_hostpool_boot(struct spill_hostpool *pool, uint64_t limit, size_t page_bytes);

/* A page, NULL when the limit or the machine's memory is reached. */
char *spill_hostpool_take(struct spill_hostpool *pool);
void spill_hostpool_give(struct spill_hostpool *pool, char *page);

/* Gives everything back, whatever is in it. */
void spill_hostpool_end(struct spill_hostpool *pool);

/* Gives the last pages back to the system as far as none is in use. May wait for the device. */
void spill_hostpool_trim(struct spill_hostpool *pool);

/* Bytes that a plan may count on. One page of the limit is kept for exchanges. */
uint64_t spill_hostpool_plannable(const struct spill_hostpool *pool);
/* Makes the first BYTES one pinned part; contents stay. False: not to be had (pinnable then says
 * how much would be). No copy may be under way. */
bool spill_hostpool_slab(struct spill_hostpool *pool, size_t bytes);
/* Marks the first BYTES as in use, and all else as free. */
void spill_hostpool_claim(struct spill_hostpool *pool, size_t bytes);
/* Marks a single page as in use. */
void spill_hostpool_keep(struct spill_hostpool *pool, const char *page);

static inline bool spill_hostpool_pinned(const struct spill_hostpool *pool, const char *page)
{
    return (size_t)(page - pool->base) + pool->page_bytes <= pool->pinned;
}

static inline uint32_t spill_hostpool_index(const struct spill_hostpool *pool, const char *page)
{
    return (uint32_t)((size_t)(page - pool->base) / pool->page_bytes);
}

#endif
