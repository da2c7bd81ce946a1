/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a program with libspillway.so in it. */
#ifndef SPILL_LAUNCH_H
#define SPILL_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#define SPILL_LAUNCH_PAGE_BYTES ((uint64_t)2 << 20)

enum spill_launch_verbosity {
    SPILL_LAUNCH_DEFAULT, /* what the environment says */
    SPILL_LAUNCH_ERRORS,
    SPILL_LAUNCH_WARNINGS,
    SPILL_LAUNCH_EVERYTHING
};

struct spill_launch {
    const char *mode;   /* value of SPILLWAY_MODE; NULL: what it has, else "offload" */
    const char *output; /* value of SPILLWAY_OUTPUT, or NULL: leave it */
    uint64_t gpu_mem;   /* bytes; 0: not given */
    uint64_t host_mem;  /* bytes; 0: not given */
    enum spill_launch_verbosity verbosity;
    bool skip_driver_check;
    bool skip_recipe;
    char **argv; /* the program and its arguments, NULL at the end */
};

/* Checks the program, the library and the driver, and sets the environment for the program. 0, or
 * the exit status after the reason was printed. */
int spill_launch_prepare(const struct spill_launch *launch);

/* Puts the library in DIR into this process's LD_PRELOAD. False, after one line, if that cannot be
 * done from there. */
bool spill_launch_preload(const char *dir);

/* The exit status for a program that could not be executed for reason ERROR (an errno), which it
 * prints. */
int spill_launch_failed(const struct spill_launch *launch, int error);

#endif
