/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPILL_LOADTRACE_H
#define SPILL_LOADTRACE_H

#include "preload/base/trace.h"

/* Reads PATH: a trace file, or a planning problem as text (solver/textform.h), which becomes a
 * trace with what a plan needs. NULL after one line to stderr. Free it with spill_tracefile_free.
 */
struct spill_trace *spill_loadtrace(const char *path);

#endif
