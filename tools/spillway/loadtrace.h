/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPILL_LOADTRACE_H
#define SPILL_LOADTRACE_H

#include "preload/base/trace.h"

/* The trace in the file PATH (free it with spill_tracefile_free); NULL after one line. */
struct spill_trace *spill_loadtrace(const char *path);

#endif
