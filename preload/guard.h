/* SPDX-License-Identifier: Apache-2.0 */
/* Entering and leaving the library. A thread that is already inside (the driver called a hooked
 * function, or our own code did) passes through. Otherwise calls enter one at a time.
 *
 * RATIONALE: the turnstile is held while the real op is enqueued. It has to be: the waits before an
 * op, the op, and the event after it must reach the driver in one piece, and the order in which two
 * threads' ops enter the plan must be the order in which the driver sees them. It is not held in
 * the program's own waits (synchronize calls), so a thread that waits never keeps another out. */
#ifndef SPILL_GUARD_H
#define SPILL_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/sink.h"

extern const struct spill_sink *spill_guard_sink; /* NULL: inert */
extern uint64_t spill_guard_calls;                /* times anyone entered */
extern bool spill_guard_budget_view;              /* cuMemGetInfo tells of the budget */
extern const char *spill_guard_iteration;         /* SPILLWAY_ITERATION, "" until it is read */
extern uint64_t spill_guard_gpu_mem;              /* the setting; 0: none */

/* Is the library to act at all? Starts it (reads the settings) at the first question. */
bool spill_guard_active(void);

/* True: the caller is inside now and must call spill_guard_leave. False: pass through. */
bool spill_guard_enter(void);
void spill_guard_leave(void);

/* The driver was loaded: this is a CUDA program. */
void spill_guard_driver_found(void);

/* For good: every call passes through from now on. */
void spill_guard_give_up(void);

/* Before a call that waits for STREAM inside the guard: waits for it out here. */
void spill_guard_drain(CUstream stream);

#endif
