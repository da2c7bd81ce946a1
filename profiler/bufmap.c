/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/bufmap.h"

#include <string.h>

#define SLOT_MAX ((uint32_t)1 << 20)

enum spill_status spill_bufmap_boot(struct spill_bufmap *map, uint64_t base, uint64_t bytes,
                                    unsigned page_shift)
{
    memset(map, 0, sizeof(*map));
    map->base = base;
    map->end = base + bytes;
    map->page_shift = page_shift;
    map->free_slot = SPILL_NO_BUFFER;
    map->slot_of_page = spill_heap_alloc((bytes >> page_shift) * sizeof(*map->slot_of_page));
    map->bufs = spill_heap_alloc((size_t)SLOT_MAX * sizeof(*map->bufs));
    return map->slot_of_page != NULL && map->bufs != NULL ? SPILL_OK : SPILL_ERR_NOMEM;
}

void spill_bufmap_end(struct spill_bufmap *map)
{
    HASH_CLEAR(hh, map->by_addr);
    spill_heap_free(map->slot_of_page,
                    ((map->end - map->base) >> map->page_shift) * sizeof(*map->slot_of_page));
    spill_heap_free(map->bufs, (size_t)SLOT_MAX * sizeof(*map->bufs));
    memset(map, 0, sizeof(*map));
}

enum spill_status spill_bufmap_add(struct spill_bufmap *map, uint64_t addr, uint64_t bytes,
                                   uint32_t *slot)
{
    uint32_t s = map->free_slot;
    if (s == SPILL_NO_BUFFER && map->slot_count == SLOT_MAX)
        return SPILL_ERR_NOMEM;
    if (s == SPILL_NO_BUFFER)
        s = map->slot_count++;
    else
        map->free_slot = map->bufs[s].next_free;
    struct spill_buf *buf = &map->bufs[s];
    uint64_t page_bytes = (uint64_t)1 << map->page_shift;
    memset(buf, 0, sizeof(*buf));
    buf->addr = addr;
    buf->bytes = bytes;
    buf->serial = ++map->next_serial;
    buf->first_page = (uint32_t)((addr - map->base) >> map->page_shift);
    buf->page_count = (uint32_t)((bytes + page_bytes - 1) >> map->page_shift);
    buf->plan_id = SPILL_NO_PLAN;
    HASH_ADD(hh, map->by_addr, addr, sizeof(buf->addr), buf);
    if (buf->hh.tbl == NULL) { /* no memory for the table */
        buf->next_free = map->free_slot;
        map->free_slot = s;
        return SPILL_ERR_NOMEM;
    }
    for (uint32_t p = 0; p < buf->page_count; p++)
        map->slot_of_page[buf->first_page + p] = s + 1;
    map->live_count++;
    map->live_bytes += bytes;
    map->live_pages += buf->page_count;
    *slot = s;
    return SPILL_OK;
}

void spill_bufmap_remove(struct spill_bufmap *map, uint32_t slot)
{
    struct spill_buf *buf = &map->bufs[slot];
    HASH_DEL(map->by_addr, buf);
    for (uint32_t p = 0; p < buf->page_count; p++)
        map->slot_of_page[buf->first_page + p] = 0;
    map->live_count--;
    map->live_bytes -= buf->bytes;
    map->live_pages -= buf->page_count;
    buf->addr = 0;
    buf->next_free = map->free_slot;
    map->free_slot = slot;
}

uint32_t spill_bufmap_at(const struct spill_bufmap *map, uint64_t addr)
{
    struct spill_buf *buf = NULL;
    HASH_FIND(hh, map->by_addr, &addr, sizeof(addr), buf);
    return buf == NULL ? SPILL_NO_BUFFER : (uint32_t)(buf - map->bufs);
}
