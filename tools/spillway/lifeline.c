/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/lifeline.h"

#include <stdlib.h>
#include <string.h>

struct keyed {
    struct spill_lifeline_event event;
    unsigned rank;
};

/* The trace does not keep the order of allocations and frees between two ops. What is freed goes
 * first, as its address may be given again; but a buffer without any op in its life must come
 * before it goes. */
enum { FREED, BORN, FREED_AT_ONCE };

static int earlier(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->event.op != y->event.op)
        return x->event.op < y->event.op ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->event.buffer > y->event.buffer) - (x->event.buffer < y->event.buffer);
}

static void count_live(const struct spill_trace *trace, struct spill_lifeline *line)
{
    uint64_t live = 0;
    uint32_t next = 0;
    for (uint32_t b = 0; b < trace->buffer_count; b++)
        live += line->at_border[b] ? trace->buffers[b].bytes : 0;
    for (uint32_t k = 0; k <= trace->op_count; k++) {
        for (; next < line->event_count && line->events[next].op == k; next++) {
            uint64_t bytes = trace->buffers[line->events[next].buffer].bytes;
            live = line->events[next].frees ? live - bytes : live + bytes;
        }
        line->live[k] = live;
    }
}

enum spill_status spill_lifeline_build(const struct spill_trace *trace, struct spill_lifeline *line)
{
    size_t most = 2 * (size_t)trace->buffer_count + 1;
    struct keyed *keyed = calloc(most, sizeof(*keyed));
    memset(line, 0, sizeof(*line));
    line->events = calloc(most, sizeof(*line->events));
    line->live = calloc((size_t)trace->op_count + 1, sizeof(*line->live));
    line->at_border = calloc((size_t)trace->buffer_count + 1, sizeof(*line->at_border));
    if (keyed == NULL || line->events == NULL || line->live == NULL || line->at_border == NULL) {
        free(keyed);
        spill_lifeline_free(line);
        return SPILL_ERR_NOMEM;
    }
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        const struct spill_trace_buffer *buffer = &trace->buffers[b];
        line->at_border[b] =
            buffer->life == SPILL_TRACE_PERSISTENT || buffer->free_op < buffer->birth_op;
        if (buffer->life == SPILL_TRACE_PERSISTENT)
            continue;
        keyed[line->event_count++] = (struct keyed){{buffer->birth_op, b, false}, BORN};
        keyed[line->event_count++] =
            (struct keyed){{buffer->free_op, b, true},
                           buffer->free_op == buffer->birth_op ? FREED_AT_ONCE : FREED};
    }
    qsort(keyed, line->event_count, sizeof(*keyed), earlier);
    for (uint32_t i = 0; i < line->event_count; i++)
        line->events[i] = keyed[i].event;
    free(keyed);
    count_live(trace, line);
    return SPILL_OK;
}

void spill_lifeline_free(struct spill_lifeline *line)
{
    free(line->events);
    free(line->live);
    free(line->at_border);
    memset(line, 0, sizeof(*line));
}
