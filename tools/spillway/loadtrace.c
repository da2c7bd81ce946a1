/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/loadtrace.h"

#include <stddef.h>

#include "preload/base/log.h"
#include "profiler/tracefile.h"

struct spill_trace *spill_loadtrace(const char *path)
{
    char complaint[256];
    struct spill_trace *trace = NULL;
    if (spill_tracefile_read(path, &trace, complaint, sizeof(complaint)) == SPILL_OK)
        return trace;
    spill_log(SPILL_LOG_ERROR, "cannot read %s: %s", path, complaint);
    return NULL;
}
