/* SPDX-License-Identifier: Apache-2.0 */
/* spillway dump: the records of a trace as lines, for grep and awk. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/log.h"
#include "profiler/tracefile.h"
#include "tools/spillway/command.h"
#include "tools/spillway/loadtrace.h"
#include "tools/spillway/options.h"
#include "tools/spillway/outfile.h"
#include "tools/spillway/outoptions.h"
#include "tools/spillway/tracetext.h"

enum { KEY_ONLY = 512 };

/* TEXT between quotes, what is not plain ASCII as \xNN: one record stays one line. */
static void put_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c > 0x7e)
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void put_name(const struct spill_trace *trace, const char *key, uint32_t offset, FILE *out)
{
    fprintf(out, "%s ", key);
    if (offset == SPILL_TRACE_NONE)
        fputc('-', out);
    else
        put_text(spill_tracetext_name(trace, offset, ""), out);
    fputc('\n', out);
}

static void dump_meta(const struct spill_trace *trace, FILE *out)
{
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"iterations", trace->iterations},
        {"others", trace->others},
        {"hooked_calls", trace->hooked_calls},
        {"ops", trace->op_count},
        {"accesses", trace->access_count},
        {"buffers", trace->buffer_count},
        {"differences", trace->difference_count},
        {"page_bytes", trace->page_bytes},
        {"gpu_bytes", trace->gpu_bytes},
        {"gpu_budget_bytes", trace->gpu_budget},
        {"peak_bytes", trace->peak_bytes},
        {"small_bytes", trace->small_bytes},
        {"paged_bytes", trace->paged_bytes},
        {"step_ns", trace->step_ns},
        {"out_latency_ns", trace->out.latency_ns},
        {"out_bytes_per_s", trace->out.bytes_per_s},
        {"in_latency_ns", trace->in.latency_ns},
        {"in_bytes_per_s", trace->in.bytes_per_s},
        {"duplex_permille", trace->duplex_permille},
        {"log_bytes", trace->log_bytes},
        {"log_max_bytes", trace->log_max},
    };
    put_name(trace, "meta program", trace->program, out);
    put_name(trace, "meta device", trace->device_name, out);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        fprintf(out, "meta %s %" PRIu64 "\n", rows[i].key, rows[i].value);
}

static void dump_buffers(const struct spill_trace *trace, FILE *out)
{
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        const struct spill_trace_buffer *buffer = &trace->buffers[b];
        const char *pin = spill_tracetext_pin(buffer->pin);
        fprintf(out, "buffer %u address 0x%" PRIx64 " bytes %" PRIu64 " life %s", b,
                buffer->address, buffer->bytes, spill_tracetext_life(buffer->life));
        if (buffer->life == SPILL_TRACE_ITERATION)
            fprintf(out, " birth_op %u free_op %u", buffer->birth_op, buffer->free_op);
        fputs(" pinned ", out);
        if (pin == NULL)
            fputc('-', out);
        else
            put_text(pin, out);
        put_name(trace, " site", buffer->site, out);
    }
}

static void dump_ops(const struct spill_trace *trace, FILE *out)
{
    for (uint32_t k = 0; k < trace->op_count; k++) {
        const struct spill_trace_op *op = &trace->ops[k];
        fprintf(out,
                "op %u kind %s stream %u start_ns %" PRIu64 " duration_ns %" PRIu64
                " paged_bytes %" PRIu64 " grid %u %u %u block %u %u %u",
                k, spill_tracetext_kind(op->kind), op->stream, op->start_ns, op->duration_ns,
                op->paged_bytes, op->grid[0], op->grid[1], op->grid[2], op->block[0], op->block[1],
                op->block[2]);
        put_name(trace, " name", op->name, out);
    }
}

static void dump_accesses(const struct spill_trace *trace, FILE *out)
{
    for (uint32_t k = 0; k < trace->op_count; k++) {
        const struct spill_trace_op *op = &trace->ops[k];
        for (uint32_t a = op->access_first; a < op->access_first + op->access_count; a++)
            fprintf(out, "access op %u buffer %u mode %s\n", k, trace->accesses[a].buffer,
                    spill_tracetext_mode(trace->accesses[a].mode));
    }
}

static void dump_differences(const struct spill_trace *trace, FILE *out)
{
    for (uint32_t i = 0; i < trace->difference_count; i++) {
        const struct spill_trace_difference *difference = &trace->differences[i];
        fprintf(out, "difference %u iteration %u op %u expected ", i, difference->iteration,
                difference->op);
        put_text(spill_tracetext_name(trace, difference->expected, ""), out);
        put_name(trace, " found", difference->found, out);
    }
}

static const struct kind {
    const char *name;
    void (*dump)(const struct spill_trace *trace, FILE *out);
} kinds[] = {
    {"meta", dump_meta},         {"buffers", dump_buffers},         {"ops", dump_ops},
    {"accesses", dump_accesses}, {"differences", dump_differences},
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

struct request {
    const char *path;
    struct spill_outoptions out;
    unsigned only; /* a bit for each kind; 0: all */
};

static const struct argp_option table[] = {
    {"only", KEY_ONLY, "KIND", 0,
     "Only records of this kind: meta, buffers, ops, accesses or differences; may be repeated", -2},
    {NULL, 0, NULL, 0, NULL, 0},
};

static unsigned find_kind(const char *name)
{
    for (unsigned i = 0; i < KIND_COUNT; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return 1u << i;
    spill_log(SPILL_LOG_ERROR,
              "--only %s: the kinds are meta, buffers, ops, accesses and differences", name);
    exit(SPILL_EXIT_USAGE);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->out;
        state->child_inputs[1] = &request->path;
        return 0;
    case KEY_ONLY:
        request->only |= find_kind(arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Print the records of a trace as they stand in it, one a line: its kind, its number, then "
    "names and values. Sizes are bytes, times nanoseconds; - where there is nothing. Texts are in "
    "quotes, other than plain characters in them as \\xNN.\v"
    "Examples:\n"
    "  spillway dump train.trace | less -S\n"
    "  spillway dump train.trace --only ops | grep gemm\n"
    "  spillway dump train.trace --only buffers | sort -k6 -n\n\n"
    "Exit status: 0; 2 TRACE cannot be read, or FILE not written; 64 wrong usage.";

static const struct argp_child children[] = {{&spill_outoptions_argp, 0, NULL, 0},
                                             {&spill_outoptions_trace_argp, 0, NULL, 0},
                                             {&spill_options_help_argp, 0, NULL, 0},
                                             {NULL, 0, NULL, 0}};
static const struct argp argp = {table, parse, "TRACE", doc, children, NULL, NULL};

static int dump(int argc, char **argv)
{
    struct request request = {.path = NULL};
    struct spill_outfile file;
    int status = spill_options_parse(&argp, argc, argv, &request);
    if (status != 0)
        return status;
    struct spill_trace *trace = spill_loadtrace(request.path);
    if (trace == NULL)
        return SPILL_EXIT_FILE;
    bool done = spill_outfile_open(&file, request.out.path, request.out.force);
    for (unsigned i = 0; done && i < KIND_COUNT; i++)
        if (request.only == 0 || (request.only >> i & 1) != 0)
            kinds[i].dump(trace, file.out);
    done = done && spill_outfile_close(&file, !ferror(file.out));
    spill_tracefile_free(trace);
    return done ? 0 : SPILL_EXIT_FILE;
}

const struct spill_command spill_command_dump = {"dump", "print the records of a trace, one a line",
                                                 dump};
