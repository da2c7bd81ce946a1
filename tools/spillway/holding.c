/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/holding.h"

#include <stdlib.h>
#include <string.h>

struct change {
    uint64_t ns;
    int64_t bytes;
    enum spill_bufclass bufclass;
};

struct sweep {
    struct change *changes;
    size_t count;
    uint64_t length_ns;
    struct spill_holding_point state; /* at the border, then as the sweep goes on */
};

static int earlier(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* BYTES more (fewer, when negative) are held in [FROM, TO) of every iteration. */
static void add(struct sweep *sweep, enum spill_bufclass bufclass, uint64_t from, uint64_t to,
                int64_t bytes)
{
    uint64_t start = from % sweep->length_ns, end = start + (to > from ? to - from : 0);
    if (end >= sweep->length_ns) {
        sweep->state.bytes[bufclass] += (uint64_t)bytes;
        end -= sweep->length_ns;
    }
    sweep->changes[sweep->count++] = (struct change){start, bytes, bufclass};
    sweep->changes[sweep->count++] = (struct change){end, -bytes, bufclass};
}

static bool open_sweep(struct sweep *sweep, const struct spill_trace *trace, uint64_t length_ns,
                       size_t spans)
{
    memset(sweep, 0, sizeof(*sweep));
    sweep->length_ns = length_ns > 0 ? length_ns : 1;
    sweep->state.bytes[SPILL_BUFCLASS_SMALL] = trace->small_bytes;
    sweep->changes = calloc(2 * spans + 1, sizeof(*sweep->changes));
    return sweep->changes != NULL;
}

static uint64_t total(const struct spill_holding_point *point)
{
    uint64_t sum = 0;
    for (int c = 0; c < SPILL_BUFCLASS_COUNT; c++)
        sum += point->bytes[c];
    return sum;
}

/* Takes STATE into the points, as the newest. When there are too many to keep all, one a slice is
 * kept, the highest, and its time is that of the slice. */
static void take(struct spill_holding *holding, const struct spill_holding_point *state)
{
    uint64_t sum = total(state);
    if (holding->count == 0 || sum > holding->peak_bytes) {
        holding->peak_bytes = sum;
        holding->peak_ns = state->ns;
    }
    if (!holding->decimated) {
        holding->points[holding->count++] = *state;
        return;
    }
    struct spill_holding_point *last =
        holding->count > 0 ? &holding->points[holding->count - 1] : NULL;
    uint64_t slice =
        (uint64_t)((double)state->ns / (double)holding->length_ns * SPILL_HOLDING_POINTS);
    uint64_t from = (uint64_t)((double)slice / SPILL_HOLDING_POINTS * (double)holding->length_ns);
    if (last == NULL || last->ns < from)
        last = &holding->points[holding->count++];
    else if (sum < total(last))
        return;
    *last = *state;
    last->ns = from;
}

/* The op that runs at each point: the last that has started. */
static void find_ops(struct spill_holding *holding, const uint64_t *start, uint32_t op_count)
{
    uint32_t op = 0;
    for (uint32_t i = 0; i < holding->count; i++) {
        while (op + 1 < op_count && start[op + 1] <= holding->points[i].ns)
            op++;
        holding->points[i].op = op;
    }
}

/* START: of each op. */
static enum spill_status close_sweep(struct sweep *sweep, const uint64_t *start, uint32_t op_count,
                                     struct spill_holding *holding)
{
    size_t distinct = 1;
    *holding = (struct spill_holding){.length_ns = sweep->length_ns};
    qsort(sweep->changes, sweep->count, sizeof(*sweep->changes), earlier);
    for (size_t i = 0; i < sweep->count; i++)
        distinct += sweep->changes[i].ns != (i == 0 ? 0 : sweep->changes[i - 1].ns);
    holding->decimated = distinct > SPILL_HOLDING_POINTS;
    /* A slice more: rounding may put the last moment into one of its own. */
    holding->points =
        calloc(holding->decimated ? SPILL_HOLDING_POINTS + 1 : distinct, sizeof(*holding->points));
    for (size_t i = 0; holding->points != NULL && i < sweep->count; i++) {
        if (sweep->changes[i].ns != sweep->state.ns)
            take(holding, &sweep->state);
        sweep->state.ns = sweep->changes[i].ns;
        sweep->state.bytes[sweep->changes[i].bufclass] += (uint64_t)sweep->changes[i].bytes;
    }
    free(sweep->changes);
    if (holding->points == NULL)
        return SPILL_ERR_NOMEM;
    take(holding, &sweep->state);
    find_ops(holding, start, op_count);
    return SPILL_OK;
}

enum spill_status spill_holding_before(const struct spill_facts *facts,
                                       struct spill_holding *holding)
{
    const struct spill_trace *trace = facts->trace;
    uint64_t length = facts->start[trace->op_count];
    struct sweep sweep;
    if (!open_sweep(&sweep, trace, length, trace->buffer_count))
        return SPILL_ERR_NOMEM;
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        const struct spill_trace_buffer *buffer = &trace->buffers[b];
        enum spill_bufclass bufclass = spill_facts_class(facts, b);
        uint64_t bytes = spill_idle_pages(trace, buffer->bytes);
        if (buffer->life == SPILL_TRACE_PERSISTENT)
            sweep.state.bytes[bufclass] += bytes;
        else
            add(&sweep, bufclass, facts->start[buffer->birth_op],
                facts->start[buffer->free_op] + (buffer->free_op < buffer->birth_op ? length : 0),
                (int64_t)bytes);
    }
    return close_sweep(&sweep, facts->start, trace->op_count, holding);
}

static void add_moves(const struct spill_facts *facts, const struct spill_keptplan *planned,
                      struct sweep *sweep)
{
    const struct spill_plan *plan = planned->plan;
    int64_t page = (int64_t)facts->trace->page_bytes;
    for (uint32_t i = 0; i < plan->park_count; i++)
        sweep->state.bytes[spill_facts_class(facts, plan->parks[i].buffer)] -=
            (uint64_t)(plan->parks[i].page_count * page);
    for (uint32_t m = 0; m < plan->move_count; m++) {
        const struct spill_move *move = &plan->moves[m];
        add(sweep, spill_facts_class(facts, move->buffer), move->out_end_ns, move->in_start_ns,
            -(int64_t)move->page_count * page);
    }
}

enum spill_status spill_holding_after(const struct spill_facts *facts,
                                      const struct spill_keptplan *planned,
                                      struct spill_holding *holding)
{
    const struct spill_trace *trace = facts->trace;
    const struct spill_problem *problem = &planned->problem;
    uint64_t length = planned->plan->step_ns;
    struct sweep sweep;
    if (!open_sweep(&sweep, trace, length, (size_t)trace->buffer_count + planned->plan->move_count))
        return SPILL_ERR_NOMEM;
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        const struct spill_buffer *buffer = &problem->buffers[b];
        uint32_t birth = buffer->birth_op, death = buffer->death_op;
        enum spill_bufclass bufclass = spill_facts_class(facts, b);
        uint64_t bytes = spill_idle_pages(trace, buffer->bytes);
        if (buffer->life == SPILL_LIFE_PERSISTENT || buffer->pinned != 0)
            sweep.state.bytes[bufclass] += bytes;
        else
            add(&sweep, bufclass, planned->op_start[birth],
                planned->op_start[death] + problem->ops[death].duration_ns +
                    (death < birth ? length : 0),
                (int64_t)bytes);
    }
    add_moves(facts, planned, &sweep);
    return close_sweep(&sweep, planned->op_start, trace->op_count, holding);
}

void spill_holding_free(struct spill_holding *holding)
{
    free(holding->points);
    memset(holding, 0, sizeof(*holding));
}
