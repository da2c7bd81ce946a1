/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/streamorder.h"

#include <string.h>

#include "preload/base/driver.h"
#include "preload/base/heap.h"
#include "profiler/mix.h"

#define EVENTS ((size_t)1 << 12) /* a power of two */

void spill_streamorder_reset(struct spill_streamorder *order)
{
    order->stream_count = 0;
    order->log++;
}

void spill_streamorder_end(struct spill_streamorder *order)
{
    spill_heap_free(order->events, EVENTS * sizeof(*order->events));
    memset(order, 0, sizeof(*order));
}

/* Adds record RECORD - 1, in place of the oldest if there are too many. */
static void add(struct spill_afters *after, uint32_t record)
{
    unsigned least = 0;
    for (unsigned i = 0; i < SPILL_STREAMORDER_AFTER; i++) {
        if (after->record[i] == record)
            return;
        if (after->record[i] < after->record[least])
            least = i;
    }
    if (record > after->record[least])
        after->record[least] = record;
}

void spill_streamorder_add(struct spill_afters *after, const struct spill_afters *more)
{
    for (unsigned i = 0; i < SPILL_STREAMORDER_AFTER; i++)
        if (more->record[i] != 0)
            add(after, more->record[i]);
}

static struct spill_streamorder_stream *stream_of(struct spill_streamorder *order, CUstream stream)
{
    unsigned int flags = CU_STREAM_DEFAULT;
    for (uint32_t i = 0; i < order->stream_count; i++)
        if (order->streams[i].stream == stream)
            return &order->streams[i];
    if (order->stream_count == SPILL_STREAMORDER_STREAMS)
        return &order->streams[SPILL_STREAMORDER_STREAMS - 1];
    bool legacy = stream == CU_STREAM_LEGACY;
    if (!legacy && stream != CU_STREAM_PER_THREAD && SPILL_CU(cuStreamGetFlags) != NULL &&
        SPILL_CU(cuStreamGetFlags)(stream, &flags) != CUDA_SUCCESS)
        flags = CU_STREAM_DEFAULT;
    struct spill_streamorder_stream *new = &order->streams[order->stream_count++];
    *new = (struct spill_streamorder_stream){
        .stream = stream,
        .legacy = legacy,
        .blocking = !legacy && (flags & CU_STREAM_NON_BLOCKING) == 0,
    };
    return new;
}

struct spill_afters spill_streamorder_op(struct spill_streamorder *order, CUstream stream,
                                         uint32_t record)
{
    struct spill_streamorder_stream *own = stream_of(order, stream);
    struct spill_afters after = own->pending;
    /* The legacy default stream and the blocking ones wait for each other. */
    for (uint32_t i = 0; i < order->stream_count; i++)
        if (order->streams[i].last != 0 && ((own->legacy && order->streams[i].blocking) ||
                                            (own->blocking && order->streams[i].legacy)))
            add(&after, order->streams[i].last);
    memset(&own->pending, 0, sizeof(own->pending));
    own->last = record + 1;
    return after;
}

static struct spill_streamorder_event *event_of(const struct spill_streamorder *order,
                                                CUevent event)
{
    return order->events == NULL ? NULL
                                 : &order->events[spill_mix(1, (uintptr_t)event) & (EVENTS - 1)];
}

void spill_streamorder_record(struct spill_streamorder *order, CUevent event, CUstream stream)
{
    if (order->events == NULL)
        order->events = spill_heap_alloc(EVENTS * sizeof(*order->events));
    struct spill_streamorder_event *to = event_of(order, event);
    if (to == NULL)
        return;
    *to = (struct spill_streamorder_event){
        .event = event,
        .log = order->log,
        .after = spill_streamorder_of_stream(order, stream),
    };
}

struct spill_afters spill_streamorder_of_event(const struct spill_streamorder *order, CUevent event)
{
    const struct spill_streamorder_event *from = event_of(order, event);
    return from != NULL && from->event == event && from->log == order->log
               ? from->after
               : (struct spill_afters){{0}};
}

void spill_streamorder_wait(struct spill_streamorder *order, CUevent event, CUstream stream)
{
    struct spill_afters after = spill_streamorder_of_event(order, event);
    spill_streamorder_add(&stream_of(order, stream)->pending, &after);
}

struct spill_afters spill_streamorder_of_stream(const struct spill_streamorder *order,
                                                CUstream stream)
{
    struct spill_afters after = {{0}};
    for (uint32_t i = 0; i < order->stream_count; i++) {
        const struct spill_streamorder_stream *one = &order->streams[i];
        if (stream != NULL && one->stream != stream && !(one->legacy && stream == CU_STREAM_LEGACY))
            continue;
        if (one->last != 0)
            add(&after, one->last);
        spill_streamorder_add(&after, &one->pending);
    }
    return after;
}
