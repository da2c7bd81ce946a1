/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of the chain study: a panel for each network, step time over memory, a line a method.
 */
#ifndef SPILL_BENCH_CHAINS_PLOT_H
#define SPILL_BENCH_CHAINS_PLOT_H

#include <stdbool.h>
#include <stdint.h>

enum { PLOT_BUDGETS = 6, PLOT_METHODS = 40, PLOT_PANELS = 9 };

struct panel {
    char title[64];
    double gib[PLOT_BUDGETS];                    /* budgets */
    double slowdown[PLOT_METHODS][PLOT_BUDGETS]; /* 0: no plan */
};

/* Draws COUNT panels of METHODS lines, named NAMES, into the SVG file PATH. */
bool chains_plot(const char *path, const struct panel *panels, uint32_t count,
                 const char *const *names, uint32_t methods);

#endif
