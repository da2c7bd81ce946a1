/* SPDX-License-Identifier: Apache-2.0 */
/* spillway doctor: is this machine, and is a program, fit for spillway? */
#include "tools/spillway/command.h"
#include "tools/spillway/options.h"
#include "tools/spillway/outoptions.h"
#include "tools/spillway/probe.h"
#include "tools/spillway/progress.h"

struct request {
    const char *program;
    struct spill_outoptions out;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *request = state->input;
    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->out;
        state->child_inputs[1] = &request->out;
        return 0;
    case ARGP_KEY_ARGS: /* the program's own arguments follow: they are of no interest */
        request->program = state->argv[state->next];
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Examine this machine: driver, device, speed of the links, how much host memory can be pinned, "
    "kernel settings and limits. With PROG, also whether the library would be in it and act; PROG "
    "is not run. Each finding is a line, with its cure.\v"
    "Examples:\n"
    "  spillway doctor\n"
    "  spillway doctor -- python3 train.py\n"
    "  spillway doctor --format json -o doctor.json\n\n"
    "Exit status: 0 no problem (there may be warnings); 1 a problem; 2 FILE cannot be written; 3 "
    "no CUDA driver; 64 wrong usage; 127 PROG was not found. If several hold, the last of them.";

static const struct argp_child children[] = {{&spill_outoptions_format_argp, 0, NULL, 0},
                                             {&spill_outoptions_argp, 0, NULL, 0},
                                             {&spill_options_help_argp, 0, NULL, 0},
                                             {NULL, 0, NULL, 0}};
static const struct argp argp = {NULL, parse, "[[--] PROG [ARGS...]]", doc, children, NULL, NULL};

static int doctor(int argc, char **argv)
{
    struct request request = {.program = NULL};
    struct spill_findings found = {NULL, 0, false};
    int status = spill_options_parse(&argp, argc, argv, &request);
    if (status != 0)
        return status;
    spill_progress_begin("examining this machine", 0);
    bool driver = spill_probe_driver(&found);
    spill_probe_host(&found);
    bool program = request.program == NULL || spill_probe_program(request.program, &found);
    spill_progress_end();
    status = spill_finding_answer(&found, &request.out);
    if (status == SPILL_EXIT_FILE || (program && driver))
        return status;
    return program ? SPILL_EXIT_NO_DRIVER : SPILL_EXIT_NOT_FOUND;
}

const struct spill_command spill_command_doctor = {
    "doctor", "examine this machine, or a program, for trouble", doctor};
