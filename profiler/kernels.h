/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a kernel by its handle: its name, and where its parameters lie. Asked of the
 * driver at the first launch, then cached. */
#ifndef SPILL_KERNELS_H
#define SPILL_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include <cudaTypedefs.h>

#include "preload/base/uthash_heap.h"

struct spill_kernel_param {
    uint32_t offset; /* in the kernel's parameter block */
    uint32_t bytes;
};

struct spill_kernel {
    CUfunction function;
    const char *name; /* mangled; stays valid */
    struct spill_kernel_param *params;
    uint32_t param_count;
    bool by_kernel; /* the driver tells its parameters as of a CUkernel only */
    bool opaque;    /* the driver does not tell its parameters: it may touch anything */
    bool held;      /* SPILLWAY_PIN: what it touches stays on the GPU */
    bool stale;     /* to be asked again: its handle may mean another kernel now */
    UT_hash_handle hh;
};

/* Never NULL but when memory is out. */
const struct spill_kernel *spill_kernels_get(CUfunction function);

/* A module went away: its handles may be given to other kernels. All are asked again. */
void spill_kernels_forget(void);

#endif
