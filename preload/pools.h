/* SPDX-License-Identifier: Apache-2.0 */
/* The program's memory pools: which of them have only memory that we may manage, how much of each
 * we do, and from which one an address came. The driver knows nothing of managed memory, so the
 * figures it tells of a pool lack it. Inside the guard only. */
#ifndef SPILL_POOLS_H
#define SPILL_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/cuapi.h"

struct spill_pool {
    struct spill_pool *next;
    CUmemoryPool handle;
    CUdevice device; /* -1: its memory takes nothing of a device */
    bool manageable; /* plain memory of a device, for this process and device alone */
    bool passed;     /* the driver gave memory of it, too */
    bool gone;       /* destroyed: the handle is nobody's now */
    uint64_t used;   /* bytes of it that are managed, as asked for */
    /* The most there was since the program last asked anew, the driver's part included. */
    uint64_t used_high, reserved_high;
};

/* The pool HANDLE; NULL: not known, so none of ours. */
struct spill_pool *spill_pools_find(CUmemoryPool handle);
/* The same, but that every device's default pool is known by then. */
struct spill_pool *spill_pools_seek(CUmemoryPool handle);
/* The pool from which cuMemAllocAsync allocates on DEVICE; NULL: not known. */
struct spill_pool *spill_pools_current(CUdevice device);
/* The program chose another one for some device. */
void spill_pools_chosen(void);

/* HANDLE is a pool of these PROPS. */
void spill_pools_add(CUmemoryPool handle, const CUmemPoolProps *props);
void spill_pools_destroyed(CUmemoryPool handle);

/* BYTES of POOL at ADDR are managed, until they are given back. False: no memory to know it in. */
bool spill_pools_took(struct spill_pool *pool, CUdeviceptr addr, uint64_t bytes);
void spill_pools_gave(CUdeviceptr addr);
/* The driver gave memory of POOL. */
void spill_pools_passed(struct spill_pool *pool);
/* The handle of the pool of managed ADDR; NULL: of none. */
CUmemoryPool spill_pools_of(CUdeviceptr addr);
/* DEVICE's managed context ended, and with it what it held. */
void spill_pools_forget(CUdevice device);

/* What the driver says of ATTRIBUTE is *VALUE; with managed memory it is more. */
void spill_pools_tell(struct spill_pool *pool, CUmemPool_attribute attribute, void *value);
/* The program set ATTRIBUTE. */
void spill_pools_reset(struct spill_pool *pool, CUmemPool_attribute attribute);

#endif
