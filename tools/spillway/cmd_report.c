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
#include "tools/spillway/forecast.h"
#include "tools/spillway/loadstats.h"
#include "tools/spillway/loadtrace.h"
#include "tools/spillway/options.h"
#include "tools/spillway/outfile.h"
#include "tools/spillway/plantext.h"
#include "tools/spillway/summary.h"

enum { KEY_FORMAT = 512, KEY_GPU_MEM, KEY_HOST_MEM, KEY_CURVE, KEY_STATS };
enum { MOST_POINTS = 40 };

static bool write_text(const struct spill_facts *facts, FILE *out)
{
    return spill_summary_print(facts->trace, out);
}

/* Does a format show a plan? */
enum planning { NEVER, IF_ASKED, ALWAYS };

struct format {
    const char *name;
    bool (*write)(const struct spill_facts *facts, FILE *out);
    enum planning planning;
    bool binary;
};

static const struct format formats[] = {
    {"text", write_text, NEVER, false},
    {"html", spill_report_html, ALWAYS, false},
    {"json", spill_report_json, IF_ASKED, false},
    {"csv", spill_report_csv_buffers, NEVER, false},
    {"csv-ops", spill_report_csv_ops, NEVER, false},
    {"csv-moves", spill_report_csv_moves, ALWAYS, false},
    {"perfetto", spill_report_perfetto, NEVER, false},
    {"memory-viz", spill_report_memory_viz, NEVER, true},
    {"folded", spill_report_folded, NEVER, false},
    {"folded-idle", spill_report_folded_idle, NEVER, false},
};
enum { FORMAT_COUNT = sizeof(formats) / sizeof(formats[0]) };

struct request {
    const char *path;
    const char *output;
    const char *stats;
    const struct format *format; /* NULL until it is known */
    struct spill_forecast_ask ask;
    bool force;
};

static const struct argp_option table[] = {
    {"format", KEY_FORMAT, "FORMAT", 0,
     "One of those below (default: by FILE's ending .html, .json or .csv, else text)", 1},
    {"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 1},
    {"force", 'f', NULL, 0, "Overwrite FILE", 1},
    {"gpu-mem", KEY_GPU_MEM, "SIZE", 0,
     "GPU memory of the plan shown (default: what the program had, if that is too little; else the "
     "largest card that is; else half of what it needs)",
     2},
    {"host-mem", KEY_HOST_MEM, "SIZE", 0,
     "Pinned host memory of the plan shown (default: as much as it takes)", 2},
    {"curve", KEY_CURVE, "N", 0,
     "Plan for N budgets, and for the cards between, to draw step time over memory (default: 12, 6 "
     "for large traces, 0 above 10000 operations)",
     2},
    {"stats", KEY_STATS, "FILE", 0,
     "Show what a run achieved, too: the file that SPILLWAY_STATS=FILE made it write", 2},
    {NULL, 0, NULL, 0, NULL, 0},
};

static const struct format *find_format(const char *name)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    spill_log(SPILL_LOG_ERROR,
              "--format %s: the formats are text, html, json, csv, csv-ops, csv-moves, perfetto, "
              "memory-viz, folded and folded-idle",
              name);
    exit(SPILL_EXIT_USAGE);
}

static int find_points(const char *text)
{
    char *end;
    long points = strtol(text, &end, 10);
    if (end != text && *end == '\0' && (points == 0 || (points >= 2 && points <= MOST_POINTS)))
        return (int)points;
    spill_log(SPILL_LOG_ERROR, "--curve %s: a number from 2 to %d, or 0 for no curve", text,
              MOST_POINTS);
    exit(SPILL_EXIT_USAGE);
}

/* The format that the name of the output asks for. */
static const struct format *format_of_name(const char *output)
{
    const char *dot = output == NULL ? NULL : strrchr(output, '.');
    if (dot != NULL && strcmp(dot, ".html") == 0)
        return find_format("html");
    if (dot != NULL && strcmp(dot, ".json") == 0)
        return find_format("json");
    if (dot != NULL && strcmp(dot, ".csv") == 0)
        return find_format("csv");
    return find_format("text");
}

static bool asks_for_plan(const struct request *request)
{
    return request->ask.gpu_bytes != 0 || request->ask.host_bytes != 0 ||
           request->ask.points >= 0 || request->stats != NULL;
}

static void complete(struct request *request)
{
    if (request->format == NULL)
        request->format = format_of_name(request->output);
    if (request->format->planning == NEVER && asks_for_plan(request)) {
        spill_log(SPILL_LOG_ERROR,
                  "--format %s shows no plan, so it takes no budget: html, json and csv-moves do",
                  request->format->name);
        exit(SPILL_EXIT_USAGE);
    }
    if (request->format->planning == ALWAYS)
        spill_options_budgets(&request->ask.gpu_bytes, &request->ask.host_bytes);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_FORMAT:
        request->format = find_format(arg);
        return 0;
    case KEY_GPU_MEM:
        request->ask.gpu_bytes = spill_options_budget("--gpu-mem", arg);
        return 0;
    case KEY_HOST_MEM:
        request->ask.host_bytes = spill_options_budget("--host-mem", arg);
        return 0;
    case KEY_STATS:
        request->stats = spill_options_file("--stats", arg);
        return 0;
    case KEY_CURVE:
        request->ask.points = find_points(arg);
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
    case ARGP_KEY_SUCCESS:
        complete(request);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Print what a trace says about one training iteration: operations, buffers, "
    "peak, step time, and the buffers that lie idle longest.\v"
    "Formats:\n"
    "  text         for people\n"
    "  html         one page for a browser, with a plan: no other file, no network\n"
    "  json         every number, and a \"schema\" version; with a budget or --curve,\n"
    "               all of the page's numbers, too\n"
    "  csv          a line a buffer\n"
    "  csv-ops      a line an operation\n"
    "  csv-moves    a line a move of the plan\n"
    "  perfetto     Chrome trace events, for ui.perfetto.dev\n"
    "  memory-viz   a PyTorch memory snapshot, for pytorch.org/memory_viz\n"
    "  folded       call sites by bytes, for flame graphs\n"
    "  folded-idle  call sites by bytes x seconds between two uses\n\n"
    "Examples:\n"
    "  spillway report spillway.train.1234.trace\n"
    "  spillway report train.trace -o train.html\n"
    "  spillway report train.trace -o train.html --gpu-mem 16GiB\n"
    "  spillway report train.trace --format json | jq '.peak_bytes'\n"
    "  spillway report train.trace --format memory-viz -o train.pickle\n\n"
    "Environment of html and csv-moves, where the option is not given:\n"
    "  SPILLWAY_GPU_MEM, SPILLWAY_HOST_MEM\n\n"
    "Exit status: 0; 1 no plan keeps within the budgets, which is what was then written, 2 TRACE "
    "cannot be read or planned for, or FILE not written, 64 wrong usage.";

static const struct argp_child children[] = {{&spill_options_help_argp, 0, NULL, 0},
                                             {NULL, 0, NULL, 0}};
static const struct argp argp = {table, parse, "TRACE", doc, children, NULL, NULL};

/* Writes FACTS to FILE, planned first if the format shows a plan. */
static int write_planned(const struct request *request, struct spill_facts *facts,
                         struct spill_outfile *file)
{
    bool wanted = request->format->planning == ALWAYS || asks_for_plan(request);
    struct spill_forecast *forecast = wanted ? calloc(1, sizeof(*forecast)) : NULL;
    int status = 0;
    if (wanted && forecast == NULL)
        spill_log(SPILL_LOG_ERROR, "out of memory");
    if (wanted &&
        (forecast == NULL || spill_forecast_build(facts, &request->ask, forecast) != SPILL_OK)) {
        spill_outfile_discard(file);
        status = SPILL_EXIT_FILE;
    } else {
        facts->forecast = forecast;
        if (!spill_outfile_close(file, request->format->write(facts, file->out)))
            status = SPILL_EXIT_FILE;
    }
    if (status == 0 && wanted && !forecast->row.fits) {
        spill_plantext_explain(facts->trace, &forecast->row, forecast->host_bytes,
                               &forecast->least);
        status = SPILL_EXIT_PROBLEM;
    }
    if (forecast != NULL)
        spill_forecast_free(forecast);
    free(forecast);
    return status;
}

static int write_report(const struct request *request, const struct spill_trace *trace)
{
    struct spill_outfile file;
    struct spill_facts facts;
    int status = SPILL_EXIT_FILE;
    if (spill_facts_build(trace, &facts) != SPILL_OK) {
        spill_log(SPILL_LOG_ERROR, "out of memory");
        return SPILL_EXIT_FILE;
    }
    if (spill_outfile_open(&file, request->output, request->force)) {
        if (request->format->binary && file.out == stdout && isatty(STDOUT_FILENO)) {
            spill_log(SPILL_LOG_ERROR, "%s is no text for a terminal: give a file by -o",
                      request->format->name);
            status = SPILL_EXIT_USAGE;
        } else {
            status = write_planned(request, &facts, &file);
        }
    }
    spill_facts_free(&facts);
    return status;
}

static int report_trace(const struct request *request)
{
    struct spill_trace *trace = spill_loadtrace(request->path);
    if (trace == NULL)
        return SPILL_EXIT_FILE;
    int status = write_report(request, trace);
    spill_tracefile_free(trace);
    return status;
}

static int report(int argc, char **argv)
{
    struct request request = {.ask = {.points = -1}};
    int status = spill_options_parse(&argp, argc, argv, &request);
    if (status != 0)
        return status;
    char *stats = request.stats == NULL ? NULL : spill_loadstats(request.stats);
    if (request.stats != NULL && stats == NULL)
        return SPILL_EXIT_FILE;
    request.ask.achieved = stats;
    status = report_trace(&request);
    free(stats);
    return status;
}

const struct spill_command spill_command_report = {
    "report", "print what a trace says, or convert it", report};
