/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device.h"

#include <string.h>

#include "preload/base/heap.h"
#include "preload/base/hostmem.h"
#include "preload/base/log.h"
#include "preload/base/size.h"
#include "replay/captures.h"

#define FRAME_MAX  ((uint32_t)1 << 14) /* more frames cost more calls than they save bytes */
#define SPAN_TIMES 32                  /* span of addresses, in times the card's memory */

static CUmemAllocationProp frame_prop(const struct spill_device *dev)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->ordinal}};
}

static void add_access(struct spill_device *dev, CUdevice device)
{
    dev->access[dev->access_count++] =
        (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                          .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

static enum spill_status size_pages(struct spill_device *dev)
{
    CUmemAllocationProp prop = frame_prop(dev);
    size_t granularity = 0;
    if (SPILL_CU(cuMemGetAllocationGranularity)(&granularity, &prop,
                                                CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
        granularity == 0 || (granularity & (granularity - 1)) != 0)
        return SPILL_ERR_UNSUPPORTED;
    dev->page_bytes = granularity;
    while (dev->gpu_budget / dev->page_bytes > FRAME_MAX)
        dev->page_bytes *= 2;
    dev->page_shift = (unsigned)__builtin_ctzll(dev->page_bytes);
    return SPILL_OK;
}

static enum spill_status reserve_span(struct spill_device *dev)
{
    uint64_t bytes = dev->gpu_bytes * SPAN_TIMES / dev->page_bytes * dev->page_bytes;
    CUdeviceptr base = 0;
    while (SPILL_CU(cuMemAddressReserve)(&base, bytes, dev->page_bytes, 0, 0) != CUDA_SUCCESS) {
        bytes = bytes / 2 / dev->page_bytes * dev->page_bytes;
        if (bytes < 2 * dev->gpu_budget)
            return SPILL_ERR_DRIVER;
    }
    dev->span_base = base;
    dev->page_total = (uint32_t)(bytes >> dev->page_shift);
    return SPILL_OK;
}

static enum spill_status make_tables(struct spill_device *dev)
{
    uint32_t limit = (uint32_t)(dev->gpu_budget >> dev->page_shift);
    dev->pages = spill_heap_alloc((size_t)dev->page_total * sizeof(*dev->pages));
    dev->freed_after = spill_heap_alloc((size_t)dev->page_total * sizeof(*dev->freed_after));
    dev->frames = spill_heap_alloc(((size_t)limit + 1) * sizeof(*dev->frames));
    dev->free_frames = spill_heap_alloc(((size_t)limit + 1) * sizeof(*dev->free_frames));
    if (dev->pages == NULL || dev->freed_after == NULL || dev->frames == NULL ||
        dev->free_frames == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t p = 0; p < dev->page_total; p++)
        dev->pages[p].frame = SPILL_NO_FRAME;
    if (spill_span_boot(&dev->ranges, dev->page_total) != SPILL_OK)
        return SPILL_ERR_NOMEM;
    return spill_bufmap_boot(&dev->buffers, dev->span_base,
                             (uint64_t)dev->page_total << dev->page_shift, dev->page_shift);
}

enum spill_status spill_device_boot(struct spill_device *dev, const struct spill_config *config)
{
    size_t free_bytes = 0, total_bytes = 0;
    int vmm = 0;
    char size[32], page[32];
    /* What the program took before; and what an earlier context of the device came to. */
    const struct spill_device before = *dev;
    uint64_t unmanaged = before.unmanaged_bytes;
    *dev = (struct spill_device){.unmanaged_bytes = unmanaged,
                                 .out_bytes = before.out_bytes,
                                 .in_bytes = before.in_bytes,
                                 .paged_out_bytes = before.paged_out_bytes,
                                 .paged_in_bytes = before.paged_in_bytes,
                                 .misses = before.misses,
                                 .refused = before.refused,
                                 .peak_bytes = before.peak_bytes};
    if (SPILL_CU(cuCtxGetCurrent)(&dev->context) != CUDA_SUCCESS || dev->context == NULL ||
        SPILL_CU(cuCtxGetDevice)(&dev->ordinal) != CUDA_SUCCESS ||
        SPILL_CU(cuMemGetInfo_v2)(&free_bytes, &total_bytes) != CUDA_SUCCESS)
        return SPILL_ERR_DRIVER;
    if (SPILL_CU(cuDeviceGetAttribute)(&vmm,
                                       CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                       dev->ordinal) != CUDA_SUCCESS ||
        vmm == 0) {
        spill_log(SPILL_LOG_WARN,
                  "device %d has no virtual memory management; its memory is not managed",
                  dev->ordinal);
        return SPILL_ERR_UNSUPPORTED;
    }
    add_access(dev, dev->ordinal);
    (void)SPILL_CU(cuDeviceGetName)(dev->name, sizeof(dev->name), dev->ordinal);
    dev->gpu_bytes = total_bytes;
    dev->gpu_budget = free_bytes + unmanaged;
    if (config->gpu_mem != 0 && config->gpu_mem < dev->gpu_budget)
        dev->gpu_budget = config->gpu_mem;
    enum spill_status status = size_pages(dev);
    if (status == SPILL_OK && dev->gpu_budget < dev->page_bytes) {
        spill_log(SPILL_LOG_ERROR,
                  "a GPU budget of %s is below one page of %s: raise SPILLWAY_GPU_MEM; running "
                  "without spillway",
                  spill_size_format(dev->gpu_budget, size, sizeof(size)),
                  spill_size_format(dev->page_bytes, page, sizeof(page)));
        return SPILL_ERR_INVAL;
    }
    dev->host_budget = config->host_mem != 0 ? config->host_mem : spill_hostmem_default();
    spill_log(SPILL_LOG_DEBUG, "budgets: %s of GPU memory, %s of pinned host memory",
              spill_size_format(dev->gpu_budget, size, sizeof(size)),
              spill_size_format(dev->host_budget, page, sizeof(page)));
    if (status == SPILL_OK)
        status = reserve_span(dev);
    if (status == SPILL_OK)
        status = make_tables(dev);
    if (status != SPILL_OK)
        return status;
    spill_hostpool_boot(&dev->host, dev->host_budget, dev->page_bytes);
    /* Non-blocking: the program's legacy default stream must not wait for our copies. */
    if (SPILL_CU(cuStreamCreate)(&dev->out_stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
        SPILL_CU(cuStreamCreate)(&dev->in_stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return SPILL_ERR_DRIVER;
    return SPILL_OK;
}

void spill_device_end(struct spill_device *dev)
{
    uint32_t limit = (uint32_t)(dev->gpu_budget >> dev->page_shift);
    for (uint32_t p = 0; p < dev->page_total; p++)
        if (dev->pages[p].frame != SPILL_NO_FRAME)
            (void)spill_device_unmap(dev, p);
    for (uint32_t f = 0; f < dev->frame_count; f++)
        (void)SPILL_CU(cuMemRelease)(dev->frames[f].handle);
    (void)SPILL_CU(cuMemAddressFree)(dev->span_base, (size_t)dev->page_total << dev->page_shift);
    spill_hostpool_end(&dev->host);
    spill_bufmap_end(&dev->buffers);
    spill_span_end(&dev->ranges);
    spill_heap_free(dev->pages, (size_t)dev->page_total * sizeof(*dev->pages));
    spill_heap_free(dev->freed_after, (size_t)dev->page_total * sizeof(*dev->freed_after));
    spill_heap_free(dev->frames, ((size_t)limit + 1) * sizeof(*dev->frames));
    spill_heap_free(dev->free_frames, ((size_t)limit + 1) * sizeof(*dev->free_frames));
    dev->pages = NULL;
    dev->freed_after = NULL;
    dev->frames = NULL;
    dev->free_frames = NULL;
    dev->page_total = dev->frame_count = dev->free_count = dev->slab_pages = dev->new_pins = 0;
    dev->unmanaged_bytes = 0;
    dev->context = NULL;
}

CUresult spill_device_drain(struct spill_device *dev)
{
    CUresult result = spill_captures_drain();
    if (!spill_captures_any())
        return result;
    if (result == CUDA_SUCCESS)
        result = SPILL_CU(cuStreamSynchronize)(dev->out_stream);
    return result == CUDA_SUCCESS ? SPILL_CU(cuStreamSynchronize)(dev->in_stream) : result;
}

uint32_t spill_device_frame_limit(const struct spill_device *dev)
{
    if (dev->unmanaged_bytes >= dev->gpu_budget)
        return 0;
    return (uint32_t)((dev->gpu_budget - dev->unmanaged_bytes) >> dev->page_shift);
}

static uint32_t create_frame(struct spill_device *dev)
{
    if (dev->frame_count >= spill_device_frame_limit(dev))
        return SPILL_NO_FRAME;
    CUmemAllocationProp prop = frame_prop(dev);
    struct spill_frame frame = {.page = SPILL_NO_BUFFER};
    if (SPILL_CU(cuMemCreate)(&frame.handle, dev->page_bytes, &prop, 0) != CUDA_SUCCESS)
        return SPILL_NO_FRAME; /* the card has less than the budget: live with what there is */
    dev->frames[dev->frame_count] = frame;
    uint64_t bytes = ((uint64_t)++dev->frame_count << dev->page_shift) + dev->unmanaged_bytes;
    if (bytes > dev->peak_bytes)
        dev->peak_bytes = bytes;
    return dev->frame_count - 1;
}

uint32_t spill_device_take_frame(struct spill_device *dev)
{
    return dev->free_count > 0 ? dev->free_frames[--dev->free_count] : create_frame(dev);
}

void spill_device_stock_frames(struct spill_device *dev, uint32_t want)
{
    while (dev->free_count < want) {
        uint32_t frame = create_frame(dev);
        if (frame == SPILL_NO_FRAME)
            return;
        spill_device_give_frame(dev, frame);
    }
}

void spill_device_give_frame(struct spill_device *dev, uint32_t frame)
{
    dev->frames[frame].page = SPILL_NO_BUFFER;
    dev->free_frames[dev->free_count++] = frame;
}

void spill_device_trim_frames(struct spill_device *dev, uint32_t limit)
{
    /* Only the frame with the highest number can go, or numbers would move: swap it into place. */
    while (dev->frame_count > limit && dev->free_count > 0) {
        uint32_t gone = dev->free_frames[--dev->free_count], last = dev->frame_count - 1;
        if (SPILL_CU(cuMemRelease)(dev->frames[gone].handle) != CUDA_SUCCESS)
            return;
        dev->frame_count = last;
        if (gone == last)
            continue;
        dev->frames[gone] = dev->frames[last];
        if (dev->frames[gone].page != SPILL_NO_BUFFER)
            dev->pages[dev->frames[gone].page].frame = gone;
        for (uint32_t i = 0; i < dev->free_count; i++)
            if (dev->free_frames[i] == last)
                dev->free_frames[i] = gone;
    }
}

CUresult spill_device_map(struct spill_device *dev, uint32_t page, uint32_t frame)
{
    CUresult result = SPILL_CU(cuMemMap)(spill_device_addr(dev, page), dev->page_bytes, 0,
                                         dev->frames[frame].handle, 0);
    if (result == CUDA_SUCCESS)
        dev->pages[page].frame = frame;
    return result;
}

CUresult spill_device_allow(struct spill_device *dev, uint32_t page, uint32_t count)
{
    CUdeviceptr addr = spill_device_addr(dev, page);
    size_t bytes = (size_t)count << dev->page_shift;
    CUresult result = SPILL_CU(cuMemSetAccess)(addr, bytes, dev->access, dev->access_count);
    /* WSL2's driver says so while work is queued. */
    if (result == CUDA_ERROR_NOT_READY && spill_device_drain(dev) == CUDA_SUCCESS)
        result = SPILL_CU(cuMemSetAccess)(addr, bytes, dev->access, dev->access_count);
    return result;
}

CUresult spill_device_admit(struct spill_device *dev, CUdevice device)
{
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < dev->access_count; i++)
        if (dev->access[i].location.id == device)
            return CUDA_SUCCESS;
    if (dev->access_count > SPILL_DEVICE_PEERS)
        return CUDA_ERROR_TOO_MANY_PEERS;
    add_access(dev, device);
    for (uint32_t p = 0; result == CUDA_SUCCESS && p < dev->page_total; p++)
        if (dev->pages[p].frame != SPILL_NO_FRAME)
            result = spill_device_allow(dev, p, 1);
    return result;
}

CUresult spill_device_unmap(struct spill_device *dev, uint32_t page)
{
    CUresult result = SPILL_CU(cuMemUnmap)(spill_device_addr(dev, page), dev->page_bytes);
    if (result == CUDA_SUCCESS)
        dev->pages[page].frame = SPILL_NO_FRAME;
    return result;
}
