/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands share which start no program: where the answer goes, in what form,
 * and budgets to plan for. Each is a child parser for argp. */
#ifndef SPILL_OUTOPTIONS_H
#define SPILL_OUTOPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* -o, -f */
struct spill_outoptions {
    const char *path; /* NULL: standard output */
    bool force;
};
extern const struct argp spill_outoptions_argp;

/* --format text or json; the input is a bool: json */
extern const struct argp spill_outoptions_format_argp;

/* --gpu-mem, --host-mem, else SPILLWAY_GPU_MEM, SPILLWAY_HOST_MEM */
struct spill_outoptions_budgets {
    uint64_t gpu, host; /* bytes; 0: not given */
};
extern const struct argp spill_outoptions_budgets_argp;

#endif
