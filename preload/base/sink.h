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

#include "preload/base/config.h"
#include "preload/base/cuapi.h"
#include "preload/base/hostread.h"
#include "preload/base/trace.h"

enum spill_opkind {
    SPILL_OPKIND_KERNEL,
    SPILL_OPKIND_COPY,
    SPILL_OPKIND_SET,
    SPILL_OPKIND_HOST_FUNC,
    SPILL_OPKIND_ALL,  /* touches whatever it likes */
    SPILL_OPKIND_GRAPH /* launch of a graph whose nodes are known; else it is ALL */
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
        stream; /* never NULL: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for the default streams */
    bool host_pending; /* asynchronous, and reads or writes host memory that the program may use
                          after it waited */
    CUgraphExec graph; /* of a launch */
    /* kernels */
    CUfunction function; /* of a graph, once it is known: its spill_graph_shape */
    void **params;
    void **extra;
    uint32_t grid[3];
    uint32_t block[3];
    /* copies and memsets */
    struct spill_oprange ranges[2];
    uint32_t range_count;
    const struct spill_oprange *more; /* further ranges, of batches */
    uint32_t more_count;
    uint64_t bytes;
    const void *host_source; /* of a copy from host memory: scanned for stored device addresses */
    uint64_t host_bytes;     /* of host_source */
};

/* Copies larger than this carry tensors, not tables of addresses. They are scanned before a plan
 * only, where their source is known to be host memory. */
#define SPILL_HOST_SOURCE_MAX SPILL_HOSTREAD_MAX

enum spill_ordered {
    SPILL_ORDERED_RECORD,     /* EVENT was recorded on STREAM */
    SPILL_ORDERED_WAIT,       /* STREAM waits for EVENT */
    SPILL_ORDERED_SYNCHRONIZE /* the host waited for EVENT */
};

enum spill_handled { SPILL_NOT_OURS, SPILL_HANDLED };

/* A managed buffer, as questions about addresses need it. */
struct spill_found {
    CUdeviceptr base;
    size_t bytes;
    uint64_t serial; /* of this allocation, never given again; 0: its memory never moves */
    CUcontext context;
    CUdevice device;
    CUmemoryPool pool; /* NULL: of none. The sink knows no pools: ask.h fills it in */
};

struct spill_sink {
    /* cuMemAlloc: SPILL_HANDLED with *RESULT (and *ADDR) set, or SPILL_NOT_OURS: make the real
     * call. With a STREAM (never NULL for a default stream), in its order: cuMemAllocAsync; a free
     * in a stream that is captured, or that is none, is not ours. */
    enum spill_handled (*alloc)(CUdeviceptr *addr, size_t bytes, CUstream stream, CUresult *result);
    enum spill_handled (*free)(CUdeviceptr addr, CUstream stream, CUresult *result);
    /* The device of STREAM, if memory for it might be managed; -1: it would not be, as what is put
     * into STREAM does not run now (or STREAM is none). */
    CUdevice (*device_of)(CUstream stream);
    /* An allocation of DEVICE that stays unmanaged was made (bytes > 0) or given back (< 0). */
    void (*unmanaged)(CUdevice device, int64_t bytes);
    /* Around every op. before's result other than CUDA_SUCCESS is given to the program and the real
     * call is not made. */
    CUresult (*before)(struct spill_opcall *op);
    void (*after)(struct spill_opcall *op, CUresult result);
    /* A capture is about to begin; and after a call that may have begun or ended one of STREAM,
     * which should be OPEN now. */
    void (*capture_begins)(void);
    void (*capture_changed)(CUstream stream, bool open);
    /* Is any stream being captured? May be asked outside the guard. */
    bool (*capturing)(void);
    /* EXEC was made, with no node so far; NODE of it, perhaps within OWNER's child graph (NULL: it
     * is not, or is known already), does what OP says from now on, and touches what that touches;
     * no node within OWNER's child graph is there any more; EXEC goes away. */
    void (*graph_made)(CUgraphExec exec);
    void (*graph_node)(CUgraphExec exec, CUgraphNode node, CUgraphNode owner,
                       const struct spill_opcall *op);
    void (*graph_emptied)(CUgraphExec exec, CUgraphNode owner);
    void (*graph_end)(CUgraphExec exec);
    /* From now on anything may be touched without a call. A result other than CUDA_SUCCESS is given
     * to the program, and the real call is not made. */
    CUresult (*unseen)(void);
    /* The program waited for STREAM, or for the whole device (NULL): what they wrote to host memory
     * is complete. */
    void (*synchronized)(CUstream stream);
    /* The program put its streams, or itself, in an order; done already. */
    void (*ordered)(enum spill_ordered what, CUevent event, CUstream stream);
    /* The program says that an iteration ends and the next begins here. */
    void (*mark)(void);
    /* The buffer of a managed address; false when ADDR is not managed. */
    bool (*find)(CUdeviceptr addr, struct spill_found *found);
    /* The buffer of ADDR, if it is managed, stays resident from now on. */
    void (*pin)(CUdeviceptr addr, enum spill_trace_pin reason);
    /* The program encoded MAP, a CUtensorMap, for the tensor at ADDR. False: its use will not be
     * seen. */
    bool (*tensor_map)(const void *map, CUdeviceptr addr);
    /* Is memory of CONTEXT managed? */
    bool (*context_managed)(CUcontext context);
    /* What the program may occupy of the current device and how much of it is left; false: ask the
     * driver. */
    bool (*memory)(size_t *left, size_t *total);
    /* STREAM is about to be destroyed; what was put into it goes on. */
    void (*stream_end)(CUstream stream);
    /* Functions went away; another may be given the same handle. */
    void (*functions_end)(void);
    /* A managed context may end: what needs the driver to be written is written now. */
    void (*save)(CUcontext context);
    /* There is a context more than there was. */
    void (*context_made)(void);
    /* A managed context is about to go away, or is GONE, with all that is in it. Returns its
     * device; -1: it was not managed. */
    CUdevice (*context_end)(CUcontext context, bool gone);
    /* The current context asks for access to all memory of OWNER. A result other than CUDA_SUCCESS
     * is given to the program, and the real call is not made. */
    CUresult (*peer)(CUcontext owner);
    /* The program gives DEVICE access to managed memory of OWNER. The same of the result. */
    CUresult (*admit)(CUdevice owner, CUdevice device);
    /* Process exit: last line, files. No driver call is possible any more. */
    void (*finish)(bool cuda_used);
    /* The user asks how it goes: the last line and the statistics as of now. */
    void (*report)(void);
    /* In a child of fork: forget everything. */
    void (*child)(void);
};

/* The sink of the replay layer (replay/sink.c), the only one. HOOKED_CALLS stays: the program's
 * calls so far. */
const struct spill_sink *spill_engine_sink(const struct spill_config *config,
                                           const uint64_t *hooked_calls);

#endif
