/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/log.h"
#include "preload/base/size.h"
#include "tools/spillway/command.h"

enum { KEY_GPU_MEM = 256, KEY_HOST_MEM, KEY_NO_DRIVER_CHECK, KEY_NO_RECIPE, KEY_USAGE };

static const struct argp_option table[] = {
    {"gpu-mem", KEY_GPU_MEM, "SIZE", 0,
     "GPU memory the program may occupy, such as 8GiB (default: what the card has free)", 1},
    {"host-mem", KEY_HOST_MEM, "SIZE", 0,
     "Pinned host memory that may be used (default: three quarters of what is available)", 1},
    {"quiet", 'q', NULL, 0, "Warnings and errors only; twice: errors only", 1},
    {"verbose", 'v', NULL, 0, "Say everything", 1},
    {"no-driver-check", KEY_NO_DRIVER_CHECK, NULL, 0,
     "Start the program even if no CUDA driver is found", 1},
    {"no-recipe", KEY_NO_RECIPE, NULL, 0,
     "Do not set variables for PyTorch, JAX and TensorFlow (see below)", 1},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* NAME ends in the blank or the '=' before the value. One line and the usage status: argp_error
 * would add a second line that helps nobody here. */
static void refuse(const char *name, const char *text)
{
    spill_log(SPILL_LOG_ERROR, "%s%s is not a size: write a number and a unit, such as 8GiB", name,
              text);
    exit(SPILL_EXIT_USAGE);
}

static uint64_t size_of(const char *name, const char *text)
{
    uint64_t bytes;
    if (spill_size_parse(text, &bytes) != SPILL_OK)
        refuse(name, text);
    return bytes;
}

static void check_budget(const char *name, const char *text, uint64_t bytes)
{
    if (bytes >= SPILL_LAUNCH_PAGE_BYTES)
        return;
    spill_log(SPILL_LOG_ERROR,
              "%s%s is below one 2 MiB page, the smallest piece of memory a GPU maps: give at "
              "least 2MiB",
              name, text);
    exit(SPILL_EXIT_USAGE);
}

uint64_t spill_options_budget(const char *option, const char *arg)
{
    char name[64];
    snprintf(name, sizeof(name), "%s ", option);
    uint64_t bytes = size_of(name, arg);
    check_budget(name, arg, bytes);
    return bytes;
}

static void ask_environment(const char *name, uint64_t *bytes)
{
    const char *text = getenv(name);
    if (*bytes == 0 && text != NULL && strcmp(text, "0") != 0)
        *bytes = spill_options_budget(name, text);
}

void spill_options_budgets(uint64_t *gpu, uint64_t *host)
{
    ask_environment("SPILLWAY_GPU_MEM", gpu);
    ask_environment("SPILLWAY_HOST_MEM", host);
}

const char *spill_options_file(const char *option, const char *arg)
{
    if (*arg != '\0')
        return arg;
    spill_log(SPILL_LOG_ERROR, "%s wants a file name", option);
    exit(SPILL_EXIT_USAGE);
}

const char *spill_options_only_trace(const char *before, const char *arg)
{
    if (before == NULL)
        return arg;
    spill_log(SPILL_LOG_ERROR, "one trace at a time: %s and %s were given", before, arg);
    exit(SPILL_EXIT_USAGE);
}

/* Without the options, what the environment says must hold too: refusing here is clearer than a
 * program that starts and runs without its budget. */
static void check_environment(const struct spill_launch *launch)
{
    const char *gpu = getenv("SPILLWAY_GPU_MEM"), *host = getenv("SPILLWAY_HOST_MEM");
    uint64_t bytes;
    if (launch->gpu_mem == 0 && gpu != NULL && (bytes = size_of("SPILLWAY_GPU_MEM=", gpu)) != 0)
        check_budget("SPILLWAY_GPU_MEM=", gpu, bytes);
    if (launch->host_mem == 0 && host != NULL)
        (void)size_of("SPILLWAY_HOST_MEM=", host);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct spill_launch *launch = state->input;
    switch (key) {
    case KEY_GPU_MEM:
        launch->gpu_mem = spill_options_budget("--gpu-mem", arg);
        return 0;
    case KEY_HOST_MEM:
        launch->host_mem = spill_options_budget("--host-mem", arg);
        return 0;
    case 'q':
        launch->verbosity = launch->verbosity == SPILL_LAUNCH_WARNINGS ? SPILL_LAUNCH_ERRORS
                                                                       : SPILL_LAUNCH_WARNINGS;
        return 0;
    case 'v':
        launch->verbosity = SPILL_LAUNCH_EVERYTHING;
        return 0;
    case KEY_NO_DRIVER_CHECK:
        launch->skip_driver_check = true;
        return 0;
    case KEY_NO_RECIPE:
        launch->skip_recipe = true;
        return 0;
    case ARGP_KEY_END:
        check_environment(launch);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp spill_options_argp = {table, parse, NULL, NULL, NULL, NULL, NULL};

/* A row of config.def: the name stands where an option's would. */
static const struct argp_option settings_table[] = {
#define SPILL_CONFIG(field, name, type, fallback, unit, doc)                                       \
    {name,                                                                                         \
     0,                                                                                            \
     NULL,                                                                                         \
     OPTION_DOC,                                                                                   \
     sizeof(fallback) == 1 ? doc                                                                   \
     : sizeof(unit) == 1   ? doc " (default: " fallback ")"                                        \
                           : doc " (default: " fallback " " unit ")",                                \
     0},
#include "preload/base/config.def"
#undef SPILL_CONFIG
    {NULL, 0, NULL, 0, NULL, 0},
};

const struct argp spill_options_settings_argp = {settings_table, NULL, NULL, NULL,
                                                 NULL,           NULL, NULL};

static const struct argp_option help_table[] = {
    {"help", 'h', NULL, 0, "This text", -1},
    {"usage", KEY_USAGE, NULL, OPTION_HIDDEN, NULL, -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* Both leave the process: nothing set here reaches the program. */
static error_t help_parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != 'h' && key != KEY_USAGE)
        return ARGP_ERR_UNKNOWN;
    (void)setenv("ARGP_HELP_FMT", "no-dup-args-note", 0);
    argp_state_help(state, stdout,
                    key == 'h' ? ARGP_HELP_STD_HELP & ~ARGP_HELP_BUG_ADDR
                               : ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
    return 0;
}

const struct argp spill_options_help_argp = {help_table, help_parse, NULL, NULL, NULL, NULL, NULL};

int spill_options_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    argp_err_exit_status = SPILL_EXIT_USAGE;
    /* In order: the first word that is no option is the program, and what follows is its own. */
    error_t error = argp_parse(argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, input);
    if (error == 0)
        return 0;
    spill_log(SPILL_LOG_ERROR, "%s", strerror(error));
    return SPILL_EXIT_USAGE;
}
