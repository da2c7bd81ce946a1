/* SPDX-License-Identifier: Apache-2.0 */
/* What the command lines of several commands share that start no program: the trace, where the
 * answer goes, in what form, and budgets to plan for. Each is a child parser for argp. */
#ifndef SPILL_OUTOPTIONS_H
#define SPILL_OUTOPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

struct spill_outoptions {
    const char *path; /* NULL: standard output */
    bool force, json;
};

/* -o and -f; --format text or json. The input of both is a struct spill_outoptions. */
extern const struct argp spill_outoptions_argp;
extern const struct argp spill_outoptions_format_argp;

/* One TRACE; the input is a const char *, NULL before. */
extern const struct argp spill_outoptions_trace_argp;

/* --gpu-mem, --host-mem, else SPILLWAY_GPU_MEM, SPILLWAY_HOST_MEM */
struct spill_outoptions_budgets {
    uint64_t gpu, host; /* bytes; 0: not given */
};
extern const struct argp spill_outoptions_budgets_argp;

#endif
