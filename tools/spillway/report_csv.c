/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a trace as CSV (RFC 4180, but lines end in LF): one table a document, because few
 * readers take two. */
#include "tools/spillway/facts.h"

#include <inttypes.h>

#include "tools/spillway/forecast.h"
#include "tools/spillway/tracetext.h"

static void field(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void index_field(uint32_t value, FILE *out)
{
    if (value != SPILL_TRACE_NONE)
        fprintf(out, "%u", value);
    fputc(',', out);
}

bool spill_report_csv_buffers(const struct spill_facts *facts, FILE *out)
{
    const struct spill_trace *trace = facts->trace;
    fputs("buffer,address,bytes,page_bytes,life,pinned,birth_op,free_op,uses,longest_idle_ns,"
          "after_op,before_op,idle_ns,idle_byte_seconds,site\n",
          out);
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        const struct spill_trace_buffer *buffer = &trace->buffers[b];
        const struct spill_idle *idle = &facts->idle[b];
        const char *pin = spill_tracetext_pin(buffer->pin);
        bool passing = buffer->life == SPILL_TRACE_ITERATION;
        fprintf(out, "%u,0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%s,%s,", b, buffer->address,
                buffer->bytes, spill_idle_pages(trace, buffer->bytes),
                spill_tracetext_life(buffer->life), pin == NULL ? "" : pin);
        index_field(passing ? buffer->birth_op : SPILL_TRACE_NONE, out);
        index_field(passing ? buffer->free_op : SPILL_TRACE_NONE, out);
        fprintf(out, "%u,%" PRIu64 ",", idle->uses, idle->ns);
        index_field(idle->after_op, out);
        index_field(idle->before_op, out);
        fprintf(out, "%" PRIu64 ",%.6f,", idle->total_ns,
                (double)buffer->bytes * (double)idle->total_ns / 1e9);
        field(spill_tracetext_name(trace, buffer->site, ""), out);
        fputc('\n', out);
    }
    return !ferror(out);
}

bool spill_report_csv_ops(const struct spill_facts *facts, FILE *out)
{
    const struct spill_trace *trace = facts->trace;
    char name[SPILL_TRACETEXT_NAME];
    fputs("op,kind,name,symbol,stream,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,"
          "block_z,accesses,access_bytes,live_bytes,paged_bytes\n",
          out);
    for (uint32_t k = 0; k < trace->op_count; k++) {
        const struct spill_trace_op *op = &trace->ops[k];
        uint64_t touched = 0;
        for (uint32_t a = op->access_first; a < op->access_first + op->access_count; a++)
            touched += trace->buffers[trace->accesses[a].buffer].bytes;
        fprintf(out, "%u,%s,", k, spill_tracetext_kind(op->kind));
        field(spill_tracetext_op(trace, k, name, sizeof(name)), out);
        fputc(',', out);
        field(spill_tracetext_name(trace, op->name, ""), out);
        fprintf(out,
                ",%u,%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%u,%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64
                "\n",
                op->stream, facts->start[k], op->duration_ns, op->grid[0], op->grid[1], op->grid[2],
                op->block[0], op->block[1], op->block[2], op->access_count, touched,
                facts->line.live[k], op->paged_bytes);
    }
    return !ferror(out);
}

bool spill_report_csv_moves(const struct spill_facts *facts, FILE *out)
{
    const struct spill_forecast *forecast = facts->forecast;
    const struct spill_plan *plan = forecast->planned.plan;
    fputs("move,buffer,page_first,pages,bytes,out_after_op,in_after_op,used_by_op,out_start_ns,"
          "out_end_ns,in_start_ns,in_end_ns,spare_ns\n",
          out);
    for (uint32_t m = 0; forecast->row.fits && m < plan->move_count; m++) {
        const struct spill_move *move = &plan->moves[m];
        fprintf(out, "%u,%u,%u,%u,%" PRIu64 ",%u,%u,%u", m, move->buffer, move->page_first,
                move->page_count, spill_forecast_move_bytes(forecast, m), move->out_op, move->in_op,
                move->use_op);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
                move->out_start_ns, move->out_end_ns, move->in_start_ns, move->in_end_ns,
                spill_forecast_spare_ns(forecast, m));
    }
    return !ferror(out);
}
