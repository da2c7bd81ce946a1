/* SPDX-License-Identifier: Apache-2.0 */
/* Every copy here is waited for at once: the pager is the safe path, not the fast one. Unmapping is
 * not ordered with queued work on real devices, so the device is drained before the first victim
 * goes. */
#include "replay/pager.h"

#include "preload/base/log.h"
#include "preload/base/size.h"
#include "preload/base/trace.h"
#include "replay/account.h"
#include "replay/contents.h"

/* A page whose frame may not be taken: of a pinned buffer, or of a slab (of no buffer at all), or
 * any. */
static bool pinned(const struct spill_device *dev, uint32_t page)
{
    uint32_t slot = dev->buffers.slot_of_page[page];
    return dev->hold_all || slot == 0 || dev->buffers.bufs[slot - 1].pin != SPILL_TRACE_UNPINNED;
}

CUresult spill_pager_drop(struct spill_device *dev, uint32_t page)
{
    uint32_t frame = dev->pages[page].frame;
    CUresult result = spill_device_unmap(dev, page);
    if (result == CUDA_SUCCESS)
        spill_device_give_frame(dev, frame);
    return result;
}

CUresult spill_pager_evict(struct spill_device *dev, uint32_t page)
{
    struct spill_page *p = &dev->pages[page];
    char *host = spill_hostpool_take(&dev->host);
    if (host == NULL) {
        char size[32];
        spill_log_once(SPILL_LOG_ERROR,
                       "host memory for moved-out pages is full at %s: raise SPILLWAY_HOST_MEM",
                       spill_size_format(dev->host.limit, size, sizeof(size)));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = SPILL_CU(cuMemcpyDtoHAsync_v2)(host, spill_device_addr(dev, page),
                                                     dev->page_bytes, dev->out_stream);
    if (result == CUDA_SUCCESS)
        result = SPILL_CU(cuStreamSynchronize)(dev->out_stream);
    if (result != CUDA_SUCCESS) { /* still on the device: nothing changed */
        spill_hostpool_give(&dev->host, host);
        return result;
    }
    p->host = host;
    p->where = SPILL_ON_HOST;
    dev->out_bytes += dev->page_bytes;
    dev->paged_out_bytes += dev->page_bytes;
    return spill_pager_drop(dev, page);
}

/* The least recently used moment among pages that may go; UINT64_MAX: none may. */
static uint64_t oldest_use(const struct spill_device *dev)
{
    uint64_t oldest = UINT64_MAX;
    for (uint32_t f = 0; f < dev->frame_count; f++) {
        uint32_t page = dev->frames[f].page;
        if (page == SPILL_NO_BUFFER || dev->pages[page].last_use >= dev->op_number ||
            pinned(dev, page))
            continue;
        if (dev->pages[page].last_use < oldest)
            oldest = dev->pages[page].last_use;
    }
    return oldest;
}

/* Frees frames of buffers that are gone until WANT are free. */
static CUresult reclaim_dead(struct spill_device *dev, uint32_t want)
{
    for (uint32_t f = 0; f < dev->frame_count && dev->free_count < want; f++) {
        uint32_t page = dev->frames[f].page;
        if (page == SPILL_NO_BUFFER || dev->pages[page].where != SPILL_NOWHERE ||
            dev->pages[page].last_use >= dev->op_number)
            continue;
        CUresult result = spill_pager_drop(dev, page);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

/* Makes WANT frames free, by eviction if need be: the card may have less than the budget leaves, as
 * what the program freed in stream order comes back only when the device is there. */
static CUresult make_room(struct spill_device *dev, uint32_t want)
{
    bool drained = false;
    for (;;) {
        spill_device_stock_frames(dev, want);
        if (dev->free_count >= want)
            return CUDA_SUCCESS;
        CUresult result = CUDA_SUCCESS;
        if (!drained)
            result = spill_device_drain(dev);
        if (result == CUDA_SUCCESS)
            result = reclaim_dead(dev, want);
        if (result == CUDA_SUCCESS && !drained)
            spill_device_stock_frames(dev, want);
        if (result != CUDA_SUCCESS || dev->free_count >= want)
            return result;
        if (!drained) /* before anything is evicted: what may be reached unseen? */
            result = spill_contents_scan_slabs(dev);
        if (result == CUDA_SUCCESS && !dev->searched)
            result = spill_contents_scan_buffers(dev, SPILL_CONTENTS_LIMIT);
        dev->searched = true;
        if (result != CUDA_SUCCESS)
            return result;
        spill_contents_keep_unsettled(dev);
        drained = true;
        uint64_t oldest = oldest_use(dev);
        if (oldest == UINT64_MAX)
            return CUDA_ERROR_OUT_OF_MEMORY;
        for (uint32_t f = 0; f < dev->frame_count && dev->free_count < want; f++) {
            uint32_t page = dev->frames[f].page;
            if (page == SPILL_NO_BUFFER || dev->pages[page].last_use != oldest || pinned(dev, page))
                continue;
            result = spill_pager_evict(dev, page);
            if (result != CUDA_SUCCESS)
                return result;
        }
    }
}

/* Maps a frame behind PAGE; access is set by the caller. */
static CUresult back(struct spill_device *dev, uint32_t page)
{
    uint32_t frame = spill_device_take_frame(dev);
    if (frame == SPILL_NO_FRAME)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = spill_device_map(dev, page, frame);
    if (result != CUDA_SUCCESS) {
        spill_device_give_frame(dev, frame);
        return result;
    }
    dev->frames[frame].page = page;
    return CUDA_SUCCESS;
}

/* After a failure half way: what is not on the device has no frame. */
static CUresult back_out(struct spill_device *dev, uint32_t first, uint32_t count, CUresult why)
{
    (void)SPILL_CU(cuStreamSynchronize)(dev->in_stream);
    for (uint32_t page = first; page < first + count; page++)
        if (dev->pages[page].where != SPILL_ON_DEVICE && dev->pages[page].frame != SPILL_NO_FRAME)
            (void)spill_pager_drop(dev, page);
    return why;
}

CUresult spill_pager_bring(struct spill_device *dev, uint32_t first, uint32_t count)
{
    CUresult result = CUDA_SUCCESS;
    bool copied = false;
    for (uint32_t run = first; run < first + count;) {
        uint32_t end = run;
        while (end < first + count && dev->pages[end].frame == SPILL_NO_FRAME) {
            result = back(dev, end);
            if (result != CUDA_SUCCESS)
                return back_out(dev, first, count, result);
            end++;
        }
        if (end > run)
            result = spill_device_allow(dev, run, end - run);
        for (uint32_t page = run; result == CUDA_SUCCESS && page < end; page++) {
            if (dev->pages[page].where != SPILL_ON_HOST)
                continue;
            result =
                SPILL_CU(cuMemcpyHtoDAsync_v2)(spill_device_addr(dev, page), dev->pages[page].host,
                                               dev->page_bytes, dev->in_stream);
            dev->in_bytes += dev->page_bytes;
            dev->paged_in_bytes += dev->page_bytes;
            copied = true;
        }
        if (result != CUDA_SUCCESS)
            return back_out(dev, first, count, result);
        run = end > run ? end : run + 1;
    }
    if (copied)
        result = SPILL_CU(cuStreamSynchronize)(dev->in_stream);
    if (result != CUDA_SUCCESS)
        return back_out(dev, first, count, result);
    for (uint32_t page = first; page < first + count; page++) {
        struct spill_page *p = &dev->pages[page];
        if (p->where == SPILL_ON_HOST)
            spill_hostpool_give(&dev->host, p->host);
        p->where = SPILL_ON_DEVICE;
    }
    return CUDA_SUCCESS;
}

static CUresult too_small(struct spill_device *dev, uint32_t pages)
{
    char need[32], have[32];
    dev->refused++;
    spill_log_once(
        SPILL_LOG_ERROR,
        "one op needs %s of buffers at once, and the GPU budget leaves %s for them: raise "
        "SPILLWAY_GPU_MEM (--gpu-mem)",
        spill_size_format((uint64_t)pages << dev->page_shift, need, sizeof(need)),
        spill_size_format((uint64_t)(spill_device_frame_limit(dev) - dev->slab_pages)
                              << dev->page_shift,
                          have, sizeof(have)));
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult spill_pager_bring_pins(struct spill_device *dev)
{
    CUresult result = CUDA_SUCCESS;
    while (result == CUDA_SUCCESS && dev->new_pins > 0) {
        dev->new_pins = 0; /* making room may find more */
        for (uint32_t s = 0; result == CUDA_SUCCESS && s < dev->buffers.slot_count; s++) {
            const struct spill_buf *buf = &dev->buffers.bufs[s];
            uint32_t missing = 0;
            if (buf->addr == 0 || buf->pin == SPILL_TRACE_UNPINNED)
                continue;
            for (uint32_t p = buf->first_page; p < buf->first_page + buf->page_count; p++)
                missing += dev->pages[p].frame == SPILL_NO_FRAME;
            if (missing > 0)
                result = make_room(dev, missing);
            if (missing > 0 && result == CUDA_SUCCESS)
                result = spill_pager_bring(dev, buf->first_page, buf->page_count);
        }
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        spill_log_once(
            SPILL_LOG_ERROR,
            "buffers whose addresses are stored in device memory must stay resident, and "
            "they do not fit the GPU budget: raise SPILLWAY_GPU_MEM (--gpu-mem)");
    return result;
}

CUresult spill_pager_ensure(struct spill_device *dev, const struct spill_touches *touches)
{
    uint32_t missing = 0, total = 0;
    for (uint32_t i = 0; i < touches->count; i++) {
        const struct spill_buf *buf = &dev->buffers.bufs[touches->list[i].slot];
        total += buf->page_count;
        for (uint32_t p = buf->first_page; p < buf->first_page + buf->page_count; p++) {
            dev->pages[p].last_use = dev->op_number;
            if (dev->pages[p].frame == SPILL_NO_FRAME)
                missing++;
            else
                dev->pages[p].where = SPILL_ON_DEVICE;
        }
    }
    if (missing == 0)
        return CUDA_SUCCESS;
    dev->misses++;
    dev->missed_at = spill_account_clock();
    if (total + dev->slab_pages > spill_device_frame_limit(dev))
        return too_small(dev, total);
    CUresult result = make_room(dev, missing);
    if (result == CUDA_SUCCESS && dev->new_pins > 0) {
        result = spill_pager_bring_pins(dev);
        if (result == CUDA_SUCCESS)
            result = make_room(dev, missing);
    }
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < touches->count; i++) {
        const struct spill_buf *buf = &dev->buffers.bufs[touches->list[i].slot];
        result = spill_pager_bring(dev, buf->first_page, buf->page_count);
    }
    return result;
}

CUresult spill_pager_claim(struct spill_device *dev, uint32_t count, uint32_t *frames)
{
    CUresult result = make_room(dev, count);
    if (result != CUDA_SUCCESS)
        return result;
    for (uint32_t i = 0; i < count; i++) {
        frames[i] = spill_device_take_frame(dev);
        if (frames[i] == SPILL_NO_FRAME) {
            while (i > 0)
                spill_device_give_frame(dev, frames[--i]);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}

void spill_pager_forget(struct spill_device *dev, uint32_t first, uint32_t count)
{
    for (uint32_t p = first; p < first + count; p++) {
        struct spill_page *page = &dev->pages[p];
        if (page->where == SPILL_ON_HOST)
            spill_hostpool_give(&dev->host, page->host);
        page->where = SPILL_NOWHERE;
    }
}

CUresult spill_pager_shrink(struct spill_device *dev)
{
    uint32_t limit = spill_device_frame_limit(dev);
    if (dev->frame_count <= limit)
        return CUDA_SUCCESS;
    CUresult result = make_room(dev, dev->frame_count - limit);
    spill_device_trim_frames(dev, limit);
    return result;
}
