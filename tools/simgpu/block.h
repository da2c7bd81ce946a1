/* SPDX-License-Identifier: Apache-2.0 */
/* One thread block: threads run as plain calls, one after another on one fiber, until one has to
 * wait (barrier, warp exchange, grid barrier); that one then keeps its fiber and the rest goes on
 * with another. A kernel that never waits thus costs a call per thread. */
#ifndef SIMGPU_BLOCK_H
#define SIMGPU_BLOCK_H

#include "core.h"
#include "device/devrt.h"

#define SIMGPU_MAX_THREADS 1024
#define SIMGPU_WARP        32

struct simgpu_fiber;

struct simgpu_meeting { /* of lanes that called a warp function with the same mask */
    struct simgpu_exchange exchange;
    struct simgpu_meeting *next;
    unsigned int mask;
    unsigned int refs; /* lanes that may still read */
};

struct simgpu_warp {
    unsigned int live; /* lanes that have not returned, started or not */
    struct simgpu_meeting *open, *spare;
    struct simgpu_meeting *held[SIMGPU_WARP]; /* what a lane read last */
    struct simgpu_fiber *waiting[SIMGPU_WARP];
};

struct simgpu_block {
    struct simgpu_dim3 at;
    uint32_t threads, next, live; /* next: first thread that has not started */
    struct simgpu_fiber *ready, **ready_end;
    struct simgpu_fiber *barred, **barred_end; /* at the block's barrier, in order of arrival */
    struct simgpu_fiber *gridded, **gridded_end;
    uint32_t barred_count, gridded_count;
    struct simgpu_tally votes, tally;
    char *shared; /* contents of shared memory while another block runs */
    struct simgpu_warp warps[SIMGPU_MAX_THREADS / SIMGPU_WARP];
};

struct simgpu_frozen;

/* The launch that runs now: image, geometry, the frozen call of one thread. */
void simgpu_block_launch(struct simgpu_devrt *devrt, const struct simgpu_frozen *frozen,
                         const struct simgpu_dim3 *dim);
/* Starts BLOCK from nothing and runs it until all threads have returned or wait for the grid.
 * False: some wait for what cannot come. */
bool simgpu_block_begin(struct simgpu_block *block, struct simgpu_dim3 at);
/* Lets those that wait for the grid go on. */
bool simgpu_block_resume(struct simgpu_block *block);
/* Takes all fibers back, after a fault as well. */
void simgpu_block_reset(void);

#endif
