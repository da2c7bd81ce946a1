/* SPDX-License-Identifier: Apache-2.0 */
/* Placing and releasing: the slow ends of a script's life. settle.c, guard.c and replayer.c do the
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

/* A range belongs to the live buffer in it and to every plan that has a buffer there. */
static void claim(struct spill_device *dev, uint32_t first)
{
    dev->pages[first].claims++;
}

static void disclaim(struct spill_device *dev, uint32_t first, uint32_t count)
{
    if (--dev->pages[first].claims == 0 && dev->buffers.slot_of_page[first] == 0)
        (void)spill_span_give(&dev->ranges, first, count);
}

static enum spill_status place_buffers(struct spill_script *s, struct spill_device *dev)
{
    for (uint32_t b = 0; b < s->buffer_count; b++) {
        struct spill_script_buffer *buffer = &s->buffers[b];
        if (buffer->live_slot != SPILL_NO_BUFFER)
            buffer->first_page = dev->buffers.bufs[buffer->live_slot].first_page;
        else if (!buffer->shared)
            buffer->first_page = spill_span_take(&dev->ranges, buffer->page_count);
        if (buffer->first_page == SPILL_NO_PAGE) {
            while (b-- > 0)
                disclaim(dev, s->buffers[b].first_page, s->buffers[b].page_count);
            return SPILL_ERR_NOMEM;
        }
        claim(dev, buffer->first_page);
        buffer->addr = spill_device_addr(dev, buffer->first_page);
    }
    for (uint32_t m = 0; m < s->move_count; m++)
        s->moves[m].first_page =
            span_page(s, s->plan->moves[m].buffer) + s->plan->moves[m].page_first;
    return SPILL_OK;
}

enum spill_status spill_perform_place(struct spill_perform *perform, struct spill_device *dev,
                                      struct spill_script *script, bool verify)
{
    enum spill_status status = SPILL_ERR_NOMEM;
    uint32_t made = 0;
    memset(perform, 0, sizeof(*perform));
    perform->events = spill_heap_alloc((script->event_count + 1) * sizeof(*perform->events));
    perform->bound = spill_heap_alloc((script->plan->frame_count + 1) * sizeof(*perform->bound));
    perform->guarded = spill_heap_alloc((size_t)script->op_count + 1);
    if (perform->events == NULL || perform->bound == NULL || perform->guarded == NULL)
        goto err_tables;
    perform->guard_left = SPILL_GUARDED_TIMES * script->op_count;
    perform->slab_bytes = script->slab_bytes + (verify ? spill_verify_scratch(script) : 0);
    if (verify && !spill_hostpool_slab(&dev->host, perform->slab_bytes)) {
        verify = false;
        perform->slab_bytes = script->slab_bytes;
        spill_log_once(SPILL_LOG_WARN, "no memory to verify moves with: they are not verified");
    }
    if (!spill_hostpool_slab(&dev->host, perform->slab_bytes))
        goto err_tables;
    perform->slab = dev->host.base;
    status = SPILL_ERR_DRIVER;
    for (; made < script->event_count; made++)
        if (SPILL_CU(cuEventCreate)(&perform->events[made], CU_EVENT_DISABLE_TIMING) !=
            CUDA_SUCCESS)
            goto err_tables; /* the few events made stay: there is no second try */
    status = place_buffers(script, dev);
    if (status != SPILL_OK)
        goto err_tables;
    perform->script = script;
    for (uint32_t f = 0; f < script->plan->frame_count; f++)
        perform->bound[f] = SPILL_NO_FRAME;
    if (verify &&
        spill_verify_boot(&perform->verify, script, perform->slab, dev->page_bytes) != SPILL_OK)
        spill_log_once(SPILL_LOG_WARN, "moves cannot be verified here");
    spill_log(
        SPILL_LOG_DEBUG,
        "plan: %u ops, %u moves, %u events, %u waits, %llu bytes of host memory; step %llu ns, "
        "none faster than %llu ns",
        script->op_count, script->move_count, script->event_count, script->wait_count,
        (unsigned long long)script->slab_bytes, (unsigned long long)script->predicted.step_ns,
        (unsigned long long)script->plan->bound_ns);
    return SPILL_OK;
err_tables:
    spill_heap_free(perform->events, (script->event_count + 1) * sizeof(*perform->events));
    spill_heap_free(perform->bound, (script->plan->frame_count + 1) * sizeof(*perform->bound));
    spill_heap_free(perform->guarded, (size_t)script->op_count + 1);
    memset(perform, 0, sizeof(*perform));
    return status;
}

void spill_perform_drop(struct spill_perform *perform, struct spill_device *dev)
{
    struct spill_script *s = perform->script;
    if (s == NULL)
        return;
    spill_verify_drop(&perform->verify);
    for (uint32_t b = 0; b < s->buffer_count; b++)
        disclaim(dev, span_page(s, b), s->buffers[b].page_count);
    spill_heap_free(perform->events, (s->event_count + 1) * sizeof(*perform->events));
    spill_heap_free(perform->bound, (s->plan->frame_count + 1) * sizeof(*perform->bound));
    spill_heap_free(perform->guarded, (size_t)s->op_count + 1);
    spill_script_free(s);
    memset(perform, 0, sizeof(*perform));
}

void spill_perform_unbind(struct spill_perform *perform, struct spill_device *dev)
{
    for (uint32_t f = 0; f < perform->script->plan->frame_count; f++) {
        uint32_t frame = perform->bound[f];
        if (frame != SPILL_NO_FRAME && dev->frames[frame].page == SPILL_NO_BUFFER)
            spill_device_give_frame(dev, frame);
        perform->bound[f] = SPILL_NO_FRAME;
    }
}

struct catching_up {
    const struct spill_script *script;
    struct spill_device *dev;
};

static void set_where(void *argument, uint32_t buffer, uint32_t first, uint32_t count,
                      enum spill_border_place place, uint32_t slot)
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
            pages[p].host = c->dev->host.base + (slot + p) * c->dev->page_bytes;
    }
}

/* While replaying, where says the border's state. */
static void rewind_places(const struct spill_script *s, struct spill_device *dev)
{
    struct catching_up c = {s, dev};
    for (uint32_t b = 0; b < s->buffer_count; b++)
        for (uint32_t p = 0; p < s->buffers[b].page_count; p++) {
            uint32_t number = s->plan->page_base[b] + p;
            set_where(&c, b, p, 1, (enum spill_border_place)s->border_place[number],
                      s->border_slot[number]);
        }
}

CUresult spill_perform_alias(struct spill_perform *perform, struct spill_device *dev)
{
    const struct spill_script *s = perform->script;
    CUresult result = CUDA_SUCCESS;
    rewind_places(s, dev);
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

/* While replaying, where says the border's state; this brings it up to date after DONE ops. */
static void catch_up(const struct spill_script *s, struct spill_device *dev, uint32_t done,
                     bool held)
{
    struct catching_up c = {s, dev};
    spill_script_walk(s, done, held, set_where, &c);
}

CUresult spill_perform_release(struct spill_perform *perform, struct spill_device *dev,
                               uint32_t done, bool held)
{
    const struct spill_script *s = perform->script;
    CUresult result = spill_device_drain(dev), failed;
    if (perform->aliased) {
        catch_up(s, dev, done, held);
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
    spill_perform_unbind(perform, dev);
    /* Of host memory, what holds data now is in use, and no more. */
    spill_hostpool_claim(&dev->host, 0);
    for (uint32_t b = 0; b < s->buffer_count; b++)
        for (uint32_t p = 0; p < s->buffers[b].page_count; p++)
            if (dev->pages[span_page(s, b) + p].where == SPILL_ON_HOST)
                spill_hostpool_keep(&dev->host, dev->pages[span_page(s, b) + p].host);
    return result;
}
