/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/contents.h"

#include "preload/base/log.h"
#include "preload/base/trace.h"
#include "profiler/access.h"
#include "profiler/tensormaps.h"

static void pin(void *arg, uint32_t slot)
{
    struct spill_device *dev = arg;
    if (dev->buffers.bufs[slot].pin != SPILL_TRACE_UNPINNED)
        return;
    dev->buffers.bufs[slot].pin = SPILL_TRACE_PIN_STORED_ADDRESS;
    dev->new_pins++;
    spill_log(SPILL_LOG_DEBUG, "a buffer of %llu bytes at 0x%llx is pointed to from device memory",
              (unsigned long long)dev->buffers.bufs[slot].bytes,
              (unsigned long long)dev->buffers.bufs[slot].addr);
}

static CUresult scan_page(struct spill_device *dev, uint32_t page, char *bounce)
{
    CUresult result = SPILL_CU(cuMemcpyDtoHAsync_v2)(bounce, spill_device_addr(dev, page),
                                                     dev->page_bytes, dev->out_stream);
    if (result == CUDA_SUCCESS)
        result = SPILL_CU(cuStreamSynchronize)(dev->out_stream);
    if (result == CUDA_SUCCESS)
        spill_access_stored(&dev->buffers, bounce, dev->page_bytes, SPILL_TENSORMAP_ALIGN, pin,
                            dev);
    return result;
}

/* Without a bounce page nothing can be read: then nothing may be evicted either. */
static CUresult scan(struct spill_device *dev, uint64_t limit, bool slabs)
{
    CUresult result = CUDA_SUCCESS;
    uint64_t done = 0;
    char *bounce = spill_hostpool_take(&dev->host);
    if (bounce == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t f = 0; result == CUDA_SUCCESS && f < dev->frame_count && done < limit; f++) {
        uint32_t page = dev->frames[f].page;
        if (page == SPILL_NO_BUFFER || dev->pages[page].where != SPILL_ON_DEVICE ||
            (dev->buffers.slot_of_page[page] == 0) != slabs)
            continue;
        result = scan_page(dev, page, bounce);
        done += dev->page_bytes;
    }
    spill_hostpool_give(&dev->host, bounce);
    return result;
}

CUresult spill_contents_scan_slabs(struct spill_device *dev)
{
    return dev->slab_pages == 0 ? CUDA_SUCCESS : scan(dev, UINT64_MAX, true);
}

CUresult spill_contents_scan_buffers(struct spill_device *dev, uint64_t limit)
{
    return scan(dev, limit, false);
}

/* Next to last to be evicted: only what an op is about to use is kept longer. */
static void keep_unsettled(void *arg, struct spill_tensormap *tensor)
{
    struct spill_device *dev = arg;
    uint32_t slot = spill_bufmap_find(&dev->buffers, tensor->addr);
    if (slot == SPILL_NO_BUFFER || dev->op_number == 0)
        return;
    const struct spill_buf *buf = &dev->buffers.bufs[slot];
    for (uint32_t p = buf->first_page; p < buf->first_page + buf->page_count; p++)
        if (dev->pages[p].last_use < dev->op_number)
            dev->pages[p].last_use = dev->op_number - 1;
}

void spill_contents_keep_unsettled(struct spill_device *dev)
{
    spill_tensormaps_each(keep_unsettled, dev);
}

static void pin_unsettled(void *arg, struct spill_tensormap *tensor)
{
    struct spill_device *dev = arg;
    uint32_t slot = spill_bufmap_find(&dev->buffers, tensor->addr);
    if (tensor->addr < dev->buffers.base || tensor->addr >= dev->buffers.end)
        return; /* another device's */
    if (slot != SPILL_NO_BUFFER)
        pin(dev, slot);
    spill_tensormaps_settle(tensor);
}

void spill_contents_pin_unsettled(struct spill_device *dev)
{
    spill_tensormaps_each(pin_unsettled, dev);
}
