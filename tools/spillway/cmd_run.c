/* SPDX-License-Identifier: Apache-2.0 */
/* spillway run: becomes the program, so that status, signals and process number are its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/base/log.h"
#include "tools/spillway/command.h"
#include "tools/spillway/options.h"

enum { KEY_MODE = 512 };

static const struct argp_option table[] = {
    {"mode", KEY_MODE, "MODE", 0,
     "offload (default): watch, plan and move; profile: watch and write a trace; off: do nothing",
     1},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct spill_launch *launch = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = launch;
        return 0;
    case KEY_MODE:
        if (strcmp(arg, "offload") != 0 && strcmp(arg, "profile") != 0 && strcmp(arg, "off") != 0) {
            spill_log(SPILL_LOG_ERROR, "--mode %s: the modes are offload, profile and off", arg);
            exit(SPILL_EXIT_USAGE);
        }
        launch->mode = arg;
        return 0;
    case ARGP_KEY_ARGS:
        launch->argv = state->argv + state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        spill_log(SPILL_LOG_ERROR, "which program? Try 'spillway run --help'");
        exit(SPILL_EXIT_USAGE);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Run PROG with its GPU memory kept within a budget: what does not fit waits in pinned host "
    "memory and is moved while the GPU works.\v"
    "SIZE is a number and a unit: MiB, GiB (powers of 1024), MB, GB (powers of "
    "1000).\n\n" SPILL_OPTIONS_RECIPE_HELP "Examples:\n"
    "  spillway run --gpu-mem 8GiB -- ./train --epochs 3\n"
    "  spillway run --gpu-mem 20GiB --host-mem 64GiB -- python3 train.py\n"
    "  spillway run -v ./train\n\n"
    "Exit status: the program's own; 3 no CUDA driver, 64 wrong usage, 126 PROG cannot be "
    "executed, "
    "127 PROG or libspillway.so not found.";

static const struct argp_child children[] = {{&spill_options_argp, 0, NULL, 0},
                                             {&spill_options_help_argp, 0, NULL, 0},
                                             SPILL_OPTIONS_SETTINGS,
                                             {NULL, 0, NULL, 0}};
static const struct argp argp = {table, parse, "[--] PROG [ARGS...]", doc, children, NULL, NULL};

static int run(int argc, char **argv)
{
    struct spill_launch launch = {.mode = NULL};
    int status = spill_options_parse(&argp, argc, argv, &launch);
    if (status == 0)
        status = spill_launch_prepare(&launch);
    if (status != 0)
        return status;
    execvp(launch.argv[0], launch.argv);
    return spill_launch_failed(&launch, errno);
}

const struct spill_command spill_command_run = {"run",
                                                "run a program within a budget of GPU memory", run};
