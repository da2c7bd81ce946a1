/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a forecast as JSON: idle buffers, what lives at the peak, moves. */
#include "tools/spillway/forecast.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/spillway/tracetext.h"

enum { LARGEST_MOVES = 200, NAME_TEXT = 96 };

void spill_forecast_json_op(struct spill_json *json, const struct spill_trace *trace,
                            const char *key, uint32_t op)
{
    char name[NAME_TEXT];
    spill_json_open(json, key, '{', false);
    spill_json_index(json, "op", op);
    spill_json_text(json, "name",
                    op < trace->op_count ? spill_tracetext_op(trace, op, name, sizeof(name))
                                         : NULL);
    spill_json_close(json);
}

static const char *class_of(const struct spill_facts *facts, uint32_t b)
{
    return spill_bufclass_key(spill_facts_class(facts, b));
}

static void write_site(const struct spill_trace *trace, uint32_t b, struct spill_json *json)
{
    const char *site = spill_tracetext_name(trace, trace->buffers[b].site, "");
    struct spill_siteframe frame;
    spill_json_open(json, "site", '[', false);
    while (spill_tracetext_frame(&site, &frame)) {
        char text[2 * SPILL_TRACETEXT_NAME + 32];
        if (frame.offset != 0)
            snprintf(text, sizeof(text), "%s+0x%" PRIx64 " in %s", frame.name, frame.offset,
                     frame.module);
        else
            snprintf(text, sizeof(text), "%s in %s", frame.name, frame.module);
        spill_json_text(json, NULL, text);
    }
    spill_json_close(json);
}

static void write_buffer(const struct spill_forecast *f, uint32_t b, struct spill_json *json)
{
    const struct spill_trace *trace = f->facts->trace;
    spill_json_count(json, "buffer", b);
    spill_json_count(json, "bytes", trace->buffers[b].bytes);
    spill_json_text(json, "class", class_of(f->facts, b));
    spill_json_text(json, "pinned", spill_tracetext_pin(trace->buffers[b].pin));
    write_site(trace, b, json);
}

/* The time one copy of BYTES takes over the link that was planned with. */
static uint64_t copy_ns(const struct spill_link *link, uint64_t bytes)
{
    return link->latency_ns + (uint64_t)((double)bytes * 1e9 / (double)link->bytes_per_s);
}

static uint64_t moved_bytes(const struct spill_forecast *f, uint32_t b)
{
    const struct spill_plan *plan = f->planned.plan;
    uint64_t pages = 0;
    for (uint32_t m = 0; f->row.fits && m < plan->move_count; m++)
        pages += plan->moves[m].buffer == b ? plan->moves[m].page_count : 0;
    for (uint32_t p = 0; f->row.fits && p < plan->park_count; p++)
        pages += plan->parks[p].buffer == b ? plan->parks[p].page_count : 0;
    return pages * f->facts->trace->page_bytes;
}

/* The buffers that are idle longest, by size x time. */
static void write_idle(const struct spill_forecast *f, struct spill_json *json)
{
    const struct spill_trace *trace = f->facts->trace;
    struct spill_idle *idle = NULL;
    spill_json_open(json, "idle", '[', true);
    bool found = spill_idle_find(trace, &idle) == SPILL_OK;
    for (uint32_t i = 0; found && i < trace->buffer_count && i < SPILL_FORECAST_LISTED; i++) {
        if (idle[i].ns == 0)
            break;
        uint32_t b = idle[i].buffer;
        spill_json_open(json, NULL, '{', false);
        write_buffer(f, b, json);
        spill_json_count(json, "idle_ns", idle[i].ns);
        spill_json_count(json, "copies_ns",
                         copy_ns(&f->planned.problem.out, trace->buffers[b].bytes) +
                             copy_ns(&f->planned.problem.in, trace->buffers[b].bytes));
        spill_forecast_json_op(json, trace, "after", idle[i].after_op);
        spill_forecast_json_op(json, trace, "before", idle[i].before_op);
        spill_json_count(json, "moved_page_bytes", moved_bytes(f, b));
        spill_json_close(json);
    }
    free(idle);
    spill_json_close(json);
}

struct sized {
    uint64_t bytes;
    uint32_t index;
};

static int larger(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Does BUFFER live while op K runs? */
static bool lives(const struct spill_trace_buffer *buffer, uint32_t k)
{
    if (buffer->life == SPILL_TRACE_PERSISTENT)
        return true;
    if (buffer->free_op < buffer->birth_op)
        return k >= buffer->birth_op || k < buffer->free_op;
    return k >= buffer->birth_op && k < buffer->free_op;
}

static void write_peak(const struct spill_forecast *f, struct spill_json *json)
{
    const struct spill_trace *trace = f->facts->trace;
    struct sized *live = calloc((size_t)trace->buffer_count + 1, sizeof(*live));
    uint32_t op = 0, count = 0;
    uint64_t rest = 0;
    /* The last op that starts at that moment: ops may take no time. */
    while (op + 1 < trace->op_count && f->facts->start[op + 1] <= f->before.peak_ns)
        op++;
    for (uint32_t b = 0; live != NULL && b < trace->buffer_count; b++)
        if (lives(&trace->buffers[b], op))
            live[count++] = (struct sized){spill_idle_pages(trace, trace->buffers[b].bytes), b};
    if (count > 0)
        qsort(live, count, sizeof(*live), larger);
    spill_json_open(json, "peak", '{', true);
    spill_forecast_json_op(json, trace, "during", op);
    spill_json_count(json, "page_bytes", f->before.peak_bytes);
    spill_json_count(json, "buffers", count);
    spill_json_open(json, "largest", '[', true);
    for (uint32_t i = 0; i < count && i < SPILL_FORECAST_LISTED; i++) {
        spill_json_open(json, NULL, '{', false);
        write_buffer(f, live[i].index, json);
        spill_json_count(json, "page_bytes", live[i].bytes);
        spill_json_close(json);
    }
    spill_json_close(json);
    for (uint32_t i = SPILL_FORECAST_LISTED; i < count; i++)
        rest += live[i].bytes;
    spill_json_count(json, "others_page_bytes", rest);
    spill_json_close(json);
    free(live);
}

static void write_move(const struct spill_forecast *f, uint32_t m, struct spill_json *json)
{
    const struct spill_trace *trace = f->facts->trace;
    const struct spill_move *move = &f->planned.plan->moves[m];
    spill_json_open(json, NULL, '{', false);
    spill_json_count(json, "move", m);
    spill_json_count(json, "buffer", move->buffer);
    spill_json_text(json, "class", class_of(f->facts, move->buffer));
    spill_json_count(json, "page_first", move->page_first);
    spill_json_count(json, "pages", move->page_count);
    spill_json_count(json, "bytes", spill_forecast_move_bytes(f, m));
    spill_forecast_json_op(json, trace, "out_after", move->out_op);
    spill_forecast_json_op(json, trace, "in_after", move->in_op);
    spill_forecast_json_op(json, trace, "used_by", move->use_op);
    spill_json_count(json, "out_start_ns", move->out_start_ns);
    spill_json_count(json, "out_end_ns", move->out_end_ns);
    spill_json_count(json, "in_start_ns", move->in_start_ns);
    spill_json_count(json, "in_end_ns", move->in_end_ns);
    spill_json_count(json, "spare_ns", spill_forecast_spare_ns(f, m));
    spill_json_close(json);
}

static void write_largest_moves(const struct spill_forecast *f, struct spill_json *json)
{
    uint32_t count = f->row.fits ? f->planned.plan->move_count : 0;
    struct sized *moves = calloc((size_t)count + 1, sizeof(*moves));
    spill_json_open(json, "largest_moves", '[', true);
    for (uint32_t m = 0; moves != NULL && m < count; m++)
        moves[m] = (struct sized){spill_forecast_move_bytes(f, m), m};
    if (moves != NULL && count > 0)
        qsort(moves, count, sizeof(*moves), larger);
    for (uint32_t i = 0; moves != NULL && i < count && i < LARGEST_MOVES; i++)
        write_move(f, moves[i].index, json);
    spill_json_close(json);
    free(moves);
}

void spill_forecast_json_moves(const struct spill_forecast *f, struct spill_json *json)
{
    spill_json_open(json, "moves", '[', true);
    for (uint32_t m = 0; f->row.fits && m < f->planned.plan->move_count; m++)
        write_move(f, m, json);
    spill_json_close(json);
}

void spill_forecast_json_tables(const struct spill_forecast *forecast, struct spill_json *json)
{
    write_idle(forecast, json);
    write_peak(forecast, json);
    write_largest_moves(forecast, json);
}
