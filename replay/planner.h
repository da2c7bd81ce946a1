/* SPDX-License-Identifier: Apache-2.0 */
/* Planning on a helper thread while the program goes on. The thread is started with the device and
 * then waits for work: no hook starts one, which would allocate. */
#ifndef SPILL_PLANNER_H
#define SPILL_PLANNER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "profiler/iteration.h"
#include "replay/script.h"
#include "solver/solve.h"

struct spill_planner {
    pthread_t thread;
    sem_t asked, answered;
    bool started;              /* the thread */
    bool running;              /* it was asked and has not answered */
    struct spill_iteration it; /* the thread's while it runs */
    uint64_t gpu_budget, host_budget;
    const char *method; /* NULL: the default */
    const struct spill_script *rival;
    /* results, after spill_planner_join returned true */
    enum spill_status status;
    struct spill_script *script; /* NULL with SPILL_OK: everything fits, nothing to move */
    struct spill_solve_obstacle obstacle;
    struct spill_steptime
        rival_time; /* what an iteration takes by the rival's plan, if there is one */
};

/* Starts the thread, once. Without it every spill_planner_start fails. */
void spill_planner_boot(struct spill_planner *planner);

/* Takes IT over and begins to plan. RIVAL, NULL or a script of the same ops that stays as it is
 * until the answer is there, is judged by the same figures. */
enum spill_status spill_planner_start(struct spill_planner *planner, struct spill_iteration *it,
                                      uint64_t gpu_budget, uint64_t host_budget, const char *method,
                                      const struct spill_script *rival);

/* True when the plan is ready, waiting for it WAIT_MS milliseconds at most. */
bool spill_planner_join(struct spill_planner *planner, uint64_t wait_ms);

/* Nobody wants the answer any more: waits for it and throws it away. */
void spill_planner_cancel(struct spill_planner *planner);

#endif
