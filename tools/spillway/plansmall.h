/* SPDX-License-Identifier: Apache-2.0 */
/* The question turned round: how little memory for a step that is not slower than so much. */
#ifndef SPILL_PLANSMALL_H
#define SPILL_PLANSMALL_H

#include "tools/spillway/planrow.h"

/* The smallest GPU budget, LEAST or more, for which METHOD's predicted step takes at most SLOWDOWN
 * (1 or more) times the step without a limit, by bisection over whole pages: one page less was
 * tried and is too slow or LEAST. ROW is the plan for it. Otherwise one line was printed. */
enum spill_status spill_plansmall_solve(const struct spill_trace *trace, uint64_t host_bytes,
                                        const char *method, double slowdown,
                                        const struct spill_planleast *least,
                                        struct spill_planrow *row);

#endif
