/* SPDX-License-Identifier: Apache-2.0 */
/* Is a trace sound, and good to plan from? */
#ifndef SPILL_TRACECHECK_H
#define SPILL_TRACECHECK_H

#include <stdint.h>

#include "preload/base/trace.h"
#include "tools/spillway/finding.h"

/* Adds what is to be said about TRACE itself. */
void spill_tracecheck_trace(const struct spill_trace *trace, struct spill_findings *found);

/* Plans TRACE within GPU_BYTES and HOST_BYTES (UINT64_MAX: no limit), has the plan checked by the
 * solver's referee, and adds what came of it. */
void spill_tracecheck_plan(const struct spill_trace *trace, uint64_t gpu_bytes, uint64_t host_bytes,
                           struct spill_findings *found);

#endif
