/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools (poolset.c), and what is allocated from them (pool.c). */
#ifndef SIMGPU_POOL_H
#define SIMGPU_POOL_H

#include "core.h"

struct simgpu_pool {
    uint64_t magic;
    struct simgpu_device *device;
    uint64_t used, used_high, reserved_high;
    cuuint64_t threshold;
    int reuse[3];
    bool standing; /* the device's default pool */
    CUmemAllocationHandleType handles;
};

/* NULL: HANDLE is none. */
struct simgpu_pool *simgpu_pool_of(CUmemoryPool handle);
struct simgpu_pool *simgpu_pool_current(struct simgpu_device *device);
/* So many bytes more, or less, are in use. */
void simgpu_pool_count(struct simgpu_pool *pool, int64_t bytes);
/* The pool from which the allocation that starts at PTR came; NULL: none. */
CUmemoryPool simgpu_pool_behind(CUdeviceptr ptr);

#endif
