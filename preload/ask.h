/* SPDX-License-Identifier: Apache-2.0 */
/* Short questions of a wrapper to the sink, with the guard around them. */
#ifndef SPILL_ASK_H
#define SPILL_ASK_H

#include "preload/guard.h"
#include "preload/pools.h"

/* False: ADDR is not managed, or the caller is to pass through. */
static inline bool spill_ask_managed(CUdeviceptr addr, struct spill_found *found)
{
    if (!spill_guard_enter())
        return false;
    bool managed = spill_guard_sink->find(addr, found);
    if (managed)
        found->pool = spill_pools_of(found->base);
    spill_guard_leave();
    return managed;
}

static inline void spill_ask_pin(CUdeviceptr addr, enum spill_trace_pin reason)
{
    if (addr != 0 && spill_guard_enter()) {
        spill_guard_sink->pin(addr, reason);
        spill_guard_leave();
    }
}

#endif
