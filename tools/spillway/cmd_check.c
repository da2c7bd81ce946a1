/* SPDX-License-Identifier: Apache-2.0 */
/* spillway check: is a trace sound, and is there a plan that keeps a budget? */
#include "profiler/tracefile.h"
#include "tools/spillway/command.h"
#include "tools/spillway/loadtrace.h"
#include "tools/spillway/options.h"
#include "tools/spillway/outoptions.h"
#include "tools/spillway/planrow.h"
#include "tools/spillway/progress.h"
#include "tools/spillway/tracecheck.h"

struct request {
    const char *path;
    struct spill_outoptions out;
    struct spill_outoptions_budgets budgets;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *request = state->input;
    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = &request->budgets;
    state->child_inputs[1] = &request->out;
    state->child_inputs[2] = &request->out;
    state->child_inputs[3] = &request->path;
    return 0;
}

static const char doc[] =
    "Examine a trace: whether it is whole and free of contradictions, whether it is good to plan "
    "from, and whether a plan keeps within the budgets. Each finding is a line, with its cure.\v"
    "Examples:\n"
    "  spillway check train.trace\n"
    "  spillway check train.trace --gpu-mem 8GiB --host-mem 64GiB\n"
    "  spillway check train.trace --format json | jq -r .worst\n\n"
    "Exit status: 0 no problem (there may be warnings); 1 a problem, such as no plan within the "
    "budgets; 2 TRACE cannot be read, or FILE not written; 64 wrong usage.";

static const struct argp_child children[] = {
    {&spill_outoptions_budgets_argp, 0, NULL, 0}, {&spill_outoptions_format_argp, 0, NULL, 0},
    {&spill_outoptions_argp, 0, NULL, 0},         {&spill_outoptions_trace_argp, 0, NULL, 0},
    {&spill_options_help_argp, 0, NULL, 0},       {NULL, 0, NULL, 0}};
static const struct argp argp = {NULL, parse, "TRACE", doc, children, NULL, NULL};

static int check(int argc, char **argv)
{
    struct request request = {.path = NULL};
    struct spill_findings found = {NULL, 0, false};
    int status = spill_options_parse(&argp, argc, argv, &request);
    if (status != 0)
        return status;
    struct spill_trace *trace = spill_loadtrace(request.path);
    if (trace == NULL)
        return SPILL_EXIT_FILE;
    uint64_t gpu = request.budgets.gpu;
    if (gpu == 0)
        gpu = spill_planrow_budget(trace);
    spill_tracecheck_trace(trace, &found);
    spill_progress_begin("planning", 0);
    spill_tracecheck_plan(trace, gpu, request.budgets.host != 0 ? request.budgets.host : UINT64_MAX,
                          &found);
    spill_progress_end();
    spill_tracefile_free(trace);
    return spill_finding_answer(&found, &request.out);
}

const struct spill_command spill_command_check = {
    "check", "say whether a trace is sound, and can be planned for", check};
