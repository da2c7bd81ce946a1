/* SPDX-License-Identifier: Apache-2.0 */
/* The options that every command which starts a program has. */
#ifndef SPILL_OPTIONS_H
#define SPILL_OPTIONS_H

#include <argp.h>
#include <stdint.h>

#include "tools/spillway/launch.h"

/* A child parser for those options; its input is a struct spill_launch, initialised to zeros. */
extern const struct argp spill_options_argp;

/* A child parser for --help (to stdout, status 0), which every command has; it has no input. */
extern const struct argp spill_options_help_argp;

/* Parses ARGV with ARGP. 0, or the exit status after the complaint was printed. */
int spill_options_parse(const struct argp *argp, int argc, char **argv, void *input);

#endif
