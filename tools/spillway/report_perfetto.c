/* SPDX-License-Identifier: Apache-2.0 */
/* One iteration in the Chrome trace event format, which Perfetto and chrome://tracing open. Ops
 * stand where they were measured; of traces without starts, one after another. */
#include "tools/spillway/facts.h"

#include <stdlib.h>

#include "tools/spillway/jsonout.h"
#include "tools/spillway/tracetext.h"

enum { PROCESS = 1 };

static void open_event(struct spill_json *json, const char *name, const char *phase)
{
    spill_json_open(json, NULL, '{', false);
    spill_json_text(json, "name", name);
    spill_json_text(json, "ph", phase);
    spill_json_count(json, "pid", PROCESS);
}

static void name_process(struct spill_json *json, const char *name)
{
    open_event(json, "process_name", "M");
    spill_json_open(json, "args", '{', false);
    spill_json_text(json, "name", name);
    spill_json_close(json);
    spill_json_close(json);
}

static void name_stream(struct spill_json *json, uint32_t stream)
{
    char name[32];
    snprintf(name, sizeof(name), "stream %u", stream);
    open_event(json, "thread_name", "M");
    spill_json_count(json, "tid", stream);
    spill_json_open(json, "args", '{', false);
    spill_json_text(json, "name", name);
    spill_json_close(json);
    spill_json_close(json);
    open_event(json, "thread_sort_index", "M");
    spill_json_count(json, "tid", stream);
    spill_json_open(json, "args", '{', false);
    spill_json_count(json, "sort_index", stream);
    spill_json_close(json);
    spill_json_close(json);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool name_streams(struct spill_json *json, const struct spill_trace *trace)
{
    uint32_t *streams = calloc((size_t)trace->op_count + 1, sizeof(*streams));
    if (streams == NULL)
        return false;
    for (uint32_t k = 0; k < trace->op_count; k++)
        streams[k] = trace->ops[k].stream;
    qsort(streams, trace->op_count, sizeof(*streams), by_number);
    for (uint32_t k = 0; k < trace->op_count; k++)
        if (k == 0 || streams[k] != streams[k - 1])
            name_stream(json, streams[k]);
    free(streams);
    return true;
}

static void write_slice(struct spill_json *json, const struct spill_facts *facts, uint32_t k)
{
    const struct spill_trace_op *op = &facts->trace->ops[k];
    char name[SPILL_TRACETEXT_NAME];
    uint64_t touched = 0;
    for (uint32_t a = op->access_first; a < op->access_first + op->access_count; a++)
        touched += facts->trace->buffers[facts->trace->accesses[a].buffer].bytes;
    open_event(json, spill_tracetext_op(facts->trace, k, name, sizeof(name)), "X");
    spill_json_text(json, "cat", spill_tracetext_kind(op->kind));
    spill_json_count(json, "tid", op->stream);
    spill_json_micros(json, "ts", facts->start[k]);
    spill_json_micros(json, "dur", op->duration_ns);
    spill_json_open(json, "args", '{', false);
    spill_json_count(json, "op", k);
    spill_json_count(json, "buffers", op->access_count);
    spill_json_count(json, "bytes", touched);
    spill_json_close(json);
    spill_json_close(json);
}

static void write_counter(struct spill_json *json, const char *name, uint64_t ns, uint64_t bytes)
{
    open_event(json, name, "C");
    spill_json_micros(json, "ts", ns);
    spill_json_open(json, "args", '{', false);
    spill_json_count(json, "bytes", bytes);
    spill_json_close(json);
    spill_json_close(json);
}

bool spill_report_perfetto(const struct spill_facts *facts, FILE *out)
{
    const struct spill_trace *trace = facts->trace;
    const char *program = spill_tracetext_name(trace, trace->program, "(unnamed program)");
    struct spill_json json = {.out = out};
    spill_json_open(&json, NULL, '{', true);
    spill_json_text(&json, "displayTimeUnit", "ms");
    spill_json_open(&json, "otherData", '{', false);
    spill_json_text(&json, "generator", "spillway " SPILL_VERSION);
    spill_json_text(&json, "program", program);
    spill_json_text(&json, "device", spill_tracetext_name(trace, trace->device_name, ""));
    spill_json_text(&json, "note", "of one iteration, as measured");
    spill_json_close(&json);
    spill_json_open(&json, "traceEvents", '[', true);
    name_process(&json, program);
    bool named = name_streams(&json, trace);
    write_counter(&json, "budget", 0, trace->gpu_budget);
    write_counter(&json, "budget", facts->start[trace->op_count], trace->gpu_budget);
    for (uint32_t k = 0; k < trace->op_count; k++) {
        if (k == 0 || facts->line.live[k] != facts->line.live[k - 1])
            write_counter(&json, "live bytes", facts->start[k], facts->line.live[k]);
        write_slice(&json, facts, k);
    }
    write_counter(&json, "live bytes", facts->start[trace->op_count],
                  facts->line.live[trace->op_count]);
    spill_json_close(&json);
    spill_json_close(&json);
    return named && !ferror(out);
}
