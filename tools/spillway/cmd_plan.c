/* SPDX-License-Identifier: Apache-2.0 */
/* spillway plan: what the solver would do with a trace, on a machine that needs no GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/log.h"
#include "preload/base/size.h"
#include "profiler/tracefile.h"
#include "solver/methods.h"
#include "tools/spillway/command.h"
#include "tools/spillway/loadtrace.h"
#include "tools/spillway/options.h"
#include "tools/spillway/outfile.h"
#include "tools/spillway/plancurve.h"
#include "tools/spillway/plansmall.h"
#include "tools/spillway/plantext.h"
#include "tools/spillway/progress.h"

enum {
    KEY_GPU_MEM = 512,
    KEY_HOST_MEM,
    KEY_METHOD,
    KEY_TIME_LIMIT,
    KEY_SLOWDOWN,
    KEY_COMPARE,
    KEY_CURVE,
    KEY_FORMAT
};
enum { ROOM = SPILL_PLANCURVE_MOST };

enum question { ONE, COMPARE, CURVE, SMALLEST };
enum format { DEFAULT, TEXT, JSON, CSV, SVG };

struct request {
    const char *path, *output, *method;
    uint64_t gpu, host;       /* 0: not given */
    double seconds, slowdown; /* 0: not given */
    enum question question;
    enum format format;
    bool force;
};

static const struct argp_option table[] = {
    {"gpu-mem", KEY_GPU_MEM, "SIZE", 0,
     "GPU memory to plan for (default: what the program had when it was profiled)", 1},
    {"host-mem", KEY_HOST_MEM, "SIZE", 0,
     "Pinned host memory to plan for (default: as much as it takes)", 1},
    {"method", KEY_METHOD, "NAME", 0,
     "Plan as another system would: a name in the table of --compare; or exact, which proves the "
     "optimum of a small problem",
     1},
    {"time-limit", KEY_TIME_LIMIT, "SECONDS", 0,
     "Look for better plans that long (default: the same search, and the same plan, every time; "
     "about a second)",
     1},
    {"max-slowdown", KEY_SLOWDOWN, "X", 0,
     "The smallest budget whose step takes at most X times the step without a limit (1.05: 5 % "
     "longer), and the plan for it",
     2},
    {"compare", KEY_COMPARE, NULL, 0, "All methods in one table", 2},
    {"curve", KEY_CURVE, NULL, 0,
     "Step time for 20 budgets, from the smallest possible one to all the memory needed", 2},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "text (default), json, csv (default of --curve), or svg (of --curve only)", 3},
    {"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 3},
    {"force", 'f', NULL, 0, "Overwrite FILE", 3},
    {NULL, 0, NULL, 0, NULL, 0},
};

static enum format find_format(const char *name)
{
    static const char *const names[] = {
        [TEXT] = "text", [JSON] = "json", [CSV] = "csv", [SVG] = "svg"};
    for (int i = TEXT; i <= SVG; i++)
        if (strcmp(names[i], name) == 0)
            return (enum format)i;
    spill_log(SPILL_LOG_ERROR, "--format %s: the formats are text, json, csv and svg", name);
    exit(SPILL_EXIT_USAGE);
}

static const char *find_method(const char *name)
{
    char list[512] = "ours, exact";
    if (strcmp(name, "ours") == 0 || strcmp(name, "exact") == 0 || spill_method_find(name) != NULL)
        return name;
    for (uint32_t i = 0; spill_method_at(i) != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, ", %s", spill_method_at(i)->name);
    }
    spill_log(SPILL_LOG_ERROR, "--method %s: the methods are %s", name, list);
    exit(SPILL_EXIT_USAGE);
}

/* A number from LEAST to MOST. */
static double find_number(const char *option, const char *text, unsigned least, unsigned most)
{
    char *end;
    double value = strtod(text, &end);
    if (end != text && *end == '\0' && value >= least && value <= most)
        return value;
    spill_log(SPILL_LOG_ERROR, "%s %s: give a number from %u to %u", option, text, least, most);
    exit(SPILL_EXIT_USAGE);
}

static void ask(struct request *request, enum question question)
{
    if (request->question != ONE && request->question != question) {
        spill_log(SPILL_LOG_ERROR,
                  "--compare, --curve and --max-slowdown are three questions: ask one");
        exit(SPILL_EXIT_USAGE);
    }
    request->question = question;
}

static void check_combination(struct request *request)
{
    if (request->format == DEFAULT)
        request->format = request->question == CURVE ? CSV : TEXT;
    const char *problem = NULL;
    if (request->format == SVG && request->question != CURVE)
        problem = "--format svg draws a curve: add --curve";
    if (request->format == TEXT && request->question == CURVE)
        problem = "--curve has no text form: csv, json or svg";
    if (request->method != NULL && request->question == COMPARE)
        problem = "--compare takes all methods: leave --method out";
    if (request->gpu != 0 && request->question == SMALLEST)
        problem = "--max-slowdown looks for the budget: leave --gpu-mem out";
    if (request->seconds > 0 && (request->question != ONE || request->method != NULL))
        problem = "--time-limit is for one plan by our own method: leave the other options out";
    if (problem == NULL)
        return;
    spill_log(SPILL_LOG_ERROR, "%s", problem);
    exit(SPILL_EXIT_USAGE);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_GPU_MEM:
        request->gpu = spill_options_budget("--gpu-mem", arg);
        return 0;
    case KEY_HOST_MEM:
        request->host = spill_options_budget("--host-mem", arg);
        return 0;
    case KEY_METHOD:
        request->method = find_method(arg);
        return 0;
    case KEY_TIME_LIMIT:
        request->seconds = find_number("--time-limit", arg, 0, 1000000);
        return 0;
    case KEY_SLOWDOWN:
        request->slowdown = find_number("--max-slowdown", arg, 1, 1000);
        ask(request, SMALLEST);
        return 0;
    case KEY_COMPARE:
        ask(request, COMPARE);
        return 0;
    case KEY_CURVE:
        ask(request, CURVE);
        return 0;
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
        spill_log(SPILL_LOG_ERROR, "which trace? Try 'spillway plan --help'");
        exit(SPILL_EXIT_USAGE);
    case ARGP_KEY_SUCCESS:
        check_combination(request);
        spill_options_budgets(&request->gpu, &request->host);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Plan for a trace without running anything: predicted step time, how far it is at most from "
    "the best possible one, memory, copies, waits, and the smallest budget that would do.\v"
    "SIZE is a number and a unit: MiB, GiB (powers of 1024), MB, GB (powers of 1000). TRACE may be "
    "text: a trace of G10 (lines T and K) or a chain of stages (lines I and S).\n\n"
    "Examples:\n"
    "  spillway plan train.trace --gpu-mem 8GiB\n"
    "  spillway plan train.trace --gpu-mem 8GiB --compare\n"
    "  spillway plan train.trace --max-slowdown 1.05\n"
    "  spillway plan train.trace --curve --format svg -o curve.svg\n\n"
    "Environment, where the option is not given:\n"
    "  SPILLWAY_GPU_MEM, SPILLWAY_HOST_MEM\n\n"
    "Exit status: 0; 1 no plan keeps within the budgets, 2 TRACE cannot be read or planned for, "
    "or FILE not written, 64 wrong usage.";

static const struct argp_child children[] = {{&spill_options_help_argp, 0, NULL, 0},
                                             {NULL, 0, NULL, 0}};
static const struct argp argp = {table, parse, "TRACE", doc, children, NULL, NULL};

/* All methods, or all budgets, into ROWS; their number, 0 after one line. */
static uint32_t solve_compare(const struct request *request, const struct spill_trace *trace,
                              struct spill_planrow *rows)
{
    uint32_t count = 0, of = 1;
    while (of < ROOM && spill_method_at(of - 1) != NULL)
        of++;
    spill_progress_begin("planning by each method", of);
    for (; count < of; count++) {
        const char *method = count == 0 ? "ours" : spill_method_at(count - 1)->name;
        if (spill_planrow_solve(trace, request->gpu, request->host, method, &rows[count]) !=
            SPILL_OK) {
            count = 0;
            break;
        }
        /* The bound is the problem's, whichever method found it. */
        if (rows[count].fits && rows[0].fits)
            rows[count].bound_ns = rows[0].bound_ns;
        spill_progress_step();
    }
    spill_progress_end();
    return count;
}

static uint32_t solve_curve(const struct request *request, const struct spill_trace *trace,
                            const struct spill_planleast *least, struct spill_planrow *rows)
{
    struct spill_planrow whole;
    if (spill_planrow_solve(trace, spill_planrow_most(trace), request->host, "ours", &whole) !=
        SPILL_OK)
        return 0;
    return spill_plancurve_solve(trace, request->host,
                                 request->method != NULL ? request->method : "ours", least, &whole,
                                 SPILL_PLANCURVE_POINTS, NULL, 0, rows);
}

static bool write_answer(const struct request *request, const struct spill_trace *trace,
                         const struct spill_planrow *rows, uint32_t count,
                         const struct spill_planleast *least)
{
    struct spill_outfile file;
    bool written;
    if (!spill_outfile_open(&file, request->output, request->force))
        return false;
    if (request->format == JSON)
        written = spill_planrow_json(trace, rows, count, least, file.out);
    else if (request->format == CSV)
        written = spill_planrow_csv(rows, count, file.out);
    else if (request->format == SVG)
        written = spill_planrow_svg(rows, count, file.out);
    else if (request->question == COMPARE)
        written = spill_planrow_table(rows, count, file.out);
    else
        written = spill_plantext_print(trace, &rows[0], least, file.out);
    return spill_outfile_close(&file, written);
}

/* One plan. The bound is the problem's, whichever method is asked: ours finds the best one, unless
 * exact proves its plan. */
static uint32_t solve_one(const struct request *request, const struct spill_trace *trace,
                          struct spill_planrow *row)
{
    struct spill_planrow ours;
    const char *method = request->method != NULL ? request->method : "ours";
    enum spill_status status =
        request->seconds > 0
            ? spill_planrow_improve(trace, request->gpu, request->host, request->seconds, row)
            : spill_planrow_solve(trace, request->gpu, request->host, method, row);
    if (status != SPILL_OK)
        return 0;
    if (row->fits && strcmp(method, "ours") != 0 &&
        spill_planrow_solve(trace, request->gpu, request->host, "ours", &ours) == SPILL_OK &&
        ours.fits && ours.bound_ns > row->bound_ns)
        row->bound_ns = ours.bound_ns;
    return 1;
}

static int answer(const struct request *request, const struct spill_trace *trace)
{
    struct spill_planrow rows[ROOM];
    struct spill_planleast least;
    uint32_t count;
    if (spill_planrow_least(trace, request->host, &least) != SPILL_OK)
        return SPILL_EXIT_FILE;
    if (request->question == COMPARE)
        count = solve_compare(request, trace, rows);
    else if (request->question == CURVE && least.gpu_bytes != UINT64_MAX)
        count = solve_curve(request, trace, &least, rows);
    else if (request->question == SMALLEST && least.gpu_bytes != UINT64_MAX)
        count = spill_plansmall_solve(trace, request->host,
                                      request->method != NULL ? request->method : "ours",
                                      request->slowdown, &least, &rows[0]) == SPILL_OK;
    else {
        spill_progress_begin("planning", 0);
        count = solve_one(request, trace, &rows[0]);
        spill_progress_end();
    }
    if (count == 0)
        return SPILL_EXIT_FILE;
    bool any = false;
    for (uint32_t i = 0; i < count; i++)
        any = any || rows[i].fits;
    if (!any) {
        spill_plantext_explain(trace, &rows[0], request->host, &least);
        return SPILL_EXIT_PROBLEM;
    }
    return write_answer(request, trace, rows, count, &least) ? 0 : SPILL_EXIT_FILE;
}

static int plan(int argc, char **argv)
{
    struct request request = {.path = NULL};
    int status = spill_options_parse(&argp, argc, argv, &request);
    if (status != 0)
        return status;
    struct spill_trace *trace = spill_loadtrace(request.path);
    if (trace == NULL)
        return SPILL_EXIT_FILE;
    if (request.gpu == 0)
        request.gpu = spill_planrow_budget(trace);
    if (request.host == 0)
        request.host = UINT64_MAX;
    if (trace->iterations == 0)
        spill_log(SPILL_LOG_WARN,
                  "the trace found no iteration that repeats: this plans as if the whole run did");
    status = answer(&request, trace);
    spill_tracefile_free(trace);
    return status;
}

const struct spill_command spill_command_plan = {
    "plan", "say what a budget would cost, from a trace", plan};
