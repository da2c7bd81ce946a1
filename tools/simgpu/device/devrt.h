/* SPDX-License-Identifier: Apache-2.0 */
/* What a device image and the driver agree on: each image carries its own copy of the built-in
 * variables (so that device code reaches them without a detour) and exports this table under the
 * name below. */
#ifndef SIMGPU_DEVRT_H
#define SIMGPU_DEVRT_H

#define SIMGPU_DEVRT_VERSION 2
#define SIMGPU_DEVRT_SYMBOL  "__simgpu_devrt"
#define SIMGPU_SHARED_MAX    233472

struct simgpu_dim3 {
    unsigned int x, y, z;
};

/* What the lanes of a warp laid on the table, and which of them did. */
struct simgpu_exchange {
    unsigned int participants;
    unsigned long long values[32];
};

/* What __syncthreads_count, _and and _or ask for. */
struct simgpu_tally {
    unsigned int count, threads;
};

struct simgpu_devrt {
    unsigned int version;
    struct simgpu_dim3 *thread, *block, *block_dim, *grid_dim;
    char *dynamic_shared;
    unsigned int *dynamic_shared_bytes;
    char *shared, *shared_end; /* the image's __shared__ variables */
    /* Filled by the driver. */
    struct simgpu_tally (*barrier)(int predicate);
    const struct simgpu_exchange *(*exchange)(unsigned int mask, unsigned long long value);
    unsigned int (*active)(void);
    void (*grid_barrier)(void);
    void (*stop)(int error);
    unsigned long long (*clock)(void);
};

#endif
