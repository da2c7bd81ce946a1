/* SPDX-License-Identifier: Apache-2.0 */
/* The options that every command which starts a program has. */
#ifndef SPILL_OPTIONS_H
#define SPILL_OPTIONS_H

#include <argp.h>
#include <stdint.h>

#include "tools/spillway/launch.h"

/* A child parser for those options; its input is a struct spill_launch, initialised to zeros. */
extern const struct argp spill_options_argp;

/* A child that only explains: the library's settings, from preload/base/config.def. */
extern const struct argp spill_options_settings_argp;
#define SPILL_OPTIONS_SETTINGS                                                                     \
    {                                                                                              \
        &spill_options_settings_argp, 0, "Environment, where the option is not given:", 1          \
    }

/* A child parser for --help (to stdout, status 0), which every command has; it has no input. */
extern const struct argp spill_options_help_argp;

/* For the help of commands whose output has a name that may hold these. */
#define SPILL_OPTIONS_NAMES_HELP                                                                   \
    "In FILE, %p stands for the process number, %h for the machine, %r for the rank (of "          \
    "torchrun, "                                                                                   \
    "mpirun, srun), %q{NAME} for a variable of the environment, %% for %. Ranks whose FILE has "   \
    "none of %p, %r and %q get theirs before the last dot: x.trace, x.3.trace.\n\n"

/* For the help of commands that start a program. */
#define SPILL_OPTIONS_RECIPE_HELP                                                                  \
    "If PROG is a Python program whose text (or that of its own modules) imports PyTorch, JAX or " \
    "TensorFlow, or is started by torchrun, their documented variables are set by which each "     \
    "tensor becomes an allocation of its own: PYTORCH_NO_CUDA_MEMORY_CACHING=1, "                  \
    "XLA_PYTHON_CLIENT_ALLOCATOR=platform, XLA_PYTHON_CLIENT_PREALLOCATE=false, "                  \
    "TF_GPU_ALLOCATOR=cuda_malloc_async (memory from that pool is not moved yet). What is set "    \
    "already stays.\n\n"

/* Parses ARGV with ARGP. 0, or the exit status after the complaint was printed. */
int spill_options_parse(const struct argp *argp, int argc, char **argv, void *input);

/* For values: each gives what is meant by ARG, or prints one line and exits with the usage status.
 * OPTION names the option in that line. */
const char *spill_options_file(const char *option, const char *arg);
uint64_t spill_options_budget(const char *option, const char *arg);

/* What the library would take from the environment for a budget that is 0: not given. */
void spill_options_budgets(uint64_t *gpu, uint64_t *host);

/* ARG, if no trace was named BEFORE it (NULL). */
const char *spill_options_only_trace(const char *before, const char *arg);

#endif
