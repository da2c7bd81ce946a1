/* SPDX-License-Identifier: Apache-2.0 */
/* Planning on a helper thread while the program goes on. */
#ifndef SPILL_PLANNER_H
#define SPILL_PLANNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "profiler/iteration.h"
#include "replay/script.h"
#include "solver/check.h"
#include "solver/solve.h"

struct spill_planner {
    pthread_t thread;
    bool running;
    struct spill_iteration it; /* the thread's while it runs */
    uint64_t gpu_budget, host_budget;
    const char *method; /* NULL: the default */
    /* results, after spill_planner_join returned true */
    enum spill_status status;
    struct spill_script *script;  /* NULL with SPILL_OK: everything fits, nothing to move */
    struct spill_outcome outcome; /* of the script's plan, by the referee */
    struct spill_solve_obstacle obstacle;
};

/* Takes IT over and starts. */
enum spill_status spill_planner_start(struct spill_planner *planner, struct spill_iteration *it,
                                      uint64_t gpu_budget, uint64_t host_budget,
                                      const char *method);

/* True when the plan is ready, waiting for it WAIT_MS milliseconds at most. */
bool spill_planner_join(struct spill_planner *planner, uint64_t wait_ms);

#endif
