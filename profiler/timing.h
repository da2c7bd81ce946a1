/* SPDX-License-Identifier: Apache-2.0 */
/* The times of an iteration, from the event pairs of its last two runs. */
#ifndef SPILL_TIMING_H
#define SPILL_TIMING_H

#include <stdint.h>

#include "preload/base/trace.h"
#include "profiler/recorder.h"

/* Fills start_ns, duration_ns and paged_bytes of TRACE's ops, and its step_ns and paged_bytes, from
 * the last PERIOD records of REC and the PERIOD before them (0: from all records, once). Of two
 * values the smaller one counts, since what disturbs a step makes it longer. */
void spill_timing_fill(struct spill_trace *trace, const struct spill_recorder *rec,
                       uint32_t period);

#endif
