/* SPDX-License-Identifier: Apache-2.0 */
/* Placing, settling, releasing: the slow ends of a script's life. guard.c and replayer.c do the
 * rest. */
#include "replay/perform.h"

#include <string.h>

#include "preload/base/heap.h"
#include "preload/base/log.h"
#include "replay/pager.h"

/* First page of the span and first page number of plan buffer B. */
static uint32_t span_page(const struct spill_script *s, uint32_t b)
{
    return s->buffers[b].first_page;
}

static enum spill_status place_buffers(struct spill_script *s, struct spill_device *dev)
{
    for (uint32_t b = 0; b < s->buffer_count; b++) {
        struct spill_script_buffer *buffer = &s->buffers[b];
        if (buffer->live_slot != SPILL_NO_BUFFER) {
            buffer->first_page = dev->buffers.bufs[buffer->live_slot].first_page;
        } else {
            buffer->first_page = spill_span_take(&dev->ranges, buffer->page_count);
            if (buffer->first_page == SPILL_NO_PAGE) {
                while (b-- > 0)
                    if (s->buffers[b].live_slot == SPILL_NO_BUFFER)
                        (void)spill_span_give(&dev->ranges, s->buffers[b].first_page,
                                              s->buffers[b].page_count);
                return SPILL_ERR_NOMEM;
            }
        }
        buffer->addr = spill_device_addr(dev, buffer->first_page);
    }
    for (uint32_t b = 0; b < s->buffer_count; b++)
        if (s->buffers[b].live_slot != SPILL_NO_BUFFER)
            dev->buffers.bufs[s->buffers[b].live_slot].plan_id = b;
    for (uint32_t m = 0; m < s->move_count; m++)
        s->moves[m].first_page =
            span_page(s, s->plan->moves[m].buffer) + s->plan->moves[m].page_first;
    return SPILL_OK;
}

static void set_homes(const struct spill_script *s, struct spill_device *dev, char *slab)
{
    for (uint32_t b = 0; b < s->buffer_count; b++)
        for (uint32_t i = 0; i < s->buffers[b].home_count; i++)
            dev->pages[span_page(s, b) + s->buffers[b].home_first + i].home =
                slab == NULL ? NULL : slab + s->buffers[b].host_offset + i * dev->page_bytes;
}

enum spill_status spill_perform_place(struct spill_perform *perform, struct spill_device *dev,
                                      struct spill_script *script, bool verify)
{
    enum spill_status status = SPILL_ERR_NOMEM;
    uint32_t made = 0;
    memset(perform, 0, sizeof(*perform));
    perform->events = spill_heap_alloc((script->event_count + 1) * sizeof(*perform->events));
    perform->bound = spill_heap_alloc((script->plan->frame_count + 1) * sizeof(*perform->bound));
    if (perform->events == NULL || perform->bound == NULL)
        goto err_tables;
    if (script->slab_bytes > 0) {
        perform->slab = spill_hostpool_slab(&dev->host, script->slab_bytes);
        if (perform->slab.base == NULL)
            goto err_tables;
    }
    status = SPILL_ERR_DRIVER;
    for (; made < script->event_count; made++)
        if (SPILL_CU(cuEventCreate)(&perform->events[made], CU_EVENT_DISABLE_TIMING) !=
            CUDA_SUCCESS)
            goto err_slab; /* the few events made stay: there is no second try */
    status = place_buffers(script, dev);
    if (status != SPILL_OK)
        goto err_slab;
    perform->script = script;
    for (uint32_t f = 0; f < script->plan->frame_count; f++)
        perform->bound[f] = SPILL_NO_FRAME;
    set_homes(script, dev, perform->slab.base);
    if (verify && spill_verify_boot(&perform->verify, dev, script, perform->slab.base) != SPILL_OK)
        spill_log_once(SPILL_LOG_WARN, "no memory to verify moves with: they are not verified");
    spill_log(
        SPILL_LOG_DEBUG,
        "plan: %u ops, %u moves, %u events, %u waits, %llu bytes of host memory; step %llu ns, "
        "none faster than %llu ns",
        script->op_count, script->move_count, script->event_count, script->wait_count,
        (unsigned long long)script->slab_bytes, (unsigned long long)script->plan->step_ns,
        (unsigned long long)script->plan->bound_ns);
    return SPILL_OK;
err_slab:
    spill_hostpool_drop_slab(&dev->host, &perform->slab);
err_tables:
    spill_heap_free(perform->events, (script->event_count + 1) * sizeof(*perform->events));
    spill_heap_free(perform->bound, (script->plan->frame_count + 1) * sizeof(*perform->bound));
    memset(perform, 0, sizeof(*perform));
    return status;
}

void spill_perform_drop(struct spill_perform *perform, struct spill_device *dev)
{
    struct spill_script *s = perform->script;
    if (s == NULL)
        return;
    spill_verify_drop(&perform->verify, dev);
    /* Contents that are at home move to the pool: the slab goes. */
    bool emptied = true;
    for (uint32_t b = 0; b < s->buffer_count; b++)
        for (uint32_t i = 0; i < s->buffers[b].home_count; i++) {
            struct spill_page *page = &dev->pages[span_page(s, b) + s->buffers[b].home_first + i];
            char *host = NULL;
            if (page->where == SPILL_ON_HOST && page->host == page->home) {
                host = spill_hostpool_take(&dev->host);
                if (host != NULL) {
                    memcpy(host, page->home, dev->page_bytes);
                    page->host = host;
                } else {
                    emptied = false; /* keep the slab rather than lose data */
                }
            }
        }
    set_homes(s, dev, NULL);
    if (emptied)
        spill_hostpool_drop_slab(&dev->host, &perform->slab);
    for (uint32_t b = 0; b < s->buffer_count; b++) {
        uint32_t slot = spill_bufmap_at(&dev->buffers, s->buffers[b].addr);
        if (slot == SPILL_NO_BUFFER)
            (void)spill_span_give(&dev->ranges, span_page(s, b), s->buffers[b].page_count);
        else
            dev->buffers.bufs[slot].plan_id = SPILL_NO_PLAN;
    }
    spill_heap_free(perform->events, (s->event_count + 1) * sizeof(*perform->events));
    spill_heap_free(perform->bound, (s->plan->frame_count + 1) * sizeof(*perform->bound));
    spill_script_free(s);
    memset(perform, 0, sizeof(*perform));
}

/* A page that the plan has on the host at the border, or dead. */
static CUresult settle_absent(struct spill_device *dev, uint32_t page, bool dead)
{
    struct spill_page *p = &dev->pages[page];
    CUresult result = CUDA_SUCCESS;
    if (dead)
        p->where = SPILL_NOWHERE;
    if (p->where == SPILL_ON_DEVICE)
        return spill_pager_evict(dev, page);
    if (p->frame != SPILL_NO_FRAME)
        result = spill_pager_drop(dev, page);
    if (p->where == SPILL_ON_HOST && p->host != p->home) {
        memcpy(p->home, p->host, dev->page_bytes);
        spill_hostpool_give(&dev->host, p->host);
    }
    if (!dead) {
        p->where = SPILL_ON_HOST;
        p->host = p->home;
    }
    return result;
}

/* A page that the plan has on the device: the plan's frame is whichever frame it is in now, or a
 * free one. Frames of a plan are only names; this choice of who is who makes settling copy nothing
 * that is already resident. */
static CUresult settle_present(struct spill_perform *perform, struct spill_device *dev,
                               uint32_t page, uint32_t plan_frame)
{
    struct spill_page *p = &dev->pages[page];
    if (p->frame != SPILL_NO_FRAME) {
        perform->bound[plan_frame] = p->frame;
        p->where = SPILL_ON_DEVICE;
        return CUDA_SUCCESS;
    }
    uint32_t frame = spill_device_take_frame(dev);
    if (frame == SPILL_NO_FRAME)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = spill_device_map(dev, page, frame);
    if (result != CUDA_SUCCESS) {
        spill_device_give_frame(dev, frame);
        return result;
    }
    dev->frames[frame].page = page;
    result = spill_device_allow(dev, page, 1);
    if (result == CUDA_SUCCESS && p->where == SPILL_ON_HOST) {
        result = SPILL_CU(cuMemcpyHtoDAsync_v2)(spill_device_addr(dev, page), p->host,
                                                dev->page_bytes, dev->in_stream);
        if (result == CUDA_SUCCESS)
            result = SPILL_CU(cuStreamSynchronize)(dev->in_stream);
        dev->in_bytes += dev->page_bytes;
        dev->paged_in_bytes += dev->page_bytes;
    }
    if (result != CUDA_SUCCESS) {
        (void)spill_pager_drop(dev, page);
        return result;
    }
    if (p->where == SPILL_ON_HOST && p->host != p->home)
        spill_hostpool_give(&dev->host, p->host);
    p->where = SPILL_ON_DEVICE;
    perform->bound[plan_frame] = frame;
    return CUDA_SUCCESS;
}

/* Frames that are bound but hold nobody's data go back to the pager. */
static void unbind(struct spill_perform *perform, struct spill_device *dev)
{
    for (uint32_t f = 0; f < perform->script->plan->frame_count; f++) {
        uint32_t frame = perform->bound[f];
        if (frame != SPILL_NO_FRAME && dev->frames[frame].page == SPILL_NO_BUFFER)
            spill_device_give_frame(dev, frame);
        perform->bound[f] = SPILL_NO_FRAME;
    }
}

CUresult spill_perform_settle(struct spill_perform *perform, struct spill_device *dev)
{
    const struct spill_script *s = perform->script;
    CUresult result = SPILL_CU(cuCtxSynchronize)();
    /* What is dead or leaves goes first, so that there are frames for what comes. */
    for (uint32_t f = 0; result == CUDA_SUCCESS && f < dev->frame_count; f++) {
        uint32_t page = dev->frames[f].page;
        if (page != SPILL_NO_BUFFER && dev->pages[page].where == SPILL_NOWHERE)
            result = spill_pager_drop(dev, page);
    }
    for (int present = 0; present < 2; present++)
        for (uint32_t b = 0; b < s->buffer_count; b++)
            for (uint32_t p = 0; result == CUDA_SUCCESS && p < s->buffers[b].page_count; p++) {
                uint32_t number = s->plan->page_base[b] + p, page = span_page(s, b) + p;
                bool stays = s->border_place[number] == SPILL_BORDER_DEVICE;
                if (present == 0 && !stays)
                    result = settle_absent(dev, page, s->border_place[number] == SPILL_BORDER_DEAD);
                else if (present == 1 && stays)
                    result = settle_present(perform, dev, page, s->plan->frame_of[number]);
            }
    for (uint32_t f = 0; result == CUDA_SUCCESS && f < s->plan->frame_count; f++)
        if (perform->bound[f] == SPILL_NO_FRAME) {
            perform->bound[f] = spill_device_take_frame(dev);
            if (perform->bound[f] == SPILL_NO_FRAME)
                result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    if (result != CUDA_SUCCESS)
        unbind(perform, dev);
    else
        spill_hostpool_trim(&dev->host); /* what the pager had out is in the slab now */
    return result;
}

CUresult spill_perform_alias(struct spill_perform *perform, struct spill_device *dev)
{
    const struct spill_script *s = perform->script;
    CUresult result = CUDA_SUCCESS;
    perform->aliased = true; /* also when it fails half way: release cleans up */
    for (uint32_t b = 0; b < s->buffer_count; b++) {
        uint32_t run = 0;
        for (uint32_t p = 0; result == CUDA_SUCCESS && p <= s->buffers[b].page_count; p++) {
            bool missing = p < s->buffers[b].page_count &&
                           s->plan->frame_of[s->plan->page_base[b] + p] != SPILL_NO_FRAME &&
                           dev->pages[span_page(s, b) + p].frame == SPILL_NO_FRAME;
            if (missing) {
                result =
                    spill_device_map(dev, span_page(s, b) + p,
                                     perform->bound[s->plan->frame_of[s->plan->page_base[b] + p]]);
                run++;
            } else if (run > 0) {
                result = spill_device_allow(dev, span_page(s, b) + p - run, run);
                run = 0;
            }
        }
    }
    return result;
}

struct catching_up {
    const struct spill_script *script;
    struct spill_device *dev;
};

static void set_where(void *argument, uint32_t buffer, uint32_t first, uint32_t count,
                      enum spill_border_place place)
{
    static const enum spill_where where[] = {
        [SPILL_BORDER_DEAD] = SPILL_NOWHERE,
        [SPILL_BORDER_DEVICE] = SPILL_ON_DEVICE,
        [SPILL_BORDER_HOST] = SPILL_ON_HOST,
    };
    const struct catching_up *c = argument;
    struct spill_page *pages = &c->dev->pages[span_page(c->script, buffer) + first];
    for (uint32_t p = 0; p < count; p++) {
        pages[p].where = where[place];
        if (place == SPILL_BORDER_HOST)
            pages[p].host = pages[p].home;
    }
}

/* While replaying, where says the border's state; this brings it up to date after DONE ops. */
static void catch_up(const struct spill_script *s, struct spill_device *dev, uint32_t done)
{
    struct catching_up c = {s, dev};
    spill_script_walk(s, done, set_where, &c);
}

CUresult spill_perform_release(struct spill_perform *perform, struct spill_device *dev,
                               uint32_t done)
{
    const struct spill_script *s = perform->script;
    CUresult result = SPILL_CU(cuCtxSynchronize)(), failed;
    if (perform->aliased) {
        catch_up(s, dev, done);
        for (uint32_t f = 0; f < s->plan->frame_count; f++)
            if (perform->bound[f] != SPILL_NO_FRAME)
                dev->frames[perform->bound[f]].page = SPILL_NO_BUFFER;
        for (uint32_t b = 0; b < s->buffer_count; b++)
            for (uint32_t p = 0; p < s->buffers[b].page_count; p++) {
                uint32_t page = span_page(s, b) + p;
                if (dev->pages[page].frame == SPILL_NO_FRAME)
                    continue;
                if (dev->pages[page].where == SPILL_ON_DEVICE) {
                    dev->frames[dev->pages[page].frame].page = page;
                } else {
                    failed = spill_device_unmap(dev, page);
                    if (result == CUDA_SUCCESS)
                        result = failed;
                }
            }
        perform->aliased = false;
    }
    unbind(perform, dev);
    return result;
}
