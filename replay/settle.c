/* SPDX-License-Identifier: Apache-2.0 */
/* Settling: from wherever the pager has the pages to where the plan has them at the border. Frames
 * and host memory are exchanged page by page, so it takes no more of either than one page beyond
 * what is there. */
#include <string.h>

#include "preload/base/heap.h"
#include "replay/pager.h"
#include "replay/perform.h"

struct settling {
    struct spill_perform *perform;
    struct spill_device *dev;
    const struct spill_script *s;
    /* by page number: where it is to be, and its page of the slab while it is on the host */
    uint8_t *place;
    uint32_t *slot;
};

/* A page of the plan. */
struct cursor {
    uint32_t b, p;
};

static struct spill_page *page_at(const struct settling *t, struct cursor at)
{
    return &t->dev->pages[t->s->buffers[at.b].first_page + at.p];
}

static uint32_t number_at(const struct settling *t, struct cursor at)
{
    return t->s->plan->page_base[at.b] + at.p;
}

static void step(const struct settling *t, struct cursor *at)
{
    if (++at->p >= t->s->buffers[at->b].page_count)
        *at = (struct cursor){at->b + 1, 0};
}

/* From AT on, the first page that the plan has at PLACE and that is not there as far as frames
 * tell. False: all are. */
static bool find_astray(const struct settling *t, struct cursor *at, enum spill_border_place place)
{
    for (; at->b < t->s->buffer_count; step(t, at)) {
        const struct spill_page *p = page_at(t, *at);
        bool here =
            place == SPILL_BORDER_DEVICE ? p->frame != SPILL_NO_FRAME : p->where != SPILL_ON_DEVICE;
        if (t->place[number_at(t, *at)] == place && !here)
            return true;
    }
    return false;
}

/* What holds nothing that anybody wants gives its frame and its host memory back. */
static CUresult clear_dead(const struct settling *t)
{
    struct spill_device *dev = t->dev;
    CUresult result = CUDA_SUCCESS;
    for (struct cursor at = {0, 0}; at.b < t->s->buffer_count; step(t, &at))
        if (t->place[number_at(t, at)] == SPILL_BORDER_DEAD)
            spill_pager_forget(dev, t->s->buffers[at.b].first_page + at.p, 1);
    for (uint32_t f = 0; result == CUDA_SUCCESS && f < dev->frame_count; f++) {
        uint32_t page = dev->frames[f].page;
        if (page != SPILL_NO_BUFFER && dev->pages[page].where == SPILL_NOWHERE)
            result = spill_pager_drop(dev, page);
    }
    return result;
}

/* In while there are frames, out when there are none: so neither side ever needs room for all. */
static CUresult exchange(const struct settling *t)
{
    struct cursor in = {0, 0}, out = {0, 0};
    for (;;) {
        bool coming = find_astray(t, &in, SPILL_BORDER_DEVICE);
        bool leaving = find_astray(t, &out, SPILL_BORDER_HOST);
        CUresult result = coming
                              ? spill_pager_bring(t->dev, t->s->buffers[in.b].first_page + in.p, 1)
                              : CUDA_ERROR_OUT_OF_MEMORY;
        if (!coming && !leaving)
            return CUDA_SUCCESS;
        if (result == CUDA_ERROR_OUT_OF_MEMORY && leaving)
            result = spill_pager_evict(t->dev, t->s->buffers[out.b].first_page + out.p);
        if (result != CUDA_SUCCESS)
            return result;
    }
}

static void swap(char *a, char *b, size_t bytes)
{
    char part[4096];
    for (size_t i = 0; i < bytes; i += sizeof(part)) {
        memcpy(part, a + i, sizeof(part));
        memcpy(a + i, b + i, sizeof(part));
        memcpy(b + i, part, sizeof(part));
    }
}

/* Brings what is on the host to its place in the slab. IN_SLOT: by host page, the page of the span
 * plus 1 that is there. */
static void sort_host(const struct settling *t, uint32_t *in_slot)
{
    struct spill_hostpool *host = &t->dev->host;
    size_t bytes = t->dev->page_bytes;
    for (struct cursor at = {0, 0}; at.b < t->s->buffer_count; step(t, &at)) {
        struct spill_page *p = page_at(t, at);
        if (t->place[number_at(t, at)] != SPILL_BORDER_HOST || p->where != SPILL_ON_HOST)
            continue;
        uint32_t to = t->slot[number_at(t, at)];
        uint32_t from = spill_hostpool_index(host, p->host), other = in_slot[to];
        if (to == from)
            continue;
        if (other == 0) {
            memcpy(host->base + to * bytes, p->host, bytes);
        } else {
            swap(host->base + to * bytes, p->host, bytes);
            t->dev->pages[other - 1].host = p->host;
        }
        in_slot[from] = other;
        p->host = host->base + to * bytes;
        in_slot[to] = t->s->buffers[at.b].first_page + at.p + 1;
    }
}

static CUresult place_host(const struct settling *t)
{
    struct spill_hostpool *host = &t->dev->host;
    size_t table = ((size_t)host->page_count + 1) * sizeof(uint32_t);
    uint32_t *in_slot = spill_heap_alloc(table);
    if (in_slot == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (struct cursor at = {0, 0}; at.b < t->s->buffer_count; step(t, &at))
        if (page_at(t, at)->where == SPILL_ON_HOST)
            in_slot[spill_hostpool_index(host, page_at(t, at)->host)] =
                t->s->buffers[at.b].first_page + at.p + 1;
    sort_host(t, in_slot);
    spill_heap_free(in_slot, table);
    for (struct cursor at = {0, 0}; at.b < t->s->buffer_count; step(t, &at))
        if (t->place[number_at(t, at)] == SPILL_BORDER_HOST) {
            /* What was never written is as good there as anywhere. */
            page_at(t, at)->where = SPILL_ON_HOST;
            page_at(t, at)->host = host->base + t->slot[number_at(t, at)] * t->dev->page_bytes;
        }
    spill_hostpool_claim(host, t->perform->keep_bytes > t->perform->slab_bytes
                                   ? t->perform->keep_bytes
                                   : t->perform->slab_bytes);
    spill_hostpool_trim(host);
    return CUDA_SUCCESS;
}

/* The plan's frames are only names: each is whichever frame its page is in now, or a free one. So
 * nothing that is resident is copied. */
static CUresult bind_frames(const struct settling *t)
{
    const struct spill_plan *plan = t->s->plan;
    for (struct cursor at = {0, 0}; at.b < t->s->buffer_count; step(t, &at))
        if (t->place[number_at(t, at)] == SPILL_BORDER_DEVICE) {
            t->perform->bound[plan->frame_of[number_at(t, at)]] = page_at(t, at)->frame;
            page_at(t, at)->where = SPILL_ON_DEVICE;
        }
    for (uint32_t f = 0; f < plan->frame_count; f++)
        if (t->perform->bound[f] == SPILL_NO_FRAME) {
            t->perform->bound[f] = spill_device_take_frame(t->dev);
            if (t->perform->bound[f] == SPILL_NO_FRAME)
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
    return CUDA_SUCCESS;
}

static void set_place(void *settling, uint32_t buffer, uint32_t first, uint32_t count,
                      enum spill_border_place place, uint32_t slot)
{
    const struct settling *t = settling;
    for (uint32_t p = 0; p < count; p++) {
        t->place[t->s->plan->page_base[buffer] + first + p] = (uint8_t)place;
        t->slot[t->s->plan->page_base[buffer] + first + p] = slot + p;
    }
}

static CUresult settle(struct settling *t)
{
    CUresult result = spill_device_drain(t->dev);
    if (result == CUDA_SUCCESS && !spill_hostpool_slab(&t->dev->host, t->perform->slab_bytes))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = clear_dead(t);
    if (result == CUDA_SUCCESS)
        result = exchange(t);
    if (result == CUDA_SUCCESS)
        result = bind_frames(t);
    if (result == CUDA_SUCCESS)
        result = place_host(t);
    if (result != CUDA_SUCCESS)
        spill_perform_unbind(t->perform, t->dev);
    return result;
}

CUresult spill_perform_settle(struct spill_perform *perform, struct spill_device *dev, uint32_t ops,
                              bool held)
{
    const struct spill_script *s = perform->script;
    uint32_t pages = s->plan->page_total;
    struct settling t = {.perform = perform, .dev = dev, .s = s};
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    t.place = spill_heap_alloc((size_t)pages + 1);
    t.slot = spill_heap_alloc(((size_t)pages + 1) * sizeof(*t.slot));
    if (t.place != NULL && t.slot != NULL) {
        memcpy(t.place, s->border_place, pages * sizeof(*t.place));
        memcpy(t.slot, s->border_slot, pages * sizeof(*t.slot));
        spill_script_walk(s, ops, held, set_place, &t);
        result = settle(&t);
    }
    spill_heap_free(t.place, (size_t)pages + 1);
    spill_heap_free(t.slot, ((size_t)pages + 1) * sizeof(*t.slot));
    return result;
}
