/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/contents.h"

#include "preload/base/log.h"
#include "preload/base/trace.h"
#include "profiler/access.h"

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
        spill_access_stored(&dev->buffers, bounce, dev->page_bytes, pin, dev);
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
