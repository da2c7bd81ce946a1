/* SPDX-License-Identifier: Apache-2.0 */
/* The curve "how much slower with less memory". */
#ifndef SPILL_PLANCURVE_H
#define SPILL_PLANCURVE_H

#include "tools/spillway/planrow.h"

enum { SPILL_PLANCURVE_POINTS = 20, SPILL_PLANCURVE_MOST = 64 };

/* Plans by METHOD for POINTS budgets (2 or more), from LEAST to all that WHOLE, the plan without a
 * limit, takes, evenly but in whole pages, and for the EXTRA_COUNT budgets EXTRA that lie between,
 * which rise. ROWS has SPILL_PLANCURVE_MOST entries; they rise, each budget once. Their number; 0
 * after one line. */
uint32_t spill_plancurve_solve(const struct spill_trace *trace, uint64_t host_bytes,
                               const char *method, const struct spill_planleast *least,
                               const struct spill_planrow *whole, uint32_t points,
                               const uint64_t *extra, uint32_t extra_count,
                               struct spill_planrow *rows);

#endif
