/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/mark.h"

#include <string.h>

#include "preload/guard.h"
#include "preload/real.h"

void spill_mark_here(void)
{
    if (!spill_guard_enter())
        return;
    spill_guard_calls--; /* no CUDA call of the program */
    spill_guard_sink->mark();
    spill_guard_leave();
}

__attribute__((visibility("default"))) void spillway_iteration(void)
{
    spill_mark_here();
}

const char *spill_mark_range(void)
{
    static const char nvtx[] = "nvtx:";
    if (!spill_guard_active() || strncmp(spill_guard_iteration, nvtx, strlen(nvtx)) != 0)
        return "";
    return spill_guard_iteration + strlen(nvtx);
}

CUresult cuProfilerStart(void)
{
    if (spill_guard_active() && strcmp(spill_guard_iteration, "profiler") == 0)
        spill_mark_here();
    return SPILL_REAL(cuProfilerStart)();
}
