/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/slab.h"

#include <string.h>

#include "preload/base/heap.h"
#include "replay/pager.h"

#define NO_UNIT UINT32_MAX

static uint32_t units_of(uint64_t bytes)
{
    return bytes == 0 ? 1 : (uint32_t)((bytes + SPILL_SLAB_UNIT - 1) / SPILL_SLAB_UNIT);
}

static uint32_t page_units(const struct spill_device *dev)
{
    /* run[] holds 16 bits; pages of 32 MiB and more leave their tail unused. */
    uint64_t units = dev->page_bytes / SPILL_SLAB_UNIT;
    return units > UINT16_MAX ? UINT16_MAX : (uint32_t)units;
}

/* First unit of a gap of WANT units, NO_UNIT: none. */
static uint32_t find_gap(const struct spill_slab *slab, uint32_t total, uint32_t want)
{
    uint32_t gap = 0;
    if (total - slab->used < want)
        return NO_UNIT;
    for (uint32_t u = 0; u < total;) {
        if (slab->run[u] != 0) {
            u += slab->run[u];
            gap = 0;
            continue;
        }
        u++;
        if (++gap == want)
            return u - want;
    }
    return NO_UNIT;
}

bool spill_slab_has_room(const struct spill_slabs *slabs, const struct spill_device *dev,
                         uint64_t bytes)
{
    for (uint32_t i = 0; i < slabs->count; i++)
        if (find_gap(&slabs->list[i], page_units(dev), units_of(bytes)) != NO_UNIT)
            return true;
    return false;
}

static CUresult add_slab(struct spill_slabs *slabs, struct spill_device *dev, uint32_t *index)
{
    uint32_t units = page_units(dev), frame = SPILL_NO_FRAME;
    if (SPILL_HEAP_GROW(slabs->list, slabs->cap, (size_t)slabs->count + 1) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct spill_slab slab = {.page = spill_span_take(&dev->ranges, 1)};
    slab.run = spill_heap_alloc(units * sizeof(*slab.run));
    slab.asked = spill_heap_alloc(units * sizeof(*slab.asked));
    slab.after = spill_heap_alloc(units * sizeof(*slab.after));
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (slab.page == SPILL_NO_PAGE || slab.run == NULL || slab.asked == NULL || slab.after == NULL)
        goto err_tables;
    /* The page may still be mapped from a freed buffer, and that one be in use. */
    for (uint32_t u = 0; u < units; u++)
        slab.after[u] = dev->freed_after[slab.page];
    result = CUDA_SUCCESS;
    if (dev->pages[slab.page].frame == SPILL_NO_FRAME) {
        result = spill_pager_claim(dev, 1, &frame);
        if (result != CUDA_SUCCESS)
            goto err_tables;
        result = spill_device_map(dev, slab.page, frame);
        if (result == CUDA_SUCCESS)
            result = spill_device_allow(dev, slab.page, 1);
        if (result != CUDA_SUCCESS) {
            spill_device_give_frame(dev, frame);
            goto err_tables;
        }
        dev->frames[frame].page = slab.page;
    }
    dev->pages[slab.page].where = SPILL_ON_DEVICE;
    dev->slab_pages++;
    uint32_t at = slabs->count;
    while (at > 0 && slabs->list[at - 1].page > slab.page)
        at--;
    memmove(&slabs->list[at + 1], &slabs->list[at], (slabs->count - at) * sizeof(slab));
    slabs->list[at] = slab;
    slabs->count++;
    *index = at;
    return CUDA_SUCCESS;
err_tables:
    spill_heap_free(slab.run, units * sizeof(*slab.run));
    spill_heap_free(slab.asked, units * sizeof(*slab.asked));
    spill_heap_free(slab.after, units * sizeof(*slab.after));
    if (slab.page != SPILL_NO_PAGE)
        (void)spill_span_give(&dev->ranges, slab.page, 1);
    return result;
}

CUresult spill_slab_alloc(struct spill_slabs *slabs, struct spill_device *dev, uint64_t bytes,
                          CUdeviceptr *addr, struct spill_freemarks *marks)
{
    uint32_t want = units_of(bytes), total = page_units(dev), unit = NO_UNIT, i;
    if (want > total)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (i = 0; i < slabs->count; i++) {
        unit = find_gap(&slabs->list[i], total, want);
        if (unit != NO_UNIT)
            break;
    }
    if (unit == NO_UNIT) {
        CUresult result = add_slab(slabs, dev, &i);
        if (result != CUDA_SUCCESS)
            return result;
        unit = 0;
    }
    for (uint32_t u = unit; u < unit + want; u++)
        spill_freepoints_gather(marks, slabs->list[i].after[u]);
    slabs->list[i].run[unit] = (uint16_t)want;
    slabs->list[i].asked[unit] = bytes;
    slabs->list[i].used += want;
    *addr = spill_device_addr(dev, slabs->list[i].page) + (uint64_t)unit * SPILL_SLAB_UNIT;
    return CUDA_SUCCESS;
}

/* The slab of ADDR, NULL: none. */
static struct spill_slab *slab_of(const struct spill_slabs *slabs, const struct spill_device *dev,
                                  CUdeviceptr addr)
{
    uint64_t page = (addr - dev->span_base) >> dev->page_shift;
    for (uint32_t i = 0; i < slabs->count; i++)
        if (slabs->list[i].page == page)
            return &slabs->list[i];
    return NULL;
}

/* The unit at which the allocation at ADDR starts, NO_UNIT: none does. */
static uint32_t unit_of(const struct spill_slab *slab, const struct spill_device *dev,
                        CUdeviceptr addr)
{
    uint64_t offset = (addr - dev->span_base) & (dev->page_bytes - 1);
    uint32_t unit = (uint32_t)(offset / SPILL_SLAB_UNIT);
    return slab == NULL || offset % SPILL_SLAB_UNIT != 0 || unit >= page_units(dev) ||
                   slab->run[unit] == 0
               ? NO_UNIT
               : unit;
}

bool spill_slab_holds(const struct spill_slabs *slabs, const struct spill_device *dev,
                      CUdeviceptr addr)
{
    return unit_of(slab_of(slabs, dev, addr), dev, addr) != NO_UNIT;
}

void spill_slab_free(struct spill_slabs *slabs, const struct spill_device *dev, CUdeviceptr addr,
                     spill_freemark mark)
{
    struct spill_slab *slab = slab_of(slabs, dev, addr);
    uint32_t unit = unit_of(slab, dev, addr);
    for (uint32_t u = unit; u < unit + slab->run[unit]; u++)
        slab->after[u] = mark;
    slab->used -= slab->run[unit];
    slab->run[unit] = 0;
}

bool spill_slab_find(const struct spill_slabs *slabs, const struct spill_device *dev,
                     CUdeviceptr addr, CUdeviceptr *base, size_t *bytes)
{
    const struct spill_slab *slab = slab_of(slabs, dev, addr);
    uint64_t offset = (addr - dev->span_base) & (dev->page_bytes - 1);
    uint32_t unit = (uint32_t)(offset / SPILL_SLAB_UNIT);
    if (slab == NULL || unit >= page_units(dev))
        return false;
    for (uint32_t u = 0; u <= unit; u += slab->run[u] != 0 ? slab->run[u] : 1)
        if (slab->run[u] != 0 && unit < u + slab->run[u]) {
            *base = spill_device_addr(dev, slab->page) + (uint64_t)u * SPILL_SLAB_UNIT;
            *bytes = slab->asked[u];
            return true;
        }
    return false;
}

void spill_slab_end(struct spill_slabs *slabs, const struct spill_device *dev)
{
    uint32_t units = page_units(dev);
    for (uint32_t i = 0; i < slabs->count; i++) {
        spill_heap_free(slabs->list[i].run, units * sizeof(*slabs->list[i].run));
        spill_heap_free(slabs->list[i].asked, units * sizeof(*slabs->list[i].asked));
        spill_heap_free(slabs->list[i].after, units * sizeof(*slabs->list[i].after));
    }
    spill_heap_free(slabs->list, slabs->cap * sizeof(*slabs->list));
    memset(slabs, 0, sizeof(*slabs));
}
