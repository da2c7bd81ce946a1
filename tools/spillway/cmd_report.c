/* SPDX-License-Identifier: Apache-2.0 */
/* spillway report: what a trace says, as text. */
#include <stdio.h>
#include <stdlib.h>

#include "preload/base/log.h"
#include "profiler/tracefile.h"
#include "tools/spillway/command.h"
#include "tools/spillway/options.h"
#include "tools/spillway/summary.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **path = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*path != NULL) {
            spill_log(SPILL_LOG_ERROR, "one trace at a time: %s and %s were given", *path, arg);
            exit(SPILL_EXIT_USAGE);
        }
        *path = arg;
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
    "Example:\n"
    "  spillway report spillway.train.1234.trace\n\n"
    "Exit status: 0, or 2 when TRACE cannot be read, 64 wrong usage.";

static const struct argp_child children[] = {{&spill_options_help_argp, 0, NULL, 0},
                                             {NULL, 0, NULL, 0}};
static const struct argp argp = {NULL, parse, "TRACE", doc, children, NULL, NULL};

static int report(int argc, char **argv)
{
    const char *path = NULL;
    char complaint[256];
    struct spill_trace *trace;
    int status = spill_options_parse(&argp, argc, argv, &path);
    if (status != 0)
        return status;
    if (spill_tracefile_read(path, &trace, complaint, sizeof(complaint)) != SPILL_OK) {
        spill_log(SPILL_LOG_ERROR, "cannot read %s: %s", path, complaint);
        return SPILL_EXIT_FILE;
    }
    bool written = spill_summary_print(trace, stdout);
    spill_tracefile_free(trace);
    if (written && fflush(stdout) == 0)
        return 0;
    spill_log(SPILL_LOG_ERROR, "cannot write the report");
    return SPILL_EXIT_FILE;
}

const struct spill_command spill_command_report = {"report", "print what a trace says", report};
