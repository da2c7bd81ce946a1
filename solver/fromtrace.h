/* SPDX-License-Identifier: Apache-2.0 */
/* From a trace to the planning problem. */
#ifndef SPILL_FROMTRACE_H
#define SPILL_FROMTRACE_H

#include <stdint.h>

#include "preload/base/status.h"
#include "preload/base/trace.h"
#include "solver/problem.h"

/* Fills PROBLEM from TRACE with the given budgets (bytes for the pages of TRACE's buffers; bytes of
 * pinned host memory). Its tables are new: release them with spill_fromtrace_free. Buffer and op
 * numbers are the trace's. SPILL_ERR_NOMEM, or SPILL_ERR_INVAL when TRACE has no op or no page
 * size. */
enum spill_status spill_fromtrace(const struct spill_trace *trace, uint64_t gpu_budget,
                                  uint64_t host_budget, struct spill_problem *problem);
void spill_fromtrace_free(struct spill_problem *problem);

#endif
