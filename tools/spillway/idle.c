/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/idle.h"

#include <stdbool.h>
#include <stdlib.h>

uint64_t spill_idle_pages(const struct spill_trace *trace, uint64_t bytes)
{
    uint64_t rest = bytes % trace->page_bytes;
    return rest == 0 ? bytes : bytes - rest + trace->page_bytes;
}

/* Working arrays, all in one place to be freed at once. */
struct tables {
    uint64_t *start; /* of each op; [op_count]: the length of the iteration */
    uint32_t *first; /* uses of buffer b are ops[first[b]] .. ops[first[b + 1] - 1], ascending */
    uint32_t *ops;
};

static void tables_free(struct tables *t)
{
    free(t->start);
    free(t->first);
    free(t->ops);
}

static enum spill_status tables_build(const struct spill_trace *trace, struct tables *t)
{
    t->start = calloc(trace->op_count + 1u, sizeof(*t->start));
    t->first = calloc(trace->buffer_count + 2u, sizeof(*t->first));
    /* A damaged file may let ops share accesses: then there are more uses than accesses. */
    uint64_t uses = 0;
    for (uint32_t k = 0; k < trace->op_count; k++)
        uses += trace->ops[k].access_count;
    t->ops = uses < UINT32_MAX ? calloc(uses + 1u, sizeof(*t->ops)) : NULL;
    if (t->start == NULL || t->first == NULL || t->ops == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < trace->op_count; k++)
        t->start[k + 1] = t->start[k] + trace->ops[k].duration_ns;
    /* A counting sort, shifted by one so that first[b + 1] is the place of b's next use while
     * filling, and its end afterwards. */
    for (uint32_t k = 0; k < trace->op_count; k++)
        for (uint32_t a = 0; a < trace->ops[k].access_count; a++)
            t->first[trace->accesses[trace->ops[k].access_first + a].buffer + 2]++;
    for (uint32_t b = 0; b < trace->buffer_count; b++)
        t->first[b + 2] += t->first[b + 1];
    for (uint32_t k = 0; k < trace->op_count; k++)
        for (uint32_t a = 0; a < trace->ops[k].access_count; a++)
            t->ops[t->first[trace->accesses[trace->ops[k].access_first + a].buffer + 1]++] = k;
    return SPILL_OK;
}

/* The longest gap of buffer B. A persistent buffer's uses form a circle. Others' form a line, which
 * begins at the birth and may run on past the border of the iteration. */
static struct spill_idle longest_gap(const struct spill_trace *trace, const struct tables *t,
                                     uint32_t b)
{
    const struct spill_trace_buffer *buffer = &trace->buffers[b];
    const uint32_t *ops = t->ops + t->first[b];
    uint32_t count = t->first[b + 1] - t->first[b], turn = 0;
    uint64_t total = t->start[trace->op_count];
    bool circle = buffer->life == SPILL_TRACE_PERSISTENT;
    struct spill_idle idle = {
        .buffer = b, .after_op = SPILL_TRACE_NONE, .before_op = SPILL_TRACE_NONE, .uses = count};
    if (count == 0)
        idle.ns = idle.total_ns = circle ? total : 0;
    if (!circle && buffer->free_op < buffer->birth_op)
        while (turn < count && ops[turn] < buffer->birth_op)
            turn++;
    for (uint32_t i = 0; i + !circle < count; i++) {
        uint32_t from = ops[(turn + i) % count], to = ops[(turn + i + 1) % count];
        uint64_t end = t->start[from + 1], begin = t->start[to] + (to <= from ? total : 0);
        if (begin <= end)
            continue;
        idle.total_ns += begin - end;
        if (begin - end > idle.ns) {
            idle.after_op = from;
            idle.before_op = to;
            idle.ns = begin - end;
        }
    }
    idle.weight = (double)buffer->bytes * (double)idle.ns;
    return idle;
}

static int heavier(const void *a, const void *b)
{
    const struct spill_idle *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->buffer < y->buffer ? -1 : 1;
}

enum spill_status spill_idle_each(const struct spill_trace *trace, struct spill_idle **idle)
{
    struct tables tables = {NULL, NULL, NULL};
    struct spill_idle *list = calloc(trace->buffer_count + 1u, sizeof(*list));
    enum spill_status status = list == NULL ? SPILL_ERR_NOMEM : tables_build(trace, &tables);
    if (status == SPILL_OK) {
        for (uint32_t b = 0; b < trace->buffer_count; b++)
            list[b] = longest_gap(trace, &tables, b);
        *idle = list;
    } else {
        free(list);
    }
    tables_free(&tables);
    return status;
}

enum spill_status spill_idle_find(const struct spill_trace *trace, struct spill_idle **idle)
{
    enum spill_status status = spill_idle_each(trace, idle);
    if (status == SPILL_OK)
        qsort(*idle, trace->buffer_count, sizeof(**idle), heavier);
    return status;
}

uint32_t spill_idle_largest_op(const struct spill_trace *trace, uint64_t *bytes)
{
    uint32_t largest = SPILL_TRACE_NONE;
    *bytes = 0;
    for (uint32_t k = 0; k < trace->op_count; k++) {
        const struct spill_trace_op *op = &trace->ops[k];
        uint64_t sum = 0;
        for (uint32_t a = op->access_first; a < op->access_first + op->access_count; a++)
            sum += spill_idle_pages(trace, trace->buffers[trace->accesses[a].buffer].bytes);
        if (largest == SPILL_TRACE_NONE || sum > *bytes) {
            largest = k;
            *bytes = sum;
        }
    }
    return largest;
}
