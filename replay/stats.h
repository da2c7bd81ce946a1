/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics file, SPILLWAY_STATS: profiler/FORMAT.md says what stands in it. */
#ifndef SPILL_STATS_H
#define SPILL_STATS_H

#include "preload/base/config.h"

/* Writes it, if it is wanted, in place of what was written before. */
void spill_stats_write(const struct spill_config *config, uint64_t hooked_calls);

#endif
