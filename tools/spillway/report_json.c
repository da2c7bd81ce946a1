/* SPDX-License-Identifier: Apache-2.0 */
/* Every number of a trace as JSON. Readers go by "schema": it is raised when a field changes its
 * meaning or goes away, not when one is added. */
#include "tools/spillway/facts.h"

#include "tools/spillway/demangle.h"
#include "tools/spillway/forecast.h"
#include "tools/spillway/jsonout.h"
#include "tools/spillway/tracetext.h"

enum { SCHEMA = 1 };

static void write_link(struct spill_json *json, const char *key,
                       const struct spill_trace_link *link)
{
    spill_json_open(json, key, '{', false);
    spill_json_count(json, "latency_ns", link->latency_ns);
    spill_json_count(json, "bytes_per_s", link->bytes_per_s);
    spill_json_close(json);
}

static void write_class(struct spill_json *json, const char *key, uint32_t count, uint64_t bytes)
{
    spill_json_open(json, key, '{', false);
    spill_json_count(json, "count", count);
    spill_json_count(json, "bytes", bytes);
    spill_json_close(json);
}

static void write_totals(struct spill_json *json, const struct spill_trace *trace)
{
    uint64_t bytes[3] = {0};
    uint32_t count[3] = {0};
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        const struct spill_trace_buffer *buffer = &trace->buffers[b];
        count[buffer->life]++;
        bytes[buffer->life] += buffer->bytes;
        if (buffer->pin != SPILL_TRACE_UNPINNED) {
            count[2]++;
            bytes[2] += buffer->bytes;
        }
    }
    spill_json_open(json, "totals", '{', false);
    write_class(json, "persistent", count[SPILL_TRACE_PERSISTENT], bytes[SPILL_TRACE_PERSISTENT]);
    write_class(json, "iteration", count[SPILL_TRACE_ITERATION], bytes[SPILL_TRACE_ITERATION]);
    write_class(json, "pinned", count[2], bytes[2]);
    spill_json_close(json);
}

static void write_size(struct spill_json *json, const char *key, const uint32_t size[3])
{
    spill_json_open(json, key, '[', false);
    for (int i = 0; i < 3; i++)
        spill_json_count(json, NULL, size[i]);
    spill_json_close(json);
}

static void write_op(struct spill_json *json, const struct spill_facts *facts, uint32_t k)
{
    const struct spill_trace *trace = facts->trace;
    const struct spill_trace_op *op = &trace->ops[k];
    char name[SPILL_TRACETEXT_NAME];
    spill_json_open(json, NULL, '{', false);
    spill_json_count(json, "op", k);
    spill_json_text(json, "kind", spill_tracetext_kind(op->kind));
    spill_json_text(json, "name", spill_tracetext_op(trace, k, name, sizeof(name)));
    spill_json_text(json, "symbol", spill_tracetext_name(trace, op->name, NULL));
    spill_json_count(json, "stream", op->stream);
    spill_json_count(json, "start_ns", facts->start[k]);
    spill_json_count(json, "duration_ns", op->duration_ns);
    spill_json_count(json, "paged_bytes", op->paged_bytes);
    write_size(json, "grid", op->grid);
    write_size(json, "block", op->block);
    spill_json_count(json, "live_bytes", facts->line.live[k]);
    spill_json_open(json, "accesses", '[', false);
    for (uint32_t a = op->access_first; a < op->access_first + op->access_count; a++) {
        spill_json_open(json, NULL, '{', false);
        spill_json_count(json, "buffer", trace->accesses[a].buffer);
        spill_json_text(json, "mode", spill_tracetext_mode(trace->accesses[a].mode));
        spill_json_close(json);
    }
    spill_json_close(json);
    spill_json_close(json);
}

static void write_buffer(struct spill_json *json, const struct spill_facts *facts, uint32_t b)
{
    const struct spill_trace *trace = facts->trace;
    const struct spill_trace_buffer *buffer = &trace->buffers[b];
    const struct spill_idle *idle = &facts->idle[b];
    const char *site = spill_tracetext_name(trace, buffer->site, "");
    struct spill_siteframe frame;
    bool passing = buffer->life == SPILL_TRACE_ITERATION;
    spill_json_open(json, NULL, '{', false);
    spill_json_count(json, "buffer", b);
    spill_json_address(json, "address", buffer->address);
    spill_json_count(json, "bytes", buffer->bytes);
    spill_json_count(json, "page_bytes", spill_idle_pages(trace, buffer->bytes));
    spill_json_text(json, "life", spill_tracetext_life(buffer->life));
    spill_json_text(json, "pinned", spill_tracetext_pin(buffer->pin));
    spill_json_index(json, "birth_op", passing ? buffer->birth_op : SPILL_TRACE_NONE);
    spill_json_index(json, "free_op", passing ? buffer->free_op : SPILL_TRACE_NONE);
    spill_json_count(json, "uses", idle->uses);
    spill_json_open(json, "longest_idle", '{', false);
    spill_json_count(json, "ns", idle->ns);
    spill_json_index(json, "after_op", idle->after_op);
    spill_json_index(json, "before_op", idle->before_op);
    spill_json_close(json);
    spill_json_count(json, "idle_ns", idle->total_ns);
    spill_json_number(json, "idle_byte_seconds",
                      (double)buffer->bytes * (double)idle->total_ns / 1e9);
    spill_json_open(json, "site", '[', false);
    while (spill_tracetext_frame(&site, &frame))
        spill_json_piece(json, NULL, frame.text, frame.len);
    spill_json_close(json);
    spill_json_close(json);
}

/* KEY: the name at OFFSET as the source has it, like the ops' names. */
static void write_name(struct spill_json *json, const char *key, const struct spill_trace *trace,
                       uint32_t offset)
{
    char name[SPILL_TRACETEXT_NAME];
    const char *text = spill_tracetext_name(trace, offset, NULL);
    spill_json_text(json, key, text == NULL ? NULL : spill_demangle(text, name, sizeof(name)));
}

/* Where the program left the iteration. */
static void write_differences(struct spill_json *json, const struct spill_trace *trace)
{
    spill_json_open(json, "differences", '[', false);
    for (uint32_t i = 0; i < trace->difference_count; i++) {
        const struct spill_trace_difference *difference = &trace->differences[i];
        spill_json_open(json, NULL, '{', false);
        spill_json_count(json, "iteration", difference->iteration);
        spill_json_count(json, "op", difference->op);
        write_name(json, "expected", trace, difference->expected);
        write_name(json, "found", trace, difference->found);
        spill_json_close(json);
    }
    spill_json_close(json);
}

void spill_report_json_head(const struct spill_facts *facts, struct spill_json *json)
{
    const struct spill_trace *trace = facts->trace;
    uint64_t largest;
    uint32_t op = spill_idle_largest_op(trace, &largest);
    spill_json_count(json, "schema", SCHEMA);
    spill_json_text(json, "generator", "spillway " SPILL_VERSION);
    spill_json_text(json, "program", spill_tracetext_name(trace, trace->program, NULL));
    spill_json_text(json, "device", spill_tracetext_name(trace, trace->device_name, NULL));
    spill_json_count(json, "gpu_bytes", trace->gpu_bytes);
    spill_json_count(json, "gpu_budget_bytes", trace->gpu_budget);
    spill_json_count(json, "page_bytes", trace->page_bytes);
    spill_json_count(json, "iterations", trace->iterations);
    spill_json_count(json, "others", trace->others);
    if (trace->iterations == 0)
        spill_json_text(json, "match_score", NULL);
    else
        spill_json_number(json, "match_score", spill_facts_match(trace));
    if (trace->hooked_calls == 0)
        spill_json_text(json, "hooked_calls", NULL);
    else
        spill_json_count(json, "hooked_calls", trace->hooked_calls);
    write_differences(json, trace);
    spill_json_count(json, "step_ns", trace->step_ns);
    spill_json_count(json, "busy_ns", facts->time.busy_ns);
    spill_json_count(json, "host_gap_ns", facts->time.host_gap_ns);
    spill_json_count(json, "page_gap_ns", facts->time.page_gap_ns);
    spill_json_count(json, "peak_bytes", trace->peak_bytes);
    spill_json_count(json, "small_bytes", trace->small_bytes);
    spill_json_count(json, "paged_bytes", trace->paged_bytes);
    spill_json_count(json, "log_bytes", trace->log_bytes);
    spill_json_count(json, "log_max_bytes", trace->log_max);
    spill_json_open(json, "largest_op", '{', false);
    spill_json_index(json, "op", op);
    spill_json_count(json, "bytes", largest);
    spill_json_close(json);
    spill_json_open(json, "links", '{', false);
    write_link(json, "out", &trace->out);
    write_link(json, "in", &trace->in);
    spill_json_count(json, "duplex_permille", trace->duplex_permille);
    spill_json_close(json);
    write_totals(json, trace);
    if (facts->forecast != NULL)
        spill_forecast_json(facts->forecast, json);
}

bool spill_report_json(const struct spill_facts *facts, FILE *out)
{
    struct spill_json json = {.out = out};
    spill_json_open(&json, NULL, '{', true);
    spill_report_json_head(facts, &json);
    spill_json_open(&json, "ops", '[', true);
    for (uint32_t k = 0; k < facts->trace->op_count; k++)
        write_op(&json, facts, k);
    spill_json_close(&json);
    spill_json_open(&json, "buffers", '[', true);
    for (uint32_t b = 0; b < facts->trace->buffer_count; b++)
        write_buffer(&json, facts, b);
    spill_json_close(&json);
    if (facts->forecast != NULL)
        spill_forecast_json_moves(facts->forecast, &json);
    spill_json_close(&json);
    return !ferror(out);
}
