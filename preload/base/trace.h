/* SPDX-License-Identifier: Apache-2.0 */
/* One observed training iteration, as the profiler hands it on and as the trace file stores it.
 * Plain arrays with indices; see profiler/FORMAT.md for the bytes on disk. Times are nanoseconds of
 * GPU time, sizes bytes. */
#ifndef SPILL_TRACE_H
#define SPILL_TRACE_H

#include <stdint.h>

#define SPILL_TRACE_NONE UINT32_MAX

/* One op, in the order in which the program launched it. */
struct spill_trace_op {
    uint64_t duration_ns;
    uint32_t
        kind; /* enum spill_opkind of preload/base/sink.h: kernel, copy, set, host, all, graph */
    uint32_t name;         /* offset in names */
    uint32_t stream;       /* 0, 1, ...: streams in order of appearance */
    uint32_t access_first; /* accesses [access_first, access_first + access_count) */
    uint32_t access_count;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t reserved;
    uint64_t start_ns;    /* after the start of the iteration's first op */
    uint64_t paged_bytes; /* moved by the pager before it could start */
};

struct spill_trace_access {
    uint32_t buffer;
    uint32_t mode; /* enum spill_access_mode */
};

enum spill_trace_life { SPILL_TRACE_PERSISTENT, SPILL_TRACE_ITERATION };

enum spill_trace_pin {
    SPILL_TRACE_UNPINNED,
    SPILL_TRACE_PIN_STORED_ADDRESS, /* its address was copied to the device as data */
    SPILL_TRACE_PIN_USER,
    SPILL_TRACE_PIN_FAULT,        /* a guarded iteration of an earlier run faulted on it */
    SPILL_TRACE_PIN_STREAM_VALUE, /* streams wait for or write values in it */
    SPILL_TRACE_PIN_TEXTURE,      /* a texture or tensor map holds its address */
    SPILL_TRACE_PIN_EXPORTED,     /* other devices or processes were given it */
    SPILL_TRACE_PIN_COUNT
};

struct spill_trace_buffer {
    uint64_t address;
    uint64_t bytes;
    uint32_t life; /* enum spill_trace_life */
    uint32_t pin;  /* enum spill_trace_pin */
    uint32_t
        birth_op; /* ITERATION: the op before which it was allocated (op_count: after the last) */
    uint32_t
        free_op;   /* ITERATION: the op before which it was freed; below birth_op when its life */
                   /* crosses the iteration border */
    uint32_t site; /* offset in names of the call site's text, SPILL_TRACE_NONE: not recorded */
    uint32_t reserved;
};

/* Where the program left the iteration that the trace holds. */
struct spill_trace_difference {
    uint32_t iteration; /* 0, 1, ... from the first of those alike */
    uint32_t op;        /* of the trace's iteration, before which or at which it was left */
    uint32_t expected;  /* op, "allocation" or "free": offset in names */
    uint32_t found;     /* what came instead: the same */
};

#define SPILL_TRACE_DIFFERENCES 64 /* no more are kept */

/* A copy link as measured. */
struct spill_trace_link {
    uint64_t latency_ns;
    uint64_t bytes_per_s; /* 0: not measured */
};

struct spill_trace {
    struct spill_trace_op *ops;
    struct spill_trace_access *accesses;
    struct spill_trace_buffer *buffers;
    struct spill_trace_difference *differences;
    char *names; /* zero-terminated strings, one after another; offset 0 is "" */
    uint32_t op_count;
    uint32_t access_count;
    uint32_t buffer_count;
    uint32_t difference_count;
    uint32_t name_bytes;
    struct spill_trace_link out; /* device to host */
    struct spill_trace_link in;  /* host to device */
    uint32_t duplex_permille;    /* rate each link keeps while both are busy; 0: not measured */
    uint32_t iterations; /* full iterations seen that are alike; 0: no border was found, and the */
                         /* ops are everything up to the end */
    uint32_t others;     /* stretches between them that did something else */
    uint64_t page_bytes;
    uint64_t gpu_bytes;   /* memory of the device */
    uint64_t gpu_budget;  /* the budget in force while profiling */
    uint64_t peak_bytes;  /* most bytes of managed buffers alive at once in the iteration */
    uint64_t small_bytes; /* memory of slabs for buffers below one page: resident, not in buffers */
    uint64_t step_ns;     /* measured time of an iteration, border to border, host gaps included */
    uint64_t paged_bytes; /* moved by the pager during the profiled iteration: it did not fit */
    uint64_t log_bytes;   /* memory that the profiler's log took */
    uint64_t log_max;     /* and what it might have taken */
    uint64_t hooked_calls; /* driver calls seen through the hooks before it was written; 0: not
                              recorded */
    uint32_t device_name;  /* offset in names */
    uint32_t program;      /* offset in names */
};

#endif
