/* SPDX-License-Identifier: Apache-2.0 */
/* What a device image and the driver agree on: each image carries its own copy of the built-in variables
 * (so that device code reaches them without a detour) and exports this table under the name below. */
#ifndef SIMGPU_DEVRT_H
#define SIMGPU_DEVRT_H

#define SIMGPU_DEVRT_VERSION 1
#define SIMGPU_DEVRT_SYMBOL  "__simgpu_devrt"
#define SIMGPU_SHARED_MAX    233472

struct simgpu_dim3 {
    unsigned int x, y, z;
};

struct simgpu_devrt {
    unsigned int version;
    struct simgpu_dim3 *thread, *block, *block_dim, *grid_dim;
    void *dynamic_shared;
    unsigned int *dynamic_shared_bytes;
    /* Filled by the driver. */
    void (*barrier)(void);
    void (*stop)(int error);
};

#endif
