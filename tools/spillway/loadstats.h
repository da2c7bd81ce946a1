/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPILL_LOADSTATS_H
#define SPILL_LOADSTATS_H

/* The text of the statistics file PATH (profiler/FORMAT.md), checked to be one; free it. NULL after
 * one line. */
char *spill_loadstats(const char *path);

#endif
