/* SPDX-License-Identifier: Apache-2.0 */
/* spillway profile: runs the program as a child, then reads its trace and says what is in it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "preload/base/log.h"
#include "preload/base/outname.h"
#include "profiler/tracefile.h"
#include "tools/spillway/child.h"
#include "tools/spillway/command.h"
#include "tools/spillway/loadtrace.h"
#include "tools/spillway/options.h"
#include "tools/spillway/summary.h"
#include "tools/spillway/tracename.h"

struct request {
    struct spill_launch launch;
    const char *output;
    bool force;
};

static const struct argp_option table[] = {
    {"output", 'o', "FILE", 0,
     "Write the trace to FILE; for %p, %h, %r and %q{NAME} see below (default: "
     "spillway.PROG.%p.trace)",
     1},
    {"force", 'f', NULL, 0, "Overwrite FILE", 1},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->launch;
        return 0;
    case 'o':
        request->output = spill_options_file("--output", arg);
        return 0;
    case 'f':
        request->force = true;
        return 0;
    case ARGP_KEY_ARGS:
        request->launch.argv = state->argv + state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        spill_log(SPILL_LOG_ERROR, "which program? Try 'spillway profile --help'");
        exit(SPILL_EXIT_USAGE);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Run PROG unchanged, watch its use of GPU memory, write a trace, and print a summary: "
    "operations, "
    "buffers, peak, and the buffers that lie idle longest.\v" SPILL_OPTIONS_RECIPE_HELP
        SPILL_OPTIONS_NAMES_HELP "Examples:\n"
    "  spillway profile -- ./train --epochs 1\n"
    "  spillway profile -o train.trace -f -- python3 train.py\n\n"
    "Exit status: the program's own, whatever becomes of the trace; 2 FILE cannot be written, 3 no "
    "CUDA driver, 64 wrong usage, 126 PROG cannot be executed, 127 PROG or libspillway.so not "
    "found.";

static const struct argp_child children[] = {{&spill_options_argp, 0, NULL, 0},
                                             {&spill_options_help_argp, 0, NULL, 0},
                                             SPILL_OPTIONS_SETTINGS,
                                             {NULL, 0, NULL, 0}};
static const struct argp argp = {table, parse, "[--] PROG [ARGS...]", doc, children, NULL, NULL};

/* Summarises the trace of PID if it wrote one, else the first; names the others. */
static void summarize(const char *pattern, const char *program, pid_t pid,
                      const struct timespec *since)
{
    struct spill_tracename_list list;
    char own[SPILL_TRACENAME_MAX];
    if (!spill_tracename_find(pattern, pid, since, &list)) {
        spill_log(SPILL_LOG_WARN, "%s left no trace: no CUDA work of its was seen", program);
        return;
    }
    size_t shown = 0;
    bool known = spill_outname_expand_ranked(pattern, (int)pid, own, sizeof(own));
    for (size_t i = 0; known && i < list.count; i++)
        if (strcmp(list.paths[i], own) == 0)
            shown = i;
    for (size_t i = 0; i < list.count; i++)
        spill_log(SPILL_LOG_INFO, "trace written to %s", list.paths[i]);
    struct spill_trace *trace = spill_loadtrace(list.paths[shown]);
    if (trace != NULL && list.count > 1)
        fprintf(stderr, "%s:\n", list.paths[shown]);
    if (trace != NULL)
        (void)spill_summary_print(trace, stderr);
    spill_tracefile_free(trace);
    spill_tracename_free(&list);
}

static int profile(int argc, char **argv)
{
    struct request request = {.launch = {.mode = "profile"}};
    char pattern[SPILL_TRACENAME_MAX];
    int status = spill_options_parse(&argp, argc, argv, &request);
    if (status != 0)
        return status;
    const char *program = request.launch.argv[0], *environment = getenv("SPILLWAY_OUTPUT");
    if (request.output == NULL && environment != NULL && *environment != '\0')
        request.output = environment;
    if (!spill_tracename_pattern(request.output, program, pattern) ||
        !spill_tracename_check(pattern, request.force))
        return SPILL_EXIT_FILE;
    request.launch.output = pattern;
    status = spill_launch_prepare(&request.launch);
    if (status != 0)
        return status;

    struct timespec since;
    pid_t pid = 0;
    /* The clock that files are stamped with: a fresher one could make a fresh file look old. */
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &since);
    int error = spill_child_run(request.launch.argv, &pid, &status);
    if (error != 0)
        return spill_launch_failed(&request.launch, error);
    if (request.launch.verbosity == SPILL_LAUNCH_DEFAULT ||
        request.launch.verbosity == SPILL_LAUNCH_EVERYTHING)
        summarize(pattern, program, pid, &since);
    spill_child_end_as(status);
}

const struct spill_command spill_command_profile = {
    "profile", "watch a program, write a trace, print a summary", profile};
