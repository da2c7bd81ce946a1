/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/outoptions.h"

#include <stdlib.h>
#include <string.h>

#include "preload/base/log.h"
#include "tools/spillway/command.h"
#include "tools/spillway/options.h"

enum { KEY_FORMAT = 1024, KEY_GPU_MEM, KEY_HOST_MEM };

static const struct argp_option output_table[] = {
    {"output", 'o', "FILE", 0,
     "Write to FILE instead of standard output; %p, %h, %r and %q{NAME} in it are replaced", 0},
    {"force", 'f', NULL, 0, "Overwrite FILE", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t output_parse(int key, char *arg, struct argp_state *state)
{
    struct spill_outoptions *out = state->input;
    if (key == 'o')
        out->path = spill_options_file("--output", arg);
    else if (key == 'f')
        out->force = true;
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

const struct argp spill_outoptions_argp = {output_table, output_parse, NULL, NULL,
                                           NULL,         NULL,         NULL};

static const struct argp_option format_table[] = {
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default) or json", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t format_parse(int key, char *arg, struct argp_state *state)
{
    struct spill_outoptions *out = state->input;
    if (key != KEY_FORMAT)
        return ARGP_ERR_UNKNOWN;
    out->json = strcmp(arg, "json") == 0;
    if (out->json || strcmp(arg, "text") == 0)
        return 0;
    spill_log(SPILL_LOG_ERROR, "--format %s: the formats are text and json", arg);
    exit(SPILL_EXIT_USAGE);
}

const struct argp spill_outoptions_format_argp = {format_table, format_parse, NULL, NULL,
                                                  NULL,         NULL,         NULL};

static const struct argp_option budgets_table[] = {
    {"gpu-mem", KEY_GPU_MEM, "SIZE", 0,
     "GPU memory to plan for (default: what the program had when it was profiled)", 0},
    {"host-mem", KEY_HOST_MEM, "SIZE", 0,
     "Pinned host memory to plan for (default: as much as it takes)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t budgets_parse(int key, char *arg, struct argp_state *state)
{
    struct spill_outoptions_budgets *budgets = state->input;
    switch (key) {
    case KEY_GPU_MEM:
        budgets->gpu = spill_options_budget("--gpu-mem", arg);
        return 0;
    case KEY_HOST_MEM:
        budgets->host = spill_options_budget("--host-mem", arg);
        return 0;
    case ARGP_KEY_SUCCESS:
        spill_options_budgets(&budgets->gpu, &budgets->host);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp spill_outoptions_budgets_argp = {budgets_table, budgets_parse, NULL, NULL,
                                                   NULL,          NULL,          NULL};

static error_t trace_parse(int key, char *arg, struct argp_state *state)
{
    const char **path = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        *path = spill_options_only_trace(*path, arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        spill_log(SPILL_LOG_ERROR, "which trace? Try '%s --help'", state->name);
        exit(SPILL_EXIT_USAGE);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp spill_outoptions_trace_argp = {NULL, trace_parse, NULL, NULL, NULL, NULL, NULL};
