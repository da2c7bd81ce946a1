/* SPDX-License-Identifier: Apache-2.0 */
/* The command: finds the subcommand and hands over. */
#include <stdio.h>
#include <string.h>

#include "preload/base/log.h"
#include "profiler/tracefile.h"
#include "tools/spillway/command.h"

static const struct spill_command *const commands[] = {
    &spill_command_run,  &spill_command_profile, &spill_command_report,
    &spill_command_plan, &spill_command_check,   &spill_command_dump,
    &spill_command_diff, &spill_command_env,     &spill_command_doctor,
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static int help(void)
{
    puts("Usage: spillway COMMAND [OPTION...] ...\n"
         "Run an unmodified CUDA training program in less GPU memory than it needs.\n"
         "\n"
         "Commands:");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    puts("\n"
         "  -h, --help     this text; 'spillway COMMAND --help' explains a command\n"
         "  -V, --version  one line\n"
         "\n"
         "Examples:\n"
         "  spillway run --gpu-mem 8GiB -- ./train --epochs 3\n"
         "  spillway profile -o train.trace -- ./train --epochs 1\n"
         "  spillway report train.trace\n"
         "  spillway plan train.trace --gpu-mem 8GiB\n"
         "\n"
         "Exit status: the program's own for run and profile; otherwise 0, 1 a problem was\n"
         "found, 2 a file cannot be read or written, 3 no CUDA driver, 64 wrong usage,\n"
         "126 the program cannot be executed, 127 it was not found.");
    return ferror(stdout) || fflush(stdout) ? SPILL_EXIT_FILE : 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        spill_log(SPILL_LOG_ERROR, "which command? Try 'spillway --help'");
        return SPILL_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help();
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("spillway %s (trace format %d)\n", SPILL_VERSION, SPILL_TRACEFILE_VERSION);
        return 0;
    }
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(argv[1], commands[i]->name) != 0)
            continue;
        char name[64];
        snprintf(name, sizeof(name), "spillway %s", commands[i]->name);
        argv[1] = name;
        return commands[i]->run(argc - 1, argv + 1);
    }
    spill_log(SPILL_LOG_ERROR, "'%s' is no command; try 'spillway --help'", argv[1]);
    return SPILL_EXIT_USAGE;
}
