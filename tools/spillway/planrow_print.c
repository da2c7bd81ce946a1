/* SPDX-License-Identifier: Apache-2.0 */
/* Plans' numbers as a table for people, as CSV and as JSON. */
#include "tools/spillway/planrow.h"

#include <inttypes.h>

#include "preload/base/size.h"
#include "tools/spillway/jsonout.h"
#include "tools/spillway/tracetext.h"

enum { SCHEMA = 1, SIZE_TEXT = 24 };

bool spill_planrow_csv(const struct spill_planrow *rows, uint32_t count, FILE *out)
{
    fputs("method,gpu_bytes,fits,step_ns,ideal_ns,bound_ns,stall_in_ns,stall_memory_ns,"
          "frame_bytes,peak_bytes,out_bytes,in_bytes,host_bytes,moves\n",
          out);
    for (uint32_t i = 0; i < count; i++) {
        const struct spill_planrow *row = &rows[i];
        fprintf(out, "%s,%" PRIu64 ",%d", row->method, row->gpu_bytes, row->fits);
        if (!row->fits) {
            fputs(",,,,,,,,,,,\n", out);
            continue;
        }
        const uint64_t numbers[] = {
            row->step_ns,         row->ideal_ns,    row->bound_ns,   row->stall_in_ns,
            row->stall_memory_ns, row->frame_bytes, row->peak_bytes, row->out_bytes,
            row->in_bytes,        row->host_bytes,  row->moves};
        for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
            fprintf(out, ",%" PRIu64, numbers[n]);
        fputc('\n', out);
    }
    return !ferror(out);
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

bool spill_planrow_table(const struct spill_planrow *rows, uint32_t count, FILE *out)
{
    char peak[SIZE_TEXT], moved[SIZE_TEXT], budget[SIZE_TEXT];
    fprintf(out, "budget %s", spill_size_format(rows[0].gpu_bytes, budget, sizeof(budget)));
    if (rows[0].fits)
        fprintf(out, "; %.3f ms without a limit, no plan is faster than %.3f ms",
                ms(rows[0].ideal_ns), ms(rows[0].bound_ns));
    fputs("\n  method           step ms  x ideal   wait for copy, memory      peak     moved\n",
          out);
    for (uint32_t i = 0; i < count; i++) {
        const struct spill_planrow *row = &rows[i];
        if (!row->fits) {
            fprintf(out, "  %-13s  does not fit\n", row->method);
            continue;
        }
        fprintf(out, "  %-13s %10.3f  %7.3f  %9.3f %9.3f ms %9s %9s\n", row->method,
                ms(row->step_ns), (double)row->step_ns / (double)(row->ideal_ns | 1),
                ms(row->stall_in_ns), ms(row->stall_memory_ns),
                spill_size_format(row->peak_bytes, peak, sizeof(peak)),
                spill_size_format(row->out_bytes + row->in_bytes, moved, sizeof(moved)));
    }
    return !ferror(out);
}

void spill_planrow_json_row(struct spill_json *json, const char *key,
                            const struct spill_planrow *row)
{
    spill_json_open(json, key, '{', false);
    spill_json_text(json, "method", row->method);
    spill_json_count(json, "gpu_bytes", row->gpu_bytes);
    spill_json_bool(json, "fits", row->fits);
    if (row->fits) {
        spill_json_count(json, "step_ns", row->step_ns);
        spill_json_count(json, "ideal_ns", row->ideal_ns);
        spill_json_count(json, "bound_ns", row->bound_ns);
        spill_json_count(json, "stall_in_ns", row->stall_in_ns);
        spill_json_count(json, "stall_memory_ns", row->stall_memory_ns);
        spill_json_count(json, "frame_bytes", row->frame_bytes);
        spill_json_count(json, "peak_bytes", row->peak_bytes);
        spill_json_count(json, "out_bytes", row->out_bytes);
        spill_json_count(json, "in_bytes", row->in_bytes);
        spill_json_count(json, "out_busy_ns", row->out_busy_ns);
        spill_json_count(json, "in_busy_ns", row->in_busy_ns);
        spill_json_count(json, "host_bytes", row->host_bytes);
        spill_json_count(json, "moves", row->moves);
        spill_json_count(json, "moved_buffers", row->moved_buffers);
        spill_json_count(json, "parks", row->parks);
    }
    spill_json_close(json);
}

bool spill_planrow_json(const struct spill_trace *trace, const struct spill_planrow *rows,
                        uint32_t count, const struct spill_planleast *least, FILE *out)
{
    struct spill_json json = {.out = out};
    char name[SPILL_TRACETEXT_NAME];
    spill_json_open(&json, NULL, '{', true);
    spill_json_count(&json, "schema", SCHEMA);
    spill_json_text(&json, "generator", "spillway " SPILL_VERSION);
    spill_json_text(&json, "program", spill_tracetext_name(trace, trace->program, NULL));
    spill_json_count(&json, "small_bytes", trace->small_bytes);
    spill_json_open(&json, "smallest", '{', false);
    spill_json_count(&json, "gpu_bytes", least->gpu_bytes);
    spill_json_count(&json, "op", least->op);
    spill_json_text(&json, "name", spill_tracetext_op(trace, least->op, name, sizeof(name)));
    spill_json_close(&json);
    spill_json_open(&json, "plans", '[', true);
    for (uint32_t i = 0; i < count; i++)
        spill_planrow_json_row(&json, NULL, &rows[i]);
    spill_json_close(&json);
    spill_json_close(&json);
    return !ferror(out);
}
