/* SPDX-License-Identifier: Apache-2.0 */
/* spillway report: what a trace says, for people and for other programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/base/log.h"
#include "profiler/tracefile.h"
#include "tools/spillway/command.h"
#include "tools/spillway/facts.h"
#include "tools/spillway/loadtrace.h"
#include "tools/spillway/options.h"
#include "tools/spillway/outfile.h"
#include "tools/spillway/summary.h"

enum { KEY_FORMAT = 512 };

static bool write_text(const struct spill_facts *facts, FILE *out)
{
    return spill_summary_print(facts->trace, out);
}

struct format {
    const char *name;
    bool (*write)(const struct spill_facts *facts, FILE *out);
    bool binary;
};

static const struct format formats[] = {
    {"text", write_text, false},
    {"json", spill_report_json, false},
    {"csv", spill_report_csv_buffers, false},
    {"csv-ops", spill_report_csv_ops, false},
    {"perfetto", spill_report_perfetto, false},
    {"memory-viz", spill_report_memory_viz, true},
    {"folded", spill_report_folded, false},
    {"folded-idle", spill_report_folded_idle, false},
};
enum { FORMAT_COUNT = sizeof(formats) / sizeof(formats[0]) };

struct request {
    const char *path;
    const char *output;
    const struct format *format;
    bool force;
};

static const struct argp_option table[] = {
    {"format", KEY_FORMAT, "FORMAT", 0, "One of those below (default: text)", 1},
    {"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 1},
    {"force", 'f', NULL, 0, "Overwrite FILE", 1},
    {NULL, 0, NULL, 0, NULL, 0},
};

static const struct format *find_format(const char *name)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    spill_log(SPILL_LOG_ERROR,
              "--format %s: the formats are text, json, csv, csv-ops, perfetto, memory-viz, folded "
              "and folded-idle",
              name);
    exit(SPILL_EXIT_USAGE);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_FORMAT:
        request->format = find_format(arg);
        return 0;
    case 'o':
        request->output = spill_options_file("--output", arg);
        return 0;
    case 'f':
        request->force = true;
        return 0;
    case ARGP_KEY_ARG:
        request->path = spill_options_only_trace(request->path, arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        spill_log(SPILL_LOG_ERROR, "which trace? Try 'spillway report --help'");
        exit(SPILL_EXIT_USAGE);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Print what a trace says about one training iteration: operations, buffers, "
    "peak, step time, and the buffers that lie idle longest.\v"
    "Formats:\n"
    "  text         for people\n"
    "  json         every number, and a \"schema\" version\n"
    "  csv          a line a buffer\n"
    "  csv-ops      a line an operation\n"
    "  perfetto     Chrome trace events, for ui.perfetto.dev\n"
    "  memory-viz   a PyTorch memory snapshot, for pytorch.org/memory_viz\n"
    "  folded       call sites by bytes, for flame graphs\n"
    "  folded-idle  call sites by bytes x seconds between two uses\n\n"
    "Examples:\n"
    "  spillway report spillway.train.1234.trace\n"
    "  spillway report train.trace --format json | jq '.peak_bytes'\n"
    "  spillway report train.trace --format memory-viz -o train.pickle\n\n"
    "Exit status: 0, or 2 when TRACE cannot be read or FILE not written, 64 wrong usage.";

static const struct argp_child children[] = {{&spill_options_help_argp, 0, NULL, 0},
                                             {NULL, 0, NULL, 0}};
static const struct argp argp = {table, parse, "TRACE", doc, children, NULL, NULL};

static int write_report(const struct request *request, const struct spill_trace *trace)
{
    struct spill_outfile file;
    struct spill_facts facts;
    if (spill_facts_build(trace, &facts) != SPILL_OK) {
        spill_log(SPILL_LOG_ERROR, "out of memory");
        return SPILL_EXIT_FILE;
    }
    bool done = spill_outfile_open(&file, request->output, request->force);
    if (done && request->format->binary && file.out == stdout && isatty(STDOUT_FILENO)) {
        spill_log(SPILL_LOG_ERROR, "%s is no text for a terminal: give a file by -o",
                  request->format->name);
        spill_facts_free(&facts);
        return SPILL_EXIT_USAGE;
    }
    if (done)
        done = spill_outfile_close(&file, request->format->write(&facts, file.out));
    spill_facts_free(&facts);
    return done ? 0 : SPILL_EXIT_FILE;
}

static int report(int argc, char **argv)
{
    struct request request = {.format = &formats[0]};
    int status = spill_options_parse(&argp, argc, argv, &request);
    if (status != 0)
        return status;
    struct spill_trace *trace = spill_loadtrace(request.path);
    if (trace == NULL)
        return SPILL_EXIT_FILE;
    status = write_report(&request, trace);
    spill_tracefile_free(trace);
    return status;
}

const struct spill_command spill_command_report = {
    "report", "print what a trace says, or convert it", report};
