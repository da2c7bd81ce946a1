/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/mark.h"

#include "preload/guard.h"

__attribute__((visibility("default"))) void spillway_iteration(void)
{
    if (!spill_guard_enter())
        return;
    spill_guard_calls--; /* no CUDA call of the program */
    spill_guard_sink->mark();
    spill_guard_leave();
}
