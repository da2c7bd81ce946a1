/* SPDX-License-Identifier: Apache-2.0 */
/* One file a command; each exports one of these rows, and main.c lists them. */
#ifndef SPILL_COMMAND_H
#define SPILL_COMMAND_H

/* Documented in every --help. `run` and `profile` end as the program ends, except for these. */
enum spill_exit {
    SPILL_EXIT_PROBLEM = 1,      /* ran, and found a problem */
    SPILL_EXIT_FILE = 2,         /* a file cannot be read or written */
    SPILL_EXIT_NO_DRIVER = 3,    /* no CUDA driver on this machine */
    SPILL_EXIT_USAGE = 64,       /* the command line is not of its form */
    SPILL_EXIT_CANNOT_RUN = 126, /* as env(1): found, but cannot be executed */
    SPILL_EXIT_NOT_FOUND = 127   /* as env(1): no such program; also: our own library is missing */
};

struct spill_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is "spillway NAME"; returns the exit status */
};

extern const struct spill_command spill_command_check;
extern const struct spill_command spill_command_diff;
extern const struct spill_command spill_command_doctor;
extern const struct spill_command spill_command_dump;
extern const struct spill_command spill_command_env;
extern const struct spill_command spill_command_plan;
extern const struct spill_command spill_command_profile;
extern const struct spill_command spill_command_report;
extern const struct spill_command spill_command_run;

#endif
