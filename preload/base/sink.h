/* SPDX-License-Identifier: Apache-2.0 */
/* What the hook layer hands to the layer behind it. The hooks know no policy: they describe the
 * call, let the sink act before it, make the real call, and let the sink act after it.
 *
 * All sink functions run on the program's thread that made the call, one at a time (the guard's
 * turnstile), never from inside another sink function. */
#ifndef SPILL_SINK_H
#define SPILL_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cudaTypedefs.h>

#include "preload/base/config.h"

enum spill_opkind {
    SPILL_OPKIND_KERNEL,
    SPILL_OPKIND_COPY,
    SPILL_OPKIND_SET,
    SPILL_OPKIND_HOST_FUNC,
    SPILL_OPKIND_ALL /* touches whatever it likes: a graph launch, a start of capture */
};

/* A device address that a copy or a memset names. */
struct spill_oprange {
    CUdeviceptr addr;
    uint32_t mode; /* enum spill_access_mode */
};

/* One thing handed to the GPU. */
struct spill_opcall {
    enum spill_opkind kind;
    CUstream
        stream;   /* never NULL: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for the default streams */
    bool to_host; /* asynchronous, and writes host memory that the program may read after a sync */
    /* kernels */
    CUfunction function;
    void **params;
    void **extra;
    uint32_t grid[3];
    uint32_t block[3];
    /* copies and memsets */
    struct spill_oprange ranges[2];
    uint32_t range_count;
    uint64_t bytes;
    const void *host_source; /* of a host-to-device copy: scanned for stored device addresses */
};

enum spill_handled { SPILL_NOT_OURS, SPILL_HANDLED };

struct spill_sink {
    /* cuMemAlloc: SPILL_HANDLED with *RESULT (and *ADDR) set, or SPILL_NOT_OURS: make the real
     * call. */
    enum spill_handled (*alloc)(CUdeviceptr *addr, size_t bytes, CUresult *result);
    enum spill_handled (*free)(CUdeviceptr addr, CUresult *result);
    /* An allocation that stays unmanaged was made (bytes > 0) or given back (bytes < 0). */
    void (*unmanaged)(int64_t bytes);
    /* Around every op. before's result other than CUDA_SUCCESS is given to the program and the real
     * call is not made. */
    CUresult (*before)(struct spill_opcall *op);
    void (*after)(struct spill_opcall *op, CUresult result);
    /* The program waited for STREAM, or for the whole device (NULL): what they wrote to host memory
     * is complete. */
    void (*synchronized)(CUstream stream);
    /* The buffer of a managed address; false when ADDR is not managed. */
    bool (*find)(CUdeviceptr addr, CUdeviceptr *base, size_t *bytes);
    /* The context is about to go away, with all that is in it. */
    void (*context_end)(void);
    /* Process exit: last line, files. No driver call is possible any more. */
    void (*finish)(bool cuda_used, uint64_t hooked_calls);
    /* In a child of fork: forget everything. */
    void (*child)(void);
};

/* The sink of the replay layer (replay/engine.c), the only one. */
const struct spill_sink *spill_engine_sink(const struct spill_config *config);

#endif
