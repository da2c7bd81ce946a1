/* SPDX-License-Identifier: Apache-2.0 */
/* What an iteration under a script will take: its ops, copies and waits played on a device with one
 * compute engine and two links, stream by stream as the driver runs them. The solver's clock takes
 * the program for one stream; here an op that waits for a copy holds up its own stream and what
 * waits for that, and ops of other streams go on. */
#ifndef SPILL_STEPTIME_H
#define SPILL_STEPTIME_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/problem.h"

struct spill_script;

/* Of one steady iteration, in nanoseconds. */
struct spill_steptime {
    uint64_t step_ns;
    uint64_t wait_in_ns;     /* no op ran: the next one waited for a copy in, */
    uint64_t wait_memory_ns; /* or for memory that a copy out had not freed yet */
    uint64_t out_ns, in_ns;  /* copies under way */
};

/* Plays SCRIPT with the durations and links of PROBLEM, which has the same ops, until it repeats.
 * SPILL_ERR_NOMEM; SPILL_ERR_INFEASIBLE: a wait that never ends, which no sound script has. */
enum spill_status spill_steptime_predict(const struct spill_script *script,
                                         const struct spill_problem *problem,
                                         struct spill_steptime *time);

#endif
