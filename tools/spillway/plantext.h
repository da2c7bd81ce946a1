/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in words. */
#ifndef SPILL_PLANTEXT_H
#define SPILL_PLANTEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/spillway/planrow.h"

/* False if OUT could not be written. */
bool spill_plantext_print(const struct spill_trace *trace, const struct spill_planrow *row,
                          const struct spill_planleast *least, FILE *out);

/* One line on why ROW, which had HOST_BYTES of host memory, does not fit, and what would help. */
void spill_plantext_explain(const struct spill_trace *trace, const struct spill_planrow *row,
                            uint64_t host_bytes, const struct spill_planleast *least);

#endif
