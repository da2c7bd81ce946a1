/* SPDX-License-Identifier: Apache-2.0 */
/* The program's own marks of its iterations: a call of spillway_iteration, and by
 * SPILLWAY_ITERATION a call of cudaProfilerStart or the start of an NVTX range of one name. From
 * the third mark on, iterations are looked for between marks only.
 *
 * spillway_iteration needs no header and no library of ours:
 *   extern void spillway_iteration(void) __attribute__((weak));
 *   if (spillway_iteration) spillway_iteration(); */
#ifndef SPILL_MARK_H
#define SPILL_MARK_H

void spillway_iteration(void);

/* An iteration begins here. */
void spill_mark_here(void);
/* The NVTX range that marks iterations; "": none does. */
const char *spill_mark_range(void);

#endif
