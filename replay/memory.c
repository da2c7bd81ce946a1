/* SPDX-License-Identifier: Apache-2.0 */
/* The program's allocations and frees. */
#include "preload/base/log.h"
#include "preload/base/size.h"
#include "preload/base/trace.h"
#include "profiler/stack.h"
#include "replay/engines.h"

static bool planned(const struct spill_engine *e)
{
    return e->state == SPILL_STATE_GUARD || e->state == SPILL_STATE_REPLAY;
}

/* Would this much more still have a place, on the device or the host? */
static bool has_capacity(const struct spill_device *dev, uint64_t pages)
{
    uint64_t frames = spill_device_frame_limit(dev);
    uint64_t host = dev->host.limit >> dev->page_shift;
    uint64_t here = frames > dev->slab_pages ? frames - dev->slab_pages : 0;
    return dev->buffers.live_pages + pages <= here + host;
}

static CUresult hold(void *engine, CUevent event)
{
    struct spill_engine *e = engine;
    return e->state == SPILL_STATE_REPLAY ? spill_freeorder_after(&e->free_order, event)
                                          : SPILL_CU(cuEventSynchronize)(event);
}

/* Memory with MARKS is given out, for use in STREAM or, with NULL, in any. */
static CUresult come_after(struct spill_engine *e, const struct spill_freemarks *marks,
                           CUstream stream)
{
    CUresult result = stream != NULL ? spill_freepoints_follow(&e->free_points, marks, stream)
                                     : spill_freepoints_pass(&e->free_points, marks, hold, e);
    if (result == CUDA_SUCCESS)
        return result;
    result = spill_device_drain(&e->dev);
    if (result == CUDA_SUCCESS)
        spill_engine_drained(e);
    return result;
}

static CUresult small_alloc(struct spill_engine *e, size_t bytes, CUstream stream,
                            CUdeviceptr *addr)
{
    struct spill_freemarks marks = {0};
    if (planned(e) && !spill_slab_has_room(&e->slabs, &e->dev, bytes) && e->dev.free_count == 0 &&
        e->dev.frame_count >= spill_device_frame_limit(&e->dev))
        spill_engine_diverge(e, SPILL_REASON_MEMORY);
    e->dev.op_number++; /* nothing touched so far is in use by an op */
    CUresult result = spill_slab_alloc(&e->slabs, &e->dev, bytes, addr, &marks);
    if (result != CUDA_SUCCESS)
        return result;
    result = come_after(e, &marks, stream);
    if (result != CUDA_SUCCESS) /* nothing works any more */
        spill_slab_free(&e->slabs, &e->dev, *addr, 0);
    return result;
}

/* The pages of SLOT are given out. Where a plan is in force its own waits order its buffers,
 * but for those that are pinned, because not all their users are seen. */
static CUresult come_after_pages(struct spill_engine *e, uint32_t slot, CUstream stream)
{
    const struct spill_buf *buf = &e->dev.buffers.bufs[slot];
    struct spill_freemarks marks = {0};
    if (planned(e) && buf->plan_id != SPILL_NO_PLAN && buf->pin == SPILL_TRACE_UNPINNED)
        return CUDA_SUCCESS;
    for (uint32_t p = buf->first_page; p < buf->first_page + buf->page_count; p++)
        spill_freepoints_gather(&marks, e->dev.freed_after[p]);
    return come_after(e, &marks, stream);
}

/* Where the plan that goes on with it, if there is one, has it. */
static CUresult place(struct spill_engine *e, uint64_t bytes, CUstream stream, CUdeviceptr *addr)
{
    struct spill_device *dev = &e->dev;
    const struct spill_script *script = NULL;
    const struct spill_script_buffer *known = spill_planset_alloc(e, &script);
    uint32_t pages = (uint32_t)((bytes + dev->page_bytes - 1) >> dev->page_shift);
    uint32_t first = known != NULL ? known->first_page : spill_span_take(&dev->ranges, pages);
    uint32_t slot;
    if (first == SPILL_NO_PAGE)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *addr = spill_device_addr(dev, first);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (spill_bufmap_add(&dev->buffers, *addr, bytes, &slot) != SPILL_OK)
        goto err_range;
    if (known != NULL) {
        uint32_t id = (uint32_t)(known - script->buffers);
        dev->buffers.bufs[slot].plan_id = planned(e) ? id : SPILL_NO_PLAN;
        /* What was found of last iteration's instance holds of this one. */
        dev->buffers.bufs[slot].pin = script->it.trace.buffers[id].pin;
    }
    if (e->recording)
        dev->buffers.bufs[slot].site = spill_stack_here();
    result = come_after_pages(e, slot, stream);
    if (result == CUDA_SUCCESS && e->state == SPILL_STATE_RESIDENT) /* users may be unseen */
        result = spill_engine_bring(e, slot);
    if (result != CUDA_SUCCESS)
        goto err_buffer;
    if (spill_engine_watching(e)) {
        if (spill_recorder_alloc(&e->rec, &dev->buffers, slot, false) == SPILL_OK)
            spill_engine_recorded(e);
        else
            spill_engine_give_up(e); /* out of memory: page on without a plan */
    }
    return CUDA_SUCCESS;
err_buffer:
    spill_bufmap_remove(&dev->buffers, slot);
err_range:
    if (known == NULL)
        (void)spill_span_give(&dev->ranges, first, pages);
    return result;
}

static CUresult large_alloc(struct spill_engine *e, size_t bytes, CUstream stream,
                            CUdeviceptr *addr)
{
    struct spill_event event = {.kind = SPILL_LOGREC_ALLOC, .bytes = bytes};
    bool on_plan = spill_planset_expects(e, &event);
    if (!has_capacity(&e->dev, (bytes + e->dev.page_bytes - 1) >> e->dev.page_shift)) {
        char size[32];
        e->dev.refused++;
        spill_log_once(
            SPILL_LOG_WARN,
            "an allocation of %s fits neither the GPU budget nor the host memory: out of "
            "memory; raise SPILLWAY_HOST_MEM (--host-mem) or SPILLWAY_GPU_MEM",
            spill_size_format(bytes, size, sizeof(size)));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = place(e, bytes, stream, addr);
    if (on_plan && result == CUDA_SUCCESS)
        spill_engine_advance(e);
    else if (on_plan)
        spill_engine_diverge(e, SPILL_REASON_OTHER_ALLOC);
    else
        spill_planset_happened(e, result != CUDA_SUCCESS);
    return result;
}

CUresult spill_engine_alloc(struct spill_engine *e, size_t bytes, CUstream stream,
                            CUdeviceptr *addr)
{
    if (e->state == SPILL_STATE_BROKEN)
        return e->broken;
    return bytes < e->dev.page_bytes ? small_alloc(e, bytes, stream, addr)
                                     : large_alloc(e, bytes, stream, addr);
}

/* A free waits, as the program expects of it. While a plan runs, the streams wait for each other
 * instead, and the host only for what a program can see there: host memory that a copy of its own
 * still writes. */
static CUresult wait_as_free_does(struct spill_engine *e, uint32_t slot)
{
    bool everything = e->state != SPILL_STATE_REPLAY || spill_captures_any();
    if (e->state == SPILL_STATE_REPLAY)
        spill_freeorder_free(&e->free_order);
    CUresult result = spill_engine_wait_for_host(e, everything);
    /* Other devices may still be at work on it, which this one's order says nothing of. */
    if (result == CUDA_SUCCESS && slot != SPILL_NO_BUFFER &&
        e->dev.buffers.bufs[slot].pin == SPILL_TRACE_PIN_EXPORTED)
        result = spill_engines_drain();
    return result;
}

/* STREAM: where in stream order it is freed, NULL: its users are over, or waited for. */
static CUresult large_free(struct spill_engine *e, uint32_t slot, CUstream stream)
{
    struct spill_device *dev = &e->dev;
    const struct spill_buf *buf = &dev->buffers.bufs[slot];
    struct spill_event event = {.kind = SPILL_LOGREC_FREE, .slot = slot};
    bool on_plan = spill_planset_expects(e, &event);
    spill_freemark mark = 0;
    if (stream != NULL && !(on_plan && buf->pin == SPILL_TRACE_UNPINNED)) {
        CUresult result = spill_freepoints_add(&e->free_points, stream, &mark);
        if (result != CUDA_SUCCESS)
            return result;
    }
    if (spill_engine_watching(e) &&
        spill_recorder_alloc(&e->rec, &dev->buffers, slot, true) != SPILL_OK)
        spill_engine_give_up(e);
    uint32_t first = buf->first_page, count = buf->page_count;
    for (uint32_t p = first; p < first + count; p++)
        if (dev->freed_after[p] != mark)
            dev->freed_after[p] = mark;
    if (!on_plan)
        spill_pager_forget(dev, first, count);
    spill_bufmap_remove(&dev->buffers, slot);
    if (dev->pages[first].claims == 0)
        (void)spill_span_give(&dev->ranges, first, count);
    if (on_plan) {
        spill_engine_advance(e);
        return CUDA_SUCCESS;
    }
    spill_planset_happened(e, false);
    if (spill_engine_watching(e))
        spill_engine_recorded(e);
    return CUDA_SUCCESS;
}

CUresult spill_engine_free(struct spill_engine *e, CUdeviceptr addr, CUstream stream)
{
    uint32_t slot = spill_bufmap_at(&e->dev.buffers, addr);
    spill_freemark mark = 0;
    CUresult result = CUDA_SUCCESS;
    if (slot == SPILL_NO_BUFFER && !spill_slab_holds(&e->slabs, &e->dev, addr))
        return CUDA_ERROR_INVALID_VALUE;
    if (stream == NULL)
        result = wait_as_free_does(e, slot);
    else if (slot == SPILL_NO_BUFFER)
        result = spill_freepoints_add(&e->free_points, stream, &mark);
    if (result != CUDA_SUCCESS)
        return result;
    if (slot != SPILL_NO_BUFFER)
        return large_free(e, slot, stream);
    spill_slab_free(&e->slabs, &e->dev, addr, mark);
    return CUDA_SUCCESS;
}

void spill_engine_unmanaged(struct spill_engine *e, int64_t bytes)
{
    uint64_t total = e->dev.unmanaged_bytes + (uint64_t)bytes;
    e->dev.unmanaged_bytes = bytes < 0 && total > e->dev.unmanaged_bytes ? 0 : total;
    if (!spill_engines_managed(e) || e->dev.frame_count <= spill_device_frame_limit(&e->dev))
        return;
    if (planned(e))
        spill_engine_diverge(e, SPILL_REASON_MEMORY);
    e->dev.op_number++;
    if (e->state == SPILL_STATE_OBSERVE && spill_pager_shrink(&e->dev) != CUDA_SUCCESS)
        spill_log_once(SPILL_LOG_WARN, "memory that is not managed exceeds the GPU budget");
}

bool spill_engine_find(const struct spill_engine *e, CUdeviceptr addr, struct spill_found *found)
{
    uint32_t slot = spill_bufmap_find(&e->dev.buffers, addr);
    found->serial = 0;
    if (slot == SPILL_NO_BUFFER)
        return spill_slab_find(&e->slabs, &e->dev, addr, &found->base, &found->bytes);
    const struct spill_buf *buf = &e->dev.buffers.bufs[slot];
    if (addr >= buf->addr + buf->bytes)
        return false;
    *found =
        (struct spill_found){.base = buf->addr, .bytes = buf->bytes, .serial = buf->serial + 1};
    return true;
}
