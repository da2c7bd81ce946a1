/* SPDX-License-Identifier: Apache-2.0 */
/* spillway diff: two traces side by side, and what a plan for the same budget makes of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/log.h"
#include "preload/base/size.h"
#include "profiler/tracefile.h"
#include "tools/spillway/command.h"
#include "tools/spillway/demangle.h"
#include "tools/spillway/jsonout.h"
#include "tools/spillway/loadtrace.h"
#include "tools/spillway/options.h"
#include "tools/spillway/outfile.h"
#include "tools/spillway/outoptions.h"
#include "tools/spillway/planrow.h"
#include "tools/spillway/progress.h"
#include "tools/spillway/tracediff.h"
#include "tools/spillway/tracetext.h"

enum { SCHEMA = 1, LONGEST = 10, TEXT = 32, FACT_COUNT = 13 };

struct request {
    const char *path[2];
    struct spill_outoptions out;
    struct spill_outoptions_budgets budgets;
};

enum unit { COUNT, BYTES, NS };

/* A number of each trace. */
struct fact {
    const char *name, *key; /* for people; in JSON */
    enum unit unit;
    uint64_t value[2];
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->budgets;
        state->child_inputs[1] = &request->out;
        state->child_inputs[2] = &request->out;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num < 2)
            request->path[state->arg_num] = arg;
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num == 2)
            return 0;
        spill_log(SPILL_LOG_ERROR, "two traces are compared; try 'spillway diff --help'");
        exit(SPILL_EXIT_USAGE);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Compare two traces: step time, peak, operations by name, buffers by size and place, and, for "
    "one budget, what a plan would move.\v"
    "Without --gpu-mem each is planned for what its program had. They count as alike when the same "
    "operations run in the same order on buffers of the same sizes, whatever the times.\n\n"
    "Examples:\n"
    "  spillway diff before.trace after.trace\n"
    "  spillway diff fp32.trace bf16.trace --gpu-mem 16GiB\n"
    "  spillway diff a.trace b.trace --format json | jq .facts.peak_bytes\n\n"
    "Exit status: 0 alike; 1 they differ; 2 a trace cannot be read, or FILE not written; 64 wrong "
    "usage.";

static const struct argp_child children[] = {{&spill_outoptions_budgets_argp, 0, NULL, 0},
                                             {&spill_outoptions_format_argp, 0, NULL, 0},
                                             {&spill_outoptions_argp, 0, NULL, 0},
                                             {&spill_options_help_argp, 0, NULL, 0},
                                             {NULL, 0, NULL, 0}};
static const struct argp argp = {NULL, parse, "TRACE TRACE", doc, children, NULL, NULL};

static uint64_t busy(const struct spill_trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < trace->op_count; k++)
        sum += trace->ops[k].duration_ns;
    return sum;
}

static uint64_t all_bytes(const struct spill_trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t b = 0; b < trace->buffer_count; b++)
        sum += trace->buffers[b].bytes;
    return sum;
}

/* A plan that does not exist leaves zeros. */
static bool gather(const struct request *request, const struct spill_tracediff *diff,
                   struct fact facts[FACT_COUNT])
{
    struct spill_planrow row[2];
    for (int t = 0; t < 2; t++) {
        const struct spill_trace *trace = diff->trace[t];
        uint64_t own = spill_planrow_budget(trace);
        if (spill_planrow_solve(trace, request->budgets.gpu != 0 ? request->budgets.gpu : own,
                                request->budgets.host != 0 ? request->budgets.host : UINT64_MAX,
                                "ours", &row[t]) != SPILL_OK)
            return false;
    }
#define OF(field) diff->trace[0]->field, diff->trace[1]->field
    const struct fact all[FACT_COUNT] = {
        {"step", "step_ns", NS, {OF(step_ns)}},
        {"GPU busy", "busy_ns", NS, {busy(diff->trace[0]), busy(diff->trace[1])}},
        {"operations", "ops", COUNT, {OF(op_count)}},
        {"peak", "peak_bytes", BYTES, {OF(peak_bytes)}},
        {"small", "small_bytes", BYTES, {OF(small_bytes)}},
        {"buffers", "buffers", COUNT, {OF(buffer_count)}},
        {"all buffers",
         "buffer_bytes",
         BYTES,
         {all_bytes(diff->trace[0]), all_bytes(diff->trace[1])}},
        {"paged", "paged_bytes", BYTES, {OF(paged_bytes)}},
        {"budget", "plan_gpu_bytes", BYTES, {row[0].gpu_bytes, row[1].gpu_bytes}},
        {"planned step", "plan_step_ns", NS, {row[0].step_ns, row[1].step_ns}},
        {"moves", "plan_moves", COUNT, {row[0].moves, row[1].moves}},
        {"moved out", "plan_out_bytes", BYTES, {row[0].out_bytes, row[1].out_bytes}},
        {"host memory", "plan_host_bytes", BYTES, {row[0].host_bytes, row[1].host_bytes}},
    };
#undef OF
    memcpy(facts, all, sizeof(all));
    return true;
}

static char *fact_text(const struct fact *fact, int t, char out[TEXT])
{
    if (fact->unit == BYTES)
        return spill_size_format(fact->value[t], out, TEXT);
    if (fact->unit == NS)
        snprintf(out, TEXT, "%.3f ms", (double)fact->value[t] / 1e6);
    else
        snprintf(out, TEXT, "%" PRIu64, fact->value[t]);
    return out;
}

static void print_facts(const struct fact facts[FACT_COUNT], FILE *out)
{
    char a[TEXT], b[TEXT];
    fprintf(out, "%-12s  %14s  %14s  %9s\n", "", "A", "B", "change");
    for (int i = 0; i < FACT_COUNT; i++) {
        const struct fact *fact = &facts[i];
        fprintf(out, "%-12s  %14s  %14s", fact->name, fact_text(fact, 0, a), fact_text(fact, 1, b));
        if (fact->value[0] == fact->value[1])
            fprintf(out, "  %9s\n", "none");
        else if (fact->value[0] == 0)
            fprintf(out, "  %9s\n", "new");
        else
            fprintf(out, "  %+7.1f %%\n",
                    ((double)fact->value[1] / (double)fact->value[0] - 1) * 100);
    }
}

static void print_op_groups(const struct spill_tracediff *diff, FILE *out)
{
    char name[SPILL_TRACETEXT_NAME];
    fprintf(out,
            "\noperations, changed most first (all of a name)\n"
            "  %7s  %7s  %12s  %12s  name\n",
            "in A", "in B", "ms in A", "ms in B");
    for (uint32_t i = 0; i < diff->op_groups && i < LONGEST; i++) {
        const struct spill_tracediff_group *g = &diff->ops[i];
        if (g->count[0] == g->count[1] && g->ns[0] == g->ns[1])
            break;
        fprintf(out, "  %7u  %7u  %12.3f  %12.3f  %s\n", g->count[0], g->count[1],
                (double)g->ns[0] / 1e6, (double)g->ns[1] / 1e6,
                *g->name != '\0' ? spill_demangle(g->name, name, sizeof(name))
                                 : spill_tracetext_kind(g->kind));
    }
}

static void print_buffer_groups(const struct spill_tracediff *diff, FILE *out)
{
    char size[TEXT];
    fprintf(out,
            "\nbuffers in one more often than in the other\n"
            "  %7s  %7s  %12s  %-10s  allocated at\n",
            "in A", "in B", "size", "class");
    for (uint32_t i = 0; i < diff->buffer_groups && i < LONGEST; i++) {
        const struct spill_tracediff_group *g = &diff->buffers[i];
        if (g->count[0] == g->count[1])
            break;
        const char *site = *g->name != '\0' ? g->name : "(not recorded)";
        fprintf(out, "  %7u  %7u  %12s  %-10s  %.*s\n", g->count[0], g->count[1],
                spill_size_format(g->bytes, size, sizeof(size)), spill_tracetext_life(g->kind),
                (int)strcspn(site, ";"), site);
    }
}

static bool print(const struct request *request, const struct spill_tracediff *diff,
                  const struct fact facts[FACT_COUNT], FILE *out)
{
    char name[2][SPILL_TRACETEXT_NAME];
    fprintf(out, "A: %s\nB: %s\n", request->path[0], request->path[1]);
    print_facts(facts, out);
    if (diff->op_groups > 0 && (diff->ops[0].count[0] != diff->ops[0].count[1] ||
                                diff->ops[0].ns[0] != diff->ops[0].ns[1]))
        print_op_groups(diff, out);
    if (diff->buffer_groups > 0 && diff->buffers[0].count[0] != diff->buffers[0].count[1])
        print_buffer_groups(diff, out);
    if (diff->alike) {
        fputs("\nalike: the same operations in the same order, on buffers of the same sizes\n",
              out);
    } else if (diff->parting != SPILL_TRACE_NONE) {
        for (int t = 0; t < 2; t++)
            if (diff->parting < diff->trace[t]->op_count)
                spill_tracetext_op(diff->trace[t], diff->parting, name[t], sizeof(name[t]));
            else
                strcpy(name[t], "the end");
        fprintf(out, "\nthey part at op %u: %s in A, %s in B\n", diff->parting, name[0], name[1]);
    }
    return !ferror(out);
}

static void write_pair(struct spill_json *json, const char *key, uint64_t a, uint64_t b)
{
    spill_json_open(json, key, '[', false);
    spill_json_count(json, NULL, a);
    spill_json_count(json, NULL, b);
    spill_json_close(json);
}

static void write_groups(struct spill_json *json, const char *key, bool ops,
                         const struct spill_tracediff_group *groups, uint32_t count)
{
    spill_json_open(json, key, '[', true);
    for (uint32_t i = 0; i < count; i++) {
        const struct spill_tracediff_group *g = &groups[i];
        spill_json_open(json, NULL, '{', false);
        spill_json_text(json, ops ? "symbol" : "site", *g->name != '\0' ? g->name : NULL);
        spill_json_text(json, ops ? "kind" : "life",
                        ops ? spill_tracetext_kind(g->kind) : spill_tracetext_life(g->kind));
        if (!ops)
            spill_json_count(json, "bytes", g->bytes);
        write_pair(json, "count", g->count[0], g->count[1]);
        if (ops)
            write_pair(json, "ns", g->ns[0], g->ns[1]);
        spill_json_close(json);
    }
    spill_json_close(json);
}

static bool write_json(const struct request *request, const struct spill_tracediff *diff,
                       const struct fact facts[FACT_COUNT], FILE *out)
{
    struct spill_json json = {.out = out};
    spill_json_open(&json, NULL, '{', true);
    spill_json_count(&json, "schema", SCHEMA);
    spill_json_open(&json, "traces", '[', false);
    spill_json_text(&json, NULL, request->path[0]);
    spill_json_text(&json, NULL, request->path[1]);
    spill_json_close(&json);
    spill_json_bool(&json, "alike", diff->alike);
    spill_json_index(&json, "parting_op", diff->parting);
    spill_json_open(&json, "facts", '{', true);
    for (int i = 0; i < FACT_COUNT; i++)
        write_pair(&json, facts[i].key, facts[i].value[0], facts[i].value[1]);
    spill_json_close(&json);
    write_groups(&json, "ops", true, diff->ops, diff->op_groups);
    write_groups(&json, "buffers", false, diff->buffers, diff->buffer_groups);
    spill_json_close(&json);
    return !ferror(out);
}

static int compare(const struct request *request, const struct spill_tracediff *diff)
{
    struct fact facts[FACT_COUNT];
    struct spill_outfile file;
    spill_progress_begin("planning for both", 0);
    bool done = gather(request, diff, facts);
    spill_progress_end();
    done = done && spill_outfile_open(&file, request->out.path, request->out.force);
    done = done &&
           spill_outfile_close(&file, request->out.json ? write_json(request, diff, facts, file.out)
                                                        : print(request, diff, facts, file.out));
    return !done ? SPILL_EXIT_FILE : diff->alike ? 0 : SPILL_EXIT_PROBLEM;
}

static int diff_command(int argc, char **argv)
{
    struct request request = {.path = {NULL}};
    struct spill_trace *trace[2] = {NULL, NULL};
    struct spill_tracediff diff;
    int status = spill_options_parse(&argp, argc, argv, &request);
    if (status != 0)
        return status;
    status = SPILL_EXIT_FILE;
    if ((trace[0] = spill_loadtrace(request.path[0])) != NULL &&
        (trace[1] = spill_loadtrace(request.path[1])) != NULL) {
        if (spill_tracediff_build(trace[0], trace[1], &diff) == SPILL_OK)
            status = compare(&request, &diff);
        else
            spill_log(SPILL_LOG_ERROR, "out of memory");
        spill_tracediff_free(&diff);
    }
    spill_tracefile_free(trace[0]);
    spill_tracefile_free(trace[1]);
    return status;
}

const struct spill_command spill_command_diff = {"diff", "compare two traces", diff_command};
