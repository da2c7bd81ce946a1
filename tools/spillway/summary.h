/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace says, as text for a terminal of 80 columns and 40 lines. */
#ifndef SPILL_SUMMARY_H
#define SPILL_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "preload/base/trace.h"

/* False if OUT could not be written. */
bool spill_summary_print(const struct spill_trace *trace, FILE *out);

#endif
